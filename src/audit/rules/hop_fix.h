/* Private to audit/rules: fixes of a switch, in the syntax of its system. */
#ifndef RS_AUDIT_RULES_HOP_FIX_H
#define RS_AUDIT_RULES_HOP_FIX_H

#include "audit/rules/finding.h"

void rs_hop_fix_class(struct rs_audit *a, struct rs_finding *f, const char *sw, const char *port,
		      int dscp, int tc);
void rs_hop_fix_trust(struct rs_audit *a, struct rs_finding *f, const char *sw, const char *port);
void rs_hop_fix_pfc(struct rs_audit *a, struct rs_finding *f, const char *sw, const char *port,
		    int priority, int dscp);
void rs_hop_fix_ecn(struct rs_audit *a, struct rs_finding *f, const char *sw, const char *port,
		    int queue, int64_t kmin, int64_t kmax);
void rs_hop_fix_watchdog(struct rs_audit *a, struct rs_finding *f, const char *sw,
			 const char *port);
void rs_hop_fix_mtu(struct rs_audit *a, struct rs_finding *f, const char *sw, const char *port,
		    int64_t mtu);
void rs_hop_fix_fec(struct rs_audit *a, struct rs_finding *f, const char *sw, const char *port);
void rs_hop_fix_speed(struct rs_audit *a, struct rs_finding *f, const char *sw, const char *port,
		      int64_t mbps);

#endif

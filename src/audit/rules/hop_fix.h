/* Private to audit/rules: fixes of a switch, in the syntax of its system. */
#ifndef RS_AUDIT_RULES_HOP_FIX_H
#define RS_AUDIT_RULES_HOP_FIX_H

#include "audit/facts/hop.h"
#include "audit/rules/finding.h"

void rs_hop_fix_class(struct rs_audit *a, struct rs_finding *f, const char *sw, const char *port,
		      int dscp, int tc);
/* The class goes to another queue; the DSCPs stay. */
void rs_hop_fix_queue(struct rs_audit *a, struct rs_finding *f, const struct rs_hop_view *v, int tc,
		      int queue);
/* PFC moves from one priority to the class of a DSCP, where the class is the switch's own word. */
void rs_hop_fix_pause(struct rs_audit *a, struct rs_finding *f, const char *sw, const char *port,
		      int from, int group);
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

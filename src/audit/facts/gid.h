/* Private to audit/: GID tables. */
#ifndef RS_AUDIT_FACTS_GID_H
#define RS_AUDIT_FACTS_GID_H

#include "audit/facts/audit.h"

struct rs_gid {
	const struct rs_fact *gid, *type; /* NULL: no such row */
};

/* nic: the subject, "nic/mlx5_0". */
struct rs_gid rs_gid_at(const struct rs_audit *a, const char *host, const char *nic, int index);
bool rs_gid_link_local(const char *gid);
bool rs_gid_zero(const char *gid);
/* RoCE v2, neither link-local nor empty. */
bool rs_gid_usable(const struct rs_gid *g);
/* The index that a connection should use; -1: none. */
int rs_gid_best(const struct rs_audit *a, const char *host, const char *nic);
/* Has this device a GID table at all, and is it Ethernet? */
bool rs_gid_table(const struct rs_audit *a, const char *host, const char *nic);

/* Is this index routable RoCE v2 on all ports of the job whose tables were read? */
bool rs_gid_fits_all(const struct rs_audit *a, const char *host, int index);

#endif

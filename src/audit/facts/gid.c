/* GID tables: which entries a routed RoCE v2 connection can use. IBTA vol. 1 annex A17.4; RFC 4291
 * 2.5.5.2 (IPv4-mapped), 2.5.6 (link-local). */
#include "audit/facts/gid.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/look.h"

bool rs_gid_link_local(const char *gid)
{
	return !strncasecmp(gid, "fe8", 3) || !strncasecmp(gid, "fe9", 3) ||
	       !strncasecmp(gid, "fea", 3) || !strncasecmp(gid, "feb", 3);
}

bool rs_gid_zero(const char *gid)
{
	return strspn(gid, "0:") == strlen(gid);
}

static bool ipv4_mapped(const char *gid)
{
	return strcasestr(gid, "ffff:") != NULL && !rs_gid_link_local(gid);
}

struct rs_gid rs_gid_at(const struct rs_audit *a, const char *host, const char *nic, int index)
{
	char name[32];
	struct rs_gid g;

	snprintf(name, sizeof(name), "gid/%d", index);
	g.gid = rs_facts_get(a->facts, host, nic, name);
	snprintf(name, sizeof(name), "gid_type/%d", index);
	g.type = rs_facts_get(a->facts, host, nic, name);
	return g;
}

bool rs_gid_usable(const struct rs_gid *g)
{
	return g->gid && g->type && !strcmp(g->type->value, "v2") &&
	       !rs_gid_link_local(g->gid->value) && !rs_gid_zero(g->gid->value);
}

/* IPv4 first, as NCCL and perftest prefer it. -1: none. */
int rs_gid_best(const struct rs_audit *a, const char *host, const char *nic)
{
	int found = -1;

	for (int i = 0; i < 256; i++) {
		struct rs_gid g = rs_gid_at(a, host, nic, i);

		if (!rs_gid_usable(&g))
			continue;
		if (ipv4_mapped(g.gid->value))
			return i;
		found = found < 0 ? i : found;
	}
	return found;
}

/* Has this device a GID table at all, and is it Ethernet? */
bool rs_gid_table(const struct rs_audit *a, const char *host, const char *nic)
{
	const char *layer = rs_facts_value(a->facts, host, nic, "link_layer");
	uint32_t at = 0;
	const struct rs_fact *f;

	if (layer && strcmp(layer, "Ethernet"))
		return false;
	while ((f = rs_facts_next(a->facts, &at, host, nic, "gid_type/")))
		if (!strcmp(f->subject, nic))
			return true;
	return false;
}

bool rs_gid_fits_all(const struct rs_audit *a, const char *host, int index)
{
	const struct rs_fact *list = rs_look_list(a, host);
	const char *nic;
	uint32_t at = 0;

	while ((nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		struct rs_gid g;

		if (!rs_gid_table(a, host, nic) || rs_gid_best(a, host, nic) < 0 ||
		    (list && !rs_look_hca(list->value, nic + 4)))
			continue;
		g = rs_gid_at(a, host, nic, index);
		if (!rs_gid_usable(&g))
			return false;
	}
	return true;
}

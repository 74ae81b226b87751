/*
 * NCCL_IB_HCA as NCCL reads it (parseStringList(), v2.3.5-5 to v2.30.7-1): '^'
 * and '=' stand once, before the whole list; entries are separated by commas; ':' begins a port.
 * All else belongs to the name.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "audit/facts/nccl.h"
#include "audit/rules/hca_list.h"

enum { ENTRY = 128 };

/* Why NCCL takes this entry for a name that no device has; NULL: it may be one. */
static const char *why_no_name(const char *entry)
{
	size_t n = strlen(entry);

	if (*entry == '^' || *entry == '=')
		return "'^' and '=' stand once, before the whole list: here they are taken for a "
		       "part of "
		       "the name";
	if (n && (isspace((unsigned char)*entry) || isspace((unsigned char)entry[n - 1])))
		return "a blank is taken for a part of the name";
	if (strpbrk(entry, "[]{}*?"))
		return "there are no ranges and no wildcards: a name without '=' is a beginning";
	if (strpbrk(entry, "\"'"))
		return "a quote is taken for a part of the name";
	if (strpbrk(entry, ";/| ") || (strchr(entry, ':') && strchr(strchr(entry, ':') + 1, ':')))
		return "entries are separated by commas, and a port is set off by ':'";
	return NULL;
}

/* A port ends an entry, and what stands behind it is dropped: "mlx5_0:1/mlx5_1:1" is port 1 of
 * mlx5_0. */
static size_t kept_by_port(const char *entry)
{
	const char *colon = strchr(entry, ':');
	size_t n = colon ? strspn(colon + 1, "0123456789") : 0;

	return colon > entry && n && colon[1 + n] ? (size_t)(colon - entry) + 1 + n : 0;
}

/* The list as it was meant: signs once, no blanks and quotes. "mlx5_0/1" has a port,
 * "mlx5_0/mlx5_1" two names. */
static const char *meant(struct rs_audit *a, const char *value)
{
	bool not = strchr(value, '^') != NULL, exact = strchr(value, '=') != NULL;
	char out[1024];
	size_t n = 0;

	for (const char *p = value; *p && n < sizeof(out) - 1; p++) {
		if (strchr("^=\"' ", *p))
			continue;
		if (*p == '/')
			out[n++] = isdigit((unsigned char)p[1]) ? ':' : ',';
		else
			out[n++] = *p == ';' || *p == '|' ? ',' : *p;
	}
	out[n] = '\0';
	return rs_audit_text(a, "%s%s%s", not ? "^" : "", exact ? "=" : "", out);
}

/* How many entries this release keeps (MAX_IB_DEVS); 0, not known: as many as any does. */
static unsigned most(uint32_t version)
{
	return version && version < rs_nccl_make(2, 19, 0) ? 16 : 32;
}

static void accuse(struct rs_audit *a, const struct rs_rule *r, const char *host,
		   const struct rs_fact *hca, const char *entry, const char *why)
{
	size_t kept = kept_by_port(entry);
	struct rs_finding *f = rs_finding_new(
		a, r, RS_FAIL, RS_MAJOR, "NCCL_IB_HCA: '%s' %s%s: %s", entry,
		*hca->value == '^' ? "leaves out "
		: kept             ? "takes "
				   : "matches ",
		kept ? rs_audit_text(a, "%.*s alone", (int)kept, entry) : "no device", why);

	rs_finding_subject(a, f, host, NULL);
	rs_finding_fact(f, hca);
	rs_finding_why(
		a, f, "%s",
		*hca->value == '^'
			? "the devices that should be left out are used, as rails like the others"
		: kept ? "what stands behind a port is dropped, and its devices are not used"
		       : "NCCL looks for a device of that very name, finds none, and goes on "
			 "without it");
	if (strpbrk(entry, "[]{}*?"))
		rs_finding_need(a, f, "ibv_devices", "the names to write in place of the range");
	else if (!strncmp(why, "NCCL keeps", 10) || !strncmp(why, "this release keeps", 18))
		rs_finding_need(a, f, "ibv_devices",
				"beginnings that stand for several names, such as mlx5");
	/* names and exceptions in one list: which of them was meant is not to be guessed */
	else if (*hca->value != '^' && strstr(hca->value, ",^"))
		rs_finding_need(a, f, "ibv_devices",
				"the names of all rails: a list either takes or leaves out");
	else
		rs_finding_fix(a, f, "all hosts of the job", true, NULL,
			       rs_audit_text(a, "NCCL_IB_HCA=%s", hca->value), "NCCL_IB_HCA=%s",
			       meant(a, hca->value));
}

bool rs_hca_list_judge(struct rs_audit *a, const struct rs_rule *r, const char *host,
		       const struct rs_fact *hca)
{
	const char *p = hca->value + (*hca->value == '^');
	uint32_t version = rs_nccl_version(a, host, NULL);
	unsigned n = 0;
	char entry[ENTRY];

	/* "=^mlx5_0": '=' is taken first, '^' is then a part of the name */
	for (p += *p == '='; *p; p += *p == ',') {
		size_t len = strcspn(p, ",");
		const char *why;

		snprintf(entry, sizeof(entry), "%.*s", (int)len, p);
		n += len > 0;
		p += len;
		why = len ? why_no_name(entry) : NULL;
		if (why) {
			accuse(a, r, host, hca, entry, why);
			return true;
		}
		if (n == most(version) + 1) {
			accuse(a, r, host, hca, entry,
			       rs_audit_text(a, "%s %u entries",
					     version ? "this release keeps" : "NCCL keeps",
					     most(version)));
			return true;
		}
	}
	return false;
}

bool rs_hca_list_odd(const char *list)
{
	const char *p = list + (*list == '^');
	char entry[ENTRY];

	for (p += *p == '='; *p; p += *p == ',') {
		size_t len = strcspn(p, ",");

		snprintf(entry, sizeof(entry), "%.*s", (int)len, p);
		if (len && why_no_name(entry))
			return true;
		p += len;
	}
	return false;
}

bool rs_hca_list_names(const char *list, const char *nic)
{
	size_t n = strlen(nic);

	if (*list == '^')
		return false;
	for (const char *p = list; (p = strstr(p, nic)); p += n)
		if ((p == list || strchr(",=", p[-1])) && (!p[n] || strchr(",:", p[n])))
			return true;
	return false;
}

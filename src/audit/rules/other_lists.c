/* Device lists and GID indexes of libraries beside NCCL: UCX's and NVSHMEM's documentation of their
 * variables, Mooncake's of its transfer engine. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "audit/facts/look.h"
#include "audit/facts/message.h"
#include "audit/facts/nccl.h"
#include "audit/rules/other_lists.h"

enum { NAMES = 64, ITEM = 128 };

struct names {
	unsigned n;
	const char *name[NAMES];
	char all[512]; /* "mlx5_0, mlx5_1" */
};

/* What shows that a device stands in a list of the host's, where a log names those that a job took;
 * NULL: nothing. */
static const struct rs_fact *listed(const struct rs_audit *a, const char *host, const char *nic)
{
	static const char *const facts[] = {"port_state", "link", "listed", "node_guid"};
	const struct rs_fact *f = NULL;

	for (unsigned i = 0; !f && i < sizeof(facts) / sizeof(*facts); i++)
		f = rs_look(a, host, nic, facts[i]);
	return f;
}

/* false: it is not known that these are all. */
static bool names_of(const struct rs_audit *a, const char *host, struct names *s)
{
	const char *nic;
	uint32_t at = 0;

	*s = (struct names){0};
	while (s->n < NAMES && (nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		size_t used = strlen(s->all);

		if (!listed(a, host, nic))
			return false;
		s->name[s->n++] = nic + 4;
		snprintf(s->all + used, sizeof(s->all) - used, "%s%s", used ? ", " : "", nic + 4);
	}
	return s->n > 1;
}

/* The entry's device: "mlx5_0:1" without its port, "mlx5_0:1-2". */
static void next(const char **p, char *item)
{
	size_t n = strcspn(*p, ",; ");

	snprintf(item, ITEM, "%.*s", (int)n, *p);
	item[strcspn(item, ":")] = '\0';
	*p += n;
	*p += strspn(*p, ",; ");
}

/* Is a device of this name, or with this beginning, among them? */
static bool has(const struct names *s, const char *item, bool beginning)
{
	for (unsigned i = 0; i < s->n; i++)
		if (!strcmp(s->name[i], item) ||
		    (beginning && !strncmp(s->name[i], item, strlen(item))))
			return true;
	return false;
}

/* An RDMA device's name as its drivers give it, "mlx5_2", "rocep1s0", not an interface's. */
static bool is_rdma(const char *item, const struct names *s)
{
	size_t n = strcspn(s->name[0], "_0123456789");

	return n > 2 && !strncmp(item, s->name[0], n) && strpbrk(item, "0123456789") &&
	       !strpbrk(item, "*[]{}$<>");
}

static void judge(struct rs_audit *a, const struct rs_rule *r, const char *host,
		  const struct rs_fact *list, const struct names *s, bool beginning)
{
	const char *p = list->value, *lost = NULL;
	unsigned found = 0, missing = 0;
	struct rs_finding *f;
	char item[ITEM];

	if (*p == '^')
		return;
	for (p += *p == '='; *p;) {
		next(&p, item);
		if (!*item)
			continue;
		if (has(s, item, beginning))
			found++;
		else if (is_rdma(item, s))
			missing++, lost = lost ? lost : rs_audit_text(a, "%s", item);
	}
	if (!missing)
		return;
	f = rs_finding_new(a, r, RS_FAIL, found ? RS_MAJOR : RS_CRITICAL,
			   missing == 1 ? "%s names %s, and the host has %s"
					: "%s names %s and others, and the host has %s",
			   list->name, lost, s->all);
	rs_finding_subject(a, f, host, lost);
	rs_finding_fact(f, list);
	rs_finding_fact(f, listed(a, host, rs_audit_text(a, "nic/%s", s->name[0])));
	rs_finding_why(a, f, "%s",
		       found ? "the library goes on with the others: a rail is lost"
			     : "the library finds no device of these names: it stops, or goes on "
			       "over TCP");
	rs_finding_need(a, f, "ibdev2netdev", "which of them are up and belong to the job");
}

void rs_other_lists_judge(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	static const struct {
		const char *name;
		bool beginning; /* an entry may be the beginning of a name */
	} lists[] = {
		{"UCX_NET_DEVICES", false},
		{"NVSHMEM_HCA_LIST", true},
		{"NVSHMEM_HCA_PE_MAPPING", false},
	};
	struct names s;

	/* the library's own word for it was read */
	if (rs_message_fact(a, host, "message device-name") || !names_of(a, host, &s))
		return;
	for (unsigned i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		const struct rs_fact *list = rs_nccl_env(a, host, lists[i].name);

		if (list)
			judge(a, r, host, list, &s, lists[i].beginning);
	}
}

const struct rs_fact *rs_other_gid_index(const struct rs_audit *a, const char *host)
{
	static const char *const names[] = {"MC_GID_INDEX", "NVSHMEM_IB_GID_INDEX",
					    "UCX_IB_GID_INDEX"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct rs_fact *f = rs_nccl_env(a, host, names[i]);

		if (f && f->numeric && f->number >= 0)
			return f;
	}
	return NULL;
}

/* A container that is started without RDMA's device nodes: docker-run(1) "--device", the Compose
 * specification "devices". */
#include <string.h>
#include <strings.h>
#include "audit/facts/look.h"
#include "audit/facts/message.h"
#include "audit/rules/container.h"

/* Of a text: the first line from `line` on of what begins so; UINT32_MAX: none. */
static uint32_t first_from(const struct rs_audit *a, const struct rs_fact *run, const char *what,
			   uint32_t line)
{
	uint32_t at = rs_facts_seek(a->facts, run->host, "container"), least = UINT32_MAX;
	const struct rs_fact *f;

	while ((f = rs_facts_next(a->facts, &at, run->host, "container", what)))
		if (f->line >= line && f->line < least && !strcmp(f->file, run->file))
			least = f->line;
	return least;
}

/* A variable between two lines of the text that asks for RDMA devices; NULL: none does. */
static const struct rs_fact *asks(const struct rs_audit *a, const struct rs_fact *run,
				  uint32_t until)
{
	static const struct {
		const char *name, *value; /* "": any but one that leaves out */
	} wishes[] = {{"NCCL_IB_HCA", ""},      {"NCCL_IB_GID_INDEX", ""},
		      {"NCCL_NET", "IB"},       {"UCX_NET_DEVICES", "mlx"},
		      {"UCX_TLS", "rc"},        {"FI_PROVIDER", "efa"},
		      {"FI_PROVIDER", "verbs"}, {"NVSHMEM_HCA_LIST", ""},
		      {"MC_GID_INDEX", ""},     {"NVSHMEM_IB_GID_INDEX", ""}};
	uint32_t at = rs_facts_seek(a->facts, run->host, "env");
	const struct rs_fact *f;

	while ((f = rs_facts_next(a->facts, &at, run->host, "env", ""))) {
		if (f->line < run->line || f->line >= until || strcmp(f->file, run->file) ||
		    *f->value == '^')
			continue;
		for (unsigned i = 0; i < sizeof(wishes) / sizeof(*wishes); i++)
			if (!strcmp(f->name, wishes[i].name) &&
			    !strncasecmp(f->value, wishes[i].value, strlen(wishes[i].value)))
				return f;
	}
	return NULL;
}

static void judge(struct rs_audit *a, const struct rs_rule *r, const struct rs_fact *run)
{
	bool compose = !strcmp(run->value, "compose");
	uint32_t next = first_from(a, run, "run/", run->line + 1);
	const struct rs_fact *wish;
	struct rs_finding *f;

	/* a service's keys have no order */
	if (first_from(a, run, "given/", compose ? 1 : run->line) < next)
		return;
	wish = asks(a, run, next);
	if (!wish)
		return;
	f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
			   "the container is not given /dev/infiniband, and its %s asks for RDMA",
			   wish->name);
	rs_finding_subject(a, f, run->host, NULL);
	rs_finding_fact(f, run);
	rs_finding_fact(f, wish);
	rs_finding_why(
		a, f,
		"a container has no device of its host by itself, the host's network or not: "
		"its libraries find none, and go over TCP");
	if (compose)
		rs_finding_fix(a, f, run->host, true, "the container", NULL,
			       "in the service: devices: [\"/dev/infiniband:/dev/infiniband\"], "
			       "ulimits: {memlock: -1}, cap_add: [IPC_LOCK]");
	else
		rs_finding_fix(a, f, run->host, true, "the container", NULL,
			       "%s run --device=/dev/infiniband --ulimit memlock=-1 "
			       "--cap-add=IPC_LOCK ...  # beside what stands there",
			       run->value);
}

void rs_container_judge(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	uint32_t at = rs_facts_seek(a->facts, host, "container");
	const struct rs_fact *run;

	/* what ran there took a device */
	if (rs_message_fact(a, host, "message network-rdma"))
		return;
	while ((run = rs_facts_next(a->facts, &at, host, "container", "run/")))
		judge(a, r, run);
}

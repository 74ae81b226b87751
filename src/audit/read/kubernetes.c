/* Kubernetes manifests, YAML or JSON: pods and what makes pods, Multus' networks, the SR-IOV
 * operator's policies and networks, the device plugins' ConfigMap, the kubelet's configuration. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/readers.h"
#include "text/document.h"

enum { DEPTH_MAX = 24, DOCUMENTS_MAX = 1024, TEXT = 4096 };

static int score(const struct rs_input *in)
{
	static const char *const kinds[] = {"NetworkAttachmentDefinition",
					    "SriovNetworkNodePolicy",
					    "SriovNetwork",
					    "KubeletConfiguration",
					    "resourceList",
					    "rdmaHcaMax",
					    "containers:",
					    "\"containers\"",
					    NULL};

	if (!rs_input_has(in, "apiVersion") || !rs_input_has(in, "kind"))
		return 0;
	for (unsigned i = 0; kinds[i]; i++)
		if (rs_input_has(in, kinds[i]))
			return 93;
	return 60;
}

struct state {
	struct rs_audit *a;
	const struct rs_input *in;
	char subject[320];
};

static void put(struct state *s, struct fy_node *at, const char *name, const char *value)
{
	rs_input_add(s->a, s->in, rs_document_line(at), NULL, s->subject, name, "%s", value);
}

/* A scalar below n by names: text(n, buf, "metadata", "name", NULL) */
static struct fy_node *below(struct fy_node *n, const char *first, const char *second,
			     const char *third)
{
	n = rs_document_member(n, first);
	n = n && second ? rs_document_member(n, second) : n;
	return n && third ? rs_document_member(n, third) : n;
}

static bool is_true(struct fy_node *n)
{
	char buf[16];

	return rs_document_text(n, buf, sizeof(buf)) && !strcmp(buf, "true");
}

/* A member's text as a fact, when it is there. */
static void member(struct state *s, struct fy_node *n, const char *key, const char *fact)
{
	char buf[TEXT];

	n = rs_document_member(n, key);
	if (rs_document_text(n, buf, sizeof(buf)) && *buf)
		put(s, n, fact, buf);
}

/* A list's texts, joined by commas. */
static void list(struct state *s, struct fy_node *n, const char *fact)
{
	char all[TEXT] = "", buf[256];
	struct fy_node *item;
	void *iter = NULL;

	if (!n || !fy_node_is_sequence(n))
		return;
	while ((item = fy_node_sequence_iterate(n, &iter)))
		if (rs_document_text(item, buf, sizeof(buf)))
			snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s",
				 *all ? "," : "", buf);
	if (*all)
		put(s, n, fact, all);
}

/* ---- Pods ---- */

static bool adds_ipc_lock(struct fy_node *container)
{
	struct fy_node *caps = below(container, "securityContext", "capabilities", "add"), *n;
	void *iter = NULL;
	char buf[64];

	if (!caps || !fy_node_is_sequence(caps))
		return false;
	while ((n = fy_node_sequence_iterate(caps, &iter)))
		if (rs_document_text(n, buf, sizeof(buf)) &&
		    (!strcmp(buf, "IPC_LOCK") || !strcmp(buf, "CAP_IPC_LOCK") ||
		     !strcmp(buf, "ALL")))
			return true;
	return false;
}

/* Extended resources: their names have a domain. Limits count; requests are the same for them. */
static void resources(struct state *s, struct fy_node *container)
{
	struct fy_node *limits = below(container, "resources", "limits", NULL);
	struct fy_node_pair *p;
	void *iter = NULL;
	char key[256], value[64], name[280];

	if (!limits || !fy_node_is_mapping(limits))
		limits = below(container, "resources", "requests", NULL);
	if (!limits || !fy_node_is_mapping(limits))
		return;
	while ((p = fy_node_mapping_iterate(limits, &iter))) {
		struct fy_node *v = fy_node_pair_value(p);

		if (!rs_document_text(fy_node_pair_key(p), key, sizeof(key)) || !strchr(key, '/') ||
		    !rs_document_text(v, value, sizeof(value)))
			continue;
		snprintf(name, sizeof(name), "resource/%s", key);
		put(s, v, name, value);
	}
}

static void environment(struct state *s, struct fy_node *container)
{
	struct fy_node *env = rs_document_member(container, "env"), *n;
	void *iter = NULL;
	char name[128], value[512];

	if (!env || !fy_node_is_sequence(env))
		return;
	while ((n = fy_node_sequence_iterate(env, &iter)))
		if (rs_document_text(rs_document_member(n, "name"), name, sizeof(name)) &&
		    rs_document_text(rs_document_member(n, "value"), value, sizeof(value)) &&
		    !strncmp(name, "NCCL_", 5))
			rs_input_add(s->a, s->in, rs_document_line(n), NULL, "env", name, "%s",
				     value);
}

static void volumes(struct state *s, struct fy_node *spec)
{
	struct fy_node *all = rs_document_member(spec, "volumes"), *n, *empty;
	void *iter = NULL;
	char buf[128];

	if (!all || !fy_node_is_sequence(all))
		return;
	while ((n = fy_node_sequence_iterate(all, &iter))) {
		empty = rs_document_member(n, "emptyDir");
		if (empty &&
		    rs_document_text(rs_document_member(empty, "medium"), buf, sizeof(buf)) &&
		    !strcmp(buf, "Memory"))
			put(s, n, "shm",
			    rs_document_text(rs_document_member(empty, "sizeLimit"), buf,
					     sizeof(buf))
				    ? buf
				    : "unlimited");
		if (rs_document_text(below(n, "hostPath", "path", NULL), buf, sizeof(buf)) &&
		    (!strncmp(buf, "/dev/infiniband", 15) || !strcmp(buf, "/dev/shm")))
			put(s, n, !strcmp(buf, "/dev/shm") ? "shm" : "dev_infiniband",
			    !strcmp(buf, "/dev/shm") ? "host" : buf);
	}
}

static void pod(struct state *s, struct fy_node *meta, struct fy_node *spec, const char *name)
{
	struct fy_node *containers = rs_document_member(spec, "containers"), *n;
	bool locks = false, privileged = false;
	void *iter = NULL;
	char buf[TEXT];

	snprintf(s->subject, sizeof(s->subject), "k8s/pod/%s", name);
	put(s, containers, "pod", "1");
	while ((n = fy_node_sequence_iterate(containers, &iter))) {
		locks |= adds_ipc_lock(n);
		privileged |= is_true(below(n, "securityContext", "privileged", NULL));
		resources(s, n);
		environment(s, n);
	}
	if (locks)
		put(s, containers, "ipc_lock", "1");
	if (privileged)
		put(s, containers, "privileged", "1");
	if (is_true(rs_document_member(spec, "hostNetwork")))
		put(s, spec, "host_network", "1");
	if (is_true(rs_document_member(spec, "hostIPC")))
		put(s, spec, "host_ipc", "1");
	n = meta ? below(meta, "annotations", "k8s.v1.cni.cncf.io/networks", NULL) : NULL;
	if (rs_document_text(n, buf, sizeof(buf)))
		put(s, n, "networks", buf);
	volumes(s, spec);
}

/* Whatever makes pods has their specification somewhere below: Deployment, Job, MPIJob, ... */
static void pods(struct state *s, struct fy_node *n, const char *name, unsigned depth)
{
	struct fy_node *spec = rs_document_member(n, "spec"), *child;
	struct fy_node *containers = rs_document_member(spec, "containers");
	struct fy_node_pair *p;
	void *iter = NULL;

	if (depth > DEPTH_MAX)
		return;
	if (containers && fy_node_is_sequence(containers)) {
		pod(s, rs_document_member(n, "metadata"), spec, name);
		return;
	}
	if (fy_node_is_mapping(n)) {
		while ((p = fy_node_mapping_iterate(n, &iter))) {
			char key[128], deeper[256];

			child = fy_node_pair_value(p);
			if (!child || fy_node_is_scalar(child))
				continue;
			/* MPIJob: the replicas' names tell its launcher from its workers */
			if (rs_document_text(fy_node_pair_key(p), key, sizeof(key)) &&
			    strcmp(key, "spec") && rs_document_member(child, "template"))
				snprintf(deeper, sizeof(deeper), "%.120s/%s", name, key);
			else
				snprintf(deeper, sizeof(deeper), "%.255s", name);
			pods(s, child, deeper, depth + 1);
		}
	} else if (fy_node_is_sequence(n)) {
		while ((child = fy_node_sequence_iterate(n, &iter)))
			pods(s, child, name, depth + 1);
	}
}

/* ---- Networks, policies, plugins ---- */

static void nad(struct state *s, struct fy_node *n)
{
	struct fy_node *config = below(n, "spec", "config", NULL);
	struct fy_node *resource =
		below(n, "metadata", "annotations", "k8s.v1.cni.cncf.io/resourceName");
	char buf[TEXT];

	if (rs_document_text(resource, buf, sizeof(buf)))
		put(s, resource, "resource", buf);
	if (!rs_document_text(config, buf, sizeof(buf)))
		return;
	/* its configuration is JSON in a string; what matters is which plugins are chained */
	put(s, config, "config", buf);
	for (const char *p = buf; (p = strstr(p, "\"type\"")); p += 6) {
		char type[32];

		if (sscanf(p, "\"type\" : \"%31[a-z0-9-]\"", type) == 1 && !strcmp(type, "rdma"))
			put(s, config, "rdma_cni", "1");
	}
}

static void sriov_network(struct state *s, struct fy_node *n)
{
	struct fy_node *spec = rs_document_member(n, "spec");
	char buf[TEXT];

	member(s, spec, "resourceName", "resource");
	if (rs_document_text(rs_document_member(spec, "metaPlugins"), buf, sizeof(buf)) &&
	    strstr(buf, "\"rdma\""))
		put(s, spec, "rdma_cni", "1");
}

static void policy(struct state *s, struct fy_node *n)
{
	static const char *const known[] = {"isRdma", "deviceType",   "mtu",
					    "numVfs", "resourceName", "linkType"};
	struct fy_node *spec = rs_document_member(n, "spec");

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		member(s, spec, known[i], known[i]);
	list(s, below(spec, "nicSelector", "pfNames", NULL), "pfNames");
	list(s, below(spec, "nicSelector", "rootDevices", NULL), "rootDevices");
}

/* A member anywhere in mappings and lists below. */
static struct fy_node *find(struct fy_node *n, const char *key, unsigned depth)
{
	struct fy_node *found = rs_document_member(n, key), *child;
	struct fy_node_pair *p;
	void *iter = NULL;

	if (found || depth > DEPTH_MAX || !n)
		return found;
	if (fy_node_is_mapping(n))
		while (!found && (p = fy_node_mapping_iterate(n, &iter)))
			found = find(fy_node_pair_value(p), key, depth + 1);
	else if (fy_node_is_sequence(n))
		while (!found && (child = fy_node_sequence_iterate(n, &iter)))
			found = find(child, key, depth + 1);
	return found;
}

/* The SR-IOV plugin's resourceList, or the shared device plugin's configList: JSON in a string. */
static void plugin(struct state *s, const char *text, struct fy_node *at)
{
	struct rs_input sub = *s->in;
	struct fy_document *d;
	struct fy_node *all, *n;
	void *iter = NULL;
	char buf[256];

	sub.data = text;
	sub.size = strlen(text);
	d = rs_document_parse(sub.data, sub.size);
	all = d ? find(fy_document_root(d), "resourceList", 0) : NULL;
	all = all || !d ? all : find(fy_document_root(d), "configList", 0);
	if (all && fy_node_is_sequence(all))
		while ((n = fy_node_sequence_iterate(all, &iter))) {
			if (!rs_document_text(rs_document_member(n, "resourceName"), buf,
					      sizeof(buf)))
				continue;
			snprintf(s->subject, sizeof(s->subject), "k8s/plugin/%s", buf);
			/* these lines are the string's own */
			put(s, at, "resourceName", buf);
			if (rs_document_member(n, "rdmaHcaMax") || is_true(find(n, "isRdma", 0)))
				put(s, at, "isRdma", "true");
			list(s, find(n, "pfNames", 0), "pfNames");
			list(s, find(n, "ifNames", 0), "pfNames");
		}
	fy_document_destroy(d);
}

static void config_map(struct state *s, struct fy_node *n)
{
	struct fy_node *data = rs_document_member(n, "data");
	struct fy_node_pair *p;
	void *iter = NULL;

	if (!data || !fy_node_is_mapping(data))
		return;
	while ((p = fy_node_mapping_iterate(data, &iter))) {
		struct fy_node *v = fy_node_pair_value(p);
		char *text = malloc(65536);

		if (text && rs_document_text(v, text, 65536) &&
		    (strstr(text, "resourceList") || strstr(text, "rdmaHcaMax")))
			plugin(s, text, v);
		free(text);
	}
}

static void object(struct state *s, struct fy_node *n, unsigned depth)
{
	char kind[64], name[128] = "unnamed", space[64] = "default";
	struct fy_node *items = rs_document_member(n, "items"), *item;
	void *iter = NULL;

	if (!n || !rs_document_text(rs_document_member(n, "kind"), kind, sizeof(kind)))
		return;
	if (items && fy_node_is_sequence(items) && depth < DEPTH_MAX) {
		while ((item = fy_node_sequence_iterate(items, &iter)))
			object(s, item, depth + 1);
		return;
	}
	if (!rs_document_text(below(n, "metadata", "name", NULL), name, sizeof(name)))
		snprintf(name, sizeof(name), "unnamed");
	if (!rs_document_text(below(n, "metadata", "namespace", NULL), space, sizeof(space)))
		snprintf(space, sizeof(space), "default");
	if (!strcmp(kind, "NetworkAttachmentDefinition")) {
		snprintf(s->subject, sizeof(s->subject), "k8s/nad/%s/%s", space, name);
		put(s, n, "name", name);
		nad(s, n);
	} else if (!strcmp(kind, "SriovNetwork") || !strcmp(kind, "SriovIBNetwork")) {
		if (!rs_document_text(below(n, "spec", "networkNamespace", NULL), space,
				      sizeof(space)))
			snprintf(space, sizeof(space), "default");
		snprintf(s->subject, sizeof(s->subject), "k8s/nad/%s/%s", space, name);
		put(s, n, "name", name);
		sriov_network(s, n);
	} else if (!strcmp(kind, "SriovNetworkNodePolicy")) {
		snprintf(s->subject, sizeof(s->subject), "k8s/policy/%s", name);
		policy(s, n);
	} else if (!strcmp(kind, "ConfigMap")) {
		config_map(s, n);
	} else if (!strcmp(kind, "KubeletConfiguration")) {
		snprintf(s->subject, sizeof(s->subject), "k8s/kubelet");
		put(s, n, "kubelet", "1");
		member(s, n, "topologyManagerPolicy", "topology_manager");
		member(s, n, "cpuManagerPolicy", "cpu_manager");
	} else {
		pods(s, n, name, 0);
	}
}

/* Documents of a stream, each parsed by itself: one that is broken does not hide the others. */
static int read_kubernetes(struct rs_audit *a, const struct rs_input *in)
{
	const char *p = in->data, *end = in->data + in->size;
	uint32_t line = 0;

	for (unsigned i = 0; p < end && i < DOCUMENTS_MAX; i++) {
		const char *next = memmem(p, (size_t)(end - p), "\n---", 4);
		struct rs_input sub = *in;
		struct state s = {.a = a, .in = &sub};
		struct fy_document *d;
		char *copy;

		next = next ? next + 1 : end;
		sub.size = (size_t)(next - p);
		copy = malloc(sub.size + 1);
		if (!copy)
			return -ENOMEM;
		memcpy(copy, p, sub.size);
		copy[sub.size] = '\0';
		sub.data = copy;
		sub.first_line = in->first_line + line;
		d = rs_document_parse(sub.data, sub.size);
		if (d)
			object(&s, fy_document_root(d), 0);
		fy_document_destroy(d);
		free(copy);
		for (const char *q = p; q < next; q++)
			line += *q == '\n';
		/* the mark itself stays with what follows: YAML allows it there */
		p = next;
		if (p < end && sub.size == 0)
			break;
	}
	return a->err;
}

const struct rs_reader rs_reader_kubernetes = {
	.name = "kubernetes",
	.what = "Kubernetes manifests: pods, Multus networks, SR-IOV policies, device plugins, "
		"kubelet",
	.trust = RS_TRUST_INTENT,
	.score = score,
	.read = read_kubernetes,
};

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
	const char *space; /* the namespace of the object at hand; NULL: not said */
	struct rs_audit *a;
	const struct rs_input *in;
	char subject[320];
};

static void put(struct state *s, struct rs_value *at, const char *name, const char *value)
{
	rs_input_add(s->a, s->in, rs_document_line(at), NULL, s->subject, name, "%s", value);
}

/* A scalar below n by names: text(n, buf, "metadata", "name", NULL) */
static struct rs_value *below(struct rs_value *n, const char *first, const char *second,
			      const char *third)
{
	n = rs_document_member(n, first);
	n = n && second ? rs_document_member(n, second) : n;
	return n && third ? rs_document_member(n, third) : n;
}

static bool is_true(struct rs_value *n)
{
	char buf[16];

	return rs_document_text(n, buf, sizeof(buf)) && !strcmp(buf, "true");
}

/* A member's text as a fact, when it is there. */
static void member(struct state *s, struct rs_value *n, const char *key, const char *fact)
{
	char buf[TEXT];

	n = rs_document_member(n, key);
	if (rs_document_text(n, buf, sizeof(buf)) && *buf)
		put(s, n, fact, buf);
}

/* A list's texts, joined by commas. */
static void list(struct state *s, struct rs_value *n, const char *fact)
{
	char all[TEXT] = "", buf[256];
	struct rs_value *item;
	void *iter = NULL;

	if (!n || !rs_value_is_list(n))
		return;
	while ((item = rs_value_each(n, &iter)))
		if (rs_document_text(item, buf, sizeof(buf)))
			snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s",
				 *all ? "," : "", buf);
	if (*all)
		put(s, n, fact, all);
}

/* ---- Pods ---- */

static bool adds_ipc_lock(struct rs_value *container)
{
	struct rs_value *caps = below(container, "securityContext", "capabilities", "add"), *n;
	void *iter = NULL;
	char buf[64];

	if (!caps || !rs_value_is_list(caps))
		return false;
	while ((n = rs_value_each(caps, &iter)))
		if (rs_document_text(n, buf, sizeof(buf)) &&
		    (!strcmp(buf, "IPC_LOCK") || !strcmp(buf, "CAP_IPC_LOCK") ||
		     !strcmp(buf, "ALL")))
			return true;
	return false;
}

/* Extended resources: their names have a domain. Limits count; requests are the same for them. */
static void resources(struct state *s, struct rs_value *container)
{
	struct rs_value *limits = below(container, "resources", "limits", NULL);
	struct rs_pair *p;
	void *iter = NULL;
	char key[256], value[64], name[280];

	if (!limits || !rs_value_is_map(limits))
		limits = below(container, "resources", "requests", NULL);
	if (!limits || !rs_value_is_map(limits))
		return;
	while ((p = rs_value_each_pair(limits, &iter))) {
		struct rs_value *v = rs_pair_value(p);

		if (!rs_document_text(rs_pair_key(p), key, sizeof(key)) || !strchr(key, '/') ||
		    !rs_document_text(v, value, sizeof(value)))
			continue;
		snprintf(name, sizeof(name), "resource/%s", key);
		put(s, v, name, value);
	}
}

static void environment(struct state *s, struct rs_value *container)
{
	struct rs_value *env = rs_document_member(container, "env"), *n;
	void *iter = NULL;
	char name[128], value[512];

	if (!env || !rs_value_is_list(env))
		return;
	while ((n = rs_value_each(env, &iter)))
		if (rs_document_text(rs_document_member(n, "name"), name, sizeof(name)) &&
		    rs_document_text(rs_document_member(n, "value"), value, sizeof(value)) &&
		    !strncmp(name, "NCCL_", 5))
			rs_input_add(s->a, s->in, rs_document_line(n), NULL, "env", name, "%s",
				     value);
}

static void volumes(struct state *s, struct rs_value *spec)
{
	struct rs_value *all = rs_document_member(spec, "volumes"), *n, *empty;
	void *iter = NULL;
	char buf[128];

	if (!all || !rs_value_is_list(all))
		return;
	while ((n = rs_value_each(all, &iter))) {
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

static void pod(struct state *s, struct rs_value *meta, struct rs_value *spec, const char *name)
{
	struct rs_value *containers = rs_document_member(spec, "containers"), *n;
	bool locks = false, privileged = false;
	void *iter = NULL;
	char buf[TEXT];

	snprintf(s->subject, sizeof(s->subject), "k8s/pod/%s", name);
	put(s, containers, "pod", "1");
	while ((n = rs_value_each(containers, &iter))) {
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
	if (s->space)
		put(s, spec, "namespace", s->space);
	volumes(s, spec);
}

/* Whatever makes pods has their specification somewhere below: Deployment, Job, MPIJob, ... */
static void pods(struct state *s, struct rs_value *n, const char *name, unsigned depth)
{
	struct rs_value *spec = rs_document_member(n, "spec"), *child;
	struct rs_value *containers = rs_document_member(spec, "containers");
	struct rs_pair *p;
	void *iter = NULL;

	if (depth > DEPTH_MAX)
		return;
	if (containers && rs_value_is_list(containers)) {
		pod(s, rs_document_member(n, "metadata"), spec, name);
		return;
	}
	if (rs_value_is_map(n)) {
		while ((p = rs_value_each_pair(n, &iter))) {
			char key[128], deeper[256];

			child = rs_pair_value(p);
			if (!child || rs_value_is_scalar(child))
				continue;
			/* MPIJob: the replicas' names tell its launcher from its workers */
			if (rs_document_text(rs_pair_key(p), key, sizeof(key)) &&
			    strcmp(key, "spec") && rs_document_member(child, "template"))
				snprintf(deeper, sizeof(deeper), "%.120s/%s", name, key);
			else
				snprintf(deeper, sizeof(deeper), "%.255s", name);
			pods(s, child, deeper, depth + 1);
		}
	} else if (rs_value_is_list(n)) {
		while ((child = rs_value_each(n, &iter)))
			pods(s, child, name, depth + 1);
	}
}

/* ---- Networks, policies, plugins ---- */

static void nad(struct state *s, struct rs_value *n)
{
	struct rs_value *config = below(n, "spec", "config", NULL);
	struct rs_value *resource =
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

static void sriov_network(struct state *s, struct rs_value *n)
{
	struct rs_value *spec = rs_document_member(n, "spec");
	char buf[TEXT];

	member(s, spec, "resourceName", "resource");
	if (rs_document_text(rs_document_member(spec, "metaPlugins"), buf, sizeof(buf)) &&
	    strstr(buf, "\"rdma\""))
		put(s, spec, "rdma_cni", "1");
}

static void policy(struct state *s, struct rs_value *n)
{
	static const char *const known[] = {"isRdma", "deviceType",   "mtu",
					    "numVfs", "resourceName", "linkType"};
	struct rs_value *spec = rs_document_member(n, "spec");

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		member(s, spec, known[i], known[i]);
	list(s, below(spec, "nicSelector", "pfNames", NULL), "pfNames");
	list(s, below(spec, "nicSelector", "rootDevices", NULL), "rootDevices");
}

/* A member anywhere in mappings and lists below. */
static struct rs_value *find(struct rs_value *n, const char *key, unsigned depth)
{
	struct rs_value *found = rs_document_member(n, key), *child;
	struct rs_pair *p;
	void *iter = NULL;

	if (found || depth > DEPTH_MAX || !n)
		return found;
	if (rs_value_is_map(n))
		while (!found && (p = rs_value_each_pair(n, &iter)))
			found = find(rs_pair_value(p), key, depth + 1);
	else if (rs_value_is_list(n))
		while (!found && (child = rs_value_each(n, &iter)))
			found = find(child, key, depth + 1);
	return found;
}

/* The SR-IOV plugin's resourceList, or the shared device plugin's configList: JSON in a string. */
static void plugin(struct state *s, const char *text, struct rs_value *at)
{
	struct rs_input sub = *s->in;
	struct rs_document *d;
	struct rs_value *all, *n;
	void *iter = NULL;
	char buf[256];

	sub.data = text;
	sub.size = strlen(text);
	d = rs_document_parse(sub.data, sub.size);
	all = d ? find(rs_document_root(d), "resourceList", 0) : NULL;
	all = all || !d ? all : find(rs_document_root(d), "configList", 0);
	if (all && rs_value_is_list(all))
		while ((n = rs_value_each(all, &iter))) {
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
	rs_document_destroy(d);
}

static void config_map(struct state *s, struct rs_value *n)
{
	struct rs_value *data = rs_document_member(n, "data");
	struct rs_pair *p;
	void *iter = NULL;

	if (!data || !rs_value_is_map(data))
		return;
	while ((p = rs_value_each_pair(data, &iter))) {
		struct rs_value *v = rs_pair_value(p);
		char *text = malloc(65536);

		if (text && rs_document_text(v, text, 65536) &&
		    (strstr(text, "resourceList") || strstr(text, "rdmaHcaMax")))
			plugin(s, text, v);
		free(text);
	}
}

static void object(struct state *s, struct rs_value *n, unsigned depth)
{
	char kind[64], name[128] = "unnamed", space[64] = "default";
	struct rs_value *items = rs_document_member(n, "items"), *item;
	void *iter = NULL;

	if (!n || !rs_document_text(rs_document_member(n, "kind"), kind, sizeof(kind)))
		return;
	if (items && rs_value_is_list(items) && depth < DEPTH_MAX) {
		while ((item = rs_value_each(items, &iter)))
			object(s, item, depth + 1);
		return;
	}
	if (!rs_document_text(below(n, "metadata", "name", NULL), name, sizeof(name)))
		snprintf(name, sizeof(name), "unnamed");
	if (!rs_document_text(below(n, "metadata", "namespace", NULL), space, sizeof(space)))
		snprintf(space, sizeof(space), "default");
	s->space = below(n, "metadata", "namespace", NULL) ? space : NULL;
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
		/* the operator's webhook writes the resource into pods that join it */
		put(s, n, "injected", "1");
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
		struct rs_document *d;
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
			object(&s, rs_document_root(d), 0);
		rs_document_destroy(d);
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
	.begins = (const char *const[]){"apiVersion: ", NULL},
};

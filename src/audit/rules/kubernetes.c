/* Checks of RDMA in Kubernetes: capabilities, device resources, networks, SR-IOV policies, virtual
 * functions, placement. Documents of Multus, the SR-IOV network operator and rdma-cni. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/facts/look.h"
#include "audit/rules/rule.h"

typedef void each_subject(struct rs_audit *a, const struct rs_rule *r, const char *host,
			  const char *subject);

static void each(struct rs_audit *a, const struct rs_rule *r, const char *prefix,
		 each_subject *judge)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i), *s;
		uint32_t at = 0;

		while ((s = rs_facts_subject(a->facts, &at, host, prefix)))
			judge(a, r, host, s);
	}
}

static bool says(const struct rs_audit *a, const char *host, const char *s, const char *name,
		 const char *value)
{
	const char *v = rs_facts_value(a->facts, host, s, name);

	return v && !strcmp(v, value);
}

/* A fact with this value under subjects that begin so, on any host: which one. */
static const struct rs_fact *anywhere(const struct rs_audit *a, const char *prefix,
				      const char *name, const char *value)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const struct rs_fact *f;
		uint32_t at = 0;

		while ((f = rs_facts_next(a->facts, &at, rs_facts_host(a->facts, i), prefix, name)))
			if (!strcmp(f->name, name) && (!value || !strcmp(f->value, value)))
				return f;
	}
	return NULL;
}

static const char *last_part(const char *resource)
{
	const char *slash = strrchr(resource, '/');

	return slash ? slash + 1 : resource;
}

/* Is this an RDMA device's resource? By a policy or plugin that makes it, else by its name. */
static bool is_rdma(const struct rs_audit *a, const char *resource)
{
	static const char *const words[] = {"rdma", "roce",       "hca", "mlnx",
					    "mlx",  "infiniband", "_ib", "nvidia.com/hostdev"};
	static const char *const makers[] = {"k8s/policy/", "k8s/plugin/"};
	const char *own = last_part(resource);

	if (!strncmp(resource, "nvidia.com/gpu", 14) || !strncmp(resource, "nvidia.com/mig", 14) ||
	    !strncmp(resource, "amd.com/gpu", 11))
		return false;
	for (unsigned i = 0; i < 2; i++) {
		const struct rs_fact *f = anywhere(a, makers[i], "resourceName", own);

		if (f)
			return says(a, f->host, f->subject, "isRdma", "true");
	}
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcasestr(resource, words[i]))
			return true;
	return false;
}

/* How many RDMA devices a pod asks for. */
static int64_t devices(const struct rs_audit *a, const char *host, const char *pod,
		       const struct rs_fact **some)
{
	const struct rs_fact *f;
	int64_t n = 0;
	uint32_t at = 0;

	*some = NULL;
	while ((f = rs_facts_next(a->facts, &at, host, pod, "resource/")))
		if (!strcmp(f->subject, pod) && f->numeric && is_rdma(a, f->name + 9)) {
			n += f->number;
			*some = f;
		}
	return n;
}

/* A resource of a plugin whose name does not say what it is: "nvidia.com/nics". */
static const struct rs_fact *unnamed(const struct rs_audit *a, const char *host, const char *pod)
{
	const struct rs_fact *f;
	uint32_t at = 0;

	while ((f = rs_facts_next(a->facts, &at, host, pod, "resource/")))
		if (!strcmp(f->subject, pod) && f->numeric && f->number > 0 &&
		    strchr(f->name + 9, '/') && !strstr(f->name, "/gpu") &&
		    !strstr(f->name, "/mig") && !is_rdma(a, f->name + 9))
			return f;
	return NULL;
}

/* Of k8s-rdma-shared-dev-plugin, by the prefix that it has unless told another: one gives all of a
 * node's devices. */
static bool is_shared(const struct rs_fact *resource)
{
	return resource && !strncmp(resource->name, "resource/rdma/", 14);
}

static int64_t gpus(const struct rs_audit *a, const char *host, const char *pod)
{
	return rs_look_number(a, host, pod, "resource/nvidia.com/gpu", 0) +
	       rs_look_number(a, host, pod, "resource/amd.com/gpu", 0);
}

enum { NETWORKS = 64 };

/* The names in the annotation: "ns/name@if, name" or JSON with "name". Calls for each; how many. */
struct network {
	char space[64], name[128];
};

/* own: the pod's namespace, which a name without one is in. */
static unsigned networks(const char *text, const char *own, struct network *out, unsigned most)
{
	char copy[4096], *save = NULL;
	unsigned n = 0;

	if (!text)
		return 0;
	snprintf(copy, sizeof(copy), "%s", text);
	if (strchr(copy, '{')) {
		for (char *p = copy; n < most && (p = strstr(p, "\"name\"")); p += 6) {
			snprintf(out[n].space, sizeof(out[n].space), "%s", own);
			n += sscanf(p, "\"name\" : \"%127[^\"]\"", out[n].name) == 1;
		}
		return n;
	}
	for (char *w = strtok_r(copy, ", \n", &save); w && n < most;
	     w = strtok_r(NULL, ", \n", &save)) {
		char *slash = strchr(w, '/');

		w[strcspn(w, "@")] = '\0';
		snprintf(out[n].space, sizeof(out[n].space), "%.*s", slash ? (int)(slash - w) : 63,
			 slash ? w : own);
		snprintf(out[n].name, sizeof(out[n].name), "%.127s", slash ? slash + 1 : w);
		n++;
	}
	return n;
}

/* The networks that a pod joins. */
static unsigned joined(const struct rs_audit *a, const char *host, const char *pod,
		       const struct rs_fact **annotation, struct network *out, unsigned most)
{
	const char *own = rs_facts_value(a->facts, host, pod, "namespace");

	*annotation = rs_facts_get(a->facts, host, pod, "networks");
	return networks(*annotation ? (*annotation)->value : NULL, own ? own : "default", out,
			most);
}

/* The definition of a network. NULL: none was given. */
static const struct rs_fact *find_nad(const struct rs_audit *a, const struct network *net)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		const struct rs_fact *f;
		char subject[256];

		snprintf(subject, sizeof(subject), "k8s/nad/%s/%s", net->space, net->name);
		f = rs_facts_get(a->facts, host, subject, "name");
		if (f)
			return f;
	}
	/* a namespace is often left to kubectl, the pod's or the definition's: the name is enough
	 * then */
	return anywhere(a, !strcmp(net->space, "default") ? "k8s/nad/" : "k8s/nad/default/", "name",
			net->name);
}

/* The resource that a network's definition takes; NULL: not known. */
static const char *resource_of(const struct rs_audit *a, const struct network *net)
{
	const struct rs_fact *nad = find_nad(a, net);

	return nad ? rs_facts_value(a->facts, nad->host, nad->subject, "resource") : NULL;
}

/* How many of a resource the pod asks for, by its own name or the last part of it. */
static int64_t asked_for(const struct rs_audit *a, const char *host, const char *pod,
			 const char *resource)
{
	const struct rs_fact *f;
	int64_t n = 0;
	uint32_t at = 0;

	while ((f = rs_facts_next(a->facts, &at, host, pod, "resource/")))
		if (!strcmp(f->subject, pod) && f->numeric &&
		    !strcmp(last_part(f->name + 9), last_part(resource)) && f->number > n)
			n = f->number;
	return n;
}

/* What the pod's limits are to have for its networks: each resource that is short, and how many
 * networks take it. "": nothing is short, or no network's resource is known. */
static const char *short_of(struct rs_audit *a, const char *host, const char *pod,
			    const struct network *net, unsigned n)
{
	const char *out = "";

	for (unsigned i = 0; i < n; i++) {
		const char *resource = resource_of(a, &net[i]);
		unsigned want = 0;
		bool before = false;

		for (unsigned k = 0; resource && k < n; k++) {
			const char *other = resource_of(a, &net[k]);

			if (!other || strcmp(other, resource))
				continue;
			before |= k < i;
			want++;
		}
		if (!resource || before || asked_for(a, host, pod, resource) >= want)
			continue;
		out = rs_audit_text(a, "%s%s%s: %u", out, *out ? ", " : "", resource, want);
	}
	return out;
}

/* The lines that the pod lacks; placeholders for networks that were not given. */
static void fix_limits(struct rs_audit *a, struct rs_finding *f, const char *host, const char *pod,
		       const struct network *net, unsigned n)
{
	const char *more = short_of(a, host, pod, net, n);

	for (unsigned i = 0; i < n; i++)
		if (!resource_of(a, &net[i]))
			more = rs_audit_text(a, "%s%s<the resourceName of network %s>: 1", more,
					     *more ? ", " : "", net[i].name);
	rs_finding_fix(a, f, pod + 4, true, "the pod's restart", NULL,
		       "resources: {requests: {%s}, limits: {%s}}  # beside those that are there",
		       more, more);
}

/* ---- K01 ---- */

/* Does anything say that memory could not be locked or registered, or how little may be? */
static bool lock_failed(const struct rs_audit *a)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		const struct rs_fact *limit = rs_facts_get(a->facts, host, "host", "memlock");

		if ((limit && limit->numeric && limit->number < INT64_C(1) << 30) ||
		    rs_look_any(a, host, "message", "verbs-register") ||
		    rs_look_any(a, host, "message", "memlock") ||
		    rs_look_any(a, host, "said", "failure"))
			return true;
	}
	return false;
}

static void k01_pod(struct rs_audit *a, const struct rs_rule *r, const char *host, const char *pod)
{
	bool locks = says(a, host, pod, "ipc_lock", "1"),
	     all = says(a, host, pod, "privileged", "1");
	const struct rs_fact *some;
	struct rs_finding *f;
	bool failed;

	if (!devices(a, host, pod, &some))
		return;
	/* sites give all containers an unlimited limit in the runtime: a manifest alone is no proof
	 */
	failed = lock_failed(a);
	f = rs_finding_new(a, r, locks || all ? RS_PASS : RS_FAIL,
			   failed || locks || all ? RS_CRITICAL : RS_MINOR,
			   locks || all ? "the pod may lock memory"
			   : failed     ? "the pod uses RDMA devices and may not lock memory "
					  "(IPC_LOCK)"
					: "the pod uses RDMA devices without IPC_LOCK: it may lock "
					  "memory only where the runtime's own limit is unlimited");
	rs_finding_subject(a, f, host, pod + 4);
	rs_finding_fact(f, some);
	if (locks || all)
		return;
	rs_finding_why(a, f,
		       "registered memory is locked: without the capability, and without an "
		       "unlimited LimitMEMLOCK of the runtime, ibv_reg_mr fails");
	if (!failed) {
		rs_finding_need(a, f, "ulimit -l in the container",
				"whether the runtime's limit is unlimited");
		if (f)
			f->confidence = RS_MEDIUM;
	}
	rs_finding_fix(a, f, pod + 4, true, "the pod's restart", "remove the capability",
		       "securityContext: {capabilities: {add: [\"IPC_LOCK\"]}}");
	rs_finding_fix(a, f, "each node", true, "containerd's restart",
		       "remove LimitMEMLOCK from the unit",
		       "LimitMEMLOCK=infinity  # [Service] of containerd.service");
}

static void k01(struct rs_audit *a, const struct rs_rule *r)
{
	each(a, r, "k8s/pod/", k01_pod);
}

/* ---- K02 ---- */

static void k02_pod(struct rs_audit *a, const struct rs_rule *r, const char *host, const char *pod)
{
	const struct rs_fact *annotation, *some;
	struct network net[NETWORKS];
	unsigned n = joined(a, host, pod, &annotation, net, NETWORKS);
	int64_t have = devices(a, host, pod, &some);
	bool direct = says(a, host, pod, "host_network", "1") ||
		      rs_facts_get(a->facts, host, pod, "dev_infiniband");
	struct rs_finding *f;

	if (!gpus(a, host, pod) && !have)
		return;
	/* with the host's network and devices nothing needs to be asked for */
	if (direct && !n)
		f = rs_finding_new(a, r, RS_PASS, RS_CRITICAL,
				   "the pod has the host's own devices");
	else if (n && !have && (some = unnamed(a, host, pod)))
		f = rs_finding_new(
			a, r, RS_UNKNOWN, RS_CRITICAL,
			"the pod joins %u networks and asks for %s: is that their device?", n,
			some->name + 9);
	else if (n && have != n && !(have && is_shared(some)))
		f = rs_finding_new(a, r, RS_FAIL, RS_CRITICAL,
				   "the pod joins %u networks and asks for %lld RDMA devices", n,
				   (long long)have);
	else if (!n && !have)
		f = rs_finding_new(a, r, RS_UNKNOWN, RS_CRITICAL,
				   "a pod with GPUs asks for no RDMA device: by design?");
	else
		f = rs_finding_new(a, r, RS_PASS, RS_CRITICAL, "the pod asks for %lld RDMA devices",
				   (long long)have);
	rs_finding_subject(a, f, host, pod + 4);
	rs_finding_fact(f, some);
	rs_finding_fact(f, annotation);
	if (f && f->verdict == RS_UNKNOWN && n)
		rs_finding_need(a, f,
				"kubectl get net-attach-def,sriovnetworknodepolicies -A -o yaml",
				"which resource a network's devices are");
	else if (f && f->verdict == RS_UNKNOWN)
		rs_finding_need(a, f, "what the pod does",
				"a pod alone on its node needs no network of GPUs");
	if (!f || f->verdict != RS_FAIL)
		return;
	rs_finding_why(a, f,
		       "each network takes one virtual function: too few and the pod starts "
		       "without a rail, or NCCL falls back to sockets");
	/* more are asked for than networks are joined: the annotation is short */
	if (have > n && !*short_of(a, host, pod, net, n))
		return;
	fix_limits(a, f, host, pod, net, n);
}

/* A node that registers an RDMA resource and has none of it. */
static void k02_node(struct rs_audit *a, const struct rs_rule *r, const char *host,
		     const char *node)
{
	const struct rs_fact *zero;
	struct rs_finding *f;
	uint32_t at = 0;

	zero = rs_facts_next(a->facts, &at, host, node, "resource/");
	if (!zero)
		return;
	f = rs_finding_new(a, r, RS_FAIL, RS_CRITICAL, "a node offers no device of %s",
			   zero->name + strlen("resource/"));
	rs_finding_subject(a, f, host, NULL);
	rs_finding_fact(f, zero);
	rs_finding_why(
		a, f,
		"its device plugin registered the resource and found no device, or none that "
		"is healthy: selectors that match none, a driver that is not bound, "
		"/dev/infiniband without devices");
	rs_finding_need(a, f, "kubectl logs of the device plugin on that node; rdma link",
			"what it found");
}

static void k02(struct rs_audit *a, const struct rs_rule *r)
{
	each(a, r, "k8s/pod/", k02_pod);
	each(a, r, "k8s/node", k02_node);
}

/* ---- K03 ---- */

static const char *k03_network(struct rs_audit *a, const char *host, const char *pod,
			       const struct network *net, const struct rs_fact **nad)
{
	bool exclusive = anywhere(a, "host", "rdma_netns", "exclusive") != NULL;
	bool known = anywhere(a, "host", "rdma_netns", NULL) != NULL;
	const char *resource;
	bool chained;

	*nad = find_nad(a, net);
	if (!*nad)
		return rs_audit_text(a, "network %s/%s is not defined", net->space, net->name);
	resource = rs_facts_value(a->facts, (*nad)->host, (*nad)->subject, "resource");
	if (resource) {
		if (!asked_for(a, host, pod, resource) &&
		    !says(a, (*nad)->host, (*nad)->subject, "injected", "1"))
			return rs_audit_text(a,
					     "network %s takes %s, which the pod does not ask for",
					     net->name, resource);
	}
	chained = says(a, (*nad)->host, (*nad)->subject, "rdma_cni", "1");
	if (exclusive && !chained && resource && is_rdma(a, resource))
		return rs_audit_text(a,
				     "network %s does not chain the rdma plugin, and nodes have "
				     "exclusive namespaces",
				     net->name);
	if (known && !exclusive && chained)
		return rs_audit_text(a,
				     "network %s chains the rdma plugin, and nodes share "
				     "namespaces",
				     net->name);
	return NULL;
}

/* What the definition is to take: its own resource, else an RDMA one that the pod asks for. */
static const char *k03_resource(const struct rs_audit *a, const char *host, const char *pod,
				const struct rs_fact *nad)
{
	const char *own =
		nad ? rs_facts_value(a->facts, nad->host, nad->subject, "resource") : NULL;
	const struct rs_fact *f;
	uint32_t at = 0;

	if (own)
		return own;
	while ((f = rs_facts_next(a->facts, &at, host, pod, "resource/")))
		if (!strcmp(f->subject, pod) && is_rdma(a, f->name + 9))
			return f->name + 9;
	return "nvidia.com/<the device plugin's resource>";
}

static void k03_pod(struct rs_audit *a, const struct rs_rule *r, const char *host, const char *pod)
{
	const struct rs_fact *annotation, *nad = NULL;
	bool any = anywhere(a, "k8s/nad/", "name", NULL) != NULL;
	bool exclusive = anywhere(a, "host", "rdma_netns", "exclusive") != NULL;
	bool shared = !exclusive && anywhere(a, "host", "rdma_netns", NULL);
	struct network net[NETWORKS];
	unsigned n = joined(a, host, pod, &annotation, net, NETWORKS);
	const char *what = NULL, *resource;
	struct rs_finding *f;
	unsigned at = 0;

	if (!n)
		return;
	for (unsigned i = 0; i < n && any && !what; i++) {
		what = k03_network(a, host, pod, &net[i], &nad);
		at = i;
	}
	f = rs_finding_new(a, r,
			   !any   ? RS_UNKNOWN
			   : what ? RS_FAIL
				  : RS_PASS,
			   RS_CRITICAL, "%s",
			   !any   ? "the networks that the pod names were not given"
			   : what ? what
				  : "each network is defined, and its device asked for");
	rs_finding_subject(a, f, host, pod + 4);
	rs_finding_fact(f, annotation);
	rs_finding_fact(f, what ? nad : NULL);
	if (!any)
		rs_finding_need(a, f, "kubectl get network-attachment-definitions -A -o yaml",
				"whether they are there");
	if (!what)
		return;
	rs_finding_why(a, f,
		       "the pod does not start, or starts with an interface whose RDMA device "
		       "is not in its namespace");
	resource = k03_resource(a, host, pod, nad);
	/* the definition is right, and its device was not asked for */
	if (nad && *short_of(a, host, pod, &net[at], 1)) {
		fix_limits(a, f, host, pod, net, n);
		return;
	}
	if (nad && shared) {
		rs_finding_fix(a, f, "each node", true, "before any pod",
			       "rdma system set netns shared", "rdma system set netns exclusive");
		return;
	}
	if (nad) {
		rs_finding_fix(a, f, "the cluster", true, "pods that start later",
			       "the same, without it",
			       "kubectl -n %s edit net-attach-def %s  # spec.config: {\"type\": "
			       "\"rdma\"} behind the last of its plugins",
			       net[at].space, net[at].name);
		return;
	}
	rs_finding_fix(a, f, "the cluster", true, NULL,
		       rs_audit_text(a, "kubectl -n %s delete net-attach-def %s", net[at].space,
				     net[at].name),
		       "kubectl apply -f - <<'EOF'\n"
		       "apiVersion: k8s.cni.cncf.io/v1\n"
		       "kind: NetworkAttachmentDefinition\n"
		       "metadata:\n"
		       "  name: %s\n"
		       "  namespace: %s\n"
		       "  annotations: {k8s.v1.cni.cncf.io/resourceName: %s}\n"
		       "spec:\n"
		       "  config: '{\"cniVersion\": \"0.3.1\", \"name\": \"%s\", \"plugins\": "
		       "[{\"type\": \"sriov\", \"ipam\": {\"type\": \"whereabouts\"}}%s]}'\n"
		       "EOF",
		       net[at].name, net[at].space, resource, net[at].name,
		       exclusive ? ", {\"type\": \"rdma\"}" : "");
}

static void k03(struct rs_audit *a, const struct rs_rule *r)
{
	each(a, r, "k8s/pod/", k03_pod);
}

/* ---- K04 ---- */

/* "eth4#0-7" -> "eth4" */
static bool next_pf(const char **p, char *out, size_t size)
{
	size_t n = strcspn(*p, ",");

	if (!**p)
		return false;
	snprintf(out, size, "%.*s", (int)n, *p);
	out[strcspn(out, "#")] = '\0';
	*p += n + ((*p)[n] == ',');
	return true;
}

/* Does some network that chains rdma, or is called so, take this policy's resource? */
static bool meant_for_rdma(const struct rs_audit *a, const char *resource)
{
	for (uint32_t i = 0; resource && i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		const struct rs_fact *f;
		uint32_t at = 0;

		while ((f = rs_facts_next(a->facts, &at, host, "k8s/nad/", "resource")))
			if (!strcmp(last_part(f->value), resource) &&
			    says(a, host, f->subject, "rdma_cni", "1"))
				return true;
	}
	return resource && (strcasestr(resource, "rdma") || strcasestr(resource, "roce"));
}

static const char *k04_nodes(struct rs_audit *a, const char *pfs, int64_t vfs, int64_t mtu,
			     const struct rs_fact **fact)
{
	char pf[64], subject[80];

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i), *p = pfs;

		while (next_pf(&p, pf, sizeof(pf))) {
			int64_t most, own;

			snprintf(subject, sizeof(subject), "netdev/%s", pf);
			most = rs_look_number(a, host, subject, "sriov_totalvfs", -1);
			own = rs_look_number(a, host, subject, "mtu", -1);
			if (most >= 0 && vfs > most) {
				*fact = rs_facts_get(a->facts, host, subject, "sriov_totalvfs");
				return rs_audit_text(a,
						     "%lld virtual functions of %s, which has at "
						     "most %lld",
						     (long long)vfs, pf, (long long)most);
			}
			if (own > 0 && mtu > 0 && own != mtu) {
				*fact = rs_facts_get(a->facts, host, subject, "mtu");
				return rs_audit_text(a, "MTU %lld, and %s on %s has %lld",
						     (long long)mtu, pf, host, (long long)own);
			}
		}
	}
	return NULL;
}

/* What firmware tools call an interface's device. */
static const char *mft_of(struct rs_audit *a, const char *host, const char *netdev)
{
	const char *nic;
	uint32_t at = 0;

	while ((nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		const char *own = rs_facts_value(a->facts, host, nic, "netdev");

		if (own && !strcmp(own, netdev))
			return rs_look_mft(a, host, nic);
	}
	return "<device>";
}

/* What the NICs that the policy names have: the least of their limits, and their MTU. */
static void k04_fix(struct rs_audit *a, struct rs_finding *f, const char *policy,
		    const struct rs_fact *pfs, int64_t vfs)
{
	const char *name = strrchr(policy, '/') + 1, *p = pfs ? pfs->value : "";
	const char *short_of = NULL, *short_pf = "", *dev = "";
	int64_t most = vfs, mtu = 9000;
	char pf[64], subject[80];

	while (next_pf(&p, pf, sizeof(pf)))
		for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
			const char *host = rs_facts_host(a->facts, i);
			int64_t n;

			snprintf(subject, sizeof(subject), "netdev/%s", pf);
			n = rs_look_number(a, host, subject, "sriov_totalvfs", most);
			if (n < most) {
				most = n;
				short_of = host;
				short_pf = rs_audit_text(a, "%s", pf);
				dev = mft_of(a, host, pf);
			}
			mtu = rs_look_number(a, host, subject, "mtu", mtu);
		}
	rs_finding_fix(a, f, "the cluster", true, "the nodes' drain", NULL,
		       "kubectl -n sriov-network-operator patch sriovnetworknodepolicy %s --type "
		       "merge -p '{\"spec\": {\"isRdma\": true, \"deviceType\": \"netdevice\", "
		       "\"mtu\": %lld, \"numVfs\": %lld}}'",
		       name, (long long)mtu, (long long)most);
	if (most >= vfs || !short_of)
		return;
	/* or give the NIC as many */
	rs_finding_choice(f);
	rs_finding_fix(
		a, f, short_of, true, "reboot",
		rs_audit_text(a, "mlxconfig -d %s set NUM_OF_VFS=%lld", dev, (long long)most),
		"mlxconfig -d %s set SRIOV_EN=1 NUM_OF_VFS=%lld", dev, (long long)vfs);
	rs_finding_fix(a, f, short_of, false, "the functions there are now",
		       rs_audit_text(a, "echo %lld > /sys/class/net/%s/device/sriov_numvfs",
				     (long long)most, short_pf),
		       "echo %lld > /sys/class/net/%s/device/sriov_numvfs", (long long)vfs,
		       short_pf);
}

static void k04_policy(struct rs_audit *a, const struct rs_rule *r, const char *host,
		       const char *policy)
{
	const char *resource = rs_facts_value(a->facts, host, policy, "resourceName");
	const struct rs_fact *pfs = rs_facts_get(a->facts, host, policy, "pfNames"), *fact = NULL;
	const struct rs_fact *roots = rs_facts_get(a->facts, host, policy, "rootDevices");
	bool rdma = says(a, host, policy, "isRdma", "true"), meant = meant_for_rdma(a, resource);
	int64_t vfs = rs_look_number(a, host, policy, "numVfs", 0);
	int64_t mtu = rs_look_number(a, host, policy, "mtu", 0);
	const char *what = NULL;
	struct rs_finding *f;

	/* a policy for DPDK has neither */
	if (!rdma && !meant)
		return;
	if (!rdma)
		what = "isRdma is not true: pods get the interface without its RDMA device";
	else if (says(a, host, policy, "deviceType", "vfio-pci"))
		what = "deviceType vfio-pci takes the function from the RDMA driver";
	else if (pfs)
		what = k04_nodes(a, pfs->value, vfs, mtu, &fact);
	if (!what && !pfs && !roots) {
		f = rs_finding_new(a, r, RS_UNKNOWN, RS_CRITICAL,
				   "which NICs the policy means is not known");
		rs_finding_need(a, f, "nicSelector.pfNames or .rootDevices",
				"whether each rail is among them");
	} else {
		f = rs_finding_new(a, r, what ? RS_FAIL : RS_PASS, RS_CRITICAL, "%s",
				   what ? what : "the policy makes RDMA virtual functions");
	}
	rs_finding_subject(a, f, host, policy + 4);
	rs_finding_fact(f, rs_facts_get(a->facts, host, policy, "isRdma"));
	rs_finding_fact(f, rs_facts_get(a->facts, host, policy, "deviceType"));
	rs_finding_fact(f, pfs);
	rs_finding_fact(f, fact);
	if (what)
		k04_fix(a, f, policy, pfs, vfs);
}

static void k04(struct rs_audit *a, const struct rs_rule *r)
{
	each(a, r, "k8s/policy/", k04_policy);
}

/* ---- K05 ---- */

static void k05_netdev(struct rs_audit *a, const struct rs_rule *r, const char *host,
		       const char *netdev)
{
	const struct rs_fact *v;
	struct rs_finding *f = NULL;
	unsigned seen = 0;
	uint32_t at = 0;

	while ((v = rs_facts_next(a->facts, &at, host, netdev, "vf/"))) {
		enum rs_severity s = RS_MAJOR;
		const char *what = NULL, *fix = NULL;
		unsigned vf;

		if (strcmp(v->subject, netdev) || sscanf(v->name, "vf/%u/", &vf) != 1)
			continue;
		seen++;
		if (strstr(v->name, "/max_tx_rate") && v->numeric && v->number > 0)
			what = "is limited to a rate", fix = "max_tx_rate 0";
		else if (strstr(v->name, "/link_state") && !strcmp(v->value, "disable"))
			what = "has its link disabled", fix = "state auto";
		else if (strstr(v->name, "/trust") && !strcmp(v->value, "false"))
			what = "is not trusted", fix = "trust on", s = RS_MINOR;
		if (!what)
			continue;
		if (!f)
			f = rs_finding_new(a, r, RS_FAIL, s, "virtual function %u %s", vf, what);
		if (f && s > f->severity)
			f->severity = s;
		if (f && f->n_subjects < 1)
			rs_finding_subject(a, f, host, netdev + 7);
		rs_finding_fact(f, v);
		rs_finding_fix(a, f, host, false, NULL, NULL, "ip link set %s vf %u %s", netdev + 7,
			       vf, fix);
	}
	if (!seen && rs_look_number(a, host, netdev, "sriov_numvfs", 0) > 0) {
		f = rs_finding_new(a, r, RS_UNKNOWN, RS_MAJOR,
				   "what its host sets for virtual functions is not known");
		rs_finding_subject(a, f, host, netdev + 7);
		rs_finding_need(a, f, rs_audit_text(a, "ip -j -d link show %s", netdev + 7),
				"their link state, trust and rate limit");
	} else if (f)
		rs_finding_why(a, f,
			       "a pod's virtual function follows what its host sets; its "
			       "quality of service is the physical function's");
	else if (seen)
		rs_finding_subject(
			a,
			rs_finding_new(a, r, RS_PASS, RS_MAJOR,
				       "virtual functions are trusted, up and unlimited"),
			host, netdev + 7);
}

/* Fewer functions than a policy hands out: pods wait, or start without a rail. */
static void k05_fewer(struct rs_audit *a, const struct rs_rule *r, const char *host,
		      const char *netdev)
{
	const struct rs_fact *have = rs_facts_get(a->facts, host, netdev, "sriov_numvfs"), *pfs;
	struct rs_finding *f;
	char pf[64];

	if (!have || !have->numeric)
		return;
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *where = rs_facts_host(a->facts, i);
		uint32_t at = 0;

		while ((pfs = rs_facts_next(a->facts, &at, where, "k8s/policy/", "pfNames"))) {
			int64_t want = rs_look_number(a, where, pfs->subject, "numVfs", 0);
			const char *p = pfs->value;

			while (next_pf(&p, pf, sizeof(pf))) {
				if (strcmp(pf, netdev + 7) || have->number >= want)
					continue;
				f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
						   "%lld virtual functions, and policy %s hands "
						   "out %lld",
						   (long long)have->number,
						   strrchr(pfs->subject, '/') + 1, (long long)want);
				rs_finding_subject(a, f, host, netdev + 7);
				rs_finding_fact(f, have);
				rs_finding_fact(f, pfs);
				rs_finding_why(a, f, "pods beyond that wait for a device");
				rs_finding_fix(a, f, host, false, "the functions there are now",
					       rs_audit_text(a,
							     "echo %lld > /sys/class/net/%s/"
							     "device/sriov_numvfs",
							     (long long)have->number, pf),
					       "echo %lld > /sys/class/net/%s/device/sriov_numvfs",
					       (long long)want, pf);
				return;
			}
		}
	}
}

/* A virtual function of mlx5 has no GUID until an administrator's MAC or GUID is set and it is
 * bound anew: RDMA CM and the fabric know a device by it. */
static void k05_guid(struct rs_audit *a, const struct rs_rule *r, const char *host, const char *nic)
{
	const struct rs_fact *guid = rs_facts_get(a->facts, host, nic, "node_guid");
	const char *digits = guid ? guid->value + (strncmp(guid->value, "0x", 2) ? 0 : 2) : "";
	struct rs_finding *f;

	if (strncmp(nic, "nic/mlx", 7) || strlen(digits) < 16 ||
	    strspn(digits, "0:") != strlen(digits))
		return;
	f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR, "%s has no node GUID: it is all zeros",
			   nic + 4);
	rs_finding_subject(a, f, host, nic + 4);
	rs_finding_fact(f, guid);
	rs_finding_why(a, f,
		       "a virtual function has none until its MAC or GUID is set and its "
		       "driver is bound again: RDMA CM finds no device for its addresses, "
		       "and programs end");
	rs_finding_fix(
		a, f, host, false, "the virtual function", NULL,
		"ip link set PF vf N mac MAC; echo BDF > /sys/bus/pci/drivers/mlx5_core/unbind; "
		"echo BDF > /sys/bus/pci/drivers/mlx5_core/bind  # PF, N and BDF of %s",
		nic + 4);
}

/* The first policy that asks for virtual functions; NULL: none does. */
static const struct rs_fact *policy_of_functions(struct rs_audit *a)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const struct rs_fact *n;
		uint32_t at = 0;

		while ((n = rs_facts_next(a->facts, &at, rs_facts_host(a->facts, i), "k8s/policy/",
					  "numVfs")))
			if (n->numeric && n->number > 0)
				return n;
	}
	return NULL;
}

/* Firmware that makes none, where some are meant: by a policy, or by its own switch. */
static void k05_firmware(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const struct rs_fact *policy = policy_of_functions(a), *number, *on;
	struct rs_finding *f;
	uint32_t at = 0;

	while ((number = rs_facts_next(a->facts, &at, host, "", "config/NUM_OF_VFS"))) {
		const char *dev = strchr(number->subject, '/');

		dev = dev && strncmp(dev, "/unnamed", 8) ? dev + 1 : "<device>";
		on = rs_facts_get(a->facts, host, number->subject, "config/SRIOV_EN");
		if (!number->numeric || !on || !on->numeric || (number->number > 0 && on->number) ||
		    (!policy && !(on->number && !number->number)))
			continue;
		f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
				   "the firmware makes no virtual functions");
		rs_finding_subject(a, f, host, dev);
		rs_finding_fact(f, on);
		rs_finding_fact(f, number);
		rs_finding_fact(f, policy);
		rs_finding_why(a, f,
			       "the card offers as many as NUM_OF_VFS says, where SRIOV_EN is on");
		rs_finding_fix(a, f, host, true, "reboot",
			       rs_audit_text(a, "mlxconfig -d %s set SRIOV_EN=%lld NUM_OF_VFS=%lld",
					     dev, (long long)on->number, (long long)number->number),
			       "mlxconfig -d %s set SRIOV_EN=1 NUM_OF_VFS=%lld", dev,
			       policy ? (long long)policy->number : 8);
	}
}

static void k05(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		k05_firmware(a, r, rs_facts_host(a->facts, i));
	each(a, r, "netdev/", k05_fewer);
	each(a, r, "netdev/", k05_netdev);
	each(a, r, "nic/", k05_guid);
}

/* ---- K06 ---- */

/* "64Mi", "8Gi", "1G": MiB; -1: not understood, or no limit. */
static int64_t mib(const char *v)
{
	char *end;
	int64_t n = strtoll(v, &end, 10);

	if (end == v)
		return -1;
	return *end == 'G' ? n * 1024 : *end == 'M' ? n : *end == 'T' ? n << 20 : n >> 20;
}

static void k06_pod(struct rs_audit *a, const struct rs_rule *r, const char *host, const char *pod)
{
	enum { ENOUGH_MIB = 1024 };
	const struct rs_fact *shm = rs_facts_get(a->facts, host, pod, "shm");
	bool small = !shm || (mib(shm->value) >= 0 && mib(shm->value) < ENOUGH_MIB);
	struct rs_finding *f;

	if (gpus(a, host, pod) < 2 || says(a, host, pod, "host_ipc", "1"))
		return;
	f = rs_finding_new(a, r, small ? RS_FAIL : RS_PASS, RS_MINOR, "/dev/shm of the pod is %s",
			   shm ? shm->value : "the runtime's default (64 MiB)");
	rs_finding_subject(a, f, host, pod + 4);
	rs_finding_fact(f, shm);
	if (!small)
		return;
	rs_finding_why(a, f, "ranks of one host meet in shared memory: NCCL fails or falls back");
	rs_finding_fix(
		a, f, pod + 4, true, "the pod's restart", "remove the volume",
		"volumes: [{name: shm, emptyDir: {medium: Memory, sizeLimit: 8Gi}}]  # mounted "
		"at /dev/shm");
}

static void k06_kubelet(struct rs_audit *a, const struct rs_rule *r, const char *host,
			const char *kubelet)
{
	const struct rs_fact *p = rs_facts_get(a->facts, host, kubelet, "topology_manager");
	bool right =
		p && (!strcmp(p->value, "single-numa-node") || !strcmp(p->value, "restricted"));
	struct rs_finding *f =
		rs_finding_new(a, r, right ? RS_PASS : RS_FAIL, RS_MINOR,
			       "the kubelet's topology manager is %s", p ? p->value : "none");

	rs_finding_subject(a, f, host, NULL);
	rs_finding_fact(f, p);
	if (right)
		return;
	rs_finding_why(a, f, "a pod's GPUs and virtual functions may come from different sockets");
	rs_finding_fix(a, f, "each node", true, "the kubelet's restart, and its pods'",
		       "topologyManagerPolicy: none",
		       "topologyManagerPolicy: single-numa-node  # with cpuManagerPolicy: static");
}

/* Pods with GPUs and virtual functions, and no kubelet's configuration. */
static void k06_unseen(struct rs_audit *a, const struct rs_rule *r, const char *host,
		       const char *pod)
{
	const struct rs_fact *some;
	struct rs_finding *f;

	if (!gpus(a, host, pod) || !devices(a, host, pod, &some))
		return;
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		if (rs_look_any(a, rs_facts_host(a->facts, i), "k8s/kubelet", ""))
			return;
	f = rs_finding_new(a, r, RS_UNKNOWN, RS_MINOR,
			   "whether the pod's GPUs and virtual functions share a socket is not "
			   "known");
	rs_finding_subject(a, f, host, pod + 4);
	rs_finding_need(a, f, "/var/lib/kubelet/config.yaml of the nodes", "topologyManagerPolicy");
}

static void k06(struct rs_audit *a, const struct rs_rule *r)
{
	each(a, r, "k8s/pod/", k06_pod);
	each(a, r, "k8s/pod/", k06_unseen);
	each(a, r, "k8s/kubelet", k06_kubelet);
}

const struct rs_rule rs_rules_kubernetes[] = {
	{
		.id = "K01",
		.name = "memlock-capability",
		.severity = RS_CRITICAL,
		.criterion = "A pod with RDMA devices may lock memory.",
		.authority = "capabilities(7), CAP_IPC_LOCK; getrlimit(2), RLIMIT_MEMLOCK",
		.explain =
			"IPC_LOCK, or a privileged container, or an unlimited LimitMEMLOCK of the "
			"runtime. The node's limit is H05's.",
		.run = k01,
	},
	{
		.id = "K02",
		.name = "rdma-resource",
		.severity = RS_CRITICAL,
		.criterion = "A pod asks for as many RDMA devices as networks it joins.",
		.authority =
			"Kubernetes' extended resources; the SR-IOV and the RDMA shared device "
			"plugins",
		.explain = "Which resource is RDMA's, policies and plugins say; without them its "
			   "name. Pods on the host's network with /dev/infiniband need none.",
		.run = k02,
	},
	{
		.id = "K03",
		.name = "network-attachment",
		.severity = RS_CRITICAL,
		.criterion =
			"Each network that a pod names is defined, takes a resource that the pod "
			"asks for, and chains rdma where namespaces are exclusive.",
		.authority = "Multus (k8s.v1.cni.cncf.io/networks, resourceName); rdma-cni",
		.explain = "With `rdma system` in exclusive mode a device is seen in one network "
			   "namespace alone: rdma-cni moves it. In shared mode that plugin fails.",
		.run = k03,
	},
	{
		.id = "K04",
		.name = "sriov-policy",
		.severity = RS_CRITICAL,
		.criterion =
			"A policy for RDMA says isRdma and netdevice, with the NIC's MTU and no "
			"more functions than it has.",
		.authority = "SR-IOV network operator (SriovNetworkNodePolicy)",
		.explain = "vfio-pci is for DPDK and takes the function from the RDMA driver. "
			   "Policies "
			   "for DPDK are not looked at.",
		.run = k04,
	},
	{
		.id = "K05",
		.name = "vf",
		.severity = RS_MAJOR,
		.criterion = "Virtual functions are up, trusted and without a rate limit, and as "
			     "many as a policy hands out.",
		.authority = "ip-link(8), vf",
		.explain = "The host decides over a function's link, rate and trust; quality of "
			   "service is the physical function's: audit that.",
		.run = k05,
	},
	{
		.id = "K06",
		.name = "topology-manager",
		.severity = RS_MINOR,
		.criterion =
			"GPUs and virtual functions come from one socket, and /dev/shm has 1 GiB.",
		.authority = "Kubernetes' topology manager; NCCL's documentation (shared memory)",
		.explain = "single-numa-node or restricted. hostIPC makes a volume unnecessary.",
		.run = k06,
	},
	{0},
};

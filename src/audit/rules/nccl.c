/* Checks of NCCL's environment and log, by version; read in NCCL's tagged sources. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/look.h"
#include "audit/facts/nccl.h"
#include "audit/facts/message.h"
#include "audit/facts/word_list.h"
#include "audit/rules/message.h"
#include "audit/rules/nccl_env.h"
#include "audit/rules/rails.h"
#include "audit/rules/rule.h"

/* ---- N02 ---- */

/* Without a log: what the list, or NCCL's own choice of all that is up, would take. */
static void n02_devices(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const struct rs_fact *hca = rs_nccl_env(a, host, "NCCL_IB_HCA");
	const struct rs_fact *ib = NULL, *eth = NULL;
	const char *nic, *blind = NULL, *lists[2] = {"", ""};
	unsigned n[2] = {0, 0};
	struct rs_finding *x;
	uint32_t at = 0;

	if (!rs_nccl_env_seen(a, host))
		return;
	while ((nic = rs_facts_subject(a->facts, &at, host, "nic/"))) {
		const struct rs_fact *l = rs_facts_get(a->facts, host, nic, "link_layer");
		const char *state = rs_facts_value(a->facts, host, nic, "port_state");
		int k = l && !strcmp(l->value, "Ethernet");

		if (hca ? !rs_look_hca(hca->value, nic + 4)
			: state && strcasecmp(state, "ACTIVE") != 0)
			continue;
		if (!l) {
			blind = nic;
			continue;
		}
		*(k ? &eth : &ib) = l;
		lists[k] = rs_audit_text(a, "%s%s%s", lists[k], n[k]++ ? "," : "", nic + 4);
	}
	if (!n[0] && !n[1])
		return;
	if (n[0] && n[1]) {
		x = rs_finding_new(a, r, RS_FAIL, RS_CRITICAL,
				   "%s takes %u InfiniBand and %u RoCE devices",
				   hca ? "NCCL_IB_HCA" : "NCCL's own choice", n[0], n[1]);
		rs_finding_fix(a, x, "all hosts of the job", true, NULL,
			       hca ? rs_audit_text(a, "NCCL_IB_HCA=%s", hca->value)
				   : "unset NCCL_IB_HCA",
			       "NCCL_IB_HCA==%s", lists[n[1] > n[0]]);
	} else if (blind) {
		x = rs_finding_new(a, r, RS_UNKNOWN, RS_CRITICAL,
				   "the link layer of %s, which the job takes, is not known",
				   blind + 4);
		rs_finding_need(a, x, "ibstat, or /sys/class/infiniband/*/ports/1/link_layer",
				"whether all devices of the job are of one kind");
	} else {
		x = rs_finding_new(a, r, RS_PASS, RS_CRITICAL, "all %u devices are %s", n[0] + n[1],
				   n[0] ? "InfiniBand" : "RoCE");
	}
	rs_finding_subject(a, x, host, NULL);
	rs_finding_fact(x, ib);
	rs_finding_fact(x, eth);
	rs_finding_fact(x, hca);
}

/* Ranks of one log are of one job: their hosts' devices are of one link layer, too. */
static bool n02_across(struct rs_audit *a, const struct rs_rule *r)
{
	const struct rs_fact *ib = NULL, *roce = NULL;
	struct rs_finding *x;

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		const struct rs_fact *f;
		uint32_t at = 0;

		while ((f = rs_facts_next(a->facts, &at, host, "nccl", "using_layer/"))) {
			if (!strcmp(f->value, "IB") && (!roce || roce->file == f->file))
				ib = f;
			else if (!strcmp(f->value, "RoCE") && (!ib || ib->file == f->file))
				roce = f;
		}
	}
	if (!ib || !roce || ib->host == roce->host)
		return false;
	x = rs_finding_new(a, r, RS_FAIL, RS_CRITICAL,
			   "NCCL uses InfiniBand on %s and RoCE on %s, in one job", ib->host,
			   roce->host);
	rs_finding_subject(a, x, ib->host, NULL);
	rs_finding_subject(a, x, roce->host, NULL);
	rs_finding_fact(x, ib);
	rs_finding_fact(x, roce);
	rs_finding_why(a, x, "queue pairs of the one do not connect with the other");
	rs_finding_need(a, x, "ibstat, or rdma link, on both hosts",
			"which of their devices are on one network");
	return true;
}

static void n02(struct rs_audit *a, const struct rs_rule *r)
{
	if (n02_across(a, r))
		return;
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		const struct rs_fact *f, *ib = NULL, *roce = NULL, *hca;
		unsigned n_ib = 0, n_roce = 0;
		char list[1024] = "";
		const char *fewer;
		struct rs_finding *x;
		uint32_t at = 0;

		while ((f = rs_facts_next(a->facts, &at, host, "nccl", "using_layer/"))) {
			if (!strcmp(f->value, "IB")) {
				ib = f;
				n_ib++;
			} else if (!strcmp(f->value, "RoCE")) {
				roce = f;
				n_roce++;
			}
		}
		if (!n_ib && !n_roce) {
			n02_devices(a, r, host);
			continue;
		}
		if (!n_ib || !n_roce) {
			x = rs_finding_new(a, r, RS_PASS, RS_CRITICAL, "all %u devices are %s",
					   n_ib + n_roce, n_ib ? "InfiniBand" : "RoCE");
			rs_finding_subject(a, x, host, NULL);
			continue;
		}
		x = rs_finding_new(a, r, RS_FAIL, RS_CRITICAL,
				   "NCCL uses %u InfiniBand and %u RoCE devices in one job", n_ib,
				   n_roce);
		rs_finding_subject(a, x, host, NULL);
		rs_finding_fact(x, ib);
		rs_finding_fact(x, roce);
		/* the smaller group is the one that nobody meant */
		fewer = n_ib < n_roce ? "IB" : "RoCE";
		for (at = 0; (f = rs_facts_next(a->facts, &at, host, "nccl", "using_layer/"));) {
			char name[64];
			const char *dev;

			snprintf(name, sizeof(name), "using/%s", f->name + 12);
			dev = rs_facts_value(a->facts, host, "nccl", name);
			if (!dev || !strcmp(f->value, fewer))
				continue;
			snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
				 *list ? "," : "", dev);
		}
		rs_finding_why(a, x,
			       "a queue pair on InfiniBand and one on Ethernet cannot talk: the "
			       "job hangs or "
			       "falls back, depending on which rank picks which device");
		hca = rs_nccl_env(a, host, "NCCL_IB_HCA");
		rs_finding_fix(a, x, "all hosts of the job", true, NULL,
			       hca ? rs_audit_text(a, "NCCL_IB_HCA=%s", hca->value)
				   : "unset NCCL_IB_HCA",
			       "NCCL_IB_HCA==%s", list);
	}
}

/* ---- N07 ---- */

static void n07_qps(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	enum { MANY = 16 };
	const struct rs_fact *q = rs_facts_get(a->facts, host, "env", "NCCL_IB_QPS_PER_CONNECTION");
	const struct rs_fact *sw = NULL;
	int spray = rs_look_sprays(a, &sw);
	const char *what = NULL;
	struct rs_finding *f;

	if (!q || !q->numeric)
		return;
	if (q->number > MANY)
		what = "that many are more state than a NIC keeps at hand";
	else if (spray == 1 && q->number > 1)
		what = "the switches spray each packet: one queue pair is enough";
	else if (spray == 0 && strcmp(sw->value, "flowlet") != 0 && q->number < 2)
		what = "the switches hash by flow: a single flow a connection collides";
	f = rs_finding_new(a, r, what ? RS_FAIL : RS_PASS, RS_MINOR,
			   "%lld queue pairs a connection%s%s", (long long)q->number,
			   what ? ": " : "", what ? what : "");
	rs_finding_subject(a, f, host, NULL);
	rs_finding_fact(f, q);
	rs_finding_fact(f, what ? sw : NULL);
	if (what)
		rs_finding_fix(a, f, "all hosts of the job", true, NULL,
			       rs_audit_text(a, "NCCL_IB_QPS_PER_CONNECTION=%s", q->value),
			       "NCCL_IB_QPS_PER_CONNECTION=%d  # measure it", spray == 1 ? 1 : 4);
}

static void n07(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		const struct rs_fact *split =
			rs_facts_get(a->facts, host, "env", "NCCL_IB_SPLIT_DATA_ON_QPS");
		const struct rs_fact *seen;
		uint32_t version = rs_nccl_version(a, host, &seen);
		struct rs_finding *f;

		n07_qps(a, r, host);
		if (!split || !split->numeric)
			continue;
		if (split->number && (!version || version >= rs_nccl_make(2, 20, 3))) {
			f = rs_finding_new(
				a, r, version ? RS_FAIL : RS_UNKNOWN, RS_MAJOR,
				"NCCL_IB_SPLIT_DATA_ON_QPS=1, which is 0 by default since 2.20");
			rs_finding_why(
				a, f,
				"each message is cut over all queue pairs: every piece waits for "
				"the "
				"slowest, and there are that many more packets and completions");
			rs_finding_fix(a, f, "all hosts of the job", true, NULL,
				       "NCCL_IB_SPLIT_DATA_ON_QPS=1",
				       "unset NCCL_IB_SPLIT_DATA_ON_QPS");
			if (!version)
				rs_finding_need(a, f, "NCCL's log, or NCCL_VERSION",
						"which version reads it");
		} else {
			f = rs_finding_new(a, r, RS_PASS, RS_MAJOR,
					   "data is not split over queue pairs");
		}
		rs_finding_subject(a, f, host, NULL);
		rs_finding_fact(f, split);
		rs_finding_fact(f, seen);
	}
}

/* ---- N11 ---- */

/* Does the board join GPUs by NVLink, and how near are those that it does not? */
static void gpu_pairs(const struct rs_audit *a, const char *host, bool *nvlink, bool *pcie)
{
	const struct rs_fact *f;
	uint32_t at = 0;

	*nvlink = *pcie = false;
	while ((f = rs_facts_next(a->facts, &at, host, "topo", "distance/GPU"))) {
		if (!strstr(f->name + 9, "/GPU"))
			continue;
		*nvlink |= !strncmp(f->value, "NV", 2);
		*pcie |= !strcmp(f->value, "PIX") || !strcmp(f->value, "PXB");
	}
}

/* NCCL_P2P_LEVEL nearer than what the board offers: LOC forbids all, NVL what PCIe switches join.
 */
static void n11_level(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const struct rs_fact *v = rs_facts_get(a->facts, host, "env", "NCCL_P2P_LEVEL");
	bool nvlink, pcie, none, nvl;
	struct rs_finding *f;

	if (!v)
		return;
	gpu_pairs(a, host, &nvlink, &pcie);
	none = !strcmp(v->value, "LOC") || !strcmp(v->value, "0");
	nvl = !strcmp(v->value, "NVL");
	if (!nvlink && !pcie) {
		if (!none)
			return;
		f = rs_finding_new(a, r, RS_UNKNOWN, RS_MAJOR,
				   "NCCL_P2P_LEVEL=%s; what the board offers is not known",
				   v->value);
		rs_finding_need(a, f, "nvidia-smi topo -m", "how GPUs are joined");
	} else if (none || (nvl && pcie && !nvlink)) {
		f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
				   "NCCL_P2P_LEVEL=%s forbids what the board offers (%s)", v->value,
				   nvlink ? "NVLink" : "PCIe switches");
		rs_finding_fix(a, f, "all hosts of the job", true, NULL,
			       rs_audit_text(a, "NCCL_P2P_LEVEL=%s", v->value),
			       "unset NCCL_P2P_LEVEL");
	} else {
		f = rs_finding_new(a, r, RS_PASS, RS_MAJOR, "NCCL_P2P_LEVEL=%s fits the board",
				   v->value);
	}
	rs_finding_subject(a, f, host, NULL);
	rs_finding_fact(f, v);
}

static void n11(struct rs_audit *a, const struct rs_rule *r)
{
	static const char *const off[] = {"NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", NULL};

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);

		uint32_t before = a->n_findings;

		n11_level(a, r, host);
		for (unsigned k = 0; off[k]; k++) {
			const struct rs_fact *v = rs_facts_get(a->facts, host, "env", off[k]);
			struct rs_finding *f;

			if (!v || !v->numeric || !v->number)
				continue;
			/* shared memory matters only where NVLink or P2P does not reach */
			f = rs_finding_new(a, r, RS_FAIL, k ? RS_MINOR : RS_MAJOR, "%s=1", off[k]);
			rs_finding_subject(a, f, host, NULL);
			rs_finding_fact(f, v);
			rs_finding_why(a, f,
				       "transfers within the host leave the fastest way that the "
				       "board has");
			rs_finding_fix(a, f, "all hosts of the job", true, NULL,
				       rs_audit_text(a, "%s=1", off[k]), "unset %s", off[k]);
		}
		if (a->n_findings == before)
			rs_nccl_env_clean(a, r, host, RS_MAJOR,
					  "neither P2P nor shared memory is off");
	}
}

/* ---- N12 ---- */

#define OF_PEER "the peer's log of the same second", "what it met first"

static const struct {
	int status;
	const char *name, *hint, *need, *need_why;
} completions[] = {
	{1, "local length error", "a message longer than the receive buffer: the two ends differ",
	 OF_PEER},
	{2, "local queue pair operation error", "the library or its release: this NIC refuses it",
	 "dmesg -T; ethtool -i NETDEV, on both hosts", "what the driver says, and its releases"},
	{4, "local protection error",
	 "the GPU's memory cannot be reached by the NIC: ACS redirection, the "
	 "IOMMU or a missing nvidia_peermem",
	 "lspci -vvv | grep ACSCtl; lsmod | grep peermem; the same run with NCCL_NET_GDR_LEVEL=LOC",
	 "whether the way from NIC to GPU is at fault"},
	{5, "work request flushed", "a consequence: look for the first other error", NULL, NULL},
	{7, "bad response", "the peer's answer is none that fits: different releases, or a fault",
	 OF_PEER},
	{8, "local access error", "the memory's registration does not allow it", OF_PEER},
	{9, "remote invalid request", "the peer's queue pair was set up otherwise", OF_PEER},
	{10, "remote access error", "the peer's registration or its key", OF_PEER},
	{11, "remote operation error", "the peer could not do it: look at the peer's log", OF_PEER},
	{12, "transport retry counter exceeded",
	 "the path: MTU, GID, routing, or packets lost for good",
	 "show_gids; ping -I NETDEV PEER; ib_write_bw -d DEV, between the two hosts of the line",
	 "whether these two NICs reach each other"},
	{13, "RNR retry counter exceeded", "the receiver posts too slowly",
	 "ethtool -S NETDEV | grep -E 'rnr|out_of_buffer', on the peer",
	 "whether its receives run out"},
};

#undef OF_PEER

static const struct rs_fact *completion(const struct rs_audit *a, const char *host, bool flush)
{
	const struct rs_fact *e;
	uint32_t at = 0;

	while ((e = rs_facts_next(a->facts, &at, host, "nccl", "completion_error")))
		if (e->numeric && (e->number == 5) == flush)
			return e;
	return NULL;
}

/* What the line of a completion holds besides its status. */
static const struct rs_fact *beside(const struct rs_audit *a, const char *host,
				    const struct rs_fact *e, const char *name)
{
	const struct rs_fact *f;
	uint32_t at = rs_facts_seek(a->facts, host, "nccl");

	while ((f = rs_facts_next(a->facts, &at, host, "nccl", name)))
		if (f->line == e->line && !strcmp(f->file, e->file))
			return f;
	return NULL;
}

static unsigned alike(const struct rs_audit *a, const char *host, const struct rs_fact *e)
{
	const struct rs_fact *f;
	uint32_t at = rs_facts_seek(a->facts, host, "nccl");
	unsigned n = 0;

	while ((f = rs_facts_next(a->facts, &at, host, "nccl", "completion_error")))
		n += f->numeric && f->number == e->number;
	return n;
}

/* ", peer 10.0.0.2 (7 lines)" */
static const char *where(struct rs_audit *a, const char *host, const struct rs_fact *e)
{
	const struct rs_fact *peer = beside(a, host, e, "completion_peer");
	unsigned n = alike(a, host, e);

	return rs_audit_text(a, "%s%s%s", peer ? ", peer " : "", peer ? peer->value : "",
			     n > 1 ? rs_audit_text(a, " (%u lines)", n) : "");
}

static void n12_judge(struct rs_audit *a, const struct rs_rule *r, const char *host,
		      const struct rs_fact *e)
{
	const struct rs_fact *device = beside(a, host, e, "completion_device");
	struct rs_finding *f = NULL;

	for (unsigned k = 0; k < sizeof(completions) / sizeof(*completions); k++) {
		if (completions[k].status != e->number)
			continue;
		f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR, "completion error %d, %s%s",
				   completions[k].status, completions[k].name, where(a, host, e));
		rs_finding_why(a, f, "what to look at: %s", completions[k].hint);
		if (completions[k].need)
			rs_finding_need(a, f, completions[k].need, "%s", completions[k].need_why);
	}
	if (!f)
		f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR, "completion error %lld%s",
				   (long long)e->number, where(a, host, e));
	/* a flush alone is what another error left behind: it failed, and not here first */
	if (e->number == 5)
		rs_finding_need(a, f, "the logs of all ranks", "which rank's error came first");
	rs_finding_subject(a, f, host, device ? device->value : NULL);
	rs_finding_fact(f, beside(a, host, e, "completion_line"));
	rs_finding_fact(f, f && f->n_facts ? NULL : e);
	if (f)
		f->confidence = e->number == 5 ? RS_LOW : RS_MEDIUM;
}

static void n12(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		const struct rs_fact *connected = rs_message_fact(a, host, "message connected");
		const struct rs_fact *e = completion(a, host, false);
		struct rs_finding *f;

		e = e ? e : completion(a, host, true);
		if (e) {
			n12_judge(a, r, host, e);
		} else if (connected && !rs_message_fact(a, host, "message job-failed")) {
			f = rs_finding_new(
				a, r, RS_PASS, RS_MAJOR,
				"the ranks connected, and no completion in error followed");
			rs_finding_subject(a, f, host, NULL);
			rs_finding_fact(f, connected);
		}
	}
}

/* ---- N13 ---- */

/* NCCL's count of nodes against the hosts that its ranks need, a rank a GPU. */
static void n13_host(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const struct rs_fact *nodes = rs_facts_get(a->facts, host, "nccl", "nodes");
	const struct rs_fact *ranks = rs_facts_get(a->facts, host, "nccl", "ranks");
	struct rs_finding *f;
	unsigned gpus, n_islands = rs_rails_islands(a, host, &gpus);
	int64_t hosts;

	if (!nodes || !ranks || !nodes->numeric || !ranks->numeric || ranks->number < 1)
		return;
	if (!gpus) {
		f = rs_finding_new(a, r, RS_UNKNOWN, RS_MAJOR,
				   "NCCL counts %lld nodes for %lld ranks; how many GPUs a host "
				   "has is not known",
				   (long long)nodes->number, (long long)ranks->number);
		rs_finding_subject(a, f, host, NULL);
		rs_finding_fact(f, nodes);
		rs_finding_need(a, f, "nvidia-smi topo -m", "how many GPUs a host has");
		return;
	}
	hosts = (ranks->number + gpus - 1) / gpus;
	/* jobs may leave GPUs out: only whole hosts are counted, and only too many nodes are wrong
	 */
	if (ranks->number % gpus || nodes->number <= hosts) {
		f = rs_finding_new(a, r, RS_PASS, RS_MAJOR, "%lld nodes for %lld ranks",
				   (long long)nodes->number, (long long)ranks->number);
		rs_finding_subject(a, f, host, NULL);
		rs_finding_fact(f, nodes);
		return;
	}
	f = rs_finding_new(
		a, r, RS_FAIL, RS_MAJOR,
		"NCCL counts %lld nodes for %lld ranks, which fill %lld hosts of %u GPUs",
		(long long)nodes->number, (long long)ranks->number, (long long)hosts, gpus);
	rs_finding_subject(a, f, host, NULL);
	rs_finding_fact(f, nodes);
	rs_finding_fact(f, ranks);
	rs_finding_fact(f, rs_nccl_env(a, host, "NCCL_HOSTID"));
	if (n_islands > 1 && nodes->number == hosts * n_islands) {
		rs_finding_why(a, f,
			       "each of the %u NVLink islands of a host is counted as a node: "
			       "what they send each other leaves by the NICs",
			       n_islands);
		rs_finding_fix(a, f, "all hosts of the job", true, NULL,
			       "unset NCCL_NET_DISABLE_INTRA", "NCCL_NET_DISABLE_INTRA=1");
		return;
	}
	rs_finding_why(a, f,
		       "a host is split: containers of one host have different host ids, or its "
		       "GPUs cannot reach each other; traffic within it goes out");
	rs_finding_fix(a, f, host, true, NULL, "unset NCCL_HOSTID",
		       "NCCL_HOSTID=%s  # the same in all containers of a host", host);
	if (f)
		f->confidence = RS_MEDIUM;
}

/* The hosts of one log, by the names before its lines, are more than NCCL counts: they have one
 * host id (graph/utils: the host's name and boot id, or NCCL_HOSTID). */
static bool n13_fewer(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const struct rs_fact *nodes = rs_facts_get(a->facts, host, "nccl", "nodes"), *f;
	const char *other = NULL, *first = NULL;
	unsigned hosts = 0;
	struct rs_finding *x;

	if (!nodes || !nodes->numeric)
		return false;
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *name = rs_facts_host(a->facts, i);

		/* a name before lines of its own: what has no name is the file's */
		f = rs_facts_get(a->facts, name, "nccl", "nodes");
		if (!f || strcmp(f->file, nodes->file) || f->number != nodes->number)
			continue;
		hosts++;
		first = first ? first : name;
		other = strcmp(name, host) ? name : other;
	}
	if (!other || hosts <= nodes->number)
		return false;
	if (strcmp(first, host))
		return true; /* said of the first */
	x = rs_finding_new(a, r, RS_FAIL, RS_CRITICAL,
			   "NCCL counts %lld node%s, and the log is of %u hosts (%s, %s%s)",
			   (long long)nodes->number, nodes->number == 1 ? "" : "s", hosts, host,
			   other, hosts > 2 ? ", ..." : "");
	rs_finding_subject(a, x, host, NULL);
	rs_finding_subject(a, x, other, NULL);
	rs_finding_fact(x, nodes);
	rs_finding_fact(x, rs_nccl_env(a, host, "NCCL_HOSTID"));
	rs_finding_why(
		a, x,
		"hosts with one id are one to NCCL: their ranks look for each other in shared "
		"memory, and GPUs of one bus address count as one GPU");
	rs_finding_need(a, x, "hostname; cat /proc/sys/kernel/random/boot_id; echo $NCCL_HOSTID",
			"what two hosts have alike");
	return true;
}

static void n13(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++)
		if (!n13_fewer(a, r, rs_facts_host(a->facts, i)))
			n13_host(a, r, rs_facts_host(a->facts, i));
}

/* ---- N14 ---- */

/* A port that is up, or a device in NCCL's own list: RDMA could be used. */
static const struct rs_fact *usable_rdma(const struct rs_audit *a, const char *host)
{
	const struct rs_fact *f = rs_facts_get(a->facts, host, "nccl", "using/0");
	uint32_t at = 0;

	if (f)
		return f;
	while ((f = rs_facts_next(a->facts, &at, host, "nic/", "port_state")))
		if (!strcasecmp(f->value, "ACTIVE"))
			return f;
	at = 0;
	while ((f = rs_facts_next(a->facts, &at, host, "nic/", "link")))
		if (!strcmp(f->name, "link") && !strcmp(f->value, "Up"))
			return f;
	return NULL;
}

/* The ranks of a host take sockets, those of another one RDMA: they do not connect. */
static void n14_mixed(struct rs_audit *a, const struct rs_rule *r, const char *host,
		      const struct rs_fact *own, const struct rs_fact *other)
{
	const struct rs_fact *off = rs_nccl_env(a, host, "NCCL_IB_DISABLE");
	const struct rs_fact *none = rs_message_fact(a, host, "message no-device");
	bool disabled = off && off->numeric && off->number;
	bool plugin = strcmp(other->value, "IB") != 0;
	struct rs_finding *f = rs_finding_new(
		a, r, RS_FAIL, RS_CRITICAL, "NCCL takes sockets here and %s on %s, in one job%s",
		other->value, other->host,
		disabled ? ": NCCL_IB_DISABLE forbids RDMA"
		: plugin ? ": that host's network plugin is not used here"
			 : "");

	rs_finding_subject(a, f, host, NULL);
	rs_finding_fact(f, own);
	rs_finding_fact(f, other);
	rs_finding_fact(f, disabled ? off : none);
	rs_finding_why(a, f,
		       "each rank chooses its network by itself, and what one network's listener "
		       "sends another one's does not understand: the job hangs or fails as it "
		       "connects");
	if (disabled)
		rs_finding_fix(a, f, host, true, NULL,
			       rs_audit_text(a, "NCCL_IB_DISABLE=%s", off->value),
			       "unset NCCL_IB_DISABLE");
	else if (plugin)
		rs_finding_need(a, f, "ldconfig -p | grep libnccl-net; echo $LD_LIBRARY_PATH",
				"whether the plugin is in this host's image and on its path");
	else
		rs_finding_need(a, f, "ibv_devinfo, inside the container",
				"whether this host has RDMA devices, as the others do");
}

/* That a job is of several nodes is known from its launch, or from its list of ranks, alone. */
static bool of_launch(const struct rs_fact *meant)
{
	return meant && (!strcmp(meant->subject, "job") || !strncmp(meant->name, "test_rank/", 10));
}

static void n14_socket(struct rs_audit *a, const struct rs_rule *r, const char *host,
		       const struct rs_fact *socket)
{
	const struct rs_fact *off = rs_nccl_env(a, host, "NCCL_IB_DISABLE");
	const struct rs_fact *up = usable_rdma(a, host), *meant = rs_message_meant(a, host);
	bool disabled = off && off->numeric && off->number;
	struct rs_finding *f;

	/* sockets between nodes are by right where there is nothing else: the log must say that
	 * RDMA was looked for in vain */
	if (meant && !strcmp(meant->name, "via_socket") &&
	    !rs_message_fact(a, host, "message no-device") &&
	    !rs_message_fact(a, host, "message verbs-library"))
		meant = NULL;
	f = rs_finding_new(a, r, up || disabled || meant ? RS_FAIL : RS_UNKNOWN,
			   up || disabled || !of_launch(meant) ? RS_CRITICAL : RS_MAJOR,
			   "NCCL sends over TCP (NET/Socket)%s",
			   disabled ? ": NCCL_IB_DISABLE forbids RDMA"
			   : up     ? ", and RDMA devices are there"
			   : meant  ? ", and RDMA was meant"
				    : "");

	rs_finding_subject(a, f, host, NULL);
	rs_finding_fact(f, socket);
	rs_finding_fact(f, disabled ? off : up ? up : meant);
	rs_finding_fact(f, rs_message_fact(a, host, "message no-device"));
	rs_finding_why(a, f, "%s",
		       disabled ? "one variable turns RDMA off for the whole job"
				: "no RDMA device was usable: a missing libibverbs or "
				  "/dev/infiniband in the container, ports that are down, or a "
				  "list that names none");
	if (disabled)
		rs_finding_fix(a, f, "all hosts of the job", true, NULL,
			       rs_audit_text(a, "NCCL_IB_DISABLE=%s", off->value),
			       "unset NCCL_IB_DISABLE");
	else
		rs_finding_need(a, f, "NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=INIT,NET",
				"why NET/IB was not used");
	if (!up && !disabled)
		rs_finding_need(a, f, "ibv_devinfo, inside the container",
				"whether the job has RDMA devices at all");
}

/* What shows that a job is of several nodes, or was given RDMA devices: a log, a script, a pod. */
static const struct rs_fact *of_nodes(const struct rs_audit *a, const char *host)
{
	static const char *const of_rdma[] = {"rdma", "efa", "roce", "hca", "infiniband", "sriov"};
	const struct rs_fact *f = rs_message_nodes(a, host);
	uint32_t at = 0;

	if (f)
		return f;
	while ((f = rs_facts_next(a->facts, &at, host, "k8s/", "resource/")))
		for (unsigned i = 0; i < sizeof(of_rdma) / sizeof(*of_rdma); i++)
			if (strcasestr(f->name, of_rdma[i]))
				return f;
	return NULL;
}

/* How grave it is that a variable leaves RDMA out: a script's nodes alone may have no other
 * network. gpus: it is NCCL's, so the nodes are of GPUs.
 */
static enum rs_severity without_rdma(const struct rs_fact *up, const struct rs_fact *nodes,
				     bool gpus)
{
	if (up)
		return RS_CRITICAL;
	if (!nodes)
		return RS_INFO;
	if (!of_launch(nodes))
		return RS_CRITICAL;
	return gpus ? RS_MAJOR : RS_MINOR;
}

/* A plugin's variables say that another library than NCCL's own does the work. */
static bool by_plugin(const struct rs_audit *a, const char *host)
{
	return rs_facts_get(a->facts, host, "env", "FI_PROVIDER") ||
	       rs_message_fact(a, host, "env FI_EFA");
}

/* No transport of RDMA is in a list of UCX's, which does not leave out some alone. */
static bool ucx_without(const char *list)
{
	static const char *const with[] = {"rc", "dc", "ud", "ib", "all", "gga", "srd", "rdmacm"};
	char word[32];

	if (*list == '^' || strchr(list, '$'))
		return false;
	while (*list) {
		size_t n = strcspn(list, ",");

		snprintf(word, sizeof(word), "%.*s", (int)(n < 31 ? n : 31), list);
		word[strcspn(word, ":")] = '\0';
		for (unsigned i = 0; i < sizeof(with) / sizeof(*with); i++) {
			size_t m = strlen(with[i]);

			if (!strncasecmp(word, with[i], m) && (!word[m] || strchr("_xv", word[m])))
				return false;
		}
		list += n + (list[n] == ',');
	}
	return true;
}

static bool fi_without(const char *list)
{
	static const char *const without[] = {
		"tcp",         "sockets",         "udp",        "tcp;ofi_rxm", "net",
		"udp;ofi_rxd", "sockets;ofi_rxm", "ofi_rxm;tcp"};

	for (unsigned i = 0; i < sizeof(without) / sizeof(*without); i++)
		if (!strcasecmp(list, without[i]))
			return true;
	return false;
}

static bool is_on(const char *value)
{
	return !strcmp(value, "1") || !strcasecmp(value, "true") || !strcasecmp(value, "yes");
}

static bool is_zero(const char *value)
{
	return !strcmp(value, "0");
}

static bool is_socket(const char *value)
{
	return !strcasecmp(value, "socket");
}

/* Variables of other libraries that leave RDMA out. */
static const struct other {
	const char *name;
	bool (*without)(const char *value);
	bool plugin; /* of NCCL's own network: a plugin's variables say that it is not asked */
	bool beside; /* where NCCL does the work this library starts the ranks alone */
	bool part;   /* RDMA is left, and slower */
} others[] = {
	{"UCX_TLS", ucx_without, .plugin = true, .beside = true},
	{"FI_PROVIDER", fi_without, .plugin = false},
	{"MC_FORCE_TCP", is_on, .plugin = true},
	{"FI_EFA_USE_DEVICE_RDMA", is_zero, .part = true},
	{"NCCL_NET", is_socket, .plugin = true},
};

static void n14_other(struct rs_audit *a, const struct rs_rule *r, const char *host,
		      const struct other *o)
{
	const struct rs_fact *v = rs_facts_get(a->facts, host, "env", o->name);
	const struct rs_fact *up, *nodes;
	enum rs_severity severity;
	struct rs_finding *f;

	if (!v || !*v->value || !o->without(v->value))
		return;
	up = usable_rdma(a, host);
	nodes = of_nodes(a, host);
	/* transports of one host by name: a job of one host needs no more */
	if (!nodes && o->without == ucx_without &&
	    rs_word_list_has(v->value, "cuda_ipc|rocm_ipc", false))
		return;
	severity = without_rdma(up, nodes, !strncmp(o->name, "NCCL_", 5));
	if ((o->plugin && !up && by_plugin(a, host)) ||
	    (o->beside && rs_message_fact(a, host, "env NCCL_")))
		severity = RS_INFO;
	else if (o->part && severity != RS_INFO)
		severity = RS_MAJOR;
	f = rs_finding_new(a, r, RS_FAIL, severity, "%s=%.60s leaves RDMA out", o->name, v->value);
	rs_finding_subject(a, f, host, NULL);
	rs_finding_fact(f, v);
	rs_finding_fact(f, up);
	rs_finding_fact(f, nodes);
	rs_finding_why(
		a, f,
		"what goes to other nodes goes over TCP. On one machine alone, or where there "
		"is no RDMA network, it is by right");
	rs_finding_fix(a, f, "all hosts of the job", true, NULL,
		       rs_audit_text(a, "%s=%s", o->name, v->value), "unset %s", o->name);
	if (!f)
		return;
	f->confidence = up ? RS_HIGH : RS_MEDIUM;
	f->states_failure = severity == RS_MINOR; /* nobody can say that it is right */
}

/* Without a log: the variable alone, which matters where the same job sets up RDMA, or the host has
 * it. */
static void n14_forbidden(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	static const char *const asked[] = {"NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_IB_TC",
					    "NCCL_IB_TIMEOUT", "NCCL_IB_QPS_PER_CONNECTION"};
	const struct rs_fact *off = rs_facts_get(a->facts, host, "env", "NCCL_IB_DISABLE");
	const struct rs_fact *up = usable_rdma(a, host), *nodes = of_nodes(a, host);
	struct rs_finding *f;

	if (!off || !off->numeric || !off->number)
		return;
	for (unsigned i = 0; !up && i < sizeof(asked) / sizeof(*asked); i++)
		up = rs_facts_get(a->facts, host, "env", asked[i]);
	f = rs_finding_new(a, r, RS_FAIL,
			   !up && by_plugin(a, host) ? RS_INFO : without_rdma(up, nodes, true),
			   "NCCL_IB_DISABLE=%s turns RDMA off for the whole job", off->value);
	rs_finding_subject(a, f, host, NULL);
	rs_finding_fact(f, off);
	rs_finding_fact(f, up);
	rs_finding_fact(f, nodes);
	if (f)
		f->states_failure = f->severity == RS_MINOR;
	rs_finding_why(a, f,
		       "what goes to other nodes goes over TCP. On one machine alone, or where a "
		       "plugin brings its own network, it is by right");
	rs_finding_fix(a, f, "all hosts of the job", true, NULL,
		       rs_audit_text(a, "NCCL_IB_DISABLE=%s", off->value), "unset NCCL_IB_DISABLE");
}

static void n14(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		const struct rs_fact *socket = rs_facts_get(a->facts, host, "nccl", "via_socket");
		const struct rs_fact *ib = rs_facts_get(a->facts, host, "nccl", "via_ib_gdr");
		struct rs_finding *f;

		const struct rs_fact *net = rs_facts_get(a->facts, host, "nccl", "network");
		const struct rs_fact *other = net && !strcmp(net->value, "Socket")
						      ? rs_message_other_network(a, host, net)
						      : NULL;

		if (other) {
			n14_mixed(a, r, host, net, other);
			continue;
		}
		ib = ib ? ib : rs_facts_get(a->facts, host, "nccl", "via_ib");
		if (!socket && !ib && net && !strcmp(net->value, "Socket") &&
		    rs_message_meant(a, host))
			socket = net;
		if (!socket && !ib)
			n14_forbidden(a, r, host);
		for (unsigned k = 0; k < sizeof(others) / sizeof(*others); k++)
			n14_other(a, r, host, &others[k]);
		if (socket) {
			n14_socket(a, r, host, socket);
		} else if (ib) {
			f = rs_finding_new(a, r, RS_PASS, RS_CRITICAL, "NCCL sends by RDMA");
			rs_finding_subject(a, f, host, NULL);
			rs_finding_fact(f, ib);
		}
	}
}

const struct rs_rule rs_rules_nccl[] = {
	{
		.id = "N02",
		.name = "mixed-link-layer",
		.severity = RS_CRITICAL,
		.criterion = "All devices of a job have one link layer.",
		.authority = "NCCL's sources (net_ib.cc): devices are matched by number, not by "
			     "link layer",
		.explain = "A storage or management bond of the host is RoCE while the rails are "
			   "InfiniBand; unless "
			   "NCCL_IB_HCA leaves it out, NCCL takes it as one more rail. Write the "
			   "list with '=': a "
			   "name without it is a prefix, mlx5_1 takes mlx5_10 to mlx5_19.",
		.run = n02,
	},
	{
		.id = "N07",
		.name = "qps-and-split",
		.severity = RS_MAJOR,
		.criterion = "NCCL_IB_SPLIT_DATA_ON_QPS is not set to 1 on NCCL 2.20 and later.",
		.authority = "NCCL's sources: 1 in 2.18 and 2.19, 0 since 2.20.3",
		.explain = "More queue pairs give a hashing fabric more entropy; cutting each "
			   "message over them costs. "
			   "A fabric that sprays packets wants one queue pair.",
		.run = n07,
	},
	{
		.id = "N11",
		.name = "p2p-or-shm-off",
		.severity = RS_MAJOR,
		.criterion = "NCCL_P2P_DISABLE and NCCL_SHM_DISABLE are not set.",
		.authority = "NCCL's documentation of its environment",
		.explain = "Both are left behind by tests. Without P2P, GPUs of a host talk "
			   "through the CPU's memory.",
		.run = n11,
	},
	{
		.id = "N12",
		.name = "completion-errors",
		.severity = RS_MAJOR,
		.criterion = "No completion of a job ends in error.",
		.authority = "IBTA vol. 1 11.6.2 (completion return status); ibv_wc_status",
		.explain = "The number is ibv_wc_status: 12 points at the path, 4 at the access to "
			   "GPU memory, 13 at a "
			   "slow receiver; 5 is a consequence of another.",
		.run = n12,
	},
	{
		.id = "N13",
		.name = "nodes-count",
		.severity = RS_MAJOR,
		.criterion = "NCCL counts as many nodes as the job has hosts.",
		.authority = "NCCL's log (nNodes, nRanks); NCCL_HOSTID in its documentation",
		.explain = "NCCL takes ranks for one node when they share a host id and can reach "
			   "each other. A host of several NVLink islands, or containers with ids "
			   "of their own, count as several: X04 tells whether their rails reach "
			   "each other.",
		.run = n13,
	},
	{
		.id = "N14",
		.name = "socket-fallback",
		.severity = RS_CRITICAL,
		.criterion = "NCCL does not use NET/Socket where RDMA devices are there.",
		.authority = "NCCL's log (via NET/Socket)",
		.explain =
			"NCCL falls back to TCP without an error. The log's transport lines tell.",
		.run = n14,
	},
	{0},
};

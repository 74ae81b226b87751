/* Checks of which GPU is beside which NIC: by the tree or the matrix that was read, in a virtual
 * machine by the cloud's topology file. */
#include <stdio.h>
#include <string.h>
#include "audit/facts/look.h"
#include "audit/facts/nccl.h"
#include "audit/rules/pcie.h"

/* ---- P07 ---- */

enum { GPUS = 32, NICS = 64 };

static int distance_rank(const char *d)
{
	static const char *const order[] = {"X", "PIX", "PXB", "PHB", "NODE", "SYS"};

	for (int i = 0; i < 6; i++)
		if (!strcmp(d, order[i]))
			return i;
	return -1;
}

struct board {
	unsigned gpus, nics;
	int rank[GPUS][NICS];
	const struct rs_fact *fact[GPUS][NICS];
	char nic[NICS][64];
	bool used[NICS];
};

static const char *nic_of_column(const struct rs_audit *a, const char *host, const char *column)
{
	char name[96];
	const char *real;

	snprintf(name, sizeof(name), "nic_name/%s", column);
	real = rs_facts_value(a->facts, host, "topo", name);
	return real ? real : column;
}

/* The same of the PCI tree and the sockets, where all pairs are known. */
static void board_of_tree(const struct rs_audit *a, const char *host, struct board *b)
{
	const struct rs_fact *hca = rs_nccl_env(a, host, "NCCL_IB_HCA");
	const char *gpu, *nic;
	uint32_t at = 0;

	if (rs_look_guest(a, host))
		return;
	while (b->gpus < GPUS && (gpu = rs_facts_subject(a->facts, &at, host, "pci/"))) {
		uint32_t next = 0, own;

		if (strcmp(rs_look_kind(a, host, gpu), "gpu"))
			continue;
		b->nics = 0;
		while (b->nics < NICS && (nic = rs_facts_subject(a->facts, &next, host, "nic/"))) {
			char pci[160];
			int d;

			if (!rs_look_pci_of(a, host, nic, pci, sizeof(pci)))
				continue;
			d = rs_look_between(a, host, gpu, pci);
			if (d < 0) {
				b->gpus = b->nics = 0;
				return;
			}
			snprintf(b->nic[b->nics], sizeof(b->nic[0]), "%s", nic + 4);
			b->used[b->nics] = !hca || rs_look_hca(hca->value, nic + 4);
			b->rank[b->gpus][b->nics] = d;
			own = rs_facts_seek(a->facts, host, nic);
			b->fact[b->gpus][b->nics++] = rs_facts_next(a->facts, &own, host, nic, "");
		}
		b->gpus++;
	}
}

static void board_read(const struct rs_audit *a, const char *host, struct board *b)
{
	const struct rs_fact *hca = rs_nccl_env(a, host, "NCCL_IB_HCA"), *f;
	uint32_t at = 0;

	memset(b, 0, sizeof(*b));
	while ((f = rs_facts_next(a->facts, &at, host, "topo", "distance/GPU"))) {
		unsigned gpu, n = 0;
		char column[64];
		const char *nic;

		if (sscanf(f->name, "distance/GPU%u/%63s", &gpu, column) != 2 || gpu >= GPUS ||
		    !strncmp(column, "GPU", 3) || distance_rank(f->value) < 0)
			continue;
		nic = nic_of_column(a, host, column);
		while (n < b->nics && strcmp(b->nic[n], nic))
			n++;
		if (n == NICS)
			continue;
		if (n == b->nics) {
			snprintf(b->nic[b->nics++], sizeof(b->nic[0]), "%s", nic);
			/* columns without a legend cannot be told from the list: all count */
			b->used[n] =
				!hca || !strncmp(nic, "NIC", 3) || rs_look_hca(hca->value, nic);
		}
		b->rank[gpu][n] = distance_rank(f->value);
		b->fact[gpu][n] = f;
		if (gpu >= b->gpus)
			b->gpus = gpu + 1;
	}
	if (!b->gpus)
		board_of_tree(a, host, b);
}

/* Augmenting paths (Kuhn): can every GPU have a NIC of its own no farther than `most`? */
static bool assign(const struct board *b, unsigned gpu, int most, const bool *allowed, bool *seen,
		   int *of)
{
	for (unsigned n = 0; n < b->nics; n++) {
		if (!allowed[n] || seen[n] || !b->fact[gpu][n] || b->rank[gpu][n] > most)
			continue;
		seen[n] = true;
		if (of[n] < 0 || assign(b, (unsigned)of[n], most, allowed, seen, of)) {
			of[n] = (int)gpu;
			return true;
		}
	}
	return false;
}

/* The least distance at which all GPUs have a NIC; each a NIC of its own if there are enough. */
static int best(const struct board *b, const bool *allowed)
{
	unsigned nics = 0;

	for (unsigned n = 0; n < b->nics; n++)
		nics += allowed[n];
	for (int most = 1; most <= 5; most++) {
		unsigned done = 0;
		int of[NICS];

		memset(of, 0xff, sizeof(of));
		for (unsigned g = 0; g < b->gpus; g++) {
			bool seen[NICS] = {false}, shared = false;

			if (nics >= b->gpus) {
				done += assign(b, g, most, allowed, seen, of);
				continue;
			}
			for (unsigned n = 0; n < b->nics; n++)
				shared |= allowed[n] && b->fact[g][n] && b->rank[g][n] <= most;
			done += shared;
		}
		if (done == b->gpus)
			return most;
	}
	return 6;
}

static unsigned count_used(const struct board *b)
{
	unsigned n = 0;

	for (unsigned i = 0; i < b->nics; i++)
		n += b->used[i];
	return n;
}

/* The distance at which each GPU has some NIC, shared or not. */
static int shared_best(const struct board *b)
{
	int worst = 1;

	for (unsigned g = 0; g < b->gpus; g++) {
		int nearest = 6;

		for (unsigned n = 0; n < b->nics; n++)
			if (b->fact[g][n] && b->rank[g][n] < nearest)
				nearest = b->rank[g][n];
		worst = nearest > worst ? nearest : worst;
	}
	return worst;
}

/* The least distance of any GPU and NIC. */
static int nearest_of_all(const struct board *b)
{
	int nearest = 6;

	for (unsigned g = 0; g < b->gpus; g++)
		for (unsigned n = 0; n < b->nics; n++)
			if (b->fact[g][n] && b->rank[g][n] < nearest)
				nearest = b->rank[g][n];
	return nearest;
}

/* The board's NICs that are this near to some GPU, as a list. */
static const char *nearest_nics(struct rs_audit *a, const struct board *b, int most)
{
	const char *text = "";

	for (unsigned n = 0; n < b->nics; n++) {
		bool near = false;

		for (unsigned g = 0; g < b->gpus; g++)
			near |= b->fact[g][n] && b->rank[g][n] <= most;
		if (near)
			text = rs_audit_text(a, "%s%s%s", text, *text ? "," : "", b->nic[n]);
	}
	return text;
}

void pcie_p07(struct rs_audit *a, const struct rs_rule *r)
{
	static const char *const name[] = {"X", "PIX", "PXB", "PHB", "NODE", "SYS", "nothing"};

	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i);
		bool all[NICS];
		struct rs_finding *f;
		struct board b;
		int have, could;

		board_read(a, host, &b);
		if ((!b.gpus || !b.nics) && !rs_look_guest(a, host) && rs_look_has_gpu(a, host) &&
		    rs_look_has_rdma(a, host)) {
			f = rs_finding_new(a, r, RS_UNKNOWN, RS_MAJOR,
					   "how near GPUs and NICs are is not known");
			rs_finding_subject(a, f, host, NULL);
			rs_finding_need(a, f, "nvidia-smi topo -m, or lspci -tv",
					"whether each GPU uses the NIC next to it");
		}
		if (!b.gpus || !b.nics)
			continue;
		memset(all, true, sizeof(all));
		have = best(&b, b.used);
		could = best(&b, all);
		/* GPUs that share NICs could share nearer ones */
		if (count_used(&b) < b.gpus && shared_best(&b) < could)
			could = shared_best(&b);
		if (have > could) {
			f = rs_finding_new(
				a, r, RS_FAIL, RS_MAJOR,
				"the NICs in use are %s from some GPU; with all of the board's it "
				"would be %s",
				name[have], name[could]);
			rs_finding_why(a, f,
				       "NCCL uses GPUDirect RDMA up to PXB by default; farther, "
				       "data crosses "
				       "the CPU or the socket interconnect");
			rs_finding_fix(a, f, host, true, NULL,
				       rs_audit_text(a, "NCCL_IB_HCA=%s",
						     rs_nccl_env(a, host, "NCCL_IB_HCA")->value),
				       "NCCL_IB_HCA==%s", nearest_nics(a, &b, could));
		} else if (have == 5 && nearest_of_all(&b) == 5) {
			f = rs_finding_new(a, r, RS_FAIL, RS_MAJOR,
					   "each pair of a GPU and a NIC is on two sockets (SYS)");
			rs_finding_why(a, f,
				       "the cards stand at the wrong socket, or a guest or the "
				       "firmware hides where they are: NCCL does not use GPUDirect "
				       "RDMA at that distance");
			rs_finding_need(a, f,
					"lspci -tv; cat /sys/class/infiniband/*/device/"
					"numa_node",
					"where the cards are");
		} else if (have == 5 && nearest_of_all(&b) <= 2) {
			f = rs_finding_new(a, r, RS_FAIL, RS_MINOR,
					   "some GPUs have no NIC nearer than the other socket "
					   "(SYS), others have one at %s",
					   name[nearest_of_all(&b)]);
			rs_finding_why(a, f,
				       "the board or its cards decide it: those GPUs are slower "
				       "between hosts, and collectives wait for them");
		} else {
			f = rs_finding_new(a, r, RS_PASS, RS_MAJOR,
					   "each GPU has a NIC at %s or nearer%s", name[have],
					   have > 2 ? ", the best that the board offers" : "");
		}
		rs_finding_subject(a, f, host, NULL);
		rs_finding_fact(f, rs_nccl_env(a, host, "NCCL_IB_HCA"));
	}
}

/* ---- P08, P09 ---- */

/* What a cloud's daemon leaves where NCCL looks by itself: a fact out of it. */
static const struct rs_fact *cloud_file(const struct rs_audit *a, const char *host)
{
	const struct rs_fact *f;
	uint32_t at = 0;

	while ((f = rs_facts_next(a->facts, &at, host, "pci/", "")))
		if (strstr(f->file, "virtualTopology.xml"))
			return f;
	return NULL;
}

static void p09_judge(struct rs_audit *a, const struct rs_rule *r, const char *host,
		      const struct rs_fact *some, const char *what)
{
	const struct rs_fact *virtual = rs_facts_get(a->facts, host, "host", "virtual");
	struct rs_finding *f;

	if (rs_nccl_env(a, host, "NCCL_TOPO_FILE") || cloud_file(a, host)) {
		f = rs_finding_new(a, r, RS_PASS, RS_CRITICAL, "a flat guest with a topology file");
		rs_finding_subject(a, f, host, NULL);
		rs_finding_fact(f, rs_nccl_env(a, host, "NCCL_TOPO_FILE"));
		rs_finding_fact(f, cloud_file(a, host));
		return;
	}
	f = rs_finding_new(a, r, RS_FAIL, RS_CRITICAL, "%s, and there is no NCCL_TOPO_FILE", what);
	rs_finding_subject(a, f, host, NULL);
	rs_finding_why(a, f,
		       "a virtual machine hides the PCIe tree, so NCCL cannot pair GPUs with their "
		       "NICs and turns GPUDirect off. Link speeds that the guest shows for "
		       "emulated ports (2.5 GT/s x1) are cosmetic");
	rs_finding_fix(a, f, host, true, NULL, "unset NCCL_TOPO_FILE",
		       "NCCL_TOPO_FILE=<XML made from the bare-metal twin: NCCL_TOPO_DUMP_FILE>");
	rs_finding_choice(f);
	rs_finding_fix(a, f, "the hypervisor", true, "the guest's restart", NULL,
		       "give the guest NUMA cells and a pxb-pcie bus with switches a cell");
	rs_finding_fact(f, some);
	rs_finding_fact(f, virtual);
}

/* nvidia-smi's matrix of a guest: several GPUs and NICs, and all pairs are alike and far. */
static void p09_matrix(struct rs_audit *a, const struct rs_rule *r, const char *host)
{
	const struct rs_fact *f, *first = NULL;
	unsigned gpus = 0, pairs = 0, x;
	uint32_t at = 0;

	if (!rs_look_guest(a, host))
		return;
	while ((f = rs_facts_next(a->facts, &at, host, "topo", "distance/GPU"))) {
		char column[64];

		if (sscanf(f->name, "distance/GPU%u/%63s", &x, column) != 2 ||
		    !strncmp(column, "GPU", 3))
			continue;
		first = first ? first : f;
		gpus = x >= gpus ? x + 1 : gpus;
		pairs++;
		if (strcmp(f->value, first->value) || !strcmp(f->value, "PIX") ||
		    !strcmp(f->value, "PXB"))
			return;
	}
	if (!pairs && rs_look_has_gpu(a, host) && rs_look_has_rdma(a, host) &&
	    !rs_nccl_env(a, host, "NCCL_TOPO_FILE")) {
		struct rs_finding *u =
			rs_finding_new(a, r, RS_UNKNOWN, RS_CRITICAL,
				       "a guest with GPUs and NICs; what it sees of PCIe is not "
				       "known");

		rs_finding_subject(a, u, host, NULL);
		rs_finding_need(a, u, "lspci -tv, or nvidia-smi topo -m",
				"whether GPUs and NICs are below switches");
	}
	if (gpus < 2 || pairs < 2 * gpus)
		return;
	p09_judge(a, r, host, first,
		  rs_audit_text(a, "all %u pairs of GPUs and NICs of this guest are %s", pairs,
				first->value));
}

void pcie_p09(struct rs_audit *a, const struct rs_rule *r)
{
	for (uint32_t i = 0; i < rs_facts_hosts(a->facts); i++) {
		const char *host = rs_facts_host(a->facts, i), *pci;
		unsigned gpus = 0, nics = 0, flat = 0, without_node = 0;
		const struct rs_fact *virtual = rs_facts_get(a->facts, host, "host", "virtual");
		const struct rs_fact *some = NULL;
		uint32_t at = 0;

		while ((pci = rs_facts_subject(a->facts, &at, host, "pci/"))) {
			const char *k = rs_look_kind(a, host, pci);
			const struct rs_fact *above =
				rs_facts_get(a->facts, host, pci, "bridges_above");
			int64_t node;

			if (strcmp(k, "gpu") && strcmp(k, "nic"))
				continue;
			gpus += *k == 'g';
			nics += *k == 'n';
			/* one bridge is the root port: a switch is one more */
			if (above && above->numeric && above->number <= 1) {
				flat++;
				some = some ? some : above;
			}
			without_node += rs_facts_number(a->facts, host, pci, "numa_node", &node) &&
					node < 0;
		}
		if (!gpus && !nics)
			p09_matrix(a, r, host);
		if (!gpus || !nics || flat < gpus + nics)
			continue;
		/* bare metal shows NUMA nodes, or has a switch on the way; a guest shows neither */
		if (!virtual && without_node < gpus + nics)
			continue;
		p09_judge(a, r, host, some,
			  rs_audit_text(a,
					"%u GPUs and %u NICs on a flat PCI bus%s: no GPU shares a "
					"switch with a NIC",
					gpus, nics,
					without_node ? ", without NUMA nodes (-1)" : ""));
	}
}

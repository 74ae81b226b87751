/* What NCCL prints (NCCL_DEBUG=INFO), and `nvidia-smi topo -m`. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/place.h"
#include "audit/read/readers.h"

/* ---- NCCL's log ---- */

static void add(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l,
		const char *name, const char *value)
{
	rs_input_add(a, in, l->number, NULL, "nccl", name, "%s", value);
}

/* "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>" */
static void using(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l,
		  const char *p)
{
	int index, port, n;
	char dev[64], layer[16], name[32];

	while ((p = strchr(p, '['))) {
		n = sscanf(p, "[%d]%63[A-Za-z0-9_]:%d/%15[A-Za-z]", &index, dev, &port, layer);
		p++;
		if (n != 4)
			continue;
		snprintf(name, sizeof(name), "using/%d", index);
		rs_input_add(a, in, l->number, NULL, "nccl", name, "%s", dev);
		snprintf(name, sizeof(name), "using_layer/%d", index);
		add(a, in, l, name, layer);
	}
	if (strstr(l->text, "[RO]"))
		add(a, in, l, "relaxed_ordering", "1");
}

/* "... 7[3] -> 0[0] [receive] via NET/IB/0/GDRDMA" */
static void transport(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l,
		      const char *via)
{
	/* whatever carries it, a plugin's network too */
	if (!strncmp(via, "NET/", 4) && strstr(via, "/GDRDMA"))
		add(a, in, l, "via_ib_gdr", via);
	else if (!strncmp(via, "NET/IB/", 7))
		add(a, in, l, "via_ib", via);
	else if (!strncmp(via, "NET/Socket", 10))
		add(a, in, l, "via_socket", via);
}

/* "GPU Direct RDMA Disabled for GPU 18000 / HCA 0 (distance 5 > 4)": may this GPU use this NIC? */
static void gpu_direct(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l,
		       const char *p)
{
	char what[16], gpu[24], hca[24], name[64];

	if (sscanf(p, "GPU Direct RDMA %15[A-Za-z] for GPU %23[0-9a-fA-Fx] / HCA %23[0-9a-z_]",
		   what, gpu, hca) != 3)
		return;
	snprintf(name, sizeof(name), "gdr/%s/%s", gpu, hca);
	if (!strcmp(what, "Enabled") || !strcmp(what, "Disabled"))
		add(a, in, l, name, *what == 'E' ? "1" : "0");
}

static void number_after(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l,
			 const char *key, const char *fact)
{
	const char *p = strstr(l->text, key);
	char value[32];

	if (p && sscanf(p + strlen(key), " %31[0-9]", value) == 1)
		add(a, in, l, fact, value);
}

/* "Bootstrap : Using eth0:10.0.0.2<0>", "...; OOB eth0:10.0.0.2<0>": the address of this rank's
 * host. Hosts of one name, such as a cloud image's, differ in it. */
static void address(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	const char *p = strstr(l->text, "Bootstrap : Using ");
	char of[64], name[80];

	p = p ? p + 18 : (p = strstr(l->text, "; OOB ")) ? p + 6 : NULL;
	if (!p && (p = strstr(l->text, "Bootstrap: Using ")))
		p += 17;
	if (!p && (p = strstr(l->text, "NET/Socket : Using [0]"))) {
		p += 22;
		/* IP over InfiniBand: the host has a port for RDMA */
		if (!strncmp(p, "ib", 2) &&
		    (isdigit((unsigned char)p[2]) || p[2] == 'p' || p[2] == 's'))
			add(a, in, l, "ipoib", "1");
	}
	if (!p || sscanf(p, "%*31[^: <]:%63[0-9a-fA-F.:]<", of) != 1)
		return;
	snprintf(name, sizeof(name), "address/%s", of);
	add(a, in, l, name, "1");
}

/* "comm 0x5 rank 3 nranks 8": which ranks of a communicator this host's lines are of. */
static void rank_here(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	const char *p = strstr(l->text, " rank ");
	char name[32], ranks[16];
	unsigned rank;

	if (!p || sscanf(p, " rank %u nranks %15[0-9]", &rank, ranks) != 2 || rank > 65535)
		return;
	snprintf(name, sizeof(name), "rank/%u", rank);
	add(a, in, l, name, ranks);
}

static void log_line(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	char text[64];
	const char *p;

	if ((p = strstr(l->text, "NCCL version ")) && sscanf(p + 13, "%63[0-9.]", text) == 1)
		add(a, in, l, "version", text);
	if ((p = strstr(l->text, "NET/IB : Using ")))
		using(a, in, l, p);
	if ((p = strstr(l->text, " via ")) && strstr(l->text, " -> "))
		transport(a, in, l, p + 5);
	if ((p = strstr(l->text, "GPU Direct RDMA ")))
		gpu_direct(a, in, l, p);
	if ((p = strstr(l->text, "Using network ")))
		add(a, in, l, "network", p + 14);
	/* the next network is asked only where the one before had no device */
	if (strstr(l->text, "NET/Socket : Using [0]"))
		add(a, in, l, "network", "Socket");
	if (!strstr(l->text, " nRanks ") && strstr(l->text, "comm 0x")) {
		number_after(a, in, l, "nranks ", "ranks");
		rank_here(a, in, l);
	}
	number_after(a, in, l, " nNodes ", "nodes");
	if (strstr(l->text, " nRanks ")) {
		number_after(a, in, l, "localRanks ", "local_ranks");
		number_after(a, in, l, "nRanks ", "ranks");
	}
	if ((p = strstr(l->text, "Call to ibv_")) && strstr(l->text, "failed"))
		add(a, in, l, "verbs_failure", p + 8);
	/* a format is no value */
	if (strstr(l->text, "%s"))
		return;
	if ((p = strstr(l->text, " set by environment to ")) || (p = strstr(l->text, " set to "))) {
		/* "NCCL_IB_HCA set to mlx5" */
		const char *start = p;
		char name[96];
		size_t len;

		while (start > l->text && (isupper((unsigned char)start[-1]) ||
					   isdigit((unsigned char)start[-1]) || start[-1] == '_'))
			start--;
		snprintf(name, sizeof(name), "%.*s", (int)(p - start), start);
		p = strstr(p, " to ") + 4;
		len = strcspn(p, " ");
		/* the sentence's full stop: "eth0.100." has one of its own */
		len -= len && p[len - 1] == '.';
		if (!strncmp(name, "NCCL_", 5))
			rs_input_add(a, in, l->number, NULL, "env", name, "%.*s", (int)len, p);
	}
}

static bool line_nccl(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	bool own = strstr(l->text, "NCCL INFO") || strstr(l->text, "NCCL WARN") ||
		   strstr(l->text, "NCCL version ");

	if (own && in->marks && !(*in->marks & RS_MARK_NCCL_LOG)) {
		*in->marks |= RS_MARK_NCCL_LOG;
		add(a, in, l, "log", in->path);
	}
	if (own)
		address(a, in, l);
	log_line(a, in, l);
	return own;
}

const struct rs_reader rs_reader_nccl_log = {
	.name = "nccl-log",
	.what = "NCCL's own lines: version, devices in use, transports, nodes, errors",
	.trust = RS_TRUST_LOG,
	.line = line_nccl,
};

/* ---- nvidia-smi topo -m ---- */

enum { COLUMNS = 64 };

static bool is_header(const char *text)
{
	return strstr(text, "GPU0") && (strstr(text, "NIC0") || strstr(text, "mlx5_") ||
					strstr(text, "GPU1") || strstr(text, "CPU Affinity"));
}

static int score_topo(const struct rs_input *in)
{
	struct rs_line l = {0};

	while (rs_line_next(in, &l) && l.number < 40)
		if (is_header(l.text) && !strchr(l.text, ':'))
			return 85;
	return 0;
}

static bool is_distance(const char *w)
{
	static const char *const known[] = {"X", "PIX", "PXB", "PHB", "NODE", "SYS"};

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(w, known[i]))
			return true;
	return !strncmp(w, "NV", 2) && isdigit((unsigned char)w[2]);
}

static int read_topo(struct rs_audit *a, const struct rs_input *in)
{
	char *column[COLUMNS], header[4096] = "";
	struct rs_line l = {0};
	unsigned columns = 0;

	while (rs_line_next(in, &l)) {
		char *w[COLUMNS], subject[64], name[96], nic[64];
		unsigned n;

		if (!columns && is_header(l.text)) {
			memcpy(header, l.text, sizeof(header));
			columns = rs_line_words(header, column, COLUMNS);
			/* "CPU Affinity" and what follows are no devices */
			for (unsigned i = 0; i < columns; i++)
				if (!strcmp(column[i], "CPU"))
					columns = i;
			continue;
		}
		if (sscanf(l.text, "NIC%31[0-9]: %63[A-Za-z0-9_]", name, nic) == 2) {
			char legend[128];

			snprintf(legend, sizeof(legend), "nic_name/NIC%s", name);
			rs_input_add(a, in, l.number, NULL, "topo", legend, "%s", nic);
			continue;
		}
		n = rs_line_words(l.text, w, COLUMNS);
		if (n < 2 || !columns ||
		    (strncmp(w[0], "GPU", 3) && strncmp(w[0], "NIC", 3) &&
		     !rs_is_rdma_name(w[0])) ||
		    !is_distance(w[1]))
			continue;
		snprintf(subject, sizeof(subject), "topo");
		for (unsigned i = 1; i < n && i <= columns && is_distance(w[i]); i++) {
			snprintf(name, sizeof(name), "distance/%s/%s", w[0], column[i - 1]);
			rs_input_add(a, in, l.number, NULL, subject, name, "%s", w[i]);
		}
	}
	return a->err;
}

const struct rs_reader rs_reader_topo_m = {
	.name = "nvidia-smi-topo",
	.what = "nvidia-smi topo -m: how far GPUs and NICs are from each other",
	.trust = RS_TRUST_TOOL,
	.score = score_topo,
	.read = read_topo,
	.begins = (const char *const[]){" GPU0*GPU1", " GPU0*NIC0", " GPU0*CPU Affinity", NULL},
};

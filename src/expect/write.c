/* A test on a model as a description: audit/price writes hosts and network, this what is special to
 * a test: the pair of NICs that perftest uses, and the work. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "collective/collective.h"
#include "expect/state.h"
#include "host/build.h"

/* DEPTH: messages of a queue pair under way, perftest's default. */
enum { STREAM_BYTES = 8 << 20, SMALL = 65536, SMALL_MESSAGES = 1000, DEPTH = 128, PERIOD_US = 20 };

uint64_t expect_stream_bytes(uint64_t message)
{
	uint64_t bytes = message < SMALL ? SMALL_MESSAGES * message : STREAM_BYTES;

	return bytes < 4 * message ? 4 * message : bytes;
}

static bool above(const struct rs_host *h, int part, int below)
{
	for (int up = 0; below >= 0 && up < RS_PATH_HOPS_MAX; up++) {
		if (below == part)
			return true;
		below = h->parts[below].parent;
	}
	return false;
}

/* What perftest uses of a host: one NIC, the switches above it, the sockets. */
static struct rs_host *pair_host(struct rs_load *l, const struct expect_host *from)
{
	struct rs_host *h = rs_host_copy(l, from->inside);

	if (!h)
		return NULL;
	for (int i = 0; i < h->n_parts; i++)
		if (h->parts[i].kind != RS_PART_SOCKET && !above(h, i, from->nic))
			h->parts[i].kind = RS_PART_OTHER;
	h->n_xlinks = 0;
	for (int i = 0; i < from->inside->n_xlinks; i++)
		if (from->inside->xlinks[i].kind == RS_XLINK_SOCKET)
			h->xlinks[h->n_xlinks++] = from->inside->xlinks[i];
	return l->err ? NULL : h;
}

static void pair_work(const struct expect_run *r, FILE *out)
{
	unsigned long long size = r->bytes, stream = expect_stream_bytes(size);
	const char *memory = r->model->far ? "far" : "host";

	if (r->test == RS_EXPECT_MESSAGE) {
		fprintf(out,
			"  - {name: test, memory: %s, flows: [{src: 0, dst: 1, bytes: %lluB}]}\n",
			memory, size);
		return;
	}
	fprintf(out,
		"  - {name: test, memory: %s, op: %s, message: %lluB, depth: %d, qps: %u, flows: "
		"[{src: 0, dst: 1, bytes: %lluB}",
		memory, r->test == RS_EXPECT_READ ? "read" : "write", size, DEPTH, r->model->qps,
		stream);
	if (r->test == RS_EXPECT_BOTH)
		fprintf(out, ", {src: 1, dst: 0, bytes: %lluB}", stream);
	fputs("]}\n", out);
}

/* The first GPUs of each host. */
static void coll_ranks(const struct expect_model *m, uint32_t hosts, FILE *out)
{
	uint32_t first = 0, n = 0;

	fputs(", ranks: [", out);
	for (uint32_t i = 0; i < hosts && i < m->n; i++) {
		uint32_t own = 0;

		for (int k = 0; k < m->host[i].inside->n_parts; k++)
			own += m->host[i].inside->parts[k].kind == RS_PART_GPU;
		for (uint32_t g = 0; g < own && g < m->gpus; g++)
			fprintf(out, "%s%u", n++ ? ", " : "", first + g);
		first += own;
	}
	fputs("]", out);
}

static void coll_work(const struct expect_run *r, FILE *out)
{
	const struct expect_model *m = r->model;

	fprintf(out, "  - {name: test, collective: {op: %s, bytes: %lluB", rs_coll_op_name(r->op),
		(unsigned long long)r->bytes);
	if (m->gpus)
		coll_ranks(m, r->hosts, out);
	fprintf(out, "%s, nccl: {version: %s", m->staged ? ", memory: host" : "", m->version);
	fprintf(out, ", gpus_per_thread: %u", m->per_thread ? m->per_thread : 1);
	if (r->as_bytes)
		fprintf(out, ", as_bytes: %lluB", (unsigned long long)r->as_bytes);
	for (uint32_t i = 0; i < m->n_env; i++)
		fprintf(out, "%s%s: \"%s\"", i ? ", " : ", env: {", m->env[2 * i],
			m->env[2 * i + 1]);
	fputs(m->n_env ? "}}}}\n" : "}}}\n", out);
}

/* What else differs: READs under way, and a NIC that pauses its switch for a share of the time. */
static char *differs(const struct expect_model *m, const struct rs_cluster *c)
{
	char *text = NULL;
	size_t n = 0;
	FILE *out = m->paused > 0 || m->reads ? open_memstream(&text, &n) : NULL;
	uint32_t host = m->paused_host > 0 && (uint32_t)m->paused_host < c->n
				? (uint32_t)m->paused_host
				: 0;
	const struct rs_host *h = c->host[host].inside;

	if (!out)
		return NULL;
	if (m->reads)
		fprintf(out, "  transport: {max_rd_atomic: %u}\n", m->reads);
	if (m->paused > 0)
		fputs("  events:\n", out);
	for (int i = 0; i < h->n_parts && m->paused > 0; i++)
		if (h->parts[i].kind == RS_PART_NIC) {
			fprintf(out, "    - {at: 0ns, nic: \"%s-%u/%s\", ", c->host[host].name,
				host, h->parts[i].name);
			fprintf(out, "pause: %.0fns, every: %dus, times: 400}\n",
				m->paused * PERIOD_US * 1000, PERIOD_US);
			break;
		}
	fclose(out);
	return text;
}

static void most(struct rs_cluster *c)
{
	c->nics = c->gpus = 0;
	for (uint32_t i = 0; i < c->n; i++) {
		const struct rs_host *h = c->host[i].inside;
		uint32_t nics = 0, gpus = 0;

		for (int k = 0; k < h->n_parts; k++) {
			nics += h->parts[k].kind == RS_PART_NIC;
			gpus += h->parts[k].kind == RS_PART_GPU;
			if (h->parts[k].kind == RS_PART_NIC && h->parts[k].port_rate > c->rate)
				c->rate = h->parts[k].port_rate;
		}
		c->nics = nics > c->nics ? nics : c->nics;
		c->gpus = gpus > c->gpus ? gpus : c->gpus;
	}
	/* of one host alone, whose ports carry nothing */
	c->rate = c->rate ? c->rate : 100 * RS_GBPS;
}

/* InfiniBand's headers are shorter than RoCE's, which are simulated: its ports are as much faster.
 */
static void frame(struct rs_cluster *c, const struct expect_model *m, struct rs_load *l)
{
	for (uint32_t i = 0; i < c->n && m->framing != 1; i++) {
		c->host[i].inside = rs_host_copy(l, c->host[i].inside);
		for (int k = 0; c->host[i].inside && k < c->host[i].inside->n_parts; k++) {
			struct rs_part *p = &c->host[i].inside->parts[k];

			p->port_rate = (int64_t)((double)p->port_rate * m->framing / 1e6) * 1000000;
		}
	}
}

static int fill(const struct expect_run *r, struct rs_cluster *c, struct rs_load *l)
{
	const struct expect_model *m = r->model;
	bool pair = r->test != RS_EXPECT_COLLECTIVE;
	uint32_t n = pair ? 2 : r->hosts;

	*c = (struct rs_cluster){.n = n,
				 .mtu = m->mtu,
				 .lossless = m->loss <= 0,
				 .ecn = m->loss <= 0,
				 .whole = true,
				 .delay = m->delay,
				 .forward = m->forward > 0 ? m->forward : -1,
				 .loss = m->loss};
	for (uint32_t i = 0; i < n; i++) {
		const struct expect_host *h = &m->host[i];

		c->host[i].name = h->name;
		c->host[i].inside = pair ? pair_host(l, h) : h->inside;
		if (!c->host[i].inside)
			return l->err ? l->err : -ENOMEM;
	}
	frame(c, m, l);
	if (!l->err)
		most(c);
	return l->err;
}

int expect_write(const struct expect_run *r, FILE *out, struct rs_error *e)
{
	struct rs_arena *a = rs_arena_create(0);
	struct rs_load l = {.arena = a, .e = e};
	struct rs_cluster *c = calloc(1, sizeof(*c));
	char *work = NULL, *paused = NULL;
	size_t n = 0;
	FILE *w = open_memstream(&work, &n);
	int err = a && c && w ? 0 : -ENOMEM;

	if (!err && r->test == RS_EXPECT_COLLECTIVE)
		coll_work(r, w);
	else if (!err)
		pair_work(r, w);
	if (w && fclose(w))
		err = -ENOMEM;
	if (!err)
		err = fill(r, c, &l);
	if (!err) {
		c->work = work;
		c->more = paused = differs(r->model, c);
		err = rs_cluster_write(c, out);
	}
	if (err && !e->code)
		rs_error_set(e, err, "out of memory");
	free(paused);
	free(work);
	free(c);
	if (a)
		rs_arena_destroy(a);
	return err;
}

/*
 * Every algorithm against a slow twin: all ranks' steps run in a shuffled order over small buffers
 * whose elements are sets of contributors. A message keeps its slot until its receiver takes it.
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/random.h"
#include "collective/collective.h"
#include "describe/describe.h"

enum { RANKS_MAX = 64, SLOTS = 2 };

struct message {
	struct message *next;
	uint64_t bytes, offset;
	uint64_t data[];
};
struct queue {
	struct message *head, **tail;
	unsigned in_flight;
	uint64_t sent, received;
};
struct twin {
	const struct rs_coll *c;
	uint64_t n;             /* elements */
	uint64_t *buffer, *got; /* [rank][element]; got: all-to-all's output, by sender */
	uint64_t *lane;
	struct queue *q;
	uint64_t *bytes_sent;
};

static struct rs_arena *arena;

/* hosts of `gpus` ranks each, a NIC a GPU, nothing inside; the last may have fewer. */
static struct rs_fabric *make_fabric(uint32_t ranks, uint32_t gpus)
{
	struct rs_fabric *f = rs_arena_alloc(arena, 1, sizeof(*f));

	f->n_hosts = (ranks + gpus - 1) / gpus;
	f->n_gpus = f->n_endpoints = ranks;
	f->hosts = rs_arena_alloc(arena, f->n_hosts, sizeof(*f->hosts));
	f->endpoints = rs_arena_alloc(arena, ranks, sizeof(*f->endpoints));
	for (uint32_t h = 0; h < f->n_hosts; h++) {
		f->hosts[h].first_gpu = f->hosts[h].first_endpoint = h * gpus;
		f->hosts[h].n_gpus = ranks - h * gpus < gpus ? ranks - h * gpus : gpus;
		f->hosts[h].n_endpoints = f->hosts[h].n_gpus;
	}
	for (uint32_t i = 0; i < ranks; i++) {
		f->endpoints[i].host = i / gpus;
		f->endpoints[i].part = RS_NO_PART;
	}
	return f;
}

static void part(uint64_t n, uint64_t parts, uint64_t i, uint64_t *from, uint64_t *to)
{
	*from = i * (n / parts) + (i < n % parts ? i : n % parts);
	*to = *from + n / parts + (i < n % parts);
}

static uint32_t group_of(const struct rs_coll *c, uint32_t rank, uint32_t *member, uint32_t *size)
{
	uint32_t stride = c->conf.stride ? c->conf.stride : 1;
	uint32_t n = c->conf.group ? c->conf.group : c->n_ranks / stride;

	*member = rank % (stride * n) / stride;
	*size = n;
	return rank / (stride * n) * stride + rank % stride;
}

static uint64_t bit(uint32_t r)
{
	return UINT64_C(1) << r;
}

static void fill(struct twin *t)
{
	for (uint32_t r = 0; r < t->c->n_ranks; r++) {
		uint32_t m, size;
		uint64_t from = 0, to = t->n;

		group_of(t->c, r, &m, &size);
		if (t->c->conf.op == RS_COLL_ALL_GATHER)
			part(t->n, size, m, &from, &to);
		if (t->c->conf.op == RS_COLL_BROADCAST && m)
			to = 0;
		for (uint64_t i = from; i < to; i++)
			t->buffer[r * t->n + i] = bit(r);
	}
}

static void put(struct twin *t, const struct rs_step *s, unsigned k, uint32_t rank,
		const struct message *m)
{
	const struct rs_conn *conn = &t->c->conns[s->recv[k].conn];
	uint64_t type = t->c->conf.type_bytes;

	for (uint64_t i = 0; i < m->bytes / type; i++) {
		uint64_t *at = &t->buffer[rank * t->n + m->offset / type + i];

		if (t->c->conf.op == RS_COLL_ALL_TO_ALL) {
			t->got[rank * t->n + m->offset / type + i] += bit(conn->src);
		} else if (s->recv[k].reduce) {
			assert_int_equal(*at & m->data[i], 0);
			*at |= m->data[i];
		} else {
			*at = m->data[i];
		}
	}
}

static void take(struct twin *t, const struct rs_step *s, unsigned k, uint32_t rank)
{
	struct queue *q = &t->q[s->recv[k].conn];
	struct message *m = q->head;

	assert_int_equal(t->c->conns[s->recv[k].conn].dst, rank);
	assert_int_equal(m->bytes, s->recv[k].bytes);
	assert_int_equal(m->offset, s->recv[k].offset);
	put(t, s, k, rank, m);
	q->head = m->next;
	if (!q->head)
		q->tail = &q->head;
	q->in_flight--;
	q->received++;
	free(m);
}

static void give(struct twin *t, const struct rs_step *s, unsigned k, uint32_t rank)
{
	struct queue *q = &t->q[s->send[k].conn];
	uint64_t type = t->c->conf.type_bytes, n = s->send[k].bytes / type;
	struct message *m = malloc(sizeof(*m) + n * sizeof(m->data[0]));

	assert_non_null(m);
	assert_int_equal(t->c->conns[s->send[k].conn].src, rank);
	assert_true(s->send[k].bytes > 0);
	m->next = NULL;
	m->bytes = s->send[k].bytes;
	m->offset = s->send[k].offset;
	memcpy(m->data, &t->buffer[rank * t->n + m->offset / type], n * sizeof(m->data[0]));
	*q->tail = m;
	q->tail = &m->next;
	q->in_flight++;
	q->sent++;
	t->bytes_sent[rank] += m->bytes;
}

static bool try_step(struct twin *t, uint32_t rank, uint32_t lane)
{
	uint64_t *at = &t->lane[rank * t->c->n_lanes];
	struct rs_step s;

	if (at[lane] == t->c->n_steps(t->c, rank, lane))
		return false;
	t->c->step(t->c, rank, lane, at[lane], &s);
	for (unsigned k = 0; k < s.n_wait; k++) {
		assert_true(s.wait[k].count <= t->c->n_steps(t->c, rank, s.wait[k].lane));
		if (at[s.wait[k].lane] < s.wait[k].count)
			return false;
	}
	for (unsigned k = 0; k < s.n_recv; k++)
		if (!t->q[s.recv[k].conn].head)
			return false;
	for (unsigned k = 0; k < s.n_send; k++)
		if (t->q[s.send[k].conn].in_flight == t->c->window)
			return false;
	for (unsigned k = 0; k < s.n_recv; k++)
		take(t, &s, k, rank);
	for (unsigned k = 0; k < s.n_send; k++)
		give(t, &s, k, rank);
	at[lane]++;
	return true;
}

/* Until nobody could move in a whole round; who goes first differs every round. */
static void run_all(struct twin *t, struct rs_random *random)
{
	uint32_t n = t->c->n_ranks * t->c->n_lanes, idle = 0, i = 0;

	for (uint64_t turn = 0; idle < 2 * n; turn++) {
		if (turn % n == 0)
			i = rs_random_below(random, n);
		i = (i + 1) % n;
		idle = try_step(t, i / t->c->n_lanes, i % t->c->n_lanes) ? 0 : idle + 1;
	}
	for (uint32_t r = 0; r < t->c->n_ranks; r++)
		for (uint32_t l = 0; l < t->c->n_lanes; l++)
			assert_int_equal(t->lane[r * t->c->n_lanes + l], t->c->n_steps(t->c, r, l));
}

static void check_rank(const struct twin *t, uint32_t r)
{
	uint32_t m, size, x, ignored, group = group_of(t->c, r, &m, &size);
	uint64_t all = 0, first = 0, from = 0, to = t->n, a = 0, end = 0, own[RANKS_MAX];

	for (uint32_t k = t->c->n_ranks; k-- > 0;)
		if (group_of(t->c, k, &x, &ignored) == group) {
			all |= bit(k);
			first = bit(k);
			own[x] = bit(k);
		}
	if (t->c->conf.op == RS_COLL_REDUCE_SCATTER || t->c->conf.op == RS_COLL_ALL_TO_ALL)
		part(t->n, size, m, &from, &to);
	x = 0; /* whose share element i is of: shares follow one another */
	part(t->n, size, x, &a, &end);
	for (uint64_t i = from; i < to; i++) {
		uint64_t have = t->buffer[r * t->n + i], want = all;

		if (t->c->conf.op == RS_COLL_BROADCAST)
			want = first;
		if (t->c->conf.op == RS_COLL_ALL_TO_ALL) {
			have = t->got[r * t->n + i];
			want = all & ~bit(r);
		}
		if (t->c->conf.op == RS_COLL_ALL_GATHER) {
			while (i >= end)
				part(t->n, size, ++x, &a, &end);
			want = own[x];
		}
		assert_int_equal(have, want);
	}
}

static void run_twin(const struct rs_coll *c, uint64_t seed)
{
	struct rs_random random = rs_random_stream(seed, 0, 1);
	struct twin t = {.c = c, .n = c->conf.bytes / c->conf.type_bytes};

	t.buffer = calloc(c->n_ranks * t.n, sizeof(*t.buffer));
	t.got = calloc(c->n_ranks * t.n, sizeof(*t.got));
	t.lane = calloc((size_t)c->n_ranks * c->n_lanes, sizeof(*t.lane));
	t.q = calloc(c->n_conns, sizeof(*t.q));
	t.bytes_sent = calloc(c->n_ranks, sizeof(*t.bytes_sent));
	assert_true(t.buffer && t.got && t.lane && t.q && t.bytes_sent);
	for (uint32_t i = 0; i < c->n_conns; i++) {
		t.q[i].tail = &t.q[i].head;
		assert_int_not_equal(c->conns[i].src, c->conns[i].dst);
	}
	fill(&t);
	run_all(&t, &random);
	for (uint32_t i = 0; i < c->n_conns; i++)
		assert_int_equal(t.q[i].sent, t.q[i].received);
	for (uint32_t r = 0; r < c->n_ranks; r++) {
		check_rank(&t, r);
		assert_int_equal(t.bytes_sent[r], rs_coll_bytes_sent(c, r));
	}
	free(t.buffer);
	free(t.got);
	free(t.lane);
	free(t.q);
	free(t.bytes_sent);
}

static struct rs_coll *plan(uint32_t ranks, uint32_t gpus, const struct rs_collective_conf *conf)
{
	struct rs_error e = {0};
	struct rs_coll *c;

	if (rs_coll_plan(make_fabric(ranks, gpus), conf, arena, &c, &e))
		fail_msg("%s", e.what);
	return c;
}

static const uint32_t rank_counts[] = {2, 3, 4, 7, 8, 16, 64};
static const uint32_t gpu_counts[] = {1, 2, 4, 8};
#ifdef RS_SANITIZED
static const uint32_t sizes[] = {1, 5, 203}; /* the release build has the rest */
#else
static const uint32_t sizes[] = {1, 5, 64, 1037};
#endif

static void sweep(enum rs_coll_op op, enum rs_coll_algorithm algorithm, bool whole_hosts)
{
	struct rs_collective_conf conf = {
		.op = op, .algorithm = algorithm, .type_bytes = 4, .chunk = 20, .slots = SLOTS};

	for (unsigned n = 0; n < 7; n++)
		for (unsigned g = 0; g < 4; g++)
			for (unsigned s = 0; s < sizeof(sizes) / sizeof(*sizes); s++)
				for (conf.channels = 1; conf.channels < 4; conf.channels++) {
					if (whole_hosts && rank_counts[n] % gpu_counts[g])
						continue;
					conf.bytes = sizes[s] * UINT64_C(4);
					/* from the least that rings without slices need to NCCL's
					 */
					conf.slots = SLOTS + (n + s) % 3 * 3;
					run_twin(plan(rank_counts[n], gpu_counts[g], &conf), s);
				}
}

static void test_ring_all_reduce(void **state)
{
	sweep(RS_COLL_ALL_REDUCE, RS_ALGO_RING, false);
}

static void test_ring_reduce_scatter(void **state)
{
	sweep(RS_COLL_REDUCE_SCATTER, RS_ALGO_RING, false);
}

static void test_ring_all_gather(void **state)
{
	sweep(RS_COLL_ALL_GATHER, RS_ALGO_RING, false);
}

static void test_chain_broadcast(void **state)
{
	sweep(RS_COLL_BROADCAST, RS_ALGO_RING, false);
}

static void test_tree_all_reduce(void **state)
{
	sweep(RS_COLL_ALL_REDUCE, RS_ALGO_TREE, false);
}

static void test_tree_broadcast(void **state)
{
	sweep(RS_COLL_BROADCAST, RS_ALGO_TREE, false);
}

static void test_hierarchical_all_reduce(void **state)
{
	sweep(RS_COLL_ALL_REDUCE, RS_ALGO_HIERARCHICAL, true);
}

static void test_hierarchical_reduce_scatter(void **state)
{
	sweep(RS_COLL_REDUCE_SCATTER, RS_ALGO_HIERARCHICAL, true);
}

static void test_hierarchical_all_gather(void **state)
{
	sweep(RS_COLL_ALL_GATHER, RS_ALGO_HIERARCHICAL, true);
}

static void test_pairwise_all_to_all(void **state)
{
	sweep(RS_COLL_ALL_TO_ALL, RS_ALGO_PAIRWISE, false);
}

static struct rs_fabric *nccl_fabric(const char *host, unsigned hosts)
{
	struct rs_error e = {0};
	struct rs_fabric *f;
	char text[512];

	snprintf(text, sizeof(text),
		 "fabric: {hosts: [{name: h, count: %u, like: %s/%s}], network: "
		 "{kind: single-switch, rate: 400G}}",
		 hosts, RS_SOURCE_DIR "/tests/data", host);
	if (rs_fabric_load_text(text, strlen(text), "t.yaml", ".", NULL, 0, &f, &e))
		fail_msg("%s", e.what);
	return f;
}

/* ---- PAT ---- */

/* n hosts with a rank each; what links carry beside the data is taken off again. */
static struct rs_coll *pat_plan(struct rs_fabric *f, uint32_t n, enum rs_coll_op op, uint64_t bytes,
				const char *buffer)
{
	const char *env[] = {"NCCL_ALGO",     "pat",  "NCCL_PROTO",         "Simple",
			     "NCCL_BUFFSIZE", buffer, "NCCL_MAX_NCHANNELS", "2"};
	uint32_t gpu[RANKS_MAX];
	struct rs_collective_conf conf = {.op = op,
					  .algorithm = RS_ALGO_NCCL,
					  .bytes = bytes,
					  .gpu = gpu,
					  .n_ranks = n,
					  .nccl = {.n_env = 4, .env = env}};
	const char *algorithm, *protocol;
	struct rs_error e = {0};
	struct rs_coll *c;
	int channels;

	for (uint32_t r = 0; r < n; r++)
		gpu[r] = f->hosts[r].first_gpu;
	if (rs_coll_plan(f, &conf, arena, &c, &e))
		fail_msg("%s", e.what);
	assert_true(rs_coll_chosen(c, &algorithm, &protocol, &channels));
	assert_string_equal(algorithm, "PAT");
	/* of several peers a NIC has three quarters of its rate */
	assert_int_equal(c->net.num * 3, c->net.den * (n > 2 ? 4 : 3));
	c->net.den = 0;
	return c;
}

/* Messages of one share each: what everybody has at the end is right, of any number of ranks, with
 * the 8 steps that a connection's buffer has. */
static void test_pat_moves_all_shares(void **state)
{
	static const enum rs_coll_op ops[] = {RS_COLL_ALL_GATHER, RS_COLL_REDUCE_SCATTER};
	static const uint32_t ranks[] = {2, 3, 4, 5, 7, 9, 16, 33};
	struct rs_fabric *f = nccl_fabric("hosts/h100-8.xml", 33);

	for (unsigned n = 0; n < 8; n++)
		for (unsigned k = 0; k < 2; k++)
			for (uint64_t size = 300; size < 3000; size += 1800)
				run_twin(pat_plan(f, ranks[n], ops[k], 4 * size * ranks[n] + 12,
						  "8192"),
					 size);
	rs_fabric_free(f);
}

/* Small ones go together: log2(n) messages, each share once. */
static void test_pat_small_takes_log_messages(void **state)
{
	static const uint32_t ranks[] = {2, 3, 4, 6, 8, 11, 16, 32};
	struct rs_fabric *f = nccl_fabric("hosts/h100-8.xml", 32);

	for (unsigned n = 0; n < 8; n++)
		for (int op = 0; op < 2; op++) {
			uint32_t sent = 0, taken = 0, steps = 0;
			uint64_t bytes = 0;
			struct rs_coll *c = pat_plan(
				f, ranks[n], op ? RS_COLL_ALL_GATHER : RS_COLL_REDUCE_SCATTER,
				UINT64_C(64) * ranks[n], "4194304");
			struct rs_step s;

			for (uint64_t i = 0; i < c->n_steps(c, 1, 0); i++) {
				c->step(c, 1, 0, i, &s);
				for (unsigned k = 0; k < s.n_send; k++)
					bytes += s.send[k].bytes;
				sent += s.n_send;
				taken += s.n_recv;
			}
			while (1u << steps < ranks[n])
				steps++;
			assert_int_equal(sent, steps);
			assert_int_equal(taken, steps);
			assert_int_equal(bytes, UINT64_C(64) * (ranks[n] - 1));
		}
	rs_fabric_free(f);
}

/* Rings and trees as NCCL lays them; what links carry beside the data is taken off again. NVLS
 * reduces in the switches: there it is only run to its end. */
static void nccl_twin(struct rs_fabric *f, uint32_t ranks, uint32_t gpus, enum rs_coll_op op,
		      const char *algo, const char *proto, uint64_t elements)
{
	const char *env[] = {"NCCL_ALGO", algo, "NCCL_PROTO", proto};
	uint32_t gpu[RANKS_MAX];
	struct rs_collective_conf conf = {.op = op,
					  .algorithm = RS_ALGO_NCCL,
					  .bytes = elements * 4,
					  .nccl = {.version = "2.21.5", .n_env = 2, .env = env}};
	struct rs_error e = {0};
	struct rs_coll *c;

	for (uint32_t r = 0; r < ranks; r++)
		gpu[r] = f->hosts[r / gpus].first_gpu + r % gpus;
	conf.gpu = gpu;
	conf.n_ranks = ranks;
	if (rs_coll_plan(f, &conf, arena, &c, &e))
		fail_msg("%s", e.what);
	c->inside.den = c->net.den = 0;
	run_twin(c, ranks + elements);
}

/* Every operation, of several sizes, over so many GPUs of each host. */
static void nccl_twins(uint32_t ranks, uint32_t gpus)
{
	static const char *const protos[] = {"LL", "LL128", "Simple"};
#ifdef RS_SANITIZED
	static const uint64_t counts[] = {5003};
#else
	static const uint64_t counts[] = {1, 7, 1000, 40009};
#endif
	struct rs_fabric *f = nccl_fabric("hosts/h100-8.xml", ranks / gpus);

	for (unsigned s = 0; s < sizeof(counts) / sizeof(counts[0]); s++) {
		uint64_t n = counts[s];

		for (unsigned q = 0; q < 3; q++) {
			nccl_twin(f, ranks, gpus, RS_COLL_ALL_REDUCE, "ring", protos[q], n);
			nccl_twin(f, ranks, gpus, RS_COLL_ALL_REDUCE, "tree", protos[q], n);
		}
		nccl_twin(f, ranks, gpus, RS_COLL_ALL_TO_ALL, "ring", "Simple", n * ranks);
		nccl_twin(f, ranks, gpus, RS_COLL_BROADCAST, "ring", "Simple", n);
		nccl_twin(f, ranks, gpus, RS_COLL_ALL_GATHER, "ring", "Simple", n * ranks);
		nccl_twin(f, ranks, gpus, RS_COLL_REDUCE_SCATTER, "ring", "LL", n * ranks);
	}
	rs_fabric_free(f);
}

static void test_nccl_rings_and_trees(void **state)
{
	for (unsigned n = 0; n < 7; n++)
		for (unsigned g = 0; g < 4; g++)
			if (rank_counts[n] % gpu_counts[g] == 0 && rank_counts[n] <= 16)
				nccl_twins(rank_counts[n], gpu_counts[g]);
}

/* ---- What NCCL's operations cost ---- */

static struct rs_coll *nccl_plan(const struct rs_fabric *f, struct rs_collective_conf conf)
{
	struct rs_error e = {0};
	struct rs_coll *c;

	conf.algorithm = RS_ALGO_NCCL;
	if (rs_coll_plan(f, &conf, arena, &c, &e))
		fail_msg("%s", e.what);
	return c;
}

static const char *chosen(const struct rs_coll *c, const char **protocol)
{
	const char *algorithm;
	int channels;

	assert_true(rs_coll_chosen(c, &algorithm, protocol, &channels));
	return algorithm;
}

/* Time of a lane's busiest step, and of its first: the start of the kernel. */
static rs_time step_time(const struct rs_coll *c, uint32_t lane, rs_time *start)
{
	rs_time most = 0;
	struct rs_step s;

	for (uint64_t i = 0; i < c->n_steps(c, 1, lane); i++) {
		c->step(c, 1, lane, i, &s);
		*start = i ? *start : s.compute;
		most = i ? rs_time_max(most, s.compute) : 0;
	}
	return most;
}

/* Of a NIC's 16 steps a channel, operations of a batch that go to other nodes take a share each; a
 * connection has 8 at most. Where each rank sends to the next one, one alone leaves a node. */
static void test_nccl_point_to_point_shares_steps(void **state)
{
	static const struct {
		uint32_t hosts, ranks;
		enum rs_coll_op op;
		uint32_t window;
	} cases[] = {{2, 16, RS_COLL_ALL_TO_ALL, 2},
		     {2, 16, RS_COLL_SEND_RECV, 8},
		     {2, 2, RS_COLL_ALL_TO_ALL, 8},
		     {10, 10, RS_COLL_ALL_TO_ALL, 5}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rs_fabric *f = nccl_fabric("hosts/h100-8.xml", cases[i].hosts);
		uint32_t gpu[16], n = cases[i].ranks, each = n / cases[i].hosts;
		struct rs_collective_conf conf = {
			.bytes = 64 << 20, .op = cases[i].op, .gpu = gpu, .n_ranks = n};
		struct rs_coll *c;

		for (uint32_t r = 0; r < n; r++)
			gpu[r] = f->hosts[r / each].first_gpu + r % each;
		c = nccl_plan(f, conf);
		assert_int_equal(c->net_window, cases[i].window);
		assert_int_equal(c->window, 8); /* inside a host: NCCL_STEPS */
		rs_fabric_free(f);
	}
}

/* GPUs of two sockets without NVLink: through NICs where these are faster than the way between the
 * sockets (ncclTopoCheckNet), else through the host's memory. */
static void test_nccl_leaves_a_host_where_nics_are_faster(void **state)
{
	const char *env[] = {"NCCL_P2P_LEVEL", "PHB", "NCCL_NET_DISABLE_INTRA", "1"};

	for (uint32_t off = 0; off < 2; off++) {
		struct rs_fabric *f = nccl_fabric("scoreboard/hosts/rtx6000d-cx8.xml", 2);
		struct rs_collective_conf conf = {.bytes = 64 << 20,
						  .op = RS_COLL_ALL_TO_ALL,
						  .nccl = {.env = env, .n_env = 1 + off}};
		const struct rs_coll *c = nccl_plan(f, conf);
		uint32_t near = 0, far = 0;

		for (uint32_t i = 0; i < c->n_conns; i++) {
			const struct rs_conn *k = &c->conns[i];

			if (k->src / 8 != k->dst / 8)
				assert_false(k->nvlink);
			else if (k->src / 4 == k->dst / 4)
				near += !k->nvlink;
			else
				far += !k->nvlink;
			assert_true(k->nvlink || k->src_endpoint != k->dst_endpoint);
		}
		assert_int_equal(near, 0);
		assert_true(off ? far == 0 : far > 0);
		rs_fabric_free(f);
	}
}

/* A block moves as much however many there are: with one channel, the step between two loops, which
 * takes a slice of 1 MiB and sends another, has 32.8 us for each and 2 us of flags. */
static void test_nccl_channels_have_a_rate_each(void **state)
{
	struct rs_fabric *f = nccl_fabric("scoreboard/hosts/hgx-h100.xml", 2);
	const char *one[] = {"NCCL_ALGO",          "ring", "NCCL_PROTO", "Simple",
			     "NCCL_MAX_NCHANNELS", "1"};
	struct rs_collective_conf conf = {.bytes = UINT64_C(1) << 30, .nccl = {.env = one}};
	rs_time all, alone, start = 0;

	conf.nccl.n_env = 2;
	all = step_time(nccl_plan(f, conf), 0, &start);
	conf.nccl.n_env = 3;
	alone = step_time(nccl_plan(f, conf), 0, &start);
	assert_int_equal(all, alone);
	assert_int_equal(alone / RS_NS, 2 * ((UINT64_C(1) << 20) * 1000 / 32000 + 2000));
	assert_int_equal(start, 18 * RS_US);
	rs_fabric_free(f);
}

/* A ring's first chunk of a loop is sent alone and its last one taken alone, at 32 GB/s of a block
 * of 22: of 4 ranks' all-reduce of one loop, by one step each. In an all-gather the first is copied
 * to two places. Each GPU has a rate of its own; an A100 pulls what it takes, and an RTX 4090 reads
 * the host's memory. */
static void test_nccl_rings_begin_and_end_alone(void **state)
{
	static const enum rs_coll_op ops[] = {RS_COLL_ALL_REDUCE, RS_COLL_ALL_GATHER,
					      RS_COLL_REDUCE_SCATTER};
	static const struct {
		const char *host;
		uint64_t block, sends, takes, both; /* MB/s */
	} cases[] = {{"scoreboard/hosts/dgx-a100.xml", 12000, 17454, 13850, 12000},
		     {"scoreboard/hosts/hgx-h100.xml", 22000, 32000, 32000, 22000},
		     {"scoreboard/hosts/rtx4090-8.xml", 22000, 32000, 8700, 8700},
		     {"scoreboard/hosts/hgx-b200.xml", 23500, 34181, 34181, 23500}};
	const char *env[] = {"NCCL_ALGO",          "ring", "NCCL_PROTO", "Simple",
			     "NCCL_MAX_NCHANNELS", "1"};
	uint32_t gpu[4] = {0, 1, 2, 3};

	for (size_t i = 0; i < 3 * sizeof(cases) / sizeof(*cases); i++) {
		struct rs_fabric *f = nccl_fabric(cases[i / 3].host, 1);
		struct rs_collective_conf conf = {.op = ops[i % 3],
						  .bytes = 8 << 20,
						  .gpu = gpu,
						  .n_ranks = 4,
						  .nccl = {.env = env, .n_env = 3}};
		struct rs_coll *c = nccl_plan(f, conf);
		uint64_t both = cases[i / 3].both, slice = UINT64_C(1048576000);
		uint64_t first = i % 3 == 1 ? cases[i / 3].block : cases[i / 3].sends;
		uint64_t last = i % 3 == 2 ? both : cases[i / 3].takes;
		struct rs_step s;

		c->step(c, 1, 0, 1, &s);
		assert_in_range(s.compute / RS_NS, slice / first + 1997, slice / first + 2000);
		c->step(c, 1, 0, 3, &s);
		assert_in_range(s.compute / RS_NS, slice / both + 1997, slice / both + 2000);
		c->step(c, 1, 0, c->n_steps(c, 1, 0) - 1, &s);
		assert_in_range(s.compute / RS_NS, slice / last + 1997, slice / last + 2000);
		rs_fabric_free(f);
	}
}

/* The end of a tree's branch sends its first chunk and takes its last one alone: at 32 GB/s and by
 * 8 warps of 3.2; others, and other chunks, go up at 22 and down at 16.8, by 8 warps of 2.1. What a
 * block stores is on the NVLinks as it does. An A100's block has 12 of 22, and pulls what it takes.
 */
static void test_nccl_trees_end_alone(void **state)
{
	static const struct {
		const char *host;
		bool pulls;
	} cases[] = {{"scoreboard/hosts/hgx-h100.xml", false},
		     {"scoreboard/hosts/dgx-a100.xml", true}};
	const char *env[] = {"NCCL_ALGO",          "tree", "NCCL_PROTO", "Simple",
			     "NCCL_MAX_NCHANNELS", "1"};
	uint32_t gpu[4] = {0, 1, 2, 3}, ends = 0;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rs_fabric *f = nccl_fabric(cases[i].host, 1);
		struct rs_collective_conf conf = {.bytes = 8 << 20,
						  .gpu = gpu,
						  .n_ranks = 4,
						  .nccl = {.env = env, .n_env = 3}};
		struct rs_coll *c = nccl_plan(f, conf);

		assert_true(c->stores);
		for (uint32_t rank = 0; rank < c->n_ranks; rank++) {
			uint64_t last = c->n_steps(c, rank, 1) - 1;
			int64_t kb = 524; /* of a chunk; by GB/s it is us */
			struct rs_step s;

			c->step(c, rank, 0, 1, &s);
			if (s.n_recv) /* not an end */
				continue;
			ends++;
			assert_int_equal(s.compute / RS_US, kb / 32);
			c->step(c, rank, 0, 2, &s);
			assert_int_equal(s.compute / RS_US, kb / 22);
			c->step(c, rank, 1, last - 1, &s);
			assert_int_equal(s.compute / RS_US,
					 kb * 100 / (cases[i].pulls ? 1055 : 1676));
			c->step(c, rank, 1, last, &s);
			assert_int_equal(s.compute / RS_US,
					 kb * 100 / (cases[i].pulls ? 1055 : 2560));
		}
		rs_fabric_free(f);
	}
	assert_int_equal(ends, 2);
}

/* Simple's slices are a 32nd of the largest at least (device/prims_simple.h): of 1 MiB 32 KiB. Of
 * an all-gather of 16 ranks and a channel, a rank's share goes in one or two; an empty one is a
 * message, too, of one byte here, and a block is not busy for it. */
static void test_nccl_slices_have_a_least_size(void **state)
{
	static const struct {
		uint64_t share, first, second;
	} cases[] = {{16 << 10, 16 << 10, 1},
		     {32 << 10, 32 << 10, 1},
		     {48 << 10, 32 << 10, 16 << 10},
		     {96 << 10, 48 << 10, 48 << 10}};
	struct rs_fabric *f = nccl_fabric("hosts/h100-8.xml", 2);
	const char *env[] = {"NCCL_ALGO",          "ring", "NCCL_PROTO", "Simple",
			     "NCCL_MAX_NCHANNELS", "1"};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rs_collective_conf conf = {.op = RS_COLL_ALL_GATHER,
						  .bytes = 16 * cases[i].share,
						  .nccl = {.env = env, .n_env = 3}};
		struct rs_coll *c = nccl_plan(f, conf);
		struct rs_step s;

		c->step(c, 1, 0, 1, &s);
		assert_int_equal(s.send[0].bytes, cases[i].first);
		c->step(c, 1, 0, 2, &s);
		assert_int_equal(s.n_send, 1);
		assert_int_equal(s.send[0].bytes, cases[i].second);
		assert_true(cases[i].second > 1 || !s.compute);
	}
	rs_fabric_free(f);
}

/* A step in the middle of a Simple ring of one host: an A100's block reads over NVLink, with its
 * channel's share of 240 GB/s at most, or its own 12; a Hopper's and a Blackwell's writes. */
static void test_nccl_blocks_read_or_write(void **state)
{
	static const struct {
		const char *host, *channels;
		int64_t rate; /* MB/s */
		bool pulls;
	} cases[] = {{"dgx-a100.xml", "24", 10000, true},
		     {"dgx-a100.xml", "1", 12000, true},
		     {"hgx-h100.xml", "24", 22000, false},
		     {"hgx-b200.xml", "32", 23500, false}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *env[] = {"NCCL_ALGO",          "ring",           "NCCL_PROTO", "Simple",
				     "NCCL_MAX_NCHANNELS", cases[i].channels};
		struct rs_collective_conf conf = {.bytes = UINT64_C(4) << 30,
						  .nccl = {.env = env, .n_env = 3}};
		char host[64];
		struct rs_fabric *f;
		struct rs_coll *c;
		struct rs_step s;

		snprintf(host, sizeof(host), "scoreboard/hosts/%s", cases[i].host);
		f = nccl_fabric(host, 1);
		c = nccl_plan(f, conf);
		c->step(c, 1, 0, 3, &s);
		assert_int_equal(s.local, 1 << 20);
		assert_int_equal(s.compute / RS_NS,
				 s.local * 1000 / (uint64_t)cases[i].rate + 2000);
		assert_int_equal(c->stores, cases[i].pulls);
		rs_fabric_free(f);
	}
}

/* EFA: from 8 KiB on 12 us more; of 4 rails, as many as there are parts of 128 KiB, but not 3. */
static void test_nccl_messages_over_efa(void **state)
{
	static const struct {
		uint64_t kib;
		unsigned rails;
		int more;
	} cases[] = {{4, 1, 0},    {8, 1, 0},    {64, 1, 12},  {128, 1, 12},
		     {200, 2, 12}, {300, 2, 12}, {400, 4, 12}, {4096, 4, 12}};
	struct rs_fabric *f = nccl_fabric("hosts/h100-8.xml", 2);
	struct rs_collective_conf conf = {.bytes = 64 << 20, .nccl = {.net = RS_NCCL_NET_EFA}};
	const struct rs_coll *c = nccl_plan(f, conf);

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		rs_time rail = (rs_time)(cases[i].kib << 10) * 80; /* ps at 12.5 GB/s */

		assert_int_equal(rs_coll_proxy_time(c, cases[i].kib << 10),
				 c->proxy + cases[i].more * RS_US + rail / cases[i].rails -
					 rail / 4);
	}
	rs_fabric_free(f);
}

/* A 64th of a step of training: NCCL chooses for the whole, and its costs are a 64th. */
static void test_nccl_scale_divides_costs(void **state)
{
	struct rs_fabric *f = nccl_fabric("hosts/h100-8.xml", 2);
	struct rs_collective_conf whole = {.bytes = 64 << 20}, part = {.bytes = 1 << 20};
	const char *one, *other;
	struct rs_coll *w, *p;
	rs_time start = 0, start64 = 0;

	part.nccl.scale = 64;
	w = nccl_plan(f, whole);
	p = nccl_plan(f, part);
	assert_string_equal(chosen(w, &one), chosen(p, &other));
	assert_string_equal(one, other);
	assert_int_equal(w->post / 64, p->post);
	assert_int_equal(w->proxy / 64, p->proxy);
	assert_int_equal(w->n_steps(w, 1, 0), p->n_steps(p, 1, 0));
	step_time(w, 0, &start);
	step_time(p, 0, &start64);
	assert_int_equal(start / 64, start64);
	rs_fabric_free(f);
}

static void test_nccl_chooses_as_for_another_size(void **state)
{
	struct rs_fabric *f = nccl_fabric("hosts/h100-8.xml", 2);
	struct rs_collective_conf conf = {.bytes = 1 << 20};
	const char *protocol;

	conf.op = RS_COLL_ALL_GATHER;
	chosen(nccl_plan(f, conf), &protocol);
	assert_string_not_equal(protocol, "Simple");
	conf.nccl.as_bytes = UINT64_C(1) << 32;
	chosen(nccl_plan(f, conf), &protocol);
	assert_string_equal(protocol, "Simple");
	rs_fabric_free(f);
}

/* One thread of 8 GPUs is a lane more, of a step: 8 starts of 4.5 us. */
static void test_nccl_one_thread_starts_many(void **state)
{
	struct rs_fabric *f = nccl_fabric("hosts/h100-8.xml", 1);
	struct rs_collective_conf conf = {.bytes = 1024};
	uint32_t lanes = nccl_plan(f, conf)->n_lanes;
	rs_time start = 0;
	struct rs_coll *c;

	conf.nccl.gpus_per_thread = 8;
	c = nccl_plan(f, conf);
	assert_int_equal(c->n_lanes, lanes + 1);
	assert_int_equal(c->n_steps(c, 1, lanes), 1);
	step_time(c, lanes, &start);
	assert_int_equal(start, 36 * RS_US);
	c->inside.den = c->net.den = 0;
	run_twin(c, 1);
	rs_fabric_free(f);
}

/* To 2.21 a work element for each channel beside, in half of the time on a CPU of 2022 or later. */
static void test_nccl_one_thread_writes_elements(void **state)
{
	static const struct {
		const char *host, *version;
		rs_time element;
	} cases[] = {{"scoreboard/hosts/hgx-h100.xml", "2.22.3", 0},
		     {"scoreboard/hosts/hgx-h100.xml", "2.21.5", 60 * RS_NS},
		     {"scoreboard/hosts/dgx-a100.xml", "2.21.5", 120 * RS_NS}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rs_fabric *f = nccl_fabric(cases[i].host, 1);
		struct rs_collective_conf conf = {.bytes = 64 << 20};
		const char *algorithm, *protocol;
		rs_time start = 0;
		struct rs_coll *c;
		int channels;

		conf.nccl.gpus_per_thread = 8;
		conf.nccl.version = cases[i].version;
		c = nccl_plan(f, conf);
		assert_true(rs_coll_chosen(c, &algorithm, &protocol, &channels));
		step_time(c, c->n_lanes - 1, &start);
		assert_int_equal(start, 36 * RS_US + 8 * channels * cases[i].element);
		rs_fabric_free(f);
	}
}

/* EFA's messages take longer on their way, and its plugin at each; without RDMA WRITE there is
 * Simple alone. */
static void test_nccl_networks_differ(void **state)
{
	struct rs_fabric *f = nccl_fabric("hosts/h100-8.xml", 2);
	struct rs_collective_conf conf = {.bytes = 1 << 20};
	struct rs_coll *ib = nccl_plan(f, conf), *efa, *read;
	const char *protocol;

	conf.nccl.net = RS_NCCL_NET_EFA;
	efa = nccl_plan(f, conf);
	assert_int_equal(ib->eager_rate, 0);
	conf.nccl.net = RS_NCCL_NET_EFA_READ;
	read = nccl_plan(f, conf);
	chosen(read, &protocol);
	assert_string_equal(protocol, "Simple");
	assert_int_equal(read->eager_rate, INT64_C(7000000000)); /* packets that the host copies */
	assert_int_equal(rs_coll_proxy_time(read, 307200), read->proxy);
	assert_int_equal(rs_coll_proxy_time(read, 307201) - read->proxy, 32 * RS_US);
	assert_int_equal(efa->proxy - ib->proxy, 13 * RS_US);
	assert_int_equal(efa->post - ib->post, 3800 * RS_NS);
	rs_fabric_free(f);
}

/* The largest message that a rank sends to another host in its first 64 steps of each lane. */
static uint64_t most_sent(const struct rs_coll *c)
{
	uint64_t most = 0;
	struct rs_step s;

	for (uint32_t r = 0; r < c->n_ranks; r++)
		for (uint32_t lane = 0; lane < c->n_lanes; lane++)
			for (uint64_t i = 0; i < 64 && i < c->n_steps(c, r, lane); i++) {
				c->step(c, r, lane, i, &s);
				for (unsigned k = 0; k < s.n_send; k++)
					if (!c->conns[s.send[k].conn].nvlink &&
					    s.send[k].bytes > most)
						most = s.send[k].bytes;
			}
	return most;
}

/* AWS's plugin sets chunks of NVLS on a p5, and from about NCCL 2.27 on buffers and chunks of
 * point-to-point; a user's own hold. */
static void test_nccl_chunks_as_aws_sets_them(void **state)
{
	static const struct {
		const char *version;
		enum rs_nccl_net net;
		enum rs_coll_op op;
		const char *name;
		uint32_t want_kib;
	} cases[] = {
		{"2.22.3", RS_NCCL_NET_IB, RS_COLL_ALL_REDUCE, NULL, 128},
		{"2.22.3", RS_NCCL_NET_EFA, RS_COLL_ALL_REDUCE, NULL, 512},
		{"2.22.3", RS_NCCL_NET_EFA, RS_COLL_ALL_REDUCE, "NCCL_NVLS_CHUNKSIZE", 128},
		{"2.22.3", RS_NCCL_NET_EFA, RS_COLL_ALL_TO_ALL, NULL, 128},
		{"2.27.7", RS_NCCL_NET_IB, RS_COLL_ALL_TO_ALL, NULL, 128},
		{"2.27.7", RS_NCCL_NET_EFA, RS_COLL_ALL_TO_ALL, NULL, 512},
		{"2.27.7", RS_NCCL_NET_EFA, RS_COLL_ALL_TO_ALL, "NCCL_P2P_NET_CHUNKSIZE", 128},
		{"2.27.7", RS_NCCL_NET_EFA_READ, RS_COLL_ALL_TO_ALL, NULL, 512},
	};
	struct rs_fabric *f = nccl_fabric("scoreboard/hosts/hgx-h100-amd.xml", 2);

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *env[] = {"NCCL_ALGO", "nvlstree", cases[i].name, "131072"};
		struct rs_collective_conf conf = {.op = cases[i].op,
						  .bytes = UINT64_C(4) << 30,
						  .nccl = {.version = cases[i].version,
							   .net = cases[i].net,
							   .env = env,
							   .n_env = cases[i].name ? 2 : 1}};
		uint64_t most = most_sent(nccl_plan(f, conf));

		if (most != (uint64_t)cases[i].want_kib << 10)
			fail_msg("case %zu: %llu B", i, (unsigned long long)most);
	}
	rs_fabric_free(f);
}

/* What NCCL 2.28.9 sent, under PyTorch 2.11 on an H200 that was four hosts by NCCL_HOSTID, two
 * channels of Ring Simple: the lengths of its WRITEs, captured on Ripstop's own device
 * (2026-11-28). All-gathers and reduce-scatters are cut in slices as all-reduces are. */
static void test_nccl_ring_messages_are_those_captured(void **state)
{
	static const enum rs_coll_op ops[] = {RS_COLL_ALL_GATHER, RS_COLL_REDUCE_SCATTER,
					      RS_COLL_ALL_REDUCE};
	static const struct {
		uint32_t mib, sent_kib;
	} cases[] = {{1, 64}, {4, 256}, {16, 1024}, {64, 1024}};
	const char *env[] = {"NCCL_ALGO",          "ring", "NCCL_PROTO",         "Simple",
			     "NCCL_MIN_NCHANNELS", "2",    "NCCL_MAX_NCHANNELS", "2"};
	struct rs_fabric *f = nccl_fabric("scoreboard/hosts/h200-1-far-nic.xml", 4);

	for (size_t i = 0; i < 12; i++) {
		struct rs_collective_conf conf = {
			.op = ops[i / 4],
			.bytes = (uint64_t)cases[i % 4].mib << 20,
			.nccl = {.version = "2.28.9", .env = env, .n_env = 4}};
		uint64_t most = most_sent(nccl_plan(f, conf));

		if (most != (uint64_t)cases[i % 4].sent_kib << 10)
			fail_msg("case %zu: %llu B", i, (unsigned long long)most);
	}
	rs_fabric_free(f);
}

/* Google's plugins: a message takes 17 us more by TCPXO, 58 by TCPX, of whose NICs data has three
 * quarters, and of whose four sockets a message has one for each 512 KiB. Its tuner's rules of A3
 * Mega give an all-reduce on two hosts to trees, of any size; they are of Simple, and hold where
 * LL128 is not allowed. */
static void test_nccl_over_tcp_of_google(void **state)
{
	const char *env[] = {"NCCL_PROTO",
			     "simple",
			     "NCCL_NVLS_ENABLE",
			     "0",
			     "NCCL_TUNER_CONFIG_PATH",
			     "/var/lib/tcpxo/lib64/a3plus_tuner_config.textproto"};
	struct rs_fabric *f = nccl_fabric("scoreboard/hosts/a3mega.xml", 2);
	struct rs_collective_conf conf = {.bytes = 1024,
					  .nccl = {.env = env, .n_env = 2, .version = "2.21.5"}};
	struct rs_coll *ib = nccl_plan(f, conf), *x, *xo;
	const char *protocol;

	assert_string_equal(chosen(ib, &protocol), "Ring");
	conf.nccl.net = RS_NCCL_NET_TCPXO;
	xo = nccl_plan(f, conf);
	conf.nccl.net = RS_NCCL_NET_TCPX;
	x = nccl_plan(f, conf);
	assert_int_equal(xo->proxy - ib->proxy, 17 * RS_US);
	assert_int_equal(x->proxy - ib->proxy, 58 * RS_US);
	assert_int_equal(xo->net.num, xo->net.den);
	assert_int_equal(x->net.num * 3, x->net.den * 4);
	assert_int_equal((rs_coll_proxy_time(x, 262144) - x->proxy) / RS_US, 55);
	/* one of two flows, which has half of the NIC */
	assert_int_equal((rs_coll_proxy_time(xo, 262144) - xo->proxy) / RS_US, 10);
	assert_int_equal((rs_coll_proxy_time(xo, 1 << 20) - xo->proxy) / RS_US, 41);
	/* a command for each, and for the empty slice behind a short one */
	assert_int_equal(rs_coll_serve_time(xo, xo->lone), 800 * RS_NS);
	assert_int_equal(rs_coll_serve_time(xo, xo->lone + 1), 400 * RS_NS);
	assert_int_equal(rs_coll_serve_time(x, 1024) + rs_coll_serve_time(ib, 1024), 0);
	assert_true(x->empties && ib->empties && !xo->empties);
	conf.nccl.n_env = 3;
	assert_string_equal(chosen(nccl_plan(f, conf), &protocol), "Tree");
	conf.op = RS_COLL_ALL_GATHER;
	assert_string_equal(chosen(nccl_plan(f, conf), &protocol), "Ring");
	assert_string_equal(protocol, "Simple");
	env[1] = "simple,ll128";
	assert_string_equal(chosen(nccl_plan(f, conf), &protocol), "Ring");
	assert_string_equal(protocol, "LL128");
	rs_fabric_free(f);
}

/* Over Slingshot the NIC finds a message's receive, and nothing is copied. By software, the host
 * copies what came eagerly: by GDRCopy up to 4 KiB, without it all, and of longer messages the
 * first part, and what is sent with the command. Verbs do neither. (Of trees: rings below.) */
static void test_nccl_slingshot_copies_by_software(void **state)
{
	static const struct {
		const char *match, *gdrcopy;
		rs_time message, post, rendezvous;
		int64_t rate; /* of LL's messages alone */
		uint32_t copied;
	} cases[] = {
		{"hardware", "1", -2 * RS_US, 0, 0, 0, 0},
		{"hybrid", "0", -2 * RS_US, 0, 8 * RS_US, 0, 0},
		{"software", "1", 0, 0, 0, INT64_C(1500000000), 4096},
		{"software", "0", 0, 5 * RS_US, 8 * RS_US, INT64_C(1500000000), 0},
	};
	struct rs_fabric *f = nccl_fabric("hosts/h100-8.xml", 2);

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *env[] = {"NCCL_PROTO",
				     "LL",
				     "FI_CXI_RX_MATCH_MODE",
				     cases[i].match,
				     "FI_HMEM_CUDA_USE_GDRCOPY",
				     cases[i].gdrcopy,
				     "NCCL_ALGO",
				     "tree"};
		struct rs_collective_conf conf = {.bytes = 1 << 20,
						  .nccl = {.env = env, .n_env = 4}};
		struct rs_coll *ib = nccl_plan(f, conf), *cxi;

		conf.nccl.net = RS_NCCL_NET_CXI;
		cxi = nccl_plan(f, conf);
		assert_int_equal(cxi->proxy - ib->proxy, cases[i].message);
		assert_int_equal(cxi->post - ib->post, cases[i].post);
		assert_int_equal(cxi->eager, 16384 + 2049);
		assert_int_equal(cxi->eager_rate, cases[i].rate);
		assert_int_equal(cxi->copied, cases[i].copied);
		assert_int_equal(cxi->rendezvous, cases[i].rendezvous);
		assert_int_equal(ib->rendezvous, 0);
		assert_int_equal(cxi->injected, 0); /* LL's buffers are the host's */
		conf.op = RS_COLL_ALL_TO_ALL;
		cxi = nccl_plan(f, conf);
		assert_int_equal(rs_coll_inject_time(cxi, 192),
				 *cases[i].gdrcopy == '0' ? 12 * RS_US : 0);
		/* an empty slice; a longer message */
		assert_int_equal(rs_coll_inject_time(cxi, 1), 0);
		assert_int_equal(rs_coll_inject_time(cxi, 193), 0);
	}
	rs_fabric_free(f);
}

/* Of how many bytes a message is eager: FI_CXI_RDZV_THRESHOLD and FI_CXI_RDZV_GET_MIN together, but
 * 192 bytes always. */
static void test_nccl_slingshot_has_an_eager_limit(void **state)
{
	static const struct {
		const char *threshold, *get_min;
		uint32_t eager;
	} cases[] = {
		{"0", "0", 192}, {"0", "191", 192}, {"0", "2049", 2049}, {"32768", "1", 32769}};
	struct rs_fabric *f = nccl_fabric("hosts/h100-8.xml", 2);

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *env[] = {"FI_CXI_RDZV_THRESHOLD", cases[i].threshold,
				     "FI_CXI_RDZV_GET_MIN", cases[i].get_min};
		struct rs_collective_conf conf = {
			.bytes = 1 << 20, .nccl = {.env = env, .n_env = 2, .net = RS_NCCL_NET_CXI}};

		assert_int_equal(nccl_plan(f, conf)->eager, cases[i].eager);
	}
	rs_fabric_free(f);
}

/* A ring of more messages than receives are posted ahead (8): some come first, and software copies
 * them, as it does where it matches, or asks for the data of long ones (of LL). With 9 hosts an
 * all-gather has 8, with 10 it has 9; an all-reduce of 5 has 8, of 6 it has 10. Trees, Simple and
 * verbs have none. */
static void test_nccl_slingshot_copies_what_comes_early(void **state)
{
	static const struct {
		enum rs_coll_op op;
		const char *algo, *proto, *match, *gdrcopy;
		uint32_t hosts;
		bool verbs;
		rs_time found, rendezvous;
		int64_t rate;
	} cases[] = {
		{RS_COLL_ALL_GATHER, "ring", "LL", "hardware", "0", 9, false, 0, 8 * RS_US, 0},
		{RS_COLL_ALL_GATHER, "ring", "LL", "hardware", "0", 10, false, 5 * RS_US, 8 * RS_US,
		 INT64_C(2600000000)},
		{RS_COLL_ALL_GATHER, "ring", "LL", "hybrid", "1", 9, false, 0, 0, 0},
		{RS_COLL_ALL_GATHER, "ring", "LL", "hybrid", "1", 10, false, 0, 4 * RS_US,
		 INT64_C(2600000000)},
		{RS_COLL_ALL_GATHER, "ring", "LL", "software", "1", 10, false, 0, 4 * RS_US,
		 INT64_C(1500000000)},
		{RS_COLL_ALL_GATHER, "ring", "LL", "software", "0", 10, false, 0, 8 * RS_US,
		 INT64_C(1500000000)},
		{RS_COLL_ALL_GATHER, "ring", "LL128", "hybrid", "1", 10, false, 0, 0, 0},
		{RS_COLL_ALL_GATHER, "ring", "Simple", "hardware", "1", 10, false, 0, 0, 0},
		{RS_COLL_ALL_GATHER, "ring", "LL", "hardware", "0", 10, true, 0, 0, 0},
		{RS_COLL_ALL_REDUCE, "ring", "LL", "hardware", "0", 5, false, 0, 8 * RS_US, 0},
		{RS_COLL_ALL_REDUCE, "ring", "LL", "hardware", "0", 6, false, 5 * RS_US, 8 * RS_US,
		 INT64_C(2600000000)},
		{RS_COLL_ALL_REDUCE, "tree", "LL", "hardware", "1", 6, false, 0, 0, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rs_fabric *f = nccl_fabric("nccl-plan/h100-1-far-nic.xml", cases[i].hosts);
		const char *env[] = {"NCCL_ALGO",
				     cases[i].algo,
				     "NCCL_PROTO",
				     cases[i].proto,
				     "FI_CXI_RX_MATCH_MODE",
				     cases[i].match,
				     "FI_HMEM_CUDA_USE_GDRCOPY",
				     cases[i].gdrcopy,
				     "NCCL_PAT_ENABLE",
				     "0"};
		struct rs_collective_conf conf = {
			.op = cases[i].op, .bytes = 20160, .nccl = {.env = env, .n_env = 5}};
		struct rs_coll *c;

		conf.nccl.net = cases[i].verbs ? RS_NCCL_NET_IB : RS_NCCL_NET_CXI;
		c = nccl_plan(f, conf);
		assert_int_equal(c->found, cases[i].found);
		assert_int_equal(c->rendezvous, cases[i].rendezvous);
		assert_int_equal(c->eager_rate, cases[i].rate);
		rs_fabric_free(f);
	}
}

/* A NIC at another socket has no GPUDirect: it reads and writes the memory of the GPU's socket, and
 * the block that takes reads that over PCIe. NCCL_NET_GDR_LEVEL=SYS lets it reach the GPU. */
static void test_nccl_stages_without_gpudirect(void **state)
{
	struct rs_fabric *f = nccl_fabric("nccl-plan/h100-1-far-nic.xml", 2);
	const char *env[] = {"NCCL_ALGO",          "ring", "NCCL_PROTO",         "Simple",
			     "NCCL_MAX_NCHANNELS", "1",    "NCCL_NET_GDR_LEVEL", "SYS"};
	struct rs_collective_conf conf = {.bytes = 64 << 20, .nccl = {.env = env}};

	for (uint32_t direct = 0; direct < 2; direct++) {
		struct rs_coll *c;
		struct rs_step s;

		conf.nccl.n_env = 3 + direct;
		c = nccl_plan(f, conf);
		for (uint32_t i = 0; i < c->n_conns; i++) {
			assert_false(c->conns[i].nvlink);
			assert_int_equal(c->conns[i].from_host, !direct);
			assert_int_equal(c->conns[i].to_host, !direct);
		}
		/* the last step takes a slice of 1 MiB alone, at 32 GB/s where it is in the GPU */
		c->step(c, 0, 0, c->n_steps(c, 0, 0) - 1, &s);
		assert_int_equal(s.n_recv, 1);
		assert_int_equal(s.compute / RS_NS, s.local * 10 / (direct ? 320 : 87) + 2000);
	}
	rs_fabric_free(f);
}

/* A thread has a few loads under way: the host's memory comes in at 8.7 GB/s (A100 7.3) to 512 of a
 * ring, to half of them at half of that, whatever more there are. */
static void test_nccl_reads_the_host_by_threads(void **state)
{
	static const struct {
		const char *host, *threads;
		uint64_t rate;
	} cases[] = {{"nccl-plan/h100-1-far-nic.xml", "512", 8700},
		     {"nccl-plan/h100-1-far-nic.xml", "256", 4350},
		     {"nccl-plan/h100-1-far-nic.xml", "128", 2175},
		     {"scoreboard/hosts/a100-pcie-1.xml", "512", 7300}};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rs_fabric *f = nccl_fabric(cases[i].host, 2);
		const char *env[] = {
			"NCCL_ALGO",          "ring", "NCCL_PROTO",    "Simple",
			"NCCL_MAX_NCHANNELS", "1",    "NCCL_NTHREADS", cases[i].threads};
		struct rs_collective_conf conf = {.bytes = 64 << 20,
						  .nccl = {.env = env, .n_env = 4}};
		struct rs_coll *c = nccl_plan(f, conf);
		struct rs_step s;

		c->step(c, 0, 0, c->n_steps(c, 0, 0) - 1, &s);
		assert_int_equal(s.compute / RS_NS, s.local * 1000 / cases[i].rate + 2000);
		rs_fabric_free(f);
	}
}

/* A block that takes from the host's memory and stores there reads, and then works: an A100's and a
 * GB202's at their own 12 and 23.5 GB/s. An Ada's 8.7 GB/s has both. */
static void test_nccl_reads_the_host_and_then_works(void **state)
{
	static const struct {
		const char *host;
		uint64_t reads, works; /* MB/s */
	} cases[] = {{"scoreboard/hosts/a100-pcie-4.xml", 7300, 12000},
		     {"scoreboard/hosts/rtxpro6000-8.xml", 9800, 23500},
		     {"scoreboard/hosts/rtx4090-8.xml", 8700, 0}};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rs_fabric *f = nccl_fabric(cases[i].host, 1);
		const char *env[] = {"NCCL_ALGO",          "ring", "NCCL_PROTO",    "Simple",
				     "NCCL_MAX_NCHANNELS", "1",    "NCCL_NTHREADS", "512"};
		uint32_t gpu[4] = {0, 1, 2, 3};
		struct rs_collective_conf conf = {.bytes = 8 << 20,
						  .gpu = gpu,
						  .n_ranks = 4,
						  .nccl = {.env = env, .n_env = 4}};
		struct rs_coll *c = nccl_plan(f, conf);
		struct rs_step s;
		uint64_t reads, works;

		c->step(c, 1, 0, 3, &s);
		assert_true(s.n_recv == 1 && s.n_send == 1);
		reads = s.local * 1000 / cases[i].reads + 2000;
		works = cases[i].works ? s.local * 1000 / cases[i].works : 0;
		assert_in_range(s.compute / RS_NS, reads + works - 2, reads + works + 2);
		c->step(c, 1, 0, c->n_steps(c, 1, 0) - 1, &s);
		assert_true(s.n_recv == 1 && !s.n_send);
		assert_in_range(s.compute / RS_NS, reads - 2, reads + 2);
		rs_fabric_free(f);
	}
}

/* GPUs without peer-to-peer pass data on through the host's memory, which the one that takes reads.
 * With it, as over NVLink, they write to each other. */
static void test_nccl_passes_through_the_host_without_peer_to_peer(void **state)
{
	static const struct {
		const char *host, *disable;
		bool through;
	} cases[] = {{"scoreboard/hosts/rtx4090-8.xml", "0", true},
		     {"scoreboard/hosts/hgx-h100.xml", "0", false},
		     {"scoreboard/hosts/hgx-h100.xml", "1", true}};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rs_fabric *f = nccl_fabric(cases[i].host, 1);
		const char *env[] = {"NCCL_ALGO",        "ring",          "NCCL_PROTO", "Simple",
				     "NCCL_P2P_DISABLE", cases[i].disable};
		struct rs_collective_conf conf = {.bytes = 256 << 20,
						  .nccl = {.env = env, .n_env = 3}};
		struct rs_coll *c = nccl_plan(f, conf);
		struct rs_step s;
		rs_time through;

		for (uint32_t k = 0; k < c->n_conns; k++) {
			assert_true(c->conns[k].nvlink);
			assert_int_equal(c->conns[k].to_host, cases[i].through);
		}
		c->step(c, 0, 0, c->n_steps(c, 0, 0) - 1, &s);
		assert_int_equal(s.n_recv, 1);
		through = (rs_time)(s.local * 10 / 87 + 2000) * RS_NS;
		if (cases[i].through)
			assert_int_equal(s.compute / RS_NS, through / RS_NS);
		else
			assert_true(s.compute < through / 2);
		rs_fabric_free(f);
	}
}

/* A block is busy 2 us with a chunk of a Simple tree of RCCL's, beside its bytes. */
static void test_rccl_trees_take_time_for_a_chunk(void **state)
{
	static const char *const hosts[] = {"scoreboard/hosts/hgx-h100.xml",
					    "scoreboard/hosts/mi300x.xml"};
	const char *env[] = {"NCCL_ALGO", "tree", "NCCL_PROTO", "Simple"};
	struct rs_collective_conf conf = {.bytes = 64 << 20, .nccl = {.env = env, .n_env = 2}};

	for (uint64_t rccl = 0; rccl < 2; rccl++) {
		struct rs_fabric *f = nccl_fabric(hosts[rccl], 2);
		struct rs_coll *c = nccl_plan(f, conf);
		struct rs_step s;
		unsigned n = 0;

		for (uint32_t rank = 0; rank < c->n_ranks; rank++) {
			c->step(c, rank, 0, 1, &s);
			if (s.local)
				assert_int_equal(s.compute / RS_NS, s.local / 22 + rccl * 2000);
			n += s.local > 0;
		}
		assert_true(n >= c->n_ranks / 2);
		rs_fabric_free(f);
	}
}

/* Inside a host small messages go by LL, up to a limit that releases count differently. */
static void test_nccl_small_messages_go_by_ll(void **state)
{
	static const struct {
		const char *version, *limit;
		uint64_t bytes; /* to each of 8 */
		const char *protocol;
	} cases[] = {{"2.21.5", "16384", 16 << 10, "LL"}, {"2.21.5", "16384", 32 << 10, "Simple"},
		     {"2.27.7", "16384", 64 << 10, "LL"}, {"2.27.7", "16384", 1 << 20, "Simple"},
		     {"2.27.7", "65536", 1 << 20, "LL"},  {"2.27.7", "0", 1 << 10, "Simple"},
		     {"2.29.2", "16384", 16 << 10, "LL"}, {"2.29.2", "16384", 512 << 10, "Simple"}};
	struct rs_fabric *f = nccl_fabric("scoreboard/hosts/hgx-h100.xml", 1);

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *env[] = {"NCCL_P2P_LL_THRESHOLD", cases[i].limit}, *protocol;
		struct rs_collective_conf conf = {
			.bytes = 8 * cases[i].bytes,
			.op = RS_COLL_ALL_TO_ALL,
			.nccl = {.version = cases[i].version, .env = env, .n_env = 1}};
		struct rs_coll *c = nccl_plan(f, conf);

		chosen(c, &protocol);
		if (strcmp(protocol, cases[i].protocol))
			fail_msg("%u: %s", i, protocol);
		assert_int_equal(c->lines, !strcmp(protocol, "LL"));
		assert_int_equal(c->stores, !c->lines);
	}
	rs_fabric_free(f);
}

/* An A100 reads what another sends over NVLink, 13.85 GB/s a block; an H100's sender writes it. The
 * chunk that is sent or taken alone goes faster. */
static void test_nccl_point_to_point_inside_a_host(void **state)
{
	static const struct {
		const char *host;
		uint64_t rate;
	} cases[] = {{"scoreboard/hosts/dgx-a100.xml", 13850},
		     {"scoreboard/hosts/hgx-h100.xml", 21000}};

	for (unsigned i = 0; i < 2; i++) {
		struct rs_fabric *f = nccl_fabric(cases[i].host, 1);
		struct rs_collective_conf conf = {.bytes = 1 << 30, .op = RS_COLL_SEND_RECV};
		struct rs_coll *c = nccl_plan(f, conf);
		rs_time start = 0, ns = step_time(c, !i, &start) / RS_NS;
		struct rs_step s;

		assert_int_equal(ns, (UINT64_C(512) << 10) * 1000 / cases[i].rate);
		c->step(c, 1, 0, 1, &s);
		assert_int_equal(s.compute / RS_NS, (UINT64_C(512) << 10) * 1000 / 32000);
		rs_fabric_free(f);
	}
}

/* GPUs without peer-to-peer read the host's memory: 8.7 GB/s, of a GB202, which does the rest of
 * its work then, 9.8 and 21 GB/s one after the other. */
static void test_nccl_point_to_point_through_the_host(void **state)
{
	static const struct {
		const char *host;
		uint64_t rate;
	} cases[] = {{"scoreboard/hosts/rtx4090-8.xml", 8700},
		     {"scoreboard/hosts/rtxpro6000-8.xml", 6681}};

	for (unsigned i = 0; i < 2; i++) {
		struct rs_fabric *f = nccl_fabric(cases[i].host, 1);
		struct rs_collective_conf conf = {.bytes = 1 << 30, .op = RS_COLL_SEND_RECV};
		struct rs_coll *c = nccl_plan(f, conf);
		struct rs_step s;
		uint64_t ns;

		c->step(c, 0, 1, 2, &s);
		assert_true(s.n_recv == 1 && s.local);
		ns = s.local * 1000 / cases[i].rate;
		assert_in_range(s.compute / RS_NS, ns - ns / 1000, ns + ns / 1000);
		rs_fabric_free(f);
	}
}

/* An all-gather's first chunk is copied to two places. Where both are in the GPU's own memory, as a
 * NIC reads the second, it takes twice a copy's time; over NVLink one is another GPU's. */
static void test_nccl_all_gather_fills_its_own_memory(void **state)
{
	static const struct {
		const char *host;
		uint32_t hosts;
		uint64_t rate;
	} cases[] = {{"scoreboard/hosts/hgx-h100.xml", 2, 16000},
		     {"scoreboard/hosts/hgx-h100.xml", 1, 22000},
		     {"nccl-plan/h100-1-far-nic.xml", 2, 22000}};
	const char *env[] = {"NCCL_ALGO",          "ring", "NCCL_PROTO", "Simple",
			     "NCCL_MAX_NCHANNELS", "1"};
	uint32_t own[2] = {0, 8}, one[2] = {0, 1};

	for (unsigned i = 0; i < 3; i++) {
		struct rs_fabric *f = nccl_fabric(cases[i].host, cases[i].hosts);
		struct rs_collective_conf conf = {.op = RS_COLL_ALL_GATHER,
						  .bytes = 8 << 20,
						  .gpu = i == 0 ? own : one,
						  .n_ranks = 2,
						  .nccl = {.env = env, .n_env = 3}};
		struct rs_coll *c = nccl_plan(f, conf);
		struct rs_step s;
		uint64_t ns;

		c->step(c, 0, 0, 1, &s);
		assert_true(!s.n_recv && s.n_send == 1);
		ns = s.local * 1000 / cases[i].rate + 2000;
		assert_in_range(s.compute / RS_NS, ns - 3, ns + 3);
		rs_fabric_free(f);
	}
}

/* A broadcast's block copies once, at twice the rate of one that reduces, but stores in another GPU
 * over PCIe no faster. */
static void test_nccl_stores_over_pcie_at_a_blocks_rate(void **state)
{
	static const struct {
		const char *host;
		uint64_t rate;
	} cases[] = {{"scoreboard/hosts/hgx-h100.xml", 44000},
		     {"scoreboard/hosts/rtxpro6000-8.xml", 23500}};
	const char *env[] = {"NCCL_PROTO", "Simple", "NCCL_P2P_LEVEL", "SYS"};

	for (unsigned i = 0; i < 2; i++) {
		struct rs_fabric *f = nccl_fabric(cases[i].host, 1);
		struct rs_collective_conf conf = {.bytes = 64 << 20,
						  .op = RS_COLL_BROADCAST,
						  .nccl = {.env = env, .n_env = 2}};
		struct rs_coll *c = nccl_plan(f, conf);
		struct rs_step s;
		uint64_t ns;

		c->step(c, 1, 0, 1, &s);
		assert_true(s.n_recv == 1 && s.n_send == 1);
		ns = s.local * 1000 / cases[i].rate + 2000;
		assert_in_range(s.compute / RS_NS, ns - 2, ns + 2);
		rs_fabric_free(f);
	}
}

/* A program's GPUs have a proxy each. Bound to few cores, those of a core post by turns. */
static void test_nccl_proxies_share_cores(void **state)
{
	static const struct {
		uint32_t gpus, cores, rank, proxy;
	} cases[] = {{8, 0, 3, 3},  {8, 1, 3, 0}, {8, 1, 11, 8}, {8, 2, 3, 1},
		     {8, 2, 14, 8}, {8, 8, 5, 5}, {2, 1, 5, 4},  {0, 1, 5, 5}};
	struct rs_fabric *f = nccl_fabric("scoreboard/hosts/hgx-h100.xml", 2);

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rs_collective_conf conf = {
			.bytes = 1 << 20,
			.nccl = {.gpus_per_thread = cases[i].gpus, .cores = cases[i].cores}};

		assert_int_equal(rs_coll_proxy(nccl_plan(f, conf), cases[i].rank), cases[i].proxy);
	}
	rs_fabric_free(f);
}

/* From 2.20 on queue pairs take whole messages in turn, where nobody says otherwise. */
static void test_nccl_queue_pairs_take_turns(void **state)
{
	static const struct {
		const char *version, *qps, *split;
		bool turns;
	} cases[] = {{"2.19.3", "4", NULL, false},
		     {"2.20.5", "4", NULL, true},
		     {"2.27.7", "4", "1", false},
		     {"2.19.3", "4", "0", true},
		     {"2.27.7", "1", NULL, false}};
	struct rs_fabric *f = nccl_fabric("hosts/h100-8.xml", 2);

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *env[] = {"NCCL_IB_QPS_PER_CONNECTION", cases[i].qps,
				     "NCCL_IB_SPLIT_DATA_ON_QPS", cases[i].split};
		struct rs_collective_conf conf = {.bytes = 1 << 20,
						  .nccl = {.version = cases[i].version,
							   .env = env,
							   .n_env = cases[i].split ? 2 : 1}};

		assert_int_equal(nccl_plan(f, conf)->turns, cases[i].turns);
	}
	rs_fabric_free(f);
}

static void test_nccl_says_what_it_does_not_run(void **state)
{
	static const struct {
		const char *env[2], *host, *what;
	} cases[] = {
		{{"NCCL_COLLNET_ENABLE", "1"}, "hosts/h100-8.xml", "SHARP"},
		{{"NCCL_TUNER_CONFIG_PATH", "/usr/local/gib/configs/tuner_config.txtpb"},
		 "hosts/h100-8.xml",
		 "no rules"},
		{{"NCCL_ALGO", "collnetchain"}, "hosts/h100-8.xml", "no algorithm left"},
		{{"NCCL_BUFFSIZE", "8"}, "hosts/h100-8.xml", "hold no chunk"},
		{{"NCCL_IB_TC", "106"}, "hosts/h100-8.xml", "the model has no NCCL_IB_TC"},
		{{"FI_CXI_RX_MATCH_MODE", "1"}, "hosts/h100-8.xml", "hardware, hybrid or software"},
		{{"FI_HMEM_CUDA_USE_GDRCOPY", "2"}, "hosts/h100-8.xml", "a number of 0 to 1"},
		{{"FI_CXI_RDZV_THRESHOLD", "-1"}, "hosts/h100-8.xml", "a number of 0 to"},
		{{"FI_CXI_RDZV_PROTO", "alt_read"}, "hosts/h100-8.xml", "the model has no FI_"},
		{{"NCCL_CROSS_NIC", "2"}, "hosts/mi100-2.xml", "MI100"}};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rs_fabric *f = nccl_fabric(cases[i].host, 2);
		const char *env[] = {cases[i].env[0], cases[i].env[1]};
		struct rs_collective_conf conf = {.bytes = 1 << 30,
						  .algorithm = RS_ALGO_NCCL,
						  .nccl = {.env = env, .n_env = 1}};
		struct rs_error e = {0};
		struct rs_coll *c;

		if (!rs_coll_plan(f, &conf, arena, &c, &e) || !strstr(e.what, cases[i].what))
			fail_msg("%s: %s", cases[i].env[0], e.what);
		rs_fabric_free(f);
	}
}

/* EFA's plugin tells NCCL 75 us: trees, which need two messages of it, are left for NVLSTree, which
 * pays it twice a message, at a larger size. */
static void test_nccl_hears_the_latency_of_efa(void **state)
{
	struct rs_fabric *f = nccl_fabric("scoreboard/hosts/hgx-h100.xml", 2);
	struct rs_collective_conf conf = {.bytes = 16 << 20, .nccl = {.version = "2.22.3"}};
	const char *protocol;

	assert_string_equal(chosen(nccl_plan(f, conf), &protocol), "NVLSTree");
	conf.nccl.net = RS_NCCL_NET_EFA;
	assert_string_equal(chosen(nccl_plan(f, conf), &protocol), "Tree");
	assert_string_equal(protocol, "LL128");
	conf.bytes = 64 << 20;
	assert_string_equal(chosen(nccl_plan(f, conf), &protocol), "NVLSTree");
	rs_fabric_free(f);
}

/* All threads of a block pass 4 KiB of data by LL in a turn: a step of two turns, of which the
 * second is not full, takes as long as two whole ones. */
static void test_nccl_lines_go_in_turns(void **state)
{
	struct rs_fabric *f = nccl_fabric("scoreboard/hosts/hgx-h100.xml", 1);
	const char *ll[] = {"NCCL_ALGO", "ring", "NCCL_PROTO", "LL"};
	struct rs_collective_conf conf = {.bytes = 1 << 20, .nccl = {.env = ll, .n_env = 2}};
	rs_time start = 0, some, two, three;

	some = step_time(nccl_plan(f, conf), 0, &start); /* 5.3 KiB a step of 24 channels */
	conf.bytes = 24 * 8 * 8192;
	two = step_time(nccl_plan(f, conf), 0, &start);
	conf.bytes += 24 * 8 * 64;
	three = step_time(nccl_plan(f, conf), 0, &start);
	assert_int_equal(some, two);
	assert_int_equal(three * 2, two * 3);
	rs_fabric_free(f);
}

/* On one host LL128 passes turn by turn (38,400 bytes): the next block begins after the first one.
 * Between hosts a step passes its whole chunk, which is on the NVLinks while the block works. */
static void test_nccl_ll128_goes_in_turns_on_one_host(void **state)
{
	const char *ring[] = {"NCCL_ALGO", "ring", "NCCL_PROTO", "LL128"};
	struct rs_collective_conf conf = {.nccl = {.env = ring, .n_env = 2}};

	for (unsigned hosts = 1; hosts <= 2; hosts++) {
		struct rs_fabric *f = nccl_fabric("scoreboard/hosts/hgx-h100.xml", hosts);
		rs_time start = 0, one;
		struct rs_coll *c;

		conf.bytes = 1 << 20;
		c = nccl_plan(f, conf);
		one = step_time(c, 0, &start);
		assert_false(c->lines);
		assert_int_equal(c->hop, hosts == 1 ? 600 * RS_NS : 1900 * RS_NS);
		conf.bytes = 24 << 20;
		c = nccl_plan(f, conf);
		assert_int_equal(c->lines, hosts == 1);
		assert_int_equal(c->stores, hosts == 2);
		if (hosts == 1) {
			assert_int_equal(c->hop, 600 * RS_NS + one);
			assert_int_equal(step_time(c, 0, &start) % one, 0);
		}
		rs_fabric_free(f);
	}
}

/* RCCL: no multicast, so that no NVLS. */
/* On one host of 8 GPUs RCCL runs an all-reduce up to 16 MiB as MSCCL's all-pairs: two hops and a
 * share to each peer, by LL below 512 KiB. A count that its 256 or 512 chunks do not divide, a
 * larger one, or variables that name another way have a ring. */
static void test_rccl_reduces_all_pairs(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *env, *algorithm, *protocol;
	} cases[] = {{512, NULL, "Ring", "LL"},
		     {1024, NULL, "AllPairs", "LL"},
		     {65536, NULL, "AllPairs", "LL"},
		     {66560, NULL, "Ring", "LL"}, /* 65 KiB: not 512 chunks */
		     {262144, NULL, "AllPairs", "LL"},
		     {524288, NULL, "AllPairs", "Simple"},
		     {16 << 20, NULL, "AllPairs", "Simple"},
		     {(16 << 20) + 2048, NULL, "Ring", "Simple"},
		     {65536, "ring", "Ring", "LL"}};
	struct rs_fabric *f = nccl_fabric("scoreboard/hosts/mi300x.xml", 1);
	const char *env[] = {"NCCL_ALGO", NULL}, *protocol;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rs_collective_conf conf = {.bytes = cases[i].bytes, .nccl = {.env = env}};
		struct rs_coll *c;

		env[1] = cases[i].env;
		conf.nccl.n_env = cases[i].env != NULL;
		c = nccl_plan(f, conf);
		if (strcmp(chosen(c, &protocol), cases[i].algorithm))
			fail_msg("case %zu: %s", i, chosen(c, &protocol));
		if (conf.bytes <= 16 << 20)
			assert_string_equal(protocol, cases[i].protocol);
		c->inside.den = c->net.den = 0;
		if (conf.bytes <= 65536)
			run_twin(c, i);
		if (conf.bytes == 16 << 20) {
			struct rs_step s;

			c->step(c, 0, 0, 1, &s); /* a share of 2 MiB at 32 GB/s */
			assert_int_equal(s.compute, (rs_time)(2 << 20) * RS_US / 32000);
			assert_int_equal(c->hop, 5900 * RS_NS);
			c->step(c, 0, 0, 0, &s); /* the start that its hops were fitted with */
			assert_int_equal(s.compute, 8400 * RS_NS);
		}
	}
	rs_fabric_free(f);
}

/* No multicast; on one host all pairs, which the test above has. */
static void test_rccl_has_rings_and_trees_alone(void **state)
{
	static const uint64_t bytes[] = {1 << 10, 1 << 18, 1 << 22, 1 << 26, 1 << 30};
	const char *protocol;

	for (unsigned hosts = 1; hosts <= 2; hosts++) {
		struct rs_fabric *f = nccl_fabric("scoreboard/hosts/mi355x.xml", hosts);

		for (unsigned i = 0; i < 5; i++) {
			struct rs_collective_conf conf = {.bytes = bytes[i]};
			const char *algorithm = chosen(nccl_plan(f, conf), &protocol);

			assert_true(!strcmp(algorithm, "Ring") || !strcmp(algorithm, "Tree") ||
				    (hosts == 1 && !strcmp(algorithm, "AllPairs")));
		}
		rs_fabric_free(f);
	}
}

static void test_ring_groups_run_at_once(void **state)
{
	static const struct {
		uint32_t ranks, stride, group;
	} cases[] = {{8, 4, 0}, {16, 2, 4}, {64, 8, 0}, {64, 8, 4}, {12, 1, 3}, {6, 2, 3}};
	static const enum rs_coll_op ops[] = {RS_COLL_ALL_REDUCE, RS_COLL_REDUCE_SCATTER,
					      RS_COLL_ALL_GATHER, RS_COLL_BROADCAST};

	for (unsigned i = 0; i < 6; i++)
		for (unsigned o = 0; o < 4; o++) {
			struct rs_collective_conf conf = {.op = ops[o],
							  .bytes = 999,
							  .chunk = 16,
							  .slots = SLOTS,
							  .type_bytes = 1,
							  .channels = 2,
							  .stride = cases[i].stride,
							  .group = cases[i].group};

			run_twin(plan(cases[i].ranks, 4, &conf), i);
		}
}

/* docs/models.md's bytes: exact where the buffer divides evenly. */
static void test_bytes_sent_are_the_closed_forms(void **state)
{
	const uint64_t size = 64 * 64 * 1024;
	struct rs_collective_conf conf = {.bytes = size, .chunk = 4096};
	uint64_t sum = 0;

	conf.op = RS_COLL_ALL_REDUCE;
	assert_int_equal(rs_coll_bytes_sent(plan(8, 1, &conf), 3), size * 2 * 7 / 8);
	assert_int_equal(plan(8, 1, &conf)->bus_numerator, 14);
	conf.op = RS_COLL_REDUCE_SCATTER;
	assert_int_equal(rs_coll_bytes_sent(plan(8, 1, &conf), 3), size * 7 / 8);
	assert_int_equal(plan(8, 1, &conf)->count, size / 4 / 8);
	conf.op = RS_COLL_ALL_GATHER;
	assert_int_equal(rs_coll_bytes_sent(plan(8, 1, &conf), 3), size * 7 / 8);
	conf.op = RS_COLL_ALL_TO_ALL;
	conf.algorithm = RS_ALGO_PAIRWISE;
	assert_int_equal(rs_coll_bytes_sent(plan(8, 1, &conf), 3), size * 7 / 8);
	conf.op = RS_COLL_ALL_REDUCE;
	conf.algorithm = RS_ALGO_TREE;
	for (uint32_t r = 0; r < 8; r++)
		sum += rs_coll_bytes_sent(plan(8, 1, &conf), r);
	assert_int_equal(sum, size * 2 * 7);
}

/* Hierarchical: 2(N-1)/N * S/g through a NIC, 2(g-1)/g * S over NVLink. */
static void test_hierarchical_bytes_by_network(void **state)
{
	const uint64_t size = 64 * 64 * 1024;
	struct rs_collective_conf conf = {.op = RS_COLL_ALL_REDUCE,
					  .bytes = size,
					  .algorithm = RS_ALGO_HIERARCHICAL,
					  .chunk = 4096,
					  .channels = 2,
					  .step_latency = RS_US};
	struct rs_coll *c = plan(32, 8, &conf);
	uint64_t bytes[2] = {0, 0};
	struct rs_step s;

	for (uint32_t l = 0; l < c->n_lanes; l++)
		for (uint64_t i = 0; i < c->n_steps(c, 9, l); i++) {
			bool net = false;

			c->step(c, 9, l, i, &s);
			for (unsigned k = 0; k < s.n_send; k++) {
				net |= !c->conns[s.send[k].conn].nvlink;
				bytes[c->conns[s.send[k].conn].nvlink] += s.send[k].bytes;
			}
			for (unsigned k = 0; k < s.n_recv; k++)
				net |= !c->conns[s.recv[k].conn].nvlink;
			assert_int_equal(s.compute, net ? RS_US : 0);
		}
	assert_int_equal(bytes[0], size / 8 * 2 * 3 / 4);
	assert_int_equal(bytes[1], size * 2 * 7 / 8);
}

/* As many channels as NICs: each NIC sends for one, and hosts meet on the same rail. */
static void test_ring_channels_use_all_nics(void **state)
{
	struct rs_collective_conf conf = {
		.op = RS_COLL_ALL_REDUCE, .bytes = 1 << 20, .channels = 8};
	struct rs_coll *c = plan(32, 8, &conf);
	unsigned used[32] = {0};

	for (uint32_t i = 0; i < c->n_conns; i++)
		if (!c->conns[i].nvlink) {
			used[c->conns[i].src_endpoint]++;
			assert_int_equal(c->conns[i].src_endpoint % 8,
					 c->conns[i].dst_endpoint % 8);
		}
	for (unsigned i = 0; i < 32; i++)
		assert_int_equal(used[i], 1);
}

/* A chunk that is large enough goes in two messages of whole packets, a small one in one. */
static void test_rings_cut_chunks_in_slices(void **state)
{
	static const struct {
		uint64_t bytes, chunk, message;
		uint32_t slots;
	} cases[] = {
		{64 << 20, 512 << 10, 1 << 20, 8},   {64 << 20, 512 << 10, 512 << 10, 4},
		{64 << 20, 512 << 10, 256 << 10, 1}, {4 * 32768, 512 << 10, 16384, 8},
		{4 * 32764, 512 << 10, 32764, 8},    {4 * 40000, 512 << 10, 20480, 8},
		{1ull << 40, 1 << 30, 1 << 30, 64},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rs_collective_conf conf = {.op = RS_COLL_ALL_REDUCE,
						  .bytes = cases[i].bytes,
						  .chunk = cases[i].chunk,
						  .slots = cases[i].slots};
		struct rs_fabric *f = make_fabric(4, 1);
		struct rs_coll *c;
		struct rs_error e;
		struct rs_step s;

		f->transport.mtu = 4096;
		assert_int_equal(rs_coll_plan(f, &conf, arena, &c, &e), 0);
		c->step(c, 1, 0, 0, &s);
		assert_int_equal(s.n_send, 1);
		assert_int_equal(s.n_recv, 0);
		assert_int_equal(s.send[0].bytes, cases[i].message);
	}
}

static void test_tree_is_log_deep_and_leaves_differ(void **state)
{
	struct rs_collective_conf conf = {
		.op = RS_COLL_ALL_REDUCE, .bytes = 1 << 20, .algorithm = RS_ALGO_TREE};

	for (uint32_t n = 2; n <= 64; n++) {
		struct rs_coll *c = plan(n, 1, &conf);
		unsigned leaf = 0;

		for (uint32_t r = 0; r < n; r++) {
			unsigned sends = 0;
			struct rs_step s;

			for (uint32_t tree = 0; tree < 2; tree++) {
				c->step(c, r, 2 * tree, 0, &s);
				sends += s.n_recv == 0;
			}
			leaf += sends == 2;
		}
		assert_true(leaf <= (n == 2 ? 0 : 1));
	}
}

/* Bytes that each NIC sends in all. */
static void nic_bytes(const struct rs_coll *c, uint64_t *bytes)
{
	struct rs_step s;

	for (uint32_t r = 0; r < c->n_ranks; r++)
		for (uint32_t l = 0; l < c->n_lanes; l++)
			for (uint64_t i = 0, n = c->n_steps(c, r, l); i < n; i++) {
				c->step(c, r, l, i, &s);
				for (unsigned k = 0; k < s.n_send; k++)
					if (!c->conns[s.send[k].conn].nvlink)
						bytes[c->conns[s.send[k].conn].src_endpoint] +=
							s.send[k].bytes;
			}
}

/* Both trees of a channel leave a host by one NIC: it sends 2S a channel where both ends of a
 * mirrored tree meet (an even number of hosts), S at the two roots. */
static void test_trees_share_their_nic(void **state)
{
	for (uint32_t gpus = 1; gpus <= 8; gpus++)
		for (uint32_t hosts = 2; hosts <= 8; hosts += 2) {
			struct rs_collective_conf conf = {.op = RS_COLL_ALL_REDUCE,
							  .bytes = gpus * 65536,
							  .algorithm = RS_ALGO_TREE};
			struct rs_coll *c = plan(hosts * gpus, gpus, &conf);
			uint64_t bytes[64] = {0};

			assert_int_equal(c->conf.channels, gpus);
			nic_bytes(c, bytes);
			for (uint32_t i = 0; i < hosts * gpus; i++) {
				uint32_t h = i / gpus;
				bool root = !h || h == hosts - 1;

				assert_int_equal(bytes[i], root ? 65536 : 2 * 65536);
			}
		}
}

static void test_broadcast_tree_uses_all_nics(void **state)
{
	struct rs_collective_conf conf = {
		.op = RS_COLL_BROADCAST, .bytes = 8 << 16, .algorithm = RS_ALGO_TREE};
	uint64_t bytes[64] = {0};

	nic_bytes(plan(32, 8, &conf), bytes);
	for (uint32_t i = 0; i < 32;
	     i++) /* 0 and 2 have a child, 2 has another at 1; 3 and 1 none */
		assert_int_equal(bytes[i], i / 8 == 0 ? 1 << 16 : i / 8 == 2 ? 2 << 16 : 0);
}

/* Channels that nobody asked for: as many as NICs that neighbours of a ring use on a host. */
static void test_channels_by_default(void **state)
{
	static const struct {
		uint32_t ranks, gpus, use, stride, group, want;
		enum rs_coll_algorithm algorithm;
	} cases[] = {
		{8, 1, 0, 0, 0, 1, RS_ALGO_RING},          {16, 8, 0, 0, 0, 8, RS_ALGO_RING},
		{16, 8, 4, 0, 0, 4, RS_ALGO_RING},         {17, 8, 0, 0, 0, 8, RS_ALGO_TREE},
		{16, 8, 0, 0, 0, 1, RS_ALGO_HIERARCHICAL}, {16, 8, 0, 8, 0, 1, RS_ALGO_RING},
		{32, 8, 0, 2, 0, 4, RS_ALGO_RING},         {32, 8, 0, 1, 4, 4, RS_ALGO_RING},
		{16, 8, 9, 0, 0, 8, RS_ALGO_RING},         {12, 3, 0, 0, 0, 3, RS_ALGO_RING},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rs_collective_conf conf = {.op = RS_COLL_ALL_REDUCE,
						  .bytes = 4096,
						  .algorithm = cases[i].algorithm,
						  .n_ranks = cases[i].use,
						  .stride = cases[i].stride,
						  .group = cases[i].group};

		assert_int_equal(plan(cases[i].ranks, cases[i].gpus, &conf)->conf.channels,
				 cases[i].want);
	}
}

/* GPUs that take two NICs in turn (0 1 0 1 2 3 2 3): every NIC still carries one channel each way.
 */
static void test_channels_take_nics_in_turn(void **state)
{
	static const enum rs_coll_algorithm algorithms[] = {RS_ALGO_RING, RS_ALGO_TREE};

	for (unsigned a = 0; a < 2; a++)
		for (uint32_t per = 1; per <= 4; per *= 2) {
			struct rs_fabric *f = make_fabric(32, 8);
			struct rs_collective_conf conf = {.op = RS_COLL_ALL_REDUCE,
							  .bytes = 1 << 20,
							  .algorithm = algorithms[a]};
			unsigned out[32] = {0}, in[32] = {0}, nics = 8 / per;
			struct rs_coll *c;
			struct rs_error e;

			f->pair_by_index = true;
			for (uint32_t h = 0; h < 4; h++) {
				f->hosts[h].inside =
					rs_arena_alloc(arena, 1, sizeof(struct rs_host));
				f->hosts[h].first_endpoint = h * nics;
				f->hosts[h].n_endpoints = nics;
			}
			assert_int_equal(rs_coll_plan(f, &conf, arena, &c, &e), 0);
			assert_int_equal(c->conf.channels, nics);
			for (uint32_t i = 0; i < c->n_conns; i++)
				if (!c->conns[i].nvlink) {
					out[c->conns[i].src_endpoint]++;
					in[c->conns[i].dst_endpoint]++;
				}
			for (uint32_t i = 0; i < 4 * nics; i++) {
				assert_int_equal(out[i], out[i / nics * nics]);
				assert_int_equal(in[i], out[i]);
			}
		}
}

static void test_refusals(void **state)
{
	static const struct {
		uint32_t ranks, gpus;
		struct rs_collective_conf conf;
	} cases[] = {
		{1, 1, {.bytes = 64}},
		{4, 1, {.bytes = 64, .n_ranks = 5}},
		{4, 1, {.bytes = 2}},
		{4, 1, {.bytes = 64, .op = RS_COLL_ALL_TO_ALL}},
		{4, 1, {.bytes = 64, .op = RS_COLL_ALL_GATHER, .algorithm = RS_ALGO_TREE}},
		{7, 2, {.bytes = 64, .algorithm = RS_ALGO_HIERARCHICAL}},
		{8, 2, {.bytes = 64, .stride = 3}},
		{8, 2, {.bytes = 64, .stride = 8}},
		{8, 2, {.bytes = 64, .stride = 2, .group = 3}},
		{8, 2, {.bytes = 64, .stride = 2, .algorithm = RS_ALGO_TREE}},
		{8, 2, {.bytes = 64, .channels = 65}},
		{8, 2, {.bytes = 64, .chunk = 1}},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rs_error e = {0};
		struct rs_coll *c;

		assert_int_equal(rs_coll_plan(make_fabric(cases[i].ranks, cases[i].gpus),
					      &cases[i].conf, arena, &c, &e),
				 -EINVAL);
		assert_true(e.what[0]);
		assert_null(c);
	}
}

static int setup(void **state)
{
	arena = rs_arena_create(0);
	return arena ? 0 : -1;
}

static int teardown(void **state)
{
	rs_arena_destroy(arena);
	return 0;
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_ring_all_reduce),
		TEST(test_ring_reduce_scatter),
		TEST(test_ring_all_gather),
		TEST(test_chain_broadcast),
		TEST(test_tree_all_reduce),
		TEST(test_tree_broadcast),
		TEST(test_hierarchical_all_reduce),
		TEST(test_hierarchical_reduce_scatter),
		TEST(test_hierarchical_all_gather),
		TEST(test_pairwise_all_to_all),
		TEST(test_nccl_rings_and_trees),
		TEST(test_pat_moves_all_shares),
		TEST(test_pat_small_takes_log_messages),
		TEST(test_nccl_point_to_point_shares_steps),
		TEST(test_nccl_leaves_a_host_where_nics_are_faster),
		TEST(test_nccl_channels_have_a_rate_each),
		TEST(test_nccl_rings_begin_and_end_alone),
		TEST(test_nccl_trees_end_alone),
		TEST(test_nccl_blocks_read_or_write),
		TEST(test_nccl_messages_over_efa),
		TEST(test_nccl_over_tcp_of_google),
		TEST(test_nccl_scale_divides_costs),
		TEST(test_nccl_chooses_as_for_another_size),
		TEST(test_nccl_one_thread_starts_many),
		TEST(test_nccl_one_thread_writes_elements),
		TEST(test_nccl_networks_differ),
		TEST(test_nccl_chunks_as_aws_sets_them),
		TEST(test_nccl_slingshot_copies_by_software),
		TEST(test_nccl_slingshot_has_an_eager_limit),
		TEST(test_nccl_slingshot_copies_what_comes_early),
		TEST(test_nccl_stages_without_gpudirect),
		TEST(test_nccl_reads_the_host_by_threads),
		TEST(test_nccl_reads_the_host_and_then_works),
		TEST(test_rccl_trees_take_time_for_a_chunk),
		TEST(test_nccl_passes_through_the_host_without_peer_to_peer),
		TEST(test_nccl_slices_have_a_least_size),
		TEST(test_nccl_ring_messages_are_those_captured),
		TEST(test_nccl_small_messages_go_by_ll),
		TEST(test_nccl_point_to_point_inside_a_host),
		TEST(test_nccl_point_to_point_through_the_host),
		TEST(test_nccl_stores_over_pcie_at_a_blocks_rate),
		TEST(test_nccl_all_gather_fills_its_own_memory),
		TEST(test_nccl_proxies_share_cores),
		TEST(test_nccl_queue_pairs_take_turns),
		TEST(test_nccl_says_what_it_does_not_run),
		TEST(test_nccl_hears_the_latency_of_efa),
		TEST(test_nccl_lines_go_in_turns),
		TEST(test_nccl_ll128_goes_in_turns_on_one_host),
		TEST(test_rccl_has_rings_and_trees_alone),
		TEST(test_rccl_reduces_all_pairs),
		TEST(test_ring_groups_run_at_once),
		TEST(test_bytes_sent_are_the_closed_forms),
		TEST(test_hierarchical_bytes_by_network),
		TEST(test_ring_channels_use_all_nics),
		TEST(test_rings_cut_chunks_in_slices),
		TEST(test_tree_is_log_deep_and_leaves_differ),
		TEST(test_trees_share_their_nic),
		TEST(test_broadcast_tree_uses_all_nics),
		TEST(test_channels_by_default),
		TEST(test_channels_take_nics_in_turn),
		TEST(test_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

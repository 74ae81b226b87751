/*
 * The checks that found faults in NICs of four vendors (Lumina, SIGCOMM 2023), on this transport:
 * two NICs, a wire that drops or marks chosen packets, a capture at each end, and ripstop pcap's
 * follower as the judge of both. Go-back-N, NAKs, timeouts, CNPs, sharing, counters.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "rdma/nic.h"
#include "capture/follow.h"
#include "wire/pcapng.h"

enum {
	QPS = 8,
	PD = 3,
	MTU = 1024,
	DEPTH = 16,
	AREA = 1 << 18,
	FLIGHTS = 4096,
	PACKETS = 1 << 14,
	FRAME_MAX = RS_MAX_PAYLOAD + RS_MAX_HEADERS,
	TIMEOUT = 8, /* 4.096 us << 8: about 1 ms */
	RETRIES = 3,
	CC_PARAMS = 256,
};

/* A packet that the wire drops, or marks: the nth of its kind from its end, so many times. */
struct fault {
	bool (*kind)(const struct rs_packet *p);
	uint32_t from, nth, times, seen;
	bool mark;
	uint32_t qp; /* 1 + index of the QP whose packets count; 0: all */
};

struct flight {
	struct rs_packet *p;
	uint8_t *bytes;
	rs_time when;
	uint64_t order;
	uint32_t to;
};

struct world {
	struct rs_pool pool;
	struct rs_pool_list lists[2];
	struct rs_nic *nics[2];
	struct rs_cq *cq;
	struct rs_qp *qps[2][QPS];
	uint32_t keys[2], n_qps;
	uint8_t *memory[2];
	struct rs_pcapng_writer *pcap[2];
	char path[2][64];
	struct fault faults[16];
	unsigned n_faults;
	struct flight flights[FLIGHTS];
	uint32_t flying;
	uint64_t order;
	rs_time now, ask[2], free[2], latency;
	uint8_t paused;
	rs_time done[QPS]; /* when the last request of each completed */
	uint32_t completed[QPS];
	uint8_t status[QPS];
	_Alignas(8) uint8_t cc_params[CC_PARAMS];
	struct rs_cc_use cc;
};

struct options {
	uint32_t qps;
	const char *dcqcn; /* a preset; NULL: no congestion control */
	uint8_t tc[QPS];
	uint8_t reads;
};

/* ---- The world ---- */

static struct world *begin(struct options o)
{
	struct world *w = calloc(1, sizeof(*w));
	struct rs_error e = {0};

	assert_non_null(w);
	assert_int_equal(rs_pool_init(&w->pool, PACKETS), 0);
	w->n_qps = o.qps;
	w->latency = RS_US;
	if (o.dcqcn)
		assert_int_equal(rs_cc_params_init(&rs_cc_dcqcn, o.dcqcn,
						   (struct rs_cc_params *)w->cc_params, &e),
				 0);
	w->cc = (struct rs_cc_use){&rs_cc_dcqcn, (struct rs_cc_params *)w->cc_params};
	for (uint32_t i = 0; i < 2; i++) {
		struct rs_nic_config c = {
			.endpoint = i,
			.line_rate = 100 * RS_GBPS,
			.max_qps = QPS,
			.max_mrs = 1,
			.max_cqs = 1,
			.first_qpn = 16 + 100 * i,
			.free = &w->lists[i],
			.cc = o.dcqcn ? &w->cc : NULL,
			.n_cc = o.dcqcn != NULL,
			.cnp_tos = 48 << 2,
			.cnp_tc = 6,
			.ack_every = 1,
			.copy_payload = true,
			.qp_counters = true,
		};
		struct rs_cq *cq;

		rs_pool_list_init(&w->lists[i], &w->pool);
		assert_int_equal(rs_nic_create(&c, &w->nics[i], &e), 0);
		w->memory[i] = calloc(QPS, AREA);
		assert_non_null(w->memory[i]);
		assert_int_equal(
			rs_nic_reg_mr(w->nics[i], PD, 0, QPS * AREA, 15, w->memory[i], &w->keys[i]),
			0);
		assert_int_equal(rs_nic_create_cq(w->nics[i], 2 * QPS * DEPTH, &cq), 0);
		w->cq = i ? w->cq : cq;
		for (uint32_t k = 0; k < o.qps; k++) {
			struct rs_qp_init init = {
				.pd = PD,
				.send_cq = cq,
				.recv_cq = cq,
				.max_send_wr = DEPTH,
				.max_recv_wr = DEPTH,
				.max_send_sge = 1,
				.max_recv_sge = 1,
				.transport = RS_RC,
			};

			assert_int_equal(rs_nic_create_qp(w->nics[i], &init, &w->qps[i][k]), 0);
		}
		strcpy(w->path[i], "/tmp/lumina-XXXXXX");
		close(mkstemp(w->path[i]));
		assert_int_equal(rs_pcapng_create(w->path[i], &w->pcap[i], &e), 0);
		assert_int_equal(rs_pcapng_add_interface(w->pcap[i], "host"), 0);
		w->ask[i] = RS_NEVER;
	}
	for (uint32_t i = 0; i < AREA * QPS; i++)
		w->memory[1][i] = (uint8_t)(i * 7 + (i >> 8));
	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t k = 0; k < o.qps; k++) {
			struct rs_qp_attr a = {
				.dest_endpoint = !i,
				.dest_qpn = rs_qp_num(w->qps[!i][k]),
				.sq_psn = 0xfffff0 + k,
				.rq_psn = 0xfffff0 + k,
				.path_mtu = MTU,
				.pkey = 0xffff,
				.sport = (uint16_t)(0xc000 + k),
				.tos = 26 << 2 | RS_ECN_ECT0,
				.tc = o.tc[k] ? o.tc[k] : 3,
				.timeout = TIMEOUT,
				.retry_cnt = RETRIES,
				.rnr_retry = 7,
				.min_rnr_timer = 1,
				.max_rd_atomic = o.reads ? o.reads : 1,
				.max_dest_rd_atomic = o.reads ? o.reads : 1,
				.access = 15,
			};

			assert_int_equal(rs_qp_connect(w->nics[i], w->qps[i][k], &a, 0), 0);
		}
	return w;
}

static void end(struct world *w)
{
	for (uint32_t i = 0; i < 2; i++) {
		rs_nic_check(w->nics[i]);
		rs_nic_destroy(w->nics[i]);
		unlink(w->path[i]);
		free(w->memory[i]);
	}
	assert_int_equal(w->pool.fresh, w->pool.spill_count + rs_pool_list_count(&w->lists[0]) +
						rs_pool_list_count(&w->lists[1]));
	rs_pool_fini(&w->pool);
	free(w);
}

static void capture(struct world *w, uint32_t host, const struct rs_packet *p)
{
	uint8_t frame[FRAME_MAX];
	struct rs_frame f;
	long n;

	rs_frame_of_endpoints(&f, p->src, p->dst, false);
	n = rs_frame_encode(&f, p, frame, sizeof(frame));
	assert_true(n > 0);
	assert_int_equal(rs_pcapng_write(w->pcap[host], 0, w->now, frame, (size_t)n), 0);
}

static uint32_t qp_of(const struct world *w, const struct rs_packet *p)
{
	for (uint32_t k = 0; k < w->n_qps; k++)
		if (p->dest_qp == rs_qp_num(w->qps[p->dst][k]))
			return k;
	return QPS;
}

/* The wire: false when the packet is lost. */
static bool survives(struct world *w, struct rs_packet *p)
{
	bool lost = false;

	for (unsigned i = 0; i < w->n_faults; i++) {
		struct fault *f = &w->faults[i];

		if (f->from != p->src || !f->kind(p) || (f->qp && f->qp - 1 != qp_of(w, p)))
			continue;
		if (f->seen++ < f->nth || !f->times)
			continue;
		f->times--;
		lost |= !f->mark;
		if (f->mark)
			p->tos |= RS_ECN_CE;
	}
	return !lost;
}

static void turn(struct world *w, uint32_t i)
{
	rs_time again;
	struct rs_packet *p = rs_nic_tx(w->nics[i], w->paused, w->now, &again);
	struct flight *f;

	w->ask[i] = again;
	if (!p)
		return;
	w->free[i] = w->ask[i] = w->now + (rs_time)rs_packet_link_bytes(p) * 80;
	capture(w, i, p);
	if (!survives(w, p)) {
		rs_pool_free(&w->lists[i], p);
		return;
	}
	assert_true(w->flying < FLIGHTS);
	f = &w->flights[w->flying++];
	*f = (struct flight){
		.p = p, .to = !i, .when = w->free[i] + w->latency, .order = w->order++};
	if (p->payload_bytes) {
		f->bytes = malloc(p->payload_bytes);
		assert_non_null(f->bytes);
		memcpy(f->bytes, p->payload, p->payload_bytes);
		p->payload = f->bytes;
	}
}

static void deliver(struct world *w, uint32_t i)
{
	struct flight f = w->flights[i];

	w->flights[i] = w->flights[--w->flying];
	capture(w, f.to, f.p);
	rs_nic_rx(w->nics[f.to], f.p, w->now);
	free(f.bytes);
	w->ask[f.to] = rs_time_max(w->now, w->free[f.to]);
}

static void poll(struct world *w)
{
	struct rs_cqe e;

	while (rs_cq_poll(w->cq, &e, 1)) {
		uint32_t k = e.qpn - 16;

		w->done[k] = w->now;
		w->completed[k]++;
		if (!w->status[k])
			w->status[k] = e.status;
	}
}

static bool step(struct world *w)
{
	rs_time when = RS_NEVER;
	uint32_t best = 0;
	int kind = 0;

	for (uint32_t i = 0; i < w->flying; i++)
		if (w->flights[i].when < when ||
		    (w->flights[i].when == when && w->flights[i].order < w->flights[best].order)) {
			when = w->flights[i].when;
			best = i;
		}
	for (uint32_t i = 0; i < 2; i++) {
		if (w->ask[i] < when) {
			when = w->ask[i];
			kind = 1 + (int)i;
		}
		if (rs_nic_deadline(w->nics[i]) < when) {
			when = rs_nic_deadline(w->nics[i]);
			kind = 3 + (int)i;
		}
	}
	if (when == RS_NEVER)
		return false;
	w->now = rs_time_max(w->now, when);
	if (kind == 0) {
		deliver(w, best);
	} else if (kind < 3) {
		turn(w, (uint32_t)kind - 1);
	} else {
		rs_nic_expire(w->nics[kind - 3], w->now);
		w->ask[kind - 3] = rs_time_max(w->now, w->free[kind - 3]);
	}
	poll(w);
	return true;
}

/* A request of QP k, of and to its own area. */
static void post(struct world *w, uint32_t k, uint8_t op, uint32_t length)
{
	struct rs_sge s = {.va = (uint64_t)k * AREA, .length = length, .lkey = w->keys[0]};
	struct rs_sge r = {.va = (uint64_t)k * AREA, .length = length, .lkey = w->keys[1]};
	struct rs_recv_wr rr = {.n_sge = 1, .sge = &r};
	struct rs_send_wr wr = {
		.op = op,
		.flags = RS_WR_SIGNALED,
		.n_sge = 1,
		.sge = &s,
		.remote_va = (uint64_t)k * AREA,
		.rkey = w->keys[1],
	};

	if (op == RS_WR_SEND)
		assert_int_equal(rs_qp_post_recv(w->nics[1], w->qps[1][k], &rr), 0);
	assert_int_equal(rs_qp_post_send(w->nics[0], w->qps[0][k], &wr, w->now), 0);
	w->ask[0] = rs_time_max(w->now, w->free[0]);
}

static void add(struct world *w, struct fault f)
{
	w->faults[w->n_faults++] = f;
}

static void run(struct world *w)
{
	uint32_t steps = 0;

	while (step(w))
		assert_true(++steps < 1000000);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(rs_pcapng_close(w->pcap[i], NULL), 0);
}

/* ---- The judge ---- */

static void read_capture(const char *path, void (*each)(void *arg, const struct rs_pcap_packet *k),
			 void *arg)
{
	struct rs_pcap_reader *r;
	struct rs_pcap_packet k;
	struct rs_error e = {0};

	assert_int_equal(rs_pcap_open(path, &r, &e), 0);
	while (rs_pcap_next(r, &k, &e) > 0)
		each(arg, &k);
	rs_pcap_close(r);
}

static void learn(void *f, const struct rs_pcap_packet *k)
{
	rs_follow_learn(f, k->bytes, k->captured);
}

static void follow(void *f, const struct rs_pcap_packet *k)
{
	assert_int_equal(rs_follow_packet(f, 0, k->when_ns, k->bytes, k->captured), 0);
}

/* What a third party says about the capture at an end; nothing may be wrong on the wire. */
static struct rs_follow *judge(const struct world *w, uint32_t host)
{
	struct rs_follow *f;

	assert_int_equal(rs_follow_create(&f), 0);
	read_capture(w->path[host], learn, f);
	read_capture(w->path[host], follow, f);
	assert_int_equal(rs_follow_finish(f), 0);
	assert_int_equal(rs_follow_totals(f)->wrong, 0);
	return f;
}

/* The stream of QP k's requests. */
static const struct rs_follow_stream *stream(const struct world *w, const struct rs_follow *f,
					     uint32_t k)
{
	for (uint32_t i = 0; i < rs_follow_streams(f); i++)
		if (rs_follow_stream(f, i)->dest_qp == rs_qp_num(w->qps[1][k]))
			return rs_follow_stream(f, i);
	fail_msg("the capture has no requests of QP %u", k);
	return NULL;
}

/* The nth event of a kind; NULL: there are fewer. */
static const struct rs_follow_event *event(const struct rs_follow *f, enum rs_follow_kind kind,
					   unsigned nth)
{
	for (uint32_t i = 0; i < rs_follow_events(f); i++)
		if (rs_follow_event(f, i)->kind == kind && !nth--)
			return rs_follow_event(f, i);
	return NULL;
}

/* A slow, obvious twin of the counters: what the NICs must have counted, from the bytes alone. */
struct tally {
	const struct world *w;
	uint32_t host; /* whose capture */
	uint32_t expected[QPS];
	uint64_t out, in, beyond, old, again, naks, rnr, ce, cnps_out, cnps_in;
	uint64_t unmigrated;
	int64_t last_cnp[QPS], due[QPS]; /* of CNPs: ns; -1: none */
	uint64_t cnps_due;
	int64_t interval;
};

static void request_arrives(struct tally *t, uint32_t k, const struct rs_packet *p)
{
	int32_t ahead = rs_psn_diff(p->psn, t->expected[k]);
	uint32_t n = 1;

	if (p->opcode == RS_OP_READ_REQUEST)
		n = p->dma_bytes ? (p->dma_bytes + MTU - 1) / MTU : 1;
	t->beyond += ahead > 0;
	t->old += ahead < 0;
	if (!ahead)
		t->expected[k] = rs_psn_add(p->psn, n);
}

static void marked_arrives(struct tally *t, uint32_t k, int64_t now)
{
	t->ce++;
	if (t->last_cnp[k] >= 0 && now - t->last_cnp[k] < t->interval)
		return;
	t->last_cnp[k] = now;
	t->cnps_due++;
}

static void count(void *arg, const struct rs_pcap_packet *c)
{
	struct tally *t = arg;
	struct rs_error why;
	struct rs_frame f;
	struct rs_packet p;
	uint32_t flags, k;
	bool arrives;

	assert_int_equal(rs_frame_decode(c->bytes, c->captured, &f, &p, &why), RS_DECODE_OK);
	assert_true(f.icrc_ok);
	flags = rs_opcodes[p.opcode].flags;
	arrives = f.dip[15] == (uint8_t)(t->host + 1);
	t->unmigrated += !(p.bth_flags & RS_BTH_MIGREQ);
	t->in += arrives;
	t->out += !arrives;
	p.dst = arrives ? t->host : !t->host;
	k = qp_of(t->w, &p);
	assert_true(k < QPS);
	if (flags & RS_F_CNP) {
		t->cnps_in += arrives;
		t->cnps_out += !arrives;
		return;
	}
	if (!arrives)
		return;
	if (rs_packet_ecn(&p) == RS_ECN_CE)
		marked_arrives(t, k, c->when_ns);
	if (!(flags & RS_F_RESPONSE)) {
		request_arrives(t, k, &p);
	} else if ((flags & RS_F_AETH) && rs_packet_syndrome(&p) == RS_NAK_PSN_SEQ) {
		t->naks++;
	} else if ((flags & RS_F_AETH) && (rs_packet_syndrome(&p) & RS_SYN_KIND) == RS_SYN_RNR) {
		t->rnr++;
	}
}

static struct tally tally(const struct world *w, uint32_t host, int64_t interval)
{
	struct tally t = {.w = w, .host = host, .interval = interval};

	for (uint32_t k = 0; k < QPS; k++) {
		t.expected[k] = 0xfffff0 + k;
		t.last_cnp[k] = -1;
	}
	read_capture(w->path[host], count, &t);
	return t;
}

/* Every counter is what its end's capture shows; no packet says that it migrates (it
 * would: 17.2.8). */
static void counters_tell_the_truth(const struct world *w, const struct rs_follow *requester)
{
	const struct rs_nic_counters *c[2] = {rs_nic_get_counters(w->nics[0]),
					      rs_nic_get_counters(w->nics[1])};
	uint64_t resent = 0, timeouts = 0, read_losses = 0;

	for (uint32_t i = 0; i < 2; i++) {
		struct tally t = tally(w, i, 0);

		assert_int_equal(c[i]->tx_packets, t.out);
		assert_int_equal(c[i]->rx_packets, t.in);
		assert_int_equal(c[i]->out_of_sequence, t.beyond);
		assert_int_equal(c[i]->duplicate_request, t.old);
		assert_int_equal(c[i]->packet_seq_err, t.naks);
		assert_int_equal(c[i]->rnr_nak_retry_err, t.rnr);
		assert_int_equal(c[i]->np_ecn_marked_roce_packets, t.ce);
		assert_int_equal(c[i]->np_cnp_sent, t.cnps_out);
		assert_int_equal(c[i]->rp_cnp_handled, t.cnps_in);
		assert_int_equal(c[i]->rx_dropped + c[i]->rx_icrc_encapsulated, 0);
		assert_int_equal(t.unmigrated, 0);
	}
	for (uint32_t i = 0; i < rs_follow_streams(requester); i++)
		resent += rs_follow_stream(requester, i)->resent;
	for (uint32_t i = 0; i < rs_follow_events(requester); i++) {
		const struct rs_follow_event *e = rs_follow_event(requester, i);

		timeouts += e->kind == RS_FOLLOW_RESENT && e->cause == RS_CAUSE_TIMEOUT;
		read_losses += e->kind == RS_FOLLOW_RESENT && e->cause == RS_CAUSE_READ_LOSS;
	}
	assert_int_equal(c[0]->retransmitted_packets, resent);
	assert_int_equal(c[0]->local_ack_timeout_err, timeouts);
	assert_int_equal(c[0]->implied_nak_seq_err, read_losses);
}

/* ---- Kinds of packets ---- */

static bool data(const struct rs_packet *p)
{
	return !(rs_opcodes[p->opcode].flags & (RS_F_RESPONSE | RS_F_CNP));
}

static bool response(const struct rs_packet *p)
{
	return rs_opcodes[p->opcode].flags & RS_F_READ &&
	       rs_opcodes[p->opcode].flags & RS_F_RESPONSE;
}

static bool ack(const struct rs_packet *p)
{
	return p->opcode == RS_OP_ACKNOWLEDGE && rs_packet_syndrome(p) < RS_NAK_PSN_SEQ;
}

static bool nak(const struct rs_packet *p)
{
	return p->opcode == RS_OP_ACKNOWLEDGE && rs_packet_syndrome(p) == RS_NAK_PSN_SEQ;
}

/* ---- The checks ---- */

enum { PACKETS_SENT = 64, WIRE_NS = 95 /* of a full packet at 100 Gb/s, rounded up */ };

static int64_t rto_ns(void)
{
	return INT64_C(4096) << TIMEOUT;
}

/* §9.9.2: between the value of the attribute and four times that since what was not answered, which
 * so many packets followed. */
static void in_time(int64_t delay_ns, unsigned followed)
{
	delay_ns += followed * WIRE_NS;
	assert_true(delay_ns >= rto_ns() && delay_ns <= 4 * rto_ns());
}

static void test_go_back_to_the_nth_packet(void **state)
{
	static const uint8_t ops[] = {RS_WR_WRITE, RS_WR_SEND};
	static const uint32_t nth[] = {0, 1, 7, 31, PACKETS_SENT - 2};

	for (unsigned i = 0; i < 2 * sizeof(nth) / sizeof(nth[0]); i++) {
		uint32_t n = nth[i / 2], first = 0xfffff0;
		struct world *w = begin((struct options){.qps = 1});
		const struct rs_follow_event *e;
		const struct rs_follow_stream *s;
		struct rs_follow *f;

		add(w, (struct fault){.kind = data, .nth = n, .times = 1});
		post(w, 0, ops[i % 2], PACKETS_SENT * MTU);
		run(w);
		assert_int_equal(w->status[0], RS_WC_SUCCESS);
		assert_memory_equal(w->memory[0], w->memory[1], PACKETS_SENT * MTU);
		/* the responder's end: a gap of one, one NAK, at the packet that shows it */
		f = judge(w, 1);
		s = stream(w, f, 0);
		assert_int_equal(s->gaps, n > 0); /* before the first nothing is known */
		assert_int_equal(s->naks, 1);
		e = event(f, RS_FOLLOW_NAK, 0);
		assert_int_equal(e->psn, rs_psn_add(first, n));
		assert_int_equal(e->delay_ns, 0);
		rs_follow_destroy(f);
		/* the requester's: from that very packet on, at the next turn of the port */
		f = judge(w, 0);
		s = stream(w, f, 0);
		assert_int_equal(s->gaps, 0);
		e = event(f, RS_FOLLOW_RESENT, 0);
		assert_int_equal(e->cause, RS_CAUSE_NAK);
		assert_int_equal(e->psn, rs_psn_add(first, n));
		assert_true(e->delay_ns <= WIRE_NS);
		assert_null(event(f, RS_FOLLOW_RESENT, 1));
		/* in order, each that had gone out since and none before */
		assert_int_equal(s->resent, e->n);
		assert_int_equal(s->packets, PACKETS_SENT + s->resent);
		counters_tell_the_truth(w, f);
		rs_follow_destroy(f);
		end(w);
	}
}

static void test_nak_once_for_each_gap(void **state)
{
	struct world *w = begin((struct options){.qps = 1});
	struct rs_follow *f;

	add(w, (struct fault){.kind = data, .nth = 4, .times = 1});
	add(w, (struct fault){.kind = data, .nth = 60, .times = 3});
	post(w, 0, RS_WR_WRITE, 2 * PACKETS_SENT * MTU);
	run(w);
	assert_int_equal(w->status[0], RS_WC_SUCCESS);
	f = judge(w, 1);
	assert_int_equal(stream(w, f, 0)->naks, 2);
	assert_int_equal(stream(w, f, 0)->gaps, 2);
	assert_int_equal(stream(w, f, 0)->gap_psns, 4);
	rs_follow_destroy(f);
	f = judge(w, 0);
	counters_tell_the_truth(w, f);
	rs_follow_destroy(f);
	end(w);
}

/* The packet that was sent again is lost again: the gap had its NAK, so the timer finds out. */
static void test_lost_once_more_costs_a_timeout(void **state)
{
	struct world *w = begin((struct options){.qps = 1});
	const struct rs_follow_event *e;
	struct rs_follow *f;
	uint32_t since;

	/* how many packets go out before the NAK is back: those that will go again */
	add(w, (struct fault){.kind = data, .nth = 4, .times = 1});
	post(w, 0, RS_WR_WRITE, PACKETS_SENT * MTU);
	run(w);
	f = judge(w, 0);
	since = (uint32_t)stream(w, f, 0)->resent;
	rs_follow_destroy(f);
	end(w);

	w = begin((struct options){.qps = 1});
	add(w, (struct fault){.kind = data, .nth = 4, .times = 1});
	add(w, (struct fault){.kind = data, .nth = 4 + since, .times = 1});
	post(w, 0, RS_WR_WRITE, PACKETS_SENT * MTU);
	run(w);
	assert_int_equal(w->status[0], RS_WC_SUCCESS);
	f = judge(w, 0);
	assert_int_equal(stream(w, f, 0)->naks, 1);
	e = event(f, RS_FOLLOW_RESENT, 1);
	assert_int_equal(e->cause, RS_CAUSE_TIMEOUT);
	assert_int_equal(e->psn, rs_psn_add(0xfffff0, 4));
	counters_tell_the_truth(w, f);
	rs_follow_destroy(f);
	end(w);
}

static void test_lost_tail_waits_for_the_timer(void **state)
{
	struct world *w = begin((struct options){.qps = 1});
	const struct rs_follow_event *e;
	struct rs_follow *f;

	add(w, (struct fault){.kind = data, .nth = PACKETS_SENT - 1, .times = 1});
	post(w, 0, RS_WR_WRITE, PACKETS_SENT * MTU);
	run(w);
	f = judge(w, 0);
	e = event(f, RS_FOLLOW_RESENT, 0);
	assert_int_equal(e->cause, RS_CAUSE_TIMEOUT);
	assert_int_equal(e->n, 1);
	assert_int_equal(stream(w, f, 0)->naks, 0);
	in_time(e->delay_ns, 0);
	counters_tell_the_truth(w, f);
	rs_follow_destroy(f);
	end(w);
}

/* As many as were asked for, none faster than the attribute says, then the error. */
static void test_timeouts_are_as_many_as_retries(void **state)
{
	struct world *w = begin((struct options){.qps = 1});
	struct rs_follow *f;

	add(w, (struct fault){.kind = data, .times = UINT32_MAX});
	post(w, 0, RS_WR_WRITE, 4 * MTU);
	run(w);
	assert_int_equal(w->status[0], RS_WC_RETRY_EXC_ERR);
	f = judge(w, 0);
	for (unsigned i = 0; i < RETRIES; i++) {
		assert_int_equal(event(f, RS_FOLLOW_RESENT, i)->cause, RS_CAUSE_TIMEOUT);
		in_time(event(f, RS_FOLLOW_RESENT, i)->delay_ns, 3);
	}
	assert_null(event(f, RS_FOLLOW_RESENT, RETRIES));
	assert_int_equal(stream(w, f, 0)->packets, 4 * (1 + RETRIES));
	/* the timer whose end is the error counts too: nothing is sent after it */
	assert_int_equal(rs_nic_get_counters(w->nics[0])->local_ack_timeout_err, RETRIES + 1);
	rs_follow_destroy(f);
	end(w);
}

static void test_lost_answers(void **state)
{
	for (unsigned which = 0; which < 2; which++) {
		struct world *w = begin((struct options){.qps = 1});
		const struct rs_follow_event *e;
		struct rs_follow *f;

		/* either the NAK of a gap, or the last ACKs */
		if (which)
			add(w, (struct fault){.kind = data, .nth = 9, .times = 1});
		add(w, (struct fault){.kind = which ? nak : ack,
				      .from = 1,
				      .nth = which ? 0 : PACKETS_SENT - 4,
				      .times = which ? 1 : 4});
		post(w, 0, RS_WR_WRITE, PACKETS_SENT * MTU);
		run(w);
		assert_int_equal(w->status[0], RS_WC_SUCCESS);
		f = judge(w, 0);
		e = event(f, RS_FOLLOW_RESENT, 0);
		assert_int_equal(e->cause, RS_CAUSE_TIMEOUT);
		in_time(e->delay_ns, PACKETS_SENT);
		counters_tell_the_truth(w, f);
		rs_follow_destroy(f);
		assert_memory_equal(w->memory[0], w->memory[1], PACKETS_SENT * MTU);
		end(w);
	}
}

/* A READ is asked for again from the very response that is missing. */
static void test_lost_read_response(void **state)
{
	static const uint32_t nth[] = {0, 5, PACKETS_SENT - 2};

	for (unsigned i = 0; i < sizeof(nth) / sizeof(nth[0]); i++) {
		struct world *w = begin((struct options){.qps = 1});
		const struct rs_follow_event *e;
		struct rs_follow *f;

		add(w, (struct fault){.kind = response, .from = 1, .nth = nth[i], .times = 1});
		post(w, 0, RS_WR_READ, PACKETS_SENT * MTU);
		run(w);
		assert_int_equal(w->status[0], RS_WC_SUCCESS);
		assert_memory_equal(w->memory[0], w->memory[1], PACKETS_SENT * MTU);
		f = judge(w, 0);
		e = event(f, RS_FOLLOW_RESENT, 0);
		assert_non_null(e);
		assert_int_equal(e->psn, rs_psn_add(0xfffff0, nth[i]));
		assert_null(event(f, RS_FOLLOW_RESENT, 1));
		assert_int_equal(rs_nic_get_counters(w->nics[0])->implied_nak_seq_err, 1);
		assert_int_equal(rs_nic_get_counters(w->nics[0])->local_ack_timeout_err, 0);
		rs_follow_destroy(f);
		end(w);
	}
}

/* Each queue pair on its own: the first mark at once, then one an interval, none without a mark. */
static void test_cnps_of_marked_packets(void **state)
{
	static const struct {
		const char *preset;
		int64_t interval;
	} rows[] = {{"mlx5", 4000}, {"paper", 50000}};

	for (unsigned i = 0; i < 2; i++) {
		struct world *w = begin((struct options){.qps = 3, .dcqcn = rows[i].preset});
		struct rs_follow *f;
		struct tally t;

		for (uint32_t k = 0; k < 2; k++)
			add(w,
			    (struct fault){.kind = data, .times = 1500, .mark = true, .qp = k + 1});
		for (uint32_t k = 0; k < 3 * 8; k++)
			post(w, k % 3, RS_WR_WRITE, AREA);
		run(w);
		f = judge(w, 1);
		t = tally(w, 1, rows[i].interval);
		assert_int_equal(t.ce, 3000);
		assert_true(t.cnps_due >= 4);
		assert_int_equal(t.cnps_out, t.cnps_due);
		for (uint32_t k = 0; k < 3; k++) {
			const struct rs_follow_stream *s = stream(w, f, k);

			assert_int_equal(s->ce, k < 2 ? 1500 : 0);
			assert_int_equal(s->cnps > 1, k < 2);
			assert_true(s->cnps < 2 || s->cnp_least_ns >= rows[i].interval);
		}
		rs_follow_destroy(f);
		f = judge(w, 0);
		counters_tell_the_truth(w, f);
		/* and the sender obeys: who was told to slow down ends behind who was not */
		assert_true(w->done[2] < w->done[0] && w->done[2] < w->done[1]);
		rs_follow_destroy(f);
		end(w);
	}
}

/* A class that may not or does not send leaves the line to the others: work is conserved. */
static void test_classes_take_what_others_leave(void **state)
{
	rs_time alone = 0;

	for (unsigned busy = 0; busy < 3; busy++) {
		struct world *w = begin((struct options){
			.qps = 2, .dcqcn = busy == 1 ? "mlx5" : NULL, .tc = {4, 3}});

		if (busy == 1) /* the class above is told to slow down; its share goes below */
			add(w, (struct fault){
				       .kind = data, .times = UINT32_MAX, .mark = true, .qp = 1});
		if (busy == 2)
			w->paused = 1 << 4;
		for (int i = 0; i < 4; i++)
			post(w, 1, RS_WR_WRITE, 100 * MTU);
		if (busy)
			post(w, 0, RS_WR_WRITE, 20 * MTU);
		while (w->completed[1] < 4)
			assert_true(step(w));
		if (!busy)
			alone = w->done[1];
		/* what the other sent before it was slow is all that this one lost */
		assert_true(w->done[1] <= alone + (busy == 1 ? 20 * WIRE_NS * RS_NS : 0));
		w->paused = 0;
		w->ask[0] = w->now;
		run(w);
		assert_int_equal(w->completed[0], busy ? 1 : 0);
		end(w);
	}
}

/* Losses of some connections, READs too, are no matter of the others. */
static void test_neighbours_of_losers(void **state)
{
	rs_time innocent = 0;

	for (unsigned noisy = 0; noisy < 2; noisy++) {
		struct world *w = begin((struct options){.qps = QPS, .reads = 4});
		rs_time last = 0;

		for (uint32_t k = 0; noisy && k < QPS / 2; k++)
			add(w, (struct fault){.kind = response,
					      .from = 1,
					      .nth = 10,
					      .times = 1,
					      .qp = k + 1});
		for (uint32_t k = 0; k < QPS; k++)
			for (int i = 0; i < 4; i++)
				post(w, k, RS_WR_READ, 20 * MTU);
		run(w);
		for (uint32_t k = QPS / 2; k < QPS; k++)
			last = rs_time_max(last, w->done[k]);
		for (uint32_t k = 0; k < QPS; k++) {
			assert_int_equal(w->status[k], RS_WC_SUCCESS);
			assert_int_equal(w->completed[k], 4);
		}
		/* but for whose turn it is at the end */
		if (noisy)
			assert_true(last <= innocent + QPS * WIRE_NS * RS_NS);
		innocent = last;
		end(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_go_back_to_the_nth_packet),
		cmocka_unit_test(test_nak_once_for_each_gap),
		cmocka_unit_test(test_lost_once_more_costs_a_timeout),
		cmocka_unit_test(test_lost_tail_waits_for_the_timer),
		cmocka_unit_test(test_timeouts_are_as_many_as_retries),
		cmocka_unit_test(test_lost_answers),
		cmocka_unit_test(test_lost_read_response),
		cmocka_unit_test(test_cnps_of_marked_packets),
		cmocka_unit_test(test_classes_take_what_others_leave),
		cmocka_unit_test(test_neighbours_of_losers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

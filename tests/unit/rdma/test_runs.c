/* A run of a WRITE is judged as its packets are, one by one: random WRITEs to two equal NICs, some
 * of them wrong in length, range, key, rights or order. */
#include "pair.h"

enum { CASES = 4000, RUN_MAX = 8, BASE = 0x1000 /* of pair.h's region */ };

static uint64_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((seed >> 33) % below);
}

static struct pair twin[2]; /* by packets; by a run */

struct wish {
	uint64_t va;
	uint32_t rkey, dma_bytes, bytes, packets, psn;
	bool first, last;
};

static uint8_t payload[RUN_MAX * PAIR_MTU];

static void head_of(const struct pair *t, const struct wish *w, struct rs_packet *p);

/* The first packet of a connection is no run's (RS_EVENT_COMM_EST): a WRITE of no bytes. */
static void greet(struct pair *t)
{
	struct wish w = {.first = true, .psn = t->qps[1]->epsn};
	struct rs_packet *p = rs_pool_alloc(&t->lists[1]);

	head_of(t, &w, p);
	p->opcode = RS_RC | RS_OP_WRITE_ONLY;
	p->payload_bytes = 0;
	rs_nic_rx(t->nics[1], p, t->now);
}

static void make_twins(uint32_t access)
{
	for (unsigned i = 0; i < 2; i++) {
		pair_begin(&twin[i]);
		twin[i].attr.access = access;
		pair_connect(&twin[i]);
		greet(&twin[i]);
	}
}

static void head_of(const struct pair *t, const struct wish *w, struct rs_packet *p)
{
	*p = (struct rs_packet){.next = RS_NO_PACKET,
				.opcode =
					RS_RC | (w->first ? RS_OP_WRITE_FIRST : RS_OP_WRITE_MIDDLE),
				.dest_qp = rs_qp_num(t->qps[1]),
				.psn = w->psn,
				.va = w->va,
				.rkey = w->rkey,
				.dma_bytes = w->dma_bytes,
				.pkey = 0xffff,
				.payload_bytes = PAIR_MTU,
				.frame_bytes = PAIR_MTU + 74};
}

/* As the sender would have cut them: full packets, and what is left. */
static void give_packets(struct pair *t, const struct wish *w)
{
	for (uint32_t k = 0; k < w->packets; k++) {
		struct rs_packet *p = rs_pool_alloc(&t->lists[1]);
		bool first = w->first && !k, last = w->last && k + 1 == w->packets;
		uint32_t n = k + 1 == w->packets ? w->bytes - k * PAIR_MTU : PAIR_MTU;

		head_of(t, w, p);
		p->opcode = RS_RC | (first && last ? RS_OP_WRITE_ONLY
				     : first       ? RS_OP_WRITE_FIRST
				     : last        ? RS_OP_WRITE_LAST
						   : RS_OP_WRITE_MIDDLE);
		p->psn = rs_psn_add(w->psn, k);
		p->payload = payload + k * PAIR_MTU;
		p->payload_bytes = (uint16_t)n;
		rs_nic_rx(t->nics[1], p, t->now);
	}
}

static bool give_run(struct pair *t, const struct wish *w)
{
	struct rs_packet p;
	uint8_t *place;

	head_of(t, w, &p);
	place = rs_nic_run_place(t->nics[1], &p, w->bytes, 0);
	if (!place || place < t->memory[1] || place + w->bytes > t->memory[1] + PAIR_BYTES)
		return false;
	if (!rs_nic_rx_run(t->nics[1], &p, w->packets, w->bytes, w->last, place, t->now))
		return false;
	memcpy(place, payload, w->bytes);
	return true;
}

static struct wish draw_wish(const struct rs_qp *qp, uint32_t key)
{
	bool middle = qp->message == RS_OP_WRITE_FIRST;
	struct wish w = {
		.rkey = key, .psn = qp->epsn, .first = !middle, .packets = 1 + draw(RUN_MAX)};
	uint32_t left;

	w.va = middle ? qp->w_va : BASE + draw(PAIR_BYTES / 2);
	w.dma_bytes = w.packets * PAIR_MTU + draw(4) * PAIR_MTU - draw(PAIR_MTU);
	left = middle ? qp->w_left : w.dma_bytes;
	w.bytes = w.packets * PAIR_MTU;
	w.last = left <= w.bytes;
	if (w.last) {
		w.bytes = left;
		w.packets = (left + PAIR_MTU - 1) / PAIR_MTU;
	}
	return w;
}

/* One thing that is wrong with it, half of the time. */
static void spoil(struct wish *w)
{
	/* of later packets, only the run says address and key: that it lies is the last test's */
	switch (w->first ? draw(14) : 6 + draw(8)) {
	case 0:
		w->rkey ^= 1u << draw(32);
		break;
	case 1:
		w->va += PAIR_BYTES;
		break;
	case 2:
		w->va = BASE + PAIR_BYTES - draw(4) * PAIR_MTU;
		break;
	case 3:
		w->va = UINT64_MAX - draw(4096);
		break;
	case 4:
		w->dma_bytes = draw(2) ? UINT32_MAX - draw(2) : (UINT32_C(1) << 31) + draw(2);
		break;
	case 5:
		w->dma_bytes += draw(3) - 1;
		break;
	case 6:
		w->last = !w->last;
		break;
	case 7:
		w->first = !w->first;
		break;
	case 8:
		w->psn = rs_psn_add(w->psn, 1 + draw(3));
		break;
	default:
		break;
	}
}

static void check_same(const struct rs_qp *a, const struct rs_qp *b)
{
	assert_int_equal(a->epsn, b->epsn);
	assert_int_equal(a->msn, b->msn);
	assert_int_equal(a->message, b->message);
	assert_int_equal(a->unacked, b->unacked);
	if (a->message == RS_NO_MESSAGE)
		return;
	assert_int_equal(a->w_left, b->w_left);
	assert_int_equal(a->w_va, b->w_va);
}

static bool judge_alike(const struct wish *w)
{
	struct rs_qp *by_packets = twin[0].qps[1], *by_run = twin[1].qps[1], before = *by_run;
	bool taken = give_run(&twin[1], w), ok;

	give_packets(&twin[0], w);
	ok = by_packets->state != RS_QPS_ERR &&
	     by_packets->epsn == rs_psn_add(before.epsn, w->packets);
	/* what fits in part, up to a packet that is refused, is no run */
	assert_int_equal(taken, ok);
	if (taken)
		check_same(by_packets, by_run);
	else
		check_same(&before, by_run);
	return taken;
}

static void test_run_is_judged_as_its_packets_are(void **state)
{
	unsigned taken = 0, refused = 0;

	seed = 11;
	for (unsigned i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 7);
	make_twins(RS_ACCESS_REMOTE_WRITE);
	for (unsigned i = 0; i < CASES; i++) {
		struct wish w = draw_wish(twin[1].qps[1], twin[0].keys[1]);

		assert_int_equal(twin[0].keys[1], twin[1].keys[1]);
		spoil(&w);
		if (w.bytes > w.packets * PAIR_MTU || w.va > UINT64_MAX - sizeof(payload))
			w.va = BASE;
		if (judge_alike(&w)) {
			taken++;
			assert_memory_equal(twin[0].memory[1], twin[1].memory[1], PAIR_BYTES);
			continue;
		}
		refused++;
		pair_end(&twin[0]);
		pair_end(&twin[1]);
		make_twins(RS_ACCESS_REMOTE_WRITE);
	}
	pair_end(&twin[0]);
	pair_end(&twin[1]);
	assert_true(taken > CASES / 4 && refused > CASES / 10);
}

/* A run that goes on names its place anew: no other than where the WRITE stands, by no other key.
 */
static void test_run_that_goes_on_elsewhere_is_refused(void **state)
{
	struct wish w = {.va = BASE,
			 .first = true,
			 .packets = 2,
			 .bytes = 2 * PAIR_MTU,
			 .dma_bytes = 8 * PAIR_MTU};

	make_twins(RS_ACCESS_REMOTE_WRITE);
	w.rkey = twin[1].keys[1];
	w.psn = twin[1].qps[1]->epsn;
	assert_true(judge_alike(&w));
	w.first = false;
	w.psn = rs_psn_add(w.psn, 2);
	assert_false(give_run(&twin[1], &w)); /* where the first run went */
	w.va = BASE + 4 * PAIR_MTU;
	assert_false(give_run(&twin[1], &w));
	w.va = BASE + 2 * PAIR_MTU;
	w.rkey++;
	assert_false(give_run(&twin[1], &w));
	w.rkey--;
	assert_true(judge_alike(&w));
	pair_end(&twin[0]);
	pair_end(&twin[1]);
}

/* Neither the queue pair's rights nor the region's are gone round by a run. */
static void test_run_without_the_right_is_refused(void **state)
{
	struct wish w = {.va = BASE,
			 .first = true,
			 .last = true,
			 .packets = 2,
			 .bytes = 2 * PAIR_MTU,
			 .dma_bytes = 2 * PAIR_MTU};

	make_twins(RS_ACCESS_REMOTE_WRITE);
	twin[0].qps[1]->access = twin[1].qps[1]->access = RS_ACCESS_REMOTE_READ;
	w.rkey = twin[1].keys[1];
	w.psn = twin[1].qps[1]->epsn;
	assert_false(judge_alike(&w));
	pair_end(&twin[0]);
	pair_end(&twin[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run_is_judged_as_its_packets_are),
		cmocka_unit_test(test_run_that_goes_on_elsewhere_is_refused),
		cmocka_unit_test(test_run_without_the_right_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

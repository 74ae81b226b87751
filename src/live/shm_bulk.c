/*
 * Long WRITEs between processes of one host: a record says where the payload lies, and the two copy
 * it by process_vm_readv and process_vm_writev, as window/run.h says who copies what and when. The
 * receiver's engine checks the R_Key first. Where the kernel does not allow either copy (containers
 * with user namespaces of their own), the payload goes through the ring's stage: in by the sender,
 * out by the receiver, to where its engine says.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include "base/clock.h"
#include "live/guard.h"
#include "live/shm_state.h"

/* ---- The sender ---- */

bool rs_shm_make_run(struct rs_live *l, struct rs_shm_out *o, struct rs_packet *p,
		     struct rs_shm_record *r, rs_time now)
{
	uint32_t bytes, packets;
	bool first = (p->opcode & 0x1f) == RS_OP_WRITE_FIRST, last, pulls;

	if (first && p->dma_bytes < rs_live_tuning.run_bytes)
		return false;
	pulls = atomic_load_explicit(&o->w.ring->pulls, memory_order_relaxed);
	packets = rs_nic_tx_run(l->nic, p, pulls ? RS_SHM_RUN_MAX : RS_SHM_STAGED_MAX, &bytes,
				&last, now);
	if (packets == 1)
		return false;
	rs_shm_pack(p, r);
	r->kind = pulls ? RS_SHM_RUN : RS_SHM_STAGED;
	r->packets = (uint16_t)packets;
	r->src_qp_srqn = p->payload_bytes;
	r->u.run.at = (uintptr_t)p->payload;
	r->u.run.bytes = bytes;
	r->u.run.last = last;
	/* by which this side knows whether the memory is still the request's */
	r->aeth_imm = p->src_qp;
	return true;
}

bool rs_shm_write_run(struct rs_shm_out *o, struct rs_shm_record *r)
{
	struct rs_run_sent run = {
		.at = r->u.run.at, .bytes = r->u.run.bytes, .qpn = r->aeth_imm, .psn = r->psn};

	if (!rs_runs_out_ticket(&o->runs) || !rs_shm_write(&o->w, r, NULL, 0))
		return false;
	rs_runs_out_sent(&o->runs, &run);
	return true;
}

void rs_shm_judge_way(struct rs_shm_out *o, size_t bytes)
{
	rs_ways_went(&o->ways, bytes, rs_live_ns());
	o->w.past = o->ways.way;
}

static void push_one(struct rs_live *l, struct rs_shm_out *o, const struct rs_run_copy *c)
{
	struct iovec mine = {(void *)(uintptr_t)c->from, c->bytes};
	struct iovec theirs = {(void *)(uintptr_t)c->to, c->bytes};
	enum rs_run_push how = RS_RUN_PUSH_NONE;

	if (rs_nic_awaits(l->nic, c->qpn, c->psn))
		how = process_vm_writev(o->pid, &mine, 1, &theirs, 1, 0) == (ssize_t)c->bytes
			      ? RS_RUN_PUSH_DONE
			      : RS_RUN_PUSH_FAILED;
	rs_runs_out_pushed(&o->runs, c->number, how);
}

static bool push_to(struct rs_live *l, struct rs_shm_out *o)
{
	struct rs_run_copy c;
	unsigned n = 0;

	for (; n < rs_live_tuning.run_pushes && rs_runs_out_push(&o->runs, &c); n++)
		push_one(l, o, &c);
	return n;
}

bool rs_shm_push(struct rs_live *l)
{
	struct rs_shm *s = l->shm;
	bool any = false;

	for (unsigned i = 0; i < s->outs;) {
		struct rs_shm_out *o = s->out[s->out_slot[i]];

		if (o && o->runs.looked < o->runs.sent)
			any |= push_to(l, o);
		if (o && o->runs.looked == o->runs.sent)
			rs_runs_out_note(&o->runs);
		rs_assert(!o || (o->runs.done <= o->runs.looked && o->runs.looked <= o->runs.sent));
		if (o && o->runs.done < o->runs.sent) {
			i++;
			continue;
		}
		if (o)
			o->running = false;
		s->out_slot[i] = s->out_slot[--s->outs];
	}
	return any;
}

static bool is_gone(int pidfd)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

/* Wait for the other side's copy, whose length is bounded; since: when the wait began. False: it is
 * waited for no more. */
static bool may_wait(int64_t since, int pidfd)
{
	rs_time waited = (rs_clock_ns() - since) * RS_NS;

	return waited <= rs_live_tuning.run_copy &&
	       !(waited > rs_live_tuning.run_look && is_gone(pidfd));
}

/* One that is at its copy for longer than any takes, or goes on and off while it is asked to stop,
 * has been waited for once; its ring is given up. */
static void forbid(struct rs_shm_out *o, uint64_t n)
{
	enum rs_run_stop stop;

	while ((stop = rs_runs_out_forbid(&o->runs, n)) == RS_RUN_READ) {
		int64_t since = rs_clock_ns();

		while (rs_runs_out_reads(&o->runs, n) && !o->runs.stuck)
			if (!may_wait(since, o->pidfd))
				rs_runs_out_give_up(&o->runs);
	}
	if (stop == RS_RUN_STUCK)
		atomic_store(&o->w.ring->refused, 1); /* which rs_shm_receive() sees to */
}

void rs_shm_forbid(struct rs_live *l)
{
	struct rs_shm *s = l->shm;

	for (unsigned i = 0; i < s->outs; i++) {
		struct rs_shm_out *o = s->out[s->out_slot[i]];

		if (!o)
			continue;
		rs_runs_out_note(&o->runs);
		for (uint64_t n = o->runs.done; n < o->runs.sent; n++) {
			const struct rs_run_sent *run = &o->runs.run[n % RS_RUN_TICKETS];

			if (!run->forbidden && !rs_nic_awaits(l->nic, run->qpn, run->psn))
				forbid(o, n);
		}
	}
}

/* ---- The receiver ---- */

static struct rs_shm_run *more_at(struct rs_shm_in *in, unsigned i)
{
	return &in->run[(in->runs.done + i) % RS_RUN_PENDING];
}

/* Bytes [from, to) of a run to their place in dst, which holds the run, but its tail to itself. */
static bool pull(struct rs_shm_in *in, unsigned i, uint8_t *dst, uint32_t from, uint32_t to)
{
	const struct rs_run_come *r = rs_runs_in_at(&in->runs, i);
	uint32_t tail = to == r->bytes ? r->tail_bytes : 0;
	struct iovec mine[2] = {{dst + from, to - from - tail}, {more_at(in, i)->tail, tail}};
	struct iovec theirs = {(void *)(uintptr_t)(r->at + from), to - from};
	bool done;

	if (from == to)
		return true;
	if (!rs_runs_in_pull(&in->runs, i))
		return false;
	done = process_vm_readv(in->pid, mine, 2, &theirs, 1, 0) == (ssize_t)(to - from);
	rs_runs_in_pulled(&in->runs, i);
	return done;
}

/* What a record says of a run, copied, and checked as a packet of the wire is. */
static bool read_run(struct rs_live *l, struct rs_shm_in *in, const struct rs_shm_record *r,
		     struct rs_shm_run *more, struct rs_run_come *run)
{
	uint32_t op = r->opcode & 0x1fu, mtu = r->src_qp_srqn;
	struct rs_packet *p = &more->p;

	if (!rs_shm_unpack(r, NULL, p) || (r->opcode & 0xe0) != RS_RC ||
	    (op != RS_OP_WRITE_FIRST && op != RS_OP_WRITE_MIDDLE) || !mtu || mtu > RS_MAX_PAYLOAD ||
	    r->packets < 2 || !r->u.run.bytes || r->u.run.bytes > RS_SHM_RUN_MAX ||
	    (r->u.run.bytes - 1) / mtu + 1 != r->packets || r->dest_qp >> 16 != l->slot)
		return false;
	p->imm = 0;
	p->payload_bytes = (uint16_t)mtu;
	p->src = rs_shm_path_of(l, in, r);
	if (p->src == UINT32_MAX)
		return false;
	p->frame_bytes = rs_frame_bytes(r->opcode, mtu, l->paths.path[p->src].ipv6);
	more->mtu = mtu;
	more->last = r->u.run.last;
	*run = (struct rs_run_come){.at = r->u.run.at,
				    .bytes = r->u.run.bytes,
				    .packets = r->packets,
				    .qpn = p->dest_qp};
	return true;
}

void rs_shm_begin_run(struct rs_live *l, struct rs_shm_in *in, const struct rs_shm_record *rec,
		      rs_time now)
{
	unsigned i = in->runs.pending;
	struct rs_shm_run *more = more_at(in, i);
	struct rs_run_come run = {.failed = true};
	uint32_t ahead, from;

	memset(more, 0, sizeof(*more));
	if (read_run(l, in, rec, more, &run) && rs_runs_in_may_copy(&in->runs, run.qpn, &ahead))
		run.place = rs_nic_run_place(l->nic, &more->p, run.bytes, ahead);
	from = rs_runs_in_begin(&in->runs, &run, now);
	if (!pull(in, i, run.place, from, run.bytes))
		rs_runs_in_at(&in->runs, i)->failed = true;
}

/* Packet by packet: what the engine has to say no to, or what is not in order. */
static void give_packets(struct rs_live *l, const struct rs_shm_run *more,
			 const struct rs_run_come *r, uint8_t *bytes, rs_time now)
{
	for (uint32_t k = 0; k < r->packets; k++) {
		struct rs_packet *p = rs_pool_alloc(&l->free);
		bool end = k + 1 == r->packets;

		if (!p)
			return;
		*p = more->p;
		p->next = RS_NO_PACKET;
		if (k)
			p->opcode = RS_RC | RS_OP_WRITE_MIDDLE;
		if (end && more->last)
			p->opcode = RS_RC | RS_OP_WRITE_LAST;
		if (!end)
			p->bth_flags &= (uint8_t)~RS_BTH_ACKREQ;
		p->psn = rs_psn_add(more->p.psn, k);
		p->payload = bytes + (size_t)k * more->mtu;
		p->payload_bytes = (uint16_t)(end ? r->bytes - k * more->mtu : more->mtu);
		l->counters.rx_shared++;
		rs_rx_give(l, p, now);
	}
}

/* From a copy, as the sender's memory is not in the ring. */
static void give_singly(struct rs_live *l, struct rs_shm_in *in, rs_time now)
{
	struct rs_run_come *r = rs_runs_in_at(&in->runs, 0);
	struct rs_shm *s = l->shm;

	r->tail_bytes = 0; /* the copy is whole */
	if (!s->bounce)
		s->bounce = malloc(RS_SHM_RUN_MAX);
	if (s->bounce && pull(in, 0, s->bounce, 0, r->bytes))
		give_packets(l, more_at(in, 0), r, s->bounce, now);
}

/* Can n bytes be put there, which are no more than a page? What lies there is about to go. */
static bool is_there(uint8_t *at, uint32_t n)
{
	return !n || (rs_guard_copy(at, at, 1) && rs_guard_copy(at + n - 1, at + n - 1, 1));
}

static void execute(struct rs_live *l, struct rs_shm_in *in, rs_time now)
{
	struct rs_run_come *r = rs_runs_in_at(&in->runs, 0);
	struct rs_shm_run *more = more_at(in, 0);
	uint8_t *place = r->place;

	if (!place) {
		place = rs_nic_run_place(l->nic, &more->p, r->bytes, 0);
		if (place && !pull(in, 0, place, 0, r->bytes))
			place = NULL;
	}
	if (!place || !is_there(place + r->bytes - r->tail_bytes, r->tail_bytes) ||
	    !rs_nic_rx_run(l->nic, &more->p, r->packets, r->bytes, more->last, place, now)) {
		give_singly(l, in, now);
		return;
	}
	memcpy(place + r->bytes - r->tail_bytes, more->tail, r->tail_bytes);
	l->counters.rx_shared++;
}

void rs_shm_take_staged(struct rs_live *l, struct rs_shm_in *in, const struct rs_shm_record *rec,
			rs_time now)
{
	const uint8_t *from = rs_shm_staged(&in->r, rec);
	struct rs_shm_run more = {0};
	struct rs_run_come run;
	uint32_t tail;
	uint8_t *place;

	if (!from) {
		rs_shm_break(&in->r);
		return;
	}
	if (!read_run(l, in, rec, &more, &run)) {
		rs_rx_drop(l, RS_RX_STRANGER);
		rs_shm_unstage(&in->r, rec);
		return;
	}
	tail = run.bytes < RS_RUN_TAIL ? run.bytes : RS_RUN_TAIL;
	place = rs_nic_run_place(l->nic, &more.p, run.bytes, 0);
	if (place && (!rs_guard_copy(place, from, run.bytes - tail) ||
		      !is_there(place + run.bytes - tail, tail)))
		place = NULL;
	if (place)
		memcpy(more.tail, from + run.bytes - tail, tail);
	if (place &&
	    rs_nic_rx_run(l->nic, &more.p, run.packets, run.bytes, more.last, place, now)) {
		/* what programs look at comes last */
		atomic_thread_fence(memory_order_release);
		memcpy(place + run.bytes - tail, more.tail, tail);
		l->counters.rx_shared++;
	} else {
		give_packets(l, &more, &run, (uint8_t *)(uintptr_t)from, now);
	}
	rs_shm_unstage(&in->r, rec);
}

bool rs_shm_finish_runs(struct rs_live *l, struct rs_shm_in *in, rs_time now)
{
	uint64_t before = in->runs.done;

	while (in->runs.pending) {
		struct rs_run_come *r = rs_runs_in_at(&in->runs, 0);
		uint32_t bytes;
		enum rs_run_step step = rs_runs_in_step(&in->runs, now, &bytes);

		if (step == RS_RUN_WAIT)
			break;
		if (step == RS_RUN_PULL) {
			r->failed = !pull(in, 0, r->place, 0, bytes);
			continue;
		}
		if (step == RS_RUN_EXECUTE)
			execute(l, in, now);
		else if (r->place) /* by packets, which tells whose memory it was */
			give_singly(l, in, now);
		rs_runs_in_finished(&in->runs);
	}
	return in->runs.done != before;
}

void rs_shm_revoke_all(struct rs_live *l)
{
	struct rs_shm *s = l->shm;

	for (unsigned i = 0; i < s->ins; i++) {
		struct rs_shm_in *in = s->in[s->in_slot[i]];

		rs_runs_in_revoke(&in->runs);
		for (unsigned k = 0; k < in->runs.pending; k++) {
			int64_t since = rs_clock_ns();

			while (!in->r.broken && rs_runs_in_written(&in->runs, k))
				if (!may_wait(since, in->pidfd))
					rs_shm_break(&in->r);
			rs_runs_in_put_back(&in->runs, k);
		}
	}
}

/*
 * Long WRITEs between processes of one host: a record says where the payload lies, and the two copy
 * it by process_vm_readv and process_vm_writev. The receiver's engine checks the R_Key first; then
 * it reads the second half itself and grants the first to the sender to write. Where the kernel
 * does not allow either, the payload goes through the ring.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include "base/clock.h"
#include "live/shm_state.h"

enum { PUSHES = 4 /* of one ring in one go */, PAGE = 4096, FORBID_TRIES = 64 };

/* ---- The sender ---- */

bool rs_shm_make_run(struct rs_live *l, struct rs_shm_out *o, struct rs_packet *p,
		     struct rs_shm_record *r, rs_time now)
{
	uint32_t bytes, packets;
	bool first = (p->opcode & 0x1f) == RS_OP_WRITE_FIRST, last;

	if ((first && p->dma_bytes < RS_SHM_RUN_MIN) ||
	    !atomic_load_explicit(&o->w.ring->pulls, memory_order_relaxed))
		return false;
	packets = rs_nic_tx_run(l->nic, p, RS_SHM_RUN_MAX, &bytes, &last, now);
	if (packets == 1)
		return false;
	rs_shm_pack(p, r);
	r->kind = RS_SHM_RUN;
	r->packets = (uint16_t)packets;
	r->src_qp_srqn = p->payload_bytes;
	r->u.run.at = (uintptr_t)p->payload;
	r->u.run.bytes = bytes;
	r->u.run.last = last;
	/* by which this side knows whether the memory is still the request's */
	r->aeth_imm = p->src_qp;
	return true;
}

static void note_done(struct rs_shm_out *o)
{
	uint64_t done = atomic_load_explicit(&o->w.ring->runs_done, memory_order_acquire);

	if (done > o->runs_done && done <= o->runs)
		o->runs_done = done;
	if (o->looked < o->runs_done)
		o->looked = o->runs_done;
}

bool rs_shm_write_run(struct rs_shm_out *o, struct rs_shm_record *r)
{
	struct rs_shm_ticket *t = &o->w.ring->ticket[o->runs % RS_SHM_TICKETS];

	if (o->runs - o->runs_done == RS_SHM_TICKETS)
		note_done(o);
	if (o->runs - o->runs_done == RS_SHM_TICKETS)
		return false;
	atomic_store_explicit(&t->pull, RS_SHM_PULL_IDLE, memory_order_relaxed);
	atomic_store_explicit(&t->push, RS_SHM_PUSH_UNDECIDED, memory_order_relaxed);
	if (!rs_shm_write(&o->w, r, NULL, 0))
		return false;
	o->sent[o->runs++ % RS_SHM_TICKETS] =
		(struct rs_shm_sent){.at = (const uint8_t *)(uintptr_t)r->u.run.at,
				     .bytes = r->u.run.bytes,
				     .qpn = r->aeth_imm,
				     .psn = r->psn};
	return true;
}

/* What the receiver says is a claim, but what is copied is this run's, and goes to it alone. */
static void push_one(struct rs_live *l, struct rs_shm_out *o, const struct rs_shm_sent *s,
		     struct rs_shm_ticket *t)
{
	uint32_t bytes = t->push_bytes, granted = RS_SHM_PUSH_GRANTED;
	struct iovec mine = {(void *)(uintptr_t)s->at, bytes};
	struct iovec theirs = {(void *)(uintptr_t)t->push_to, bytes};
	bool done;

	if (!atomic_compare_exchange_strong(&t->push, &granted, RS_SHM_PUSH_TAKEN))
		return;
	done = bytes <= s->bytes && !s->forbidden && rs_nic_awaits(l->nic, s->qpn, s->psn) &&
	       process_vm_writev(o->pid, &mine, 1, &theirs, 1, 0) == (ssize_t)bytes;
	atomic_store_explicit(&t->push, done ? RS_SHM_PUSH_DONE : RS_SHM_PUSH_FAILED,
			      memory_order_release);
}

static bool push_to(struct rs_live *l, struct rs_shm_out *o)
{
	unsigned n = 0;

	for (; o->looked < o->runs && n < PUSHES; o->looked++) {
		struct rs_shm_ticket *t = &o->w.ring->ticket[o->looked % RS_SHM_TICKETS];
		uint32_t state = atomic_load_explicit(&t->push, memory_order_acquire);

		if (state == RS_SHM_PUSH_UNDECIDED)
			break;
		if (state != RS_SHM_PUSH_GRANTED)
			continue;
		push_one(l, o, &o->sent[o->looked % RS_SHM_TICKETS], t);
		n++;
	}
	return n;
}

bool rs_shm_push(struct rs_live *l)
{
	struct rs_shm *s = l->shm;
	bool any = false;

	for (unsigned i = 0; i < s->outs;) {
		struct rs_shm_out *o = s->out[s->out_slot[i]];

		if (o && o->looked < o->runs)
			any |= push_to(l, o);
		if (o && o->looked == o->runs)
			note_done(o);
		if (o && o->runs_done < o->runs) {
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

/* Wait until the other side has done what it is at: a copy, whose length is bounded. */
static bool wait_while(_Atomic uint32_t *word, uint32_t state, int pidfd)
{
	int64_t start = rs_clock_ns(), now = start;

	while (atomic_load_explicit(word, memory_order_acquire) == state) {
		if (now - start > 1000 * 1000 && is_gone(pidfd))
			return false;
		if ((now - start) * RS_NS > rs_live_tuning.run_copy)
			return false;
		now = rs_clock_ns();
	}
	return true;
}

/* One that is at its copy for longer than any takes, or goes on and off while it is asked to stop,
 * has been waited for once; its ring is given up. */
static void forbid(struct rs_shm_out *o, uint64_t n)
{
	struct rs_shm_ticket *t = &o->w.ring->ticket[n % RS_SHM_TICKETS];

	o->sent[n % RS_SHM_TICKETS].forbidden = true;
	for (unsigned tries = 0; tries < FORBID_TRIES && !o->stuck; tries++) {
		uint32_t idle = RS_SHM_PULL_IDLE;

		if (atomic_compare_exchange_strong(&t->pull, &idle, RS_SHM_PULL_FORBIDDEN) ||
		    idle != RS_SHM_PULL_BUSY)
			return;
		o->stuck = !wait_while(&t->pull, RS_SHM_PULL_BUSY, o->pidfd);
	}
	o->stuck = true;
	atomic_store(&o->w.ring->refused, 1); /* which rs_shm_receive() sees to */
}

void rs_shm_forbid(struct rs_live *l)
{
	struct rs_shm *s = l->shm;

	for (unsigned i = 0; i < s->outs; i++) {
		struct rs_shm_out *o = s->out[s->out_slot[i]];

		if (!o)
			continue;
		note_done(o);
		for (uint64_t n = o->runs_done; n < o->runs; n++) {
			const struct rs_shm_sent *sent = &o->sent[n % RS_SHM_TICKETS];

			if (!sent->forbidden && !rs_nic_awaits(l->nic, sent->qpn, sent->psn))
				forbid(o, n);
		}
	}
}

/* ---- The receiver ---- */

static struct rs_shm_run *run_at(struct rs_shm_in *in, unsigned i)
{
	return &in->run[(in->runs_done + i) % RS_SHM_PENDING];
}

static struct rs_shm_ticket *ticket_at(struct rs_shm_in *in, unsigned i)
{
	return &in->r.ring->ticket[(in->runs_done + i) % RS_SHM_TICKETS];
}

/* Bytes [from, to) of a run to their place in dst, which holds the run, but its tail to itself. */
static bool pull(struct rs_shm_in *in, struct rs_shm_ticket *t, struct rs_shm_run *r, uint8_t *dst,
		 uint32_t from, uint32_t to)
{
	uint32_t tail = to == r->bytes ? r->tail_bytes : 0;
	struct iovec mine[2] = {{dst + from, to - from - tail}, {r->tail, tail}};
	struct iovec theirs = {(void *)(uintptr_t)(r->at + from), to - from};
	uint32_t idle = RS_SHM_PULL_IDLE, busy = RS_SHM_PULL_BUSY;
	bool done;

	if (from == to)
		return true;
	if (!atomic_compare_exchange_strong(&t->pull, &idle, RS_SHM_PULL_BUSY))
		return false;
	done = process_vm_readv(in->pid, mine, 2, &theirs, 1, 0) == (ssize_t)(to - from);
	atomic_compare_exchange_strong(&t->pull, &busy, RS_SHM_PULL_IDLE);
	return done;
}

static bool read_run(struct rs_live *l, struct rs_shm_in *in, const struct rs_shm_record *r,
		     struct rs_shm_run *run)
{
	uint32_t op = r->opcode & 0x1fu, mtu = r->src_qp_srqn;

	if (!rs_shm_unpack(r, NULL, &run->p) || (r->opcode & 0xe0) != RS_RC ||
	    (op != RS_OP_WRITE_FIRST && op != RS_OP_WRITE_MIDDLE) || !mtu || mtu > RS_MAX_PAYLOAD ||
	    r->packets < 2 || !r->u.run.bytes || r->u.run.bytes > RS_SHM_RUN_MAX ||
	    (r->u.run.bytes - 1) / mtu + 1 != r->packets || r->dest_qp >> 16 != l->slot)
		return false;
	run->p.imm = 0;
	run->p.payload_bytes = (uint16_t)mtu;
	run->p.src = rs_shm_path_of(l, in, r);
	if (run->p.src == UINT32_MAX)
		return false;
	run->p.frame_bytes = rs_frame_bytes(r->opcode, mtu, l->paths.path[run->p.src].ipv6);
	run->at = r->u.run.at;
	run->bytes = r->u.run.bytes;
	run->packets = r->packets;
	run->mtu = mtu;
	run->last = r->u.run.last;
	return true;
}

/* Of its queue pair, packets of the runs before it; false: it has to wait for one of these. */
static bool count_ahead(struct rs_shm_in *in, const struct rs_shm_run *run, uint32_t *ahead)
{
	*ahead = 0;
	for (unsigned i = 0; i < in->pending; i++) {
		const struct rs_shm_run *r = run_at(in, i);

		uint32_t push = atomic_load_explicit(&ticket_at(in, i)->push, memory_order_acquire);

		/* nor may newer bytes be written before those that are yet to be read here */
		if (!r->place ||
		    (r->granted && (push == RS_SHM_PUSH_NONE || push == RS_SHM_PUSH_FAILED)))
			return false;
		if (r->p.dest_qp == run->p.dest_qp)
			*ahead += r->packets;
	}
	return true;
}

static bool overlap(const uint8_t *a, size_t n, const uint8_t *b, size_t m)
{
	return a < b + m && b < a + n;
}

/* Would bytes that are copied now be overwritten by older ones: those that the sender has yet to
 * write, or a tail? */
static bool overlaps(struct rs_shm_in *in, const struct rs_shm_run *new)
{
	uint32_t early = new->bytes - new->tail_bytes;

	for (unsigned i = 0; i < in->pending; i++) {
		const struct rs_shm_run *r = run_at(in, i);
		uint32_t push = atomic_load_explicit(&ticket_at(in, i)->push, memory_order_acquire);

		if (overlap(r->place + r->bytes - r->tail_bytes, r->tail_bytes, new->place, early))
			return true;
		if (push != RS_SHM_PUSH_DONE &&
		    overlap(r->place, r->granted, new->place + new->granted, early - new->granted))
			return true;
	}
	return false;
}

/* The first half, to a page's end: the same bytes' for all WRITEs to one place. */
static uint32_t first_half(const struct rs_shm_run *r)
{
	uintptr_t middle = ((uintptr_t)r->place + r->bytes / 2) & ~(uintptr_t)(PAGE - 1);

	return middle > (uintptr_t)r->place ? (uint32_t)(middle - (uintptr_t)r->place) : 0;
}

static void grant(struct rs_shm_in *in, struct rs_shm_ticket *t, struct rs_shm_run *r)
{
	if (in->no_grants || !r->granted) {
		r->granted = 0;
		atomic_store_explicit(&t->push, RS_SHM_PUSH_NONE, memory_order_release);
		return;
	}
	t->push_to = (uintptr_t)r->place;
	t->push_bytes = r->granted;
	atomic_store_explicit(&t->push, RS_SHM_PUSH_GRANTED, memory_order_release);
}

void rs_shm_begin_run(struct rs_live *l, struct rs_shm_in *in, const struct rs_shm_record *rec,
		      rs_time now)
{
	struct rs_shm_run *r = run_at(in, in->pending);
	struct rs_shm_ticket *t = ticket_at(in, in->pending);
	uint32_t ahead;

	memset(r, 0, sizeof(*r));
	r->failed = !read_run(l, in, rec, r);
	r->since = now;
	if (!r->failed && count_ahead(in, r, &ahead))
		r->place = rs_nic_run_place(l->nic, &r->p, r->bytes, ahead);
	r->granted = r->place ? first_half(r) : 0;
	r->tail_bytes = r->place ? RS_SHM_TAIL : 0;
	if (r->place && (r->bytes < r->granted + RS_SHM_TAIL || overlaps(in, r)))
		r->place = NULL;
	if (r->place) {
		grant(in, t, r);
		r->failed = !pull(in, t, r, r->place, r->granted, r->bytes);
	} else {
		r->granted = r->tail_bytes = 0;
		atomic_store_explicit(&t->push, RS_SHM_PUSH_NONE, memory_order_release);
	}
	in->pending++;
}

/* Packet by packet, from a copy: what the engine has to say no to, or what is not in order. */
static void give_singly(struct rs_live *l, struct rs_shm_in *in, struct rs_shm_ticket *t,
			struct rs_shm_run *r, rs_time now)
{
	struct rs_shm *s = l->shm;

	r->tail_bytes = 0; /* the copy is whole */
	if (!s->bounce)
		s->bounce = malloc(RS_SHM_RUN_MAX);
	if (!s->bounce || !pull(in, t, r, s->bounce, 0, r->bytes))
		return;
	for (uint32_t k = 0; k < r->packets; k++) {
		struct rs_packet *p = rs_pool_alloc(&l->free);
		bool end = k + 1 == r->packets;

		if (!p)
			return;
		*p = r->p;
		p->next = RS_NO_PACKET;
		if (k)
			p->opcode = RS_RC | RS_OP_WRITE_MIDDLE;
		if (end && r->last)
			p->opcode = RS_RC | RS_OP_WRITE_LAST;
		if (!end)
			p->bth_flags &= (uint8_t)~RS_BTH_ACKREQ;
		p->psn = rs_psn_add(r->p.psn, k);
		p->payload = s->bounce + (size_t)k * r->mtu;
		p->payload_bytes = (uint16_t)(end ? r->bytes - k * r->mtu : r->mtu);
		l->counters.rx_shared++;
		rs_rx_give(l, p, now);
	}
}

/* From the newest on, so that what is then read here is not older than what the sender wrote. */
static void revoke(struct rs_shm_in *in)
{
	for (unsigned i = in->pending; i-- > 0;) {
		uint32_t granted = RS_SHM_PUSH_GRANTED;

		if (run_at(in, i)->granted &&
		    !atomic_compare_exchange_strong(&ticket_at(in, i)->push, &granted,
						    RS_SHM_PUSH_NONE))
			return;
	}
}

/* The sender's half of the oldest run. False: it is being written. */
static bool first_half_there(struct rs_shm_in *in, struct rs_shm_run *r, struct rs_shm_ticket *t,
			     rs_time now)
{
	uint32_t state = atomic_load_explicit(&t->push, memory_order_acquire);

	if (!r->granted || state == RS_SHM_PUSH_DONE)
		return true;
	if (state == RS_SHM_PUSH_GRANTED) {
		if (now - r->since < rs_live_tuning.run_grant)
			return false;
		revoke(in);
		state = atomic_load_explicit(&t->push, memory_order_acquire);
	}
	if (state == RS_SHM_PUSH_TAKEN || state == RS_SHM_PUSH_GRANTED)
		return false;
	in->no_grants |= state == RS_SHM_PUSH_FAILED;
	if (state != RS_SHM_PUSH_DONE && !pull(in, t, r, r->place, 0, r->granted))
		r->failed = true;
	return true;
}

static void execute(struct rs_live *l, struct rs_shm_in *in, struct rs_shm_run *r,
		    struct rs_shm_ticket *t, rs_time now)
{
	uint8_t *place = r->place;

	if (!place) {
		place = rs_nic_run_place(l->nic, &r->p, r->bytes, 0);
		if (place && !pull(in, t, r, place, 0, r->bytes))
			return;
	}
	if (!place || !rs_nic_rx_run(l->nic, &r->p, r->packets, r->bytes, r->last, place, now)) {
		give_singly(l, in, t, r, now);
		return;
	}
	memcpy(place + r->bytes - r->tail_bytes, r->tail, r->tail_bytes);
	l->counters.rx_shared++;
}

bool rs_shm_finish_runs(struct rs_live *l, struct rs_shm_in *in, rs_time now)
{
	uint64_t before = in->runs_done;

	while (in->pending) {
		struct rs_shm_run *r = run_at(in, 0);
		struct rs_shm_ticket *t = ticket_at(in, 0);

		if (!first_half_there(in, r, t, now))
			break;
		if (!r->failed)
			execute(l, in, r, t, now);
		in->pending--;
		in->runs_done++;
		atomic_store_explicit(&in->r.ring->runs_done, in->runs_done, memory_order_release);
	}
	return in->runs_done != before;
}

void rs_shm_revoke_all(struct rs_live *l)
{
	struct rs_shm *s = l->shm;

	for (unsigned i = 0; i < s->ins; i++) {
		struct rs_shm_in *in = s->in[s->in_slot[i]];

		revoke(in);
		for (unsigned k = 0; k < in->pending; k++) {
			struct rs_shm_run *r = run_at(in, k);

			if (r->granted && !in->r.broken &&
			    !wait_while(&ticket_at(in, k)->push, RS_SHM_PUSH_TAKEN, in->pidfd))
				rs_shm_break(&in->r);
			/* copied again in its turn, where the engine still allows it */
			r->place = NULL;
			r->granted = r->tail_bytes = 0;
		}
	}
}

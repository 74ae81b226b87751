/*
 * Two NICs of libripstop joined by a wire of our own: a link at 100 Gb/s with a delay of 1 us, on
 * which each 50th frame is lost. One NIC writes 1 MiB into the other's memory. The program owns
 * the time, the wire and the loss; the library owns RoCEv2.
 *
 * cc nic.c $(pkg-config --cflags --libs ripstop) && ./a.out
 */
#include <inttypes.h>
#include <ripstop/nic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 1 << 20, WIRE = 1024, LOSE = 50 };
#define US INT64_C(1000000) /* picoseconds */

/* One direction of the wire: frames under way, in order. */
struct wire {
	struct {
		unsigned char bytes[RIPSTOP_FRAME_MAX];
		long length;
		int64_t arrives;
	} frame[WIRE];
	unsigned first, n;
	int64_t free_at; /* when the sender's port is done with the last frame */
	unsigned long sent;
};

struct side {
	struct ripstop_nic *nic;
	struct ripstop_cq *cq;
	struct ripstop_qp *qp;
	unsigned char *memory;
	uint32_t key;
	struct wire out;
};

static void check(int err, struct ripstop_error **e)
{
	if (err >= 0)
		return;
	fprintf(stderr, "nic: %s\n", ripstop_error_text(*e));
	exit(1);
}

static void open_side(struct side *s, unsigned char number)
{
	struct ripstop_nic_config c = RIPSTOP_INIT(struct ripstop_nic_config);
	struct ripstop_qp_config q = RIPSTOP_INIT(struct ripstop_qp_config);
	struct ripstop_error *e;

	memcpy(c.mac, "\x02\0\0\0\0", 5);
	c.mac[5] = number;
	memcpy(c.address, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0", 15); /* ::ffff:10.0.0.number */
	c.address[15] = number;
	c.rate = INT64_C(100000000000);
	check(ripstop_nic_create(&c, &s->nic, &e), &e);
	check(ripstop_nic_create_cq(s->nic, 16, &s->cq, &e), &e);
	s->memory = calloc(1, BYTES);
	check(ripstop_nic_register(s->nic, 1, s->memory, 0, BYTES,
				   RIPSTOP_LOCAL_WRITE | RIPSTOP_REMOTE_WRITE, &s->key, &e),
	      &e);
	q.pd = 1;
	q.transport = RIPSTOP_RC;
	q.send_cq = q.receive_cq = s->cq;
	check(ripstop_nic_create_qp(s->nic, &q, &s->qp, &e), &e);
}

static void join(struct side *s, const struct side *to, unsigned char number)
{
	struct ripstop_qp_peer p = RIPSTOP_INIT(struct ripstop_qp_peer);
	struct ripstop_error *e;

	memcpy(p.address, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0", 15);
	p.address[15] = number;
	memcpy(p.mac, "\x02\0\0\0\0", 5);
	p.mac[5] = number;
	p.qpn = ripstop_qp_number(to->qp);
	p.access = RIPSTOP_REMOTE_WRITE;
	p.dscp = 26;
	p.timeout = 8; /* 1 ms: where the last packet is lost, nothing else tells */
	p.min_rnr_timer = 12;
	check(ripstop_qp_connect(s->qp, &p, 0, &e), &e);
}

/* The next frame onto the wire if the port is free. Returns when to ask again. */
static int64_t pull(struct side *s, int64_t now)
{
	struct wire *w = &s->out;
	struct ripstop_error *e;
	int64_t again;

	while (w->free_at <= now && w->n < WIRE) {
		unsigned at = (w->first + w->n) % WIRE;
		long n = ripstop_nic_send(s->nic, w->frame[at].bytes, RIPSTOP_FRAME_MAX, now,
					  &again, &e);

		check(n < 0 ? -1 : 0, &e);
		if (!n)
			return again;
		/* FCS, preamble and gap take their time, too: 24 bytes, 80 ps each */
		w->free_at = now + 80 * (n + 24);
		if (++w->sent % LOSE == 0)
			continue;
		w->frame[at].length = n;
		w->frame[at].arrives = w->free_at + US;
		w->n++;
	}
	return w->free_at > now ? w->free_at : RIPSTOP_NEVER;
}

/* What has arrived goes in. Returns when the next arrives. */
static int64_t push(struct wire *w, struct side *to, int64_t now)
{
	struct ripstop_error *e;

	while (w->n && w->frame[w->first].arrives <= now) {
		check(ripstop_nic_receive(to->nic, w->frame[w->first].bytes,
					  (size_t)w->frame[w->first].length, now, &e),
		      &e);
		w->first = (w->first + 1) % WIRE;
		w->n--;
	}
	return w->n ? w->frame[w->first].arrives : RIPSTOP_NEVER;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int main(void)
{
	static struct side a, b;
	struct ripstop_nic_counters sent = RIPSTOP_INIT(struct ripstop_nic_counters);
	struct ripstop_send s = RIPSTOP_INIT(struct ripstop_send);
	struct ripstop_completion done;
	struct ripstop_error *e;
	struct ripstop_sge from;
	int64_t now = 0;

	open_side(&a, 1);
	open_side(&b, 2);
	join(&a, &b, 2);
	join(&b, &a, 1);
	for (int i = 0; i < BYTES; i++)
		a.memory[i] = (unsigned char)(i * 31 >> 3);
	from = (struct ripstop_sge){0, BYTES, a.key};
	s.id = 7;
	s.op = RIPSTOP_WRITE;
	s.flags = RIPSTOP_SIGNALED;
	s.sge = &from;
	s.n_sge = 1;
	s.remote_key = b.key;
	check(ripstop_qp_send(a.qp, &s, now, &e), &e);
	while (!ripstop_cq_poll(a.cq, &done, 1, sizeof(done))) {
		int64_t next = least(push(&a.out, &b, now), push(&b.out, &a, now));

		next = least(next, least(pull(&a, now), pull(&b, now)));
		next = least(next, a.out.n ? a.out.frame[a.out.first].arrives : RIPSTOP_NEVER);
		next = least(next, b.out.n ? b.out.frame[b.out.first].arrives : RIPSTOP_NEVER);
		next = least(next, least(ripstop_nic_deadline(a.nic), ripstop_nic_deadline(b.nic)));
		if (next == RIPSTOP_NEVER)
			return 1;
		now = next > now ? next : now;
		check(ripstop_nic_expire(a.nic, now, &e), &e);
		check(ripstop_nic_expire(b.nic, now, &e), &e);
	}
	ripstop_nic_counters(a.nic, &sent);
	printf("1 MiB in %.1f us: status %u, %s\n", (double)now / US, done.status,
	       memcmp(a.memory, b.memory, BYTES) ? "the bytes differ" : "the bytes are the same");
	printf("%" PRIu64 " data packets, %" PRIu64 " of them again, %lu frames lost\n",
	       sent.tx_data_packets, sent.retransmitted_packets,
	       a.out.sent / LOSE + b.out.sent / LOSE);
	ripstop_nic_destroy(a.nic);
	ripstop_nic_destroy(b.nic);
	free(a.memory);
	free(b.memory);
	return done.status != RIPSTOP_OK;
}

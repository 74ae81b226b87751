/*
 * libripstop's outside bytes. An input that begins with 'N' is a program for one connected NIC:
 * frames that arrive (as they are, or changed a little from what the NIC itself sent), work, time.
 * Any other is a description as text, its first lines "#set PATH=VALUE" settings of it: refused
 * with words and a place, or it is written to text that reads back. No call may end the program.
 */
#include <ripstop/fabric.h>
#include <ripstop/nic.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "fuzz.h"

enum { MEMORY = 8192, STEPS = 64, LARGEST = 32 };

/* ---- Descriptions ---- */

static void refused(int err, struct ripstop_error *e)
{
	rs_assert(err < 0 && e && ripstop_error_code(e) == err && *ripstop_error_message(e));
	rs_assert(*ripstop_error_text(e) && ripstop_error_line(e) >= 0);
	ripstop_error_free(e);
}

/* A million NICs are no fault, but take seconds. */
static bool large(const char *text)
{
	for (const char *p = text; (p = strpbrk(p, "0123456789"));) {
		char *end;

		if (strtoul(p, &end, 10) > LARGEST)
			return true;
		p = end;
	}
	return false;
}

static void describe(char *text)
{
	struct ripstop_fabric *f, *g;
	struct ripstop_error *e = NULL;
	char *rest = text, *yaml;
	int err;

	while (!strncmp(rest, "#set ", 5) && strchr(rest, '\n'))
		rest = strchr(rest, '\n') + 1;
	if (large(text))
		return;
	err = ripstop_fabric_parse(rest, strlen(rest), "fuzz.yaml", "/nonexistent", &f, &e);
	if (err) {
		refused(err, e);
		return;
	}
	while (text < rest) {
		char *end = strchr(text, '\n'), *value = strchr(text, '=');

		*end = '\0';
		if (value && value < end) {
			*value++ = '\0';
			err = ripstop_fabric_set(f, text + 5, value, &e);
			if (err)
				refused(err, e);
		}
		text = end + 1;
	}
	err = ripstop_fabric_yaml(f, &yaml, &e);
	if (err) {
		refused(err, e);
	} else {
		rs_assert(!ripstop_fabric_parse(yaml, strlen(yaml), NULL, NULL, &g, &e));
		rs_assert(!ripstop_fabric_check(g, NULL, &e));
		ripstop_fabric_free(g);
		ripstop_free(yaml);
	}
	ripstop_fabric_free(f);
}

/* ---- Two NICs ---- */

struct side {
	struct ripstop_nic *nic;
	struct ripstop_cq *cq;
	struct ripstop_qp *qp[3];
	uint8_t *memory, last[RIPSTOP_FRAME_MAX];
	long last_bytes;
	uint32_t key;
};

struct bench {
	struct side side[2];
	int64_t now;
};

static void address_of(unsigned i, uint8_t address[16])
{
	static const uint8_t first[16] = {[10] = 0xff, [11] = 0xff, 10, 0, 0, 1};

	memcpy(address, first, 16);
	address[15] = (uint8_t)(1 + i);
}

static void begin_side(struct side *s, unsigned i)
{
	static const uint8_t kinds[] = {RIPSTOP_RC, RIPSTOP_UC, RIPSTOP_UD};
	struct ripstop_nic_config c = RIPSTOP_INIT(struct ripstop_nic_config);

	c.max_qps = 4;
	c.max_regions = 4;
	c.cc = i ? "none" : "dcqcn";
	address_of(i, c.address);
	s->memory = calloc(1, MEMORY);
	rs_assert(!ripstop_nic_create(&c, &s->nic, NULL));
	rs_assert(!ripstop_nic_create_cq(s->nic, 64, &s->cq, NULL));
	rs_assert(!ripstop_nic_register(s->nic, 1, s->memory, 0, MEMORY, 15, &s->key, NULL));
	for (unsigned k = 0; k < 3; k++) {
		struct ripstop_qp_config q = RIPSTOP_INIT(struct ripstop_qp_config);
		struct ripstop_qp_peer p = RIPSTOP_INIT(struct ripstop_qp_peer);

		q.pd = 1;
		q.transport = kinds[k];
		q.send_cq = q.receive_cq = s->cq;
		rs_assert(!ripstop_nic_create_qp(s->nic, &q, &s->qp[k], NULL));
		address_of(!i, p.address);
		p.mtu = 256;
		p.qpn = 16 + k; /* the first QPN is 16 on both */
		p.access = 15;
		p.timeout = 1;
		p.retries = 1;
		p.min_rnr_timer = 1;
		rs_assert(!ripstop_qp_connect(s->qp[k], &p, 0, NULL));
	}
}

static void post(struct bench *b, unsigned i, const uint8_t p[4])
{
	struct ripstop_send s = RIPSTOP_INIT(struct ripstop_send);
	struct ripstop_sge g = {0, 8u * p[3], b->side[i].key};

	s.op = p[2] % 8;
	s.flags = p[2] >> 5;
	s.n_sge = 1;
	s.sge = &g;
	s.remote_key = b->side[!i].key;
	s.qpn = 18;
	address_of(!i, s.address);
	if (p[2] & 8)
		ripstop_qp_receive(b->side[i].qp[p[1] % 3], 0, &g, 1, NULL);
	else
		ripstop_qp_send(b->side[i].qp[p[1] % 3], &s, b->now, NULL);
}

static void pull(struct bench *b, struct side *s)
{
	struct ripstop_completion c;
	int64_t again;

	s->last_bytes = ripstop_nic_send(s->nic, s->last, sizeof(s->last), b->now, &again, NULL);
	rs_assert(s->last_bytes >= 0 && s->last_bytes <= (long)sizeof(s->last));
	while (ripstop_cq_poll(s->cq, &c, 1, sizeof(c)))
		rs_assert(c.qpn >= 16 && c.qpn < 19);
}

/* The last frame of one arrives at the other, some with a byte changed. */
static void carry(struct bench *b, unsigned i, uint8_t at, uint8_t flip)
{
	struct side *s = &b->side[i];

	if (s->last_bytes <= 0)
		return;
	s->last[at % s->last_bytes] ^= flip & 1 ? flip : 0;
	rs_assert(ripstop_nic_receive(b->side[!i].nic, s->last, (size_t)s->last_bytes, b->now,
				      NULL) >= 0);
}

/* One step of four bytes and, of a frame, as many more as they say; how many in all. */
static size_t step(struct bench *b, const uint8_t *p, size_t n)
{
	size_t bytes = (size_t)p[1] | (size_t)(p[2] & 15) << 8;
	unsigned i = p[0] >> 7;
	struct side *s = &b->side[i];
	struct ripstop_error *e = NULL;

	switch (p[0] % 6) {
	case 0:
		bytes = bytes < n - 4 ? bytes : n - 4;
		rs_assert(ripstop_nic_receive(s->nic, p + 4, bytes, b->now, &e) >= 0);
		ripstop_error_free(e);
		return 4 + bytes;
	case 1:
		post(b, i, p);
		break;
	case 2:
		pull(b, s);
		break;
	case 3:
		carry(b, i, p[1], p[2]);
		break;
	case 4:
		b->now += (int64_t)(p[1] + 1) << (p[2] % 32);
		rs_assert(!ripstop_nic_expire(b->side[0].nic, b->now, NULL));
		rs_assert(!ripstop_nic_expire(b->side[1].nic, b->now, NULL));
		break;
	default:
		ripstop_qp_set_state(s->qp[p[1] % 3],
				     p[2] & 1 ? RIPSTOP_QP_ERROR : RIPSTOP_QP_RESET, b->now, NULL);
	}
	return 4;
}

static void drive(const uint8_t *p, size_t n)
{
	struct bench b = {0};

	begin_side(&b.side[0], 0);
	begin_side(&b.side[1], 1);
	for (unsigned i = 0; i < STEPS && n >= 4; i++) {
		size_t used = step(&b, p, n);

		p += used;
		n -= used;
	}
	for (unsigned i = 0; i < 2; i++) {
		ripstop_nic_destroy(b.side[i].nic);
		free(b.side[i].memory);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	char *text;

	if (n && *bytes == 'N') {
		drive(bytes + 1, n - 1);
		return 0;
	}
	text = malloc(n + 1);
	rs_assert(text);
	memcpy(text, bytes, n);
	text[n] = '\0';
	describe(text);
	free(text);
	return 0;
}

/* The connection manager's messages, field by field at the offsets of IBTA volume 1 §12.6. */
#include "verbs/cm/mad.h"

#include <errno.h>
#include <string.h>
#include "base/bytes.h"

enum { HEADER = 24, BASE_VERSION = 1, CLASS_CM = 7, CLASS_VERSION = 2, METHOD_SEND = 3 };

/* Either way: one list of fields serves to read and to write. */
struct cursor {
	uint8_t *b; /* the data behind the common header */
	bool write;
};

/* bits wide, its most significant bit `at` bits from the start of the data. */
static uint64_t get(const uint8_t *b, unsigned at, unsigned bits)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bits; i++, at++)
		v = v << 1 | (b[at / 8] >> (7 - at % 8) & 1);
	return v;
}

static void put(uint8_t *b, unsigned at, unsigned bits, uint64_t v)
{
	for (unsigned i = 0; i < bits; i++) {
		unsigned bit = at + bits - 1 - i;
		uint8_t mask = (uint8_t)(1u << (7 - bit % 8));

		b[bit / 8] = v >> i & 1 ? b[bit / 8] | mask : b[bit / 8] & (uint8_t)~mask;
	}
}

#define FIELD(c, byte, bit, bits, var)                                                \
	do {                                                                          \
		if ((c)->write)                                                       \
			put((c)->b, (byte)*8 + (bit), bits, var);                     \
		else                                                                  \
			(var) = (__typeof__(var))get((c)->b, (byte)*8 + (bit), bits); \
	} while (0)

static void bytes(struct cursor *c, unsigned at, void *var, unsigned n)
{
	if (c->write)
		memcpy(c->b + at, var, n);
	else
		memcpy(var, c->b + at, n);
}

static void path(struct cursor *c, unsigned at, struct rs_cm_path *p)
{
	FIELD(c, at, 0, 16, p->slid);
	FIELD(c, at + 2, 0, 16, p->dlid);
	bytes(c, at + 4, p->sgid, 16);
	bytes(c, at + 20, p->dgid, 16);
	FIELD(c, at + 36, 0, 20, p->flow_label);
	FIELD(c, at + 36, 26, 6, p->rate);
	FIELD(c, at + 40, 0, 8, p->traffic_class);
	FIELD(c, at + 41, 0, 8, p->hop_limit);
	FIELD(c, at + 42, 0, 4, p->sl);
	FIELD(c, at + 42, 4, 1, p->subnet_local);
	FIELD(c, at + 43, 0, 5, p->ack_timeout);
}

/* §12.6.5 */
static void req(struct cursor *c, struct rs_cm_msg *m)
{
	FIELD(c, 8, 0, 64, m->service_id);
	FIELD(c, 16, 0, 64, m->guid);
	FIELD(c, 28, 0, 32, m->qkey);
	FIELD(c, 32, 0, 24, m->qpn);
	FIELD(c, 35, 0, 8, m->responder_resources);
	FIELD(c, 36, 0, 24, m->local_eecn);
	FIELD(c, 39, 0, 8, m->initiator_depth);
	FIELD(c, 40, 0, 24, m->remote_eecn);
	FIELD(c, 43, 0, 5, m->remote_timeout);
	FIELD(c, 43, 5, 2, m->transport);
	FIELD(c, 43, 7, 1, m->flow_control);
	FIELD(c, 44, 0, 24, m->psn);
	FIELD(c, 47, 0, 5, m->local_timeout);
	FIELD(c, 47, 5, 3, m->retry_count);
	FIELD(c, 48, 0, 16, m->pkey);
	FIELD(c, 50, 0, 4, m->mtu);
	FIELD(c, 50, 4, 1, m->rdc);
	FIELD(c, 50, 5, 3, m->rnr_retry);
	FIELD(c, 51, 0, 4, m->max_retries);
	FIELD(c, 51, 4, 1, m->srq);
	FIELD(c, 51, 5, 3, m->extended_transport);
	path(c, 52, &m->path);
	path(c, 96, &m->alternate);
}

/* §12.6.8 */
static void rep(struct cursor *c, struct rs_cm_msg *m)
{
	FIELD(c, 4, 0, 32, m->remote_id);
	FIELD(c, 8, 0, 32, m->qkey);
	FIELD(c, 12, 0, 24, m->qpn);
	FIELD(c, 16, 0, 24, m->local_eecn);
	FIELD(c, 20, 0, 24, m->psn);
	FIELD(c, 24, 0, 8, m->responder_resources);
	FIELD(c, 25, 0, 8, m->initiator_depth);
	FIELD(c, 26, 0, 5, m->ack_delay);
	FIELD(c, 26, 5, 2, m->failover);
	FIELD(c, 26, 7, 1, m->flow_control);
	FIELD(c, 27, 0, 3, m->rnr_retry);
	FIELD(c, 27, 3, 1, m->srq);
	FIELD(c, 28, 0, 64, m->guid);
}

/* §12.6.7 */
static void rej(struct cursor *c, struct rs_cm_msg *m)
{
	FIELD(c, 4, 0, 32, m->remote_id);
	FIELD(c, 8, 0, 2, m->what);
	FIELD(c, 9, 0, 7, m->info_length);
	FIELD(c, 10, 0, 16, m->reason);
	bytes(c, 12, m->ari, RS_CM_ARI_BYTES);
}

/* §12.6.6 */
static void mra(struct cursor *c, struct rs_cm_msg *m)
{
	FIELD(c, 4, 0, 32, m->remote_id);
	FIELD(c, 8, 0, 2, m->what);
	FIELD(c, 9, 0, 5, m->local_timeout);
}

/* §12.6.9, §12.6.11 */
static void rtu(struct cursor *c, struct rs_cm_msg *m)
{
	FIELD(c, 4, 0, 32, m->remote_id);
}

/* §12.6.10 */
static void dreq(struct cursor *c, struct rs_cm_msg *m)
{
	FIELD(c, 4, 0, 32, m->remote_id);
	FIELD(c, 8, 0, 24, m->qpn);
}

/* §12.11.1 */
static void sidr_req(struct cursor *c, struct rs_cm_msg *m)
{
	FIELD(c, 4, 0, 16, m->pkey);
	FIELD(c, 8, 0, 64, m->service_id);
}

/* §12.11.2 */
static void sidr_rep(struct cursor *c, struct rs_cm_msg *m)
{
	FIELD(c, 4, 0, 8, m->reason);
	FIELD(c, 5, 0, 8, m->info_length);
	FIELD(c, 8, 0, 24, m->qpn);
	FIELD(c, 12, 0, 64, m->service_id);
	FIELD(c, 20, 0, 32, m->qkey);
	bytes(c, 24, m->ari, RS_CM_ARI_BYTES);
}

static const struct kind {
	void (*fields)(struct cursor *c, struct rs_cm_msg *m);
	uint8_t private_at, private_bytes;
} kinds[] = {
	[RS_CM_REQ] = {req, 140, 92},
	[RS_CM_MRA] = {mra, 10, 222},
	[RS_CM_REJ] = {rej, 84, 148},
	[RS_CM_REP] = {rep, 36, 196},
	[RS_CM_RTU] = {rtu, 8, 224},
	[RS_CM_DREQ] = {dreq, 12, 220},
	[RS_CM_DREP] = {rtu, 8, 224},
	[RS_CM_SIDR_REQ] = {sidr_req, 16, 216},
	[RS_CM_SIDR_REP] = {sidr_rep, 96, 136},
};

static const struct kind *kind_of(unsigned kind)
{
	return kind < sizeof(kinds) / sizeof(kinds[0]) && kinds[kind].fields ? &kinds[kind] : NULL;
}

unsigned rs_cm_private_max(unsigned kind)
{
	const struct kind *k = kind_of(kind);

	return k ? k->private_bytes : 0;
}

int rs_cm_decode(const uint8_t mad[RS_MAD_BYTES], struct rs_cm_msg *m)
{
	uint8_t data[RS_MAD_BYTES - HEADER];
	struct cursor c = {data, false};
	const struct kind *k = kind_of(rs_get16(mad + 16));

	if (!k || mad[0] != BASE_VERSION || mad[1] != CLASS_CM || mad[2] != CLASS_VERSION ||
	    mad[3] != METHOD_SEND)
		return -EPROTO;
	memcpy(data, mad + HEADER, sizeof(data));
	memset(m, 0, sizeof(*m));
	m->kind = rs_get16(mad + 16);
	m->tid = rs_get64(mad + 8);
	FIELD(&c, 0, 0, 32, m->local_id);
	k->fields(&c, m);
	m->private_length = k->private_bytes;
	memcpy(m->private_data, data + k->private_at, k->private_bytes);
	return 0;
}

int rs_cm_encode(const struct rs_cm_msg *m, uint8_t mad[RS_MAD_BYTES])
{
	const struct kind *k = kind_of(m->kind);
	struct cursor c = {mad + HEADER, true};
	struct rs_cm_msg copy = *m;

	if (!k)
		return -EINVAL;
	if (m->private_length > k->private_bytes)
		return -EMSGSIZE;
	memset(mad, 0, RS_MAD_BYTES);
	mad[0] = BASE_VERSION;
	mad[1] = CLASS_CM;
	mad[2] = CLASS_VERSION;
	mad[3] = METHOD_SEND;
	rs_put64(mad + 8, m->tid);
	rs_put16(mad + 16, m->kind);
	FIELD(&c, 0, 0, 32, copy.local_id);
	k->fields(&c, &copy);
	memcpy(c.b + k->private_at, m->private_data, m->private_length);
	return 0;
}

static void ip_address(const uint8_t *b, bool ipv4, uint8_t out[16])
{
	memcpy(out, b, 16);
	if (!ipv4)
		return;
	memset(out, 0, 10);
	out[10] = out[11] = 0xff;
}

bool rs_cm_ip_decode(const uint8_t b[RS_CM_IP_BYTES], struct rs_cm_ip *ip)
{
	ip->version = b[1] >> 4;
	if (b[0] || (ip->version != 4 && ip->version != 6))
		return false;
	ip->port = rs_get16(b + 2);
	ip_address(b + 4, ip->version == 4, ip->src);
	ip_address(b + 20, ip->version == 4, ip->dst);
	return true;
}

void rs_cm_ip_encode(const struct rs_cm_ip *ip, uint8_t b[RS_CM_IP_BYTES])
{
	memset(b, 0, RS_CM_IP_BYTES);
	b[1] = (uint8_t)(ip->version << 4);
	rs_put16(b + 2, ip->port);
	if (ip->version == 4) {
		memcpy(b + 16, ip->src + 12, 4);
		memcpy(b + 32, ip->dst + 12, 4);
	} else {
		memcpy(b + 4, ip->src, 16);
		memcpy(b + 20, ip->dst, 16);
	}
}

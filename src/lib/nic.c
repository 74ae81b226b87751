/* One NIC with packets of the caller's own (ripstop/nic.h): rdma/ between two translations of
 * wire/. What is here beside them: which endpoint number an address has, and the PAUSEs heard. */
#include <errno.h>
#include <ripstop/nic.h>
#include <stdlib.h>
#include <string.h>
#include "base/random.h"
#include "lib/lib.h"
#include "port/lfc.h"
#include "rdma/nic.h"
#include "wire/frame.h"

enum {
	SELF = 0, /* endpoint numbers: this port, then peers; a stranger has none */
	STRANGER = INT32_MAX,
	PACKETS = 1024, /* one is in hand at a time */
	DEPTH = 128,
};

_Static_assert(RIPSTOP_FRAME_MAX >= RS_MAX_PAYLOAD + RS_MAX_HEADERS, "a frame always fits");
_Static_assert((int)RIPSTOP_FETCH_ADD == RS_WR_FETCH_ADD && (int)RIPSTOP_RECV == RS_WR_RECV &&
		       (int)RIPSTOP_RECV_WRITE_IMM == RS_WR_RECV_WRITE_IMM,
	       "operations are rdma's");
_Static_assert((int)RIPSTOP_RC == RS_RC && (int)RIPSTOP_UC == RS_UC && (int)RIPSTOP_UD == RS_UD,
	       "transports are wire's");
_Static_assert(sizeof(struct ripstop_sge) == sizeof(struct rs_sge), "SGEs are rdma's");

/* Any class may be paused; this port pauses none: its caller takes what comes. */
static const struct rs_lfc_conf lfc_conf = {.classes = 0xff};

struct peer {
	uint8_t address[16], mac[6];
};

struct ripstop_cq {
	struct ripstop_nic *nic;
	struct rs_cq *cq;
	struct ripstop_cq *next;
};

struct ripstop_qp {
	struct ripstop_nic *nic;
	struct rs_qp *qp;
	uint8_t transport, max_sge;
	struct ripstop_qp *next;
};

struct ripstop_nic {
	struct rs_pool pool;
	struct rs_pool_list free;
	struct rs_nic *nic;
	struct rs_cc_params *cc_params;
	struct rs_cc_use cc;
	struct rs_random keys;
	bool ipv6;
	uint8_t mac[6], address[16];
	rs_time now;
	struct rs_lfc lfc;
	struct rs_lfc_times lfc_times;
	struct peer *peers; /* [endpoint - 1] */
	uint32_t *slots;    /* open addressing over peers; 0: free */
	uint32_t n_peers, max_peers, n_slots;
	const uint8_t *grh; /* the IP header of the datagram that is being received */
	uint64_t foreign, other, bad, pauses;
	struct ripstop_cq *cqs;
	struct ripstop_qp *qps;
};

/* ---- Addresses ---- */

static bool is_ipv4(const uint8_t a[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(a, mapped, sizeof(mapped));
}

static bool is_zero(const uint8_t *b, size_t n)
{
	while (n && !b[n - 1])
		n--;
	return !n;
}

static uint32_t *slot_of(const struct ripstop_nic *n, const uint8_t a[16])
{
	uint64_t w[2];
	uint32_t i;

	memcpy(w, a, sizeof(w));
	i = (uint32_t)rs_mix64(w[0] ^ rs_mix64(w[1])) & (n->n_slots - 1);
	while (n->slots[i] && memcmp(n->peers[n->slots[i] - 1].address, a, 16) != 0)
		i = (i + 1) & (n->n_slots - 1);
	return &n->slots[i];
}

/* The endpoint number of an address, which becomes known. A later MAC address of it holds. */
static int peer_of(struct ripstop_nic *n, const uint8_t a[16], const uint8_t mac[6], uint32_t *out,
		   struct ripstop_error **e)
{
	uint32_t *s;

	if (is_ipv4(a) == n->ipv6)
		return lib_fail(e, -EINVAL, "the peer has an %s address, the NIC an %s address",
				is_ipv4(a) ? "IPv4" : "IPv6", n->ipv6 ? "IPv6" : "IPv4");
	s = slot_of(n, a);
	if (!*s && n->n_peers == n->max_peers)
		return lib_fail(e, -ENOSPC, "more than %u peers (max_peers)", n->max_peers);
	if (!*s) {
		*s = ++n->n_peers;
		memcpy(n->peers[*s - 1].address, a, 16);
	}
	memcpy(n->peers[*s - 1].mac, mac, 6);
	*out = *s;
	return 0;
}

static int check_time(struct ripstop_nic *n, int64_t now, struct ripstop_error **e)
{
	if (now < n->now || now == RIPSTOP_NEVER)
		return lib_fail(e, -EINVAL,
				"the time goes from %lld ps to %lld ps: it never goes back",
				(long long)n->now, (long long)now);
	n->now = now;
	return 0;
}

/* ---- Making one ---- */

static int in_range(const char *what, uint32_t v, uint32_t max, struct ripstop_error **e)
{
	return v <= max ? 0
			: lib_fail(e, -EINVAL, "%s: expected at most %u, found %u", what, max, v);
}

/* What the caller left 0. */
static int fill_config(struct ripstop_nic_config *c, struct ripstop_error **e)
{
	static const uint8_t mac[6] = {2, [5] = 1};
	static const uint8_t ip[16] = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1};

	if (is_zero(c->mac, 6))
		memcpy(c->mac, mac, 6);
	if (is_zero(c->address, 16))
		memcpy(c->address, ip, 16);
	c->rate = c->rate ? c->rate : 400 * RS_GBPS;
	c->max_qps = c->max_qps ? c->max_qps : 256;
	c->max_regions = c->max_regions ? c->max_regions : 1024;
	c->max_cqs = c->max_cqs ? c->max_cqs : 256;
	c->max_peers = c->max_peers ? c->max_peers : 256;
	c->first_qpn = c->first_qpn ? c->first_qpn : 16;
	c->ack_every = c->ack_every ? c->ack_every : 8;
	c->cnp_dscp = c->cnp_dscp ? c->cnp_dscp : 48;
	c->cnp_class = c->cnp_class ? c->cnp_class : 6;
	if (is_zero(c->weight, 8))
		memset(c->weight, 1, 8);
	if (c->rate < RS_MBPS || c->rate > 100000 * RS_GBPS)
		return lib_fail(e, -EINVAL, "rate: expected 1 Mb/s to 100 Tb/s, found %lld b/s",
				(long long)c->rate);
	if (c->ack_delay < 0 || c->ack_delay > RS_S || c->min_rto < 0 || c->min_rto > 100 * RS_S)
		return lib_fail(e, -EINVAL, "ack_delay, min_rto: expected 0 to 1 s, 0 to 100 s");
	if (in_range("max_qps", c->max_qps, 1 << 20, e) ||
	    in_range("max_regions", c->max_regions, 1 << 20, e) ||
	    in_range("max_cqs", c->max_cqs, 1 << 16, e) ||
	    in_range("max_peers", c->max_peers, 1 << 20, e) ||
	    in_range("ack_every", c->ack_every, 1 << 20, e) ||
	    in_range("first_qpn", c->first_qpn, RS_QPN_MASK - c->max_qps, e) ||
	    in_range("cnp_dscp", c->cnp_dscp, 63, e) || in_range("cnp_class", c->cnp_class, 7, e))
		return -EINVAL;
	return 0;
}

/* "g=1/256,rate_ai=100M": one setting after another. */
static int cc_settings(const struct rs_cc_ops *ops, struct rs_cc_params *params, const char *s,
		       struct ripstop_error **e)
{
	char *copy = strdup(s), *rest = copy, *one;
	struct rs_error inner = {0};
	int err = copy ? 0 : lib_fail(e, -ENOMEM, "out of memory");

	while (!err && (one = strsep(&rest, ","))) {
		char *value = strchr(one, '=');

		if (!value) {
			err = lib_fail(e, -EINVAL,
				       "cc_settings: expected name=value, found '%.80s'", one);
			break;
		}
		*value++ = '\0';
		err = rs_cc_params_set(ops, params, one, value, &inner);
		if (err)
			lib_error(e, &inner, err);
	}
	free(copy);
	return err;
}

static int make_cc(struct ripstop_nic *n, const struct ripstop_nic_config *c,
		   const struct rs_cc_ops **ops, struct ripstop_error **e)
{
	struct rs_error inner = {0};
	int err;

	*ops = rs_cc_find(c->cc ? c->cc : "dcqcn");
	if (!*ops)
		return lib_fail(e, -EINVAL, "no congestion control is called '%.80s'", c->cc);
	if ((*ops)->needs & RS_CC_NEEDS_CREDITS)
		return lib_fail(e, -EINVAL, "%s need packets that RoCEv2 does not have", c->cc);
	if ((*ops)->needs & RS_CC_NEEDS_STAMPS)
		return lib_fail(e, -EINVAL, "%s reads telemetry, which RoCEv2 frames do not carry",
				c->cc);
	n->cc_params = calloc(1, (*ops)->params_bytes + 1);
	if (!n->cc_params)
		return lib_fail(e, -ENOMEM, "out of memory");
	err = rs_cc_params_init(*ops, c->cc_preset, n->cc_params, &inner);
	if (err)
		return lib_error(e, &inner, err);
	return c->cc_settings ? cc_settings(*ops, n->cc_params, c->cc_settings, e) : 0;
}

static int make_tables(struct ripstop_nic *n, struct ripstop_error **e)
{
	n->n_slots = 16;
	while (n->n_slots < 2 * n->max_peers)
		n->n_slots *= 2;
	n->peers = calloc(n->max_peers, sizeof(*n->peers));
	n->slots = calloc(n->n_slots, sizeof(*n->slots));
	if (!n->peers || !n->slots || rs_pool_init(&n->pool, PACKETS))
		return lib_fail(e, -ENOMEM, "out of memory");
	rs_pool_list_init(&n->free, &n->pool);
	return 0;
}

static uint32_t draw_key(void *arg)
{
	struct ripstop_nic *n = arg;

	return (uint32_t)(rs_random_u64(&n->keys) >> 32);
}

/* A17.4.5.2: an IPv6 header, or an IPv4 header in the last 20 bytes. */
static void write_grh(void *arg, const struct rs_packet *p, uint8_t out[RS_GRH_BYTES])
{
	const struct ripstop_nic *n = arg;

	memset(out, 0, RS_GRH_BYTES);
	if (n->grh && n->ipv6)
		memcpy(out, n->grh, RS_IPV6_BYTES);
	else if (n->grh)
		memcpy(out + RS_GRH_BYTES - RS_IPV4_BYTES, n->grh, RS_IPV4_BYTES);
}

static int make_nic(struct ripstop_nic *n, const struct ripstop_nic_config *c,
		    struct ripstop_error **e)
{
	struct rs_nic_config k = {
		.endpoint = SELF,
		.line_rate = c->rate,
		.max_qps = c->max_qps,
		.max_mrs = c->max_regions,
		.max_cqs = c->max_cqs,
		.first_qpn = c->first_qpn,
		.ipv6 = n->ipv6,
		.free = &n->free,
		.cnp_tos = (uint8_t)(c->cnp_dscp << 2),
		.cnp_tc = c->cnp_class,
		.ack_every = c->ack_every,
		.ack_delay = c->ack_delay,
		.min_rto = c->min_rto,
		.copy_payload = true,
		.tell_credits = true,
		.grh = write_grh,
		.grh_arg = n,
	};
	struct rs_error inner = {0};
	int err = make_cc(n, c, &n->cc.ops, e);

	if (err)
		return err;
	memcpy(k.weight, c->weight, sizeof(k.weight));
	n->cc.params = n->cc_params;
	k.cc = &n->cc;
	k.n_cc = 1;
	if (c->key_seed) {
		k.random = draw_key;
		k.random_arg = n;
	}
	err = rs_nic_create(&k, &n->nic, &inner);
	return err ? lib_error(e, &inner, err) : 0;
}

int ripstop_nic_create(const struct ripstop_nic_config *theirs, struct ripstop_nic **out,
		       struct ripstop_error **e)
{
	struct ripstop_nic_config c;
	struct ripstop_nic *n;
	int err = lib_take(&c, sizeof(c), theirs, "ripstop_nic_config", e);

	*out = NULL;
	if (err || (err = fill_config(&c, e)))
		return err;
	n = calloc(1, sizeof(*n));
	if (!n)
		return lib_fail(e, -ENOMEM, "out of memory");
	memcpy(n->mac, c.mac, 6);
	memcpy(n->address, c.address, 16);
	n->ipv6 = !is_ipv4(c.address);
	n->now = INT64_MIN;
	n->max_peers = c.max_peers;
	rs_lfc_init(&n->lfc, &n->lfc_times, c.rate, 0);
	n->keys = rs_random_stream(c.key_seed, 0, 1);
	if ((err = make_tables(n, e)) || (err = make_nic(n, &c, e))) {
		ripstop_nic_destroy(n);
		return err;
	}
	*out = n;
	return 0;
}

void ripstop_nic_destroy(struct ripstop_nic *n)
{
	if (!n)
		return;
	rs_nic_destroy(n->nic);
	while (n->qps) {
		struct ripstop_qp *q = n->qps;

		n->qps = q->next;
		free(q);
	}
	while (n->cqs) {
		struct ripstop_cq *q = n->cqs;

		n->cqs = q->next;
		free(q);
	}
	rs_pool_fini(&n->pool);
	free(n->cc_params);
	free(n->peers);
	free(n->slots);
	free(n);
}

/* ---- Memory ---- */

int ripstop_nic_register(struct ripstop_nic *n, uint32_t pd, void *bytes, uint64_t va,
			 uint64_t length, uint32_t access, uint32_t *key, struct ripstop_error **e)
{
	int err;

	if (access > 15)
		return lib_fail(e, -EINVAL, "access: expected bits of enum ripstop_access");
	err = rs_nic_reg_mr(n->nic, pd, va, length, access, bytes, key);
	if (err == -ENOMEM)
		return lib_fail(e, err, "as many regions as max_regions are registered");
	return err ? lib_fail(e, err,
			      "the region wraps around, has no bytes, or may be written by a peer "
			      "and not by its owner (RIPSTOP_LOCAL_WRITE)")
		   : 0;
}

int ripstop_nic_deregister(struct ripstop_nic *n, uint32_t key, struct ripstop_error **e)
{
	int err = rs_nic_dereg_mr(n->nic, key);

	return err ? lib_fail(e, err, "no region has the key 0x%08x", key) : 0;
}

/* ---- Completion queues ---- */

int ripstop_nic_create_cq(struct ripstop_nic *n, uint32_t depth, struct ripstop_cq **out,
			  struct ripstop_error **e)
{
	struct ripstop_cq *q = calloc(1, sizeof(*q));
	int err = q ? rs_nic_create_cq(n->nic, depth, &q->cq) : -ENOMEM;

	*out = NULL;
	if (err) {
		free(q);
		return lib_fail(e, err, "no completion queue of %u entries: %s", depth,
				err == -EINVAL ? "out of range" : "out of memory, or max_cqs");
	}
	q->nic = n;
	q->next = n->cqs;
	n->cqs = q;
	*out = q;
	return 0;
}

uint32_t ripstop_cq_poll(struct ripstop_cq *q, struct ripstop_completion *out, uint32_t n,
			 size_t each)
{
	uint32_t done = 0;
	struct rs_cqe c;

	for (; done < n && rs_cq_poll(q->cq, &c, 1); done++) {
		struct ripstop_completion k = {
			.id = c.wr_id,
			.qpn = c.qpn,
			.bytes = c.bytes,
			.imm = c.imm,
			.src_qpn = c.src_qp,
			.status = c.status,
			.op = c.op,
			.has_imm = c.has_imm,
			.solicited = c.solicited,
		};

		lib_give_array((char *)out + done * each, each, 1, &k, sizeof(k));
	}
	return done;
}

int ripstop_cq_overrun(const struct ripstop_cq *q)
{
	return rs_cq_overrun(q->cq);
}

int ripstop_cq_destroy(struct ripstop_cq *q, struct ripstop_error **e)
{
	int err = rs_nic_destroy_cq(q->nic->nic, q->cq);

	if (err)
		return lib_fail(e, err, "a queue pair completes to it");
	for (struct ripstop_cq **p = &q->nic->cqs; *p; p = &(*p)->next)
		if (*p == q) {
			*p = q->next;
			break;
		}
	free(q);
	return 0;
}

/* ---- Queue pairs ---- */

int ripstop_nic_create_qp(struct ripstop_nic *n, const struct ripstop_qp_config *theirs,
			  struct ripstop_qp **out, struct ripstop_error **e)
{
	struct ripstop_qp_config c;
	struct ripstop_qp *q;
	int err = lib_take(&c, sizeof(c), theirs, "ripstop_qp_config", e);

	*out = NULL;
	if (err)
		return err;
	if (!c.send_cq || !c.receive_cq || c.send_cq->nic != n || c.receive_cq->nic != n)
		return lib_fail(e, -EINVAL, "send_cq, receive_cq: expected queues of this NIC");
	if (c.transport != RS_RC && c.transport != RS_UC && c.transport != RS_UD)
		return lib_fail(e, -EINVAL,
				"transport: expected RIPSTOP_RC, RIPSTOP_UC or "
				"RIPSTOP_UD");
	if (in_range("max_sge", c.max_sge, 16, e) ||
	    in_range("max_sends", c.max_sends, 1 << 16, e) ||
	    in_range("max_receives", c.max_receives, 1 << 16, e))
		return -EINVAL;
	q = calloc(1, sizeof(*q));
	if (!q)
		return lib_fail(e, -ENOMEM, "out of memory");
	q->max_sge = c.max_sge ? c.max_sge : 1;
	err = rs_nic_create_qp(n->nic,
			       &(struct rs_qp_init){
				       .pd = c.pd,
				       .transport = c.transport,
				       .send_cq = c.send_cq->cq,
				       .recv_cq = c.receive_cq->cq,
				       .max_send_wr = c.max_sends ? c.max_sends : DEPTH,
				       .max_recv_wr = c.max_receives ? c.max_receives : DEPTH,
				       .max_send_sge = q->max_sge,
				       .max_recv_sge = q->max_sge,
				       .sq_sig_all = c.all_signaled,
			       },
			       &q->qp);
	if (err) {
		free(q);
		return lib_fail(e, err, "no queue pair: %s",
				err == -ENOMEM ? "out of memory, or max_qps"
					       : "a value is refused");
	}
	q->nic = n;
	q->transport = c.transport;
	q->next = n->qps;
	n->qps = q;
	*out = q;
	return 0;
}

void ripstop_qp_destroy(struct ripstop_qp *q)
{
	if (!q)
		return;
	rs_nic_destroy_qp(q->nic->nic, q->qp);
	for (struct ripstop_qp **p = &q->nic->qps; *p; p = &(*p)->next)
		if (*p == q) {
			*p = q->next;
			break;
		}
	free(q);
}

uint32_t ripstop_qp_number(const struct ripstop_qp *q)
{
	return rs_qp_num(q->qp);
}

int64_t ripstop_qp_rate(const struct ripstop_qp *q)
{
	const struct rs_cc *cc = rs_qp_get_state(q->qp) == RS_QPS_RESET ? NULL : rs_qp_cc(q->qp);

	return cc ? cc->rate : 0;
}

static uint8_t or_default(uint8_t given, uint8_t otherwise)
{
	return given == 255 ? 0 : given ? given : otherwise;
}

/* RoCEv2's ports are 49152 and up (A17.9.2). */
static uint16_t port_of(uint16_t given, uint32_t a, uint32_t b)
{
	return given ? given : (uint16_t)(0xc000 | (rs_mix64((uint64_t)a << 32 | b) & 0x3fff));
}

static int check_peer(const struct ripstop_qp_peer *p, struct ripstop_error **e)
{
	if (p->mtu && (p->mtu < 256 || p->mtu > 4096 || (p->mtu & (p->mtu - 1))))
		return lib_fail(e, -EINVAL, "mtu: expected 256, 512, 1024, 2048 or 4096, found %u",
				p->mtu);
	if (in_range("qpn", p->qpn, RS_QPN_MASK, e) ||
	    in_range("send_psn", p->send_psn, RS_PSN_MASK, e) ||
	    in_range("receive_psn", p->receive_psn, RS_PSN_MASK, e) ||
	    in_range("access", p->access, 15, e) || in_range("dscp", p->dscp, 63, e) ||
	    in_range("traffic_class", p->traffic_class, 7, e) ||
	    in_range("timeout", or_default(p->timeout, 14), 31, e) ||
	    in_range("retries", or_default(p->retries, 7), 7, e) ||
	    in_range("rnr_retries", or_default(p->rnr_retries, 7), 7, e) ||
	    in_range("min_rnr_timer", p->min_rnr_timer, 31, e) ||
	    in_range("max_reads", p->max_reads, 16, e))
		return -EINVAL;
	return 0;
}

int ripstop_qp_connect(struct ripstop_qp *q, const struct ripstop_qp_peer *theirs, int64_t now,
		       struct ripstop_error **e)
{
	struct ripstop_nic *n = q->nic;
	struct ripstop_qp_peer p;
	struct rs_qp_attr a;
	uint32_t endpoint = 0;
	int err = lib_take(&p, sizeof(p), theirs, "ripstop_qp_peer", e);

	if (err || (err = check_peer(&p, e)) || (err = check_time(n, now, e)))
		return err;
	if (rs_qp_get_state(q->qp) != RS_QPS_RESET)
		return lib_fail(e, -EINVAL, "the queue pair is connected; reset it first");
	if (q->transport != RS_UD && (err = peer_of(n, p.address, p.mac, &endpoint, e)))
		return err;
	a = (struct rs_qp_attr){
		.dest_endpoint = endpoint,
		.dest_qpn = p.qpn,
		.sq_psn = p.send_psn,
		.rq_psn = p.receive_psn,
		.path_mtu = p.mtu ? p.mtu : 4096,
		.sport = port_of(p.source_port, rs_qp_num(q->qp), p.qpn),
		.pkey = p.pkey ? p.pkey : 0xffff,
		.tos = (uint8_t)(p.dscp << 2 | (p.ecn ? RS_ECN_NOT_ECT : RS_ECN_ECT0)),
		.tc = p.traffic_class,
		.timeout = or_default(p.timeout, 14),
		.retry_cnt = or_default(p.retries, 7),
		.rnr_retry = or_default(p.rnr_retries, 7),
		.min_rnr_timer = p.min_rnr_timer,
		.max_rd_atomic = p.max_reads ? p.max_reads : 16,
		.max_dest_rd_atomic = p.max_reads ? p.max_reads : 16,
		.access = p.access,
		.qkey = p.qkey,
	};
	err = rs_qp_connect(n->nic, q->qp, &a, now);
	return err ? lib_fail(e, err, "a value of the connection is refused: %s", strerror(-err))
		   : 0;
}

enum ripstop_qp_state ripstop_qp_get_state(const struct ripstop_qp *q)
{
	switch (rs_qp_get_state(q->qp)) {
	case RS_QPS_RESET:
		return RIPSTOP_QP_RESET;
	case RS_QPS_INIT:
	case RS_QPS_RTR:
	case RS_QPS_RTS:
	case RS_QPS_SQD:
		return RIPSTOP_QP_READY;
	default:
		return RIPSTOP_QP_ERROR;
	}
}

int ripstop_qp_set_state(struct ripstop_qp *q, enum ripstop_qp_state to, int64_t now,
			 struct ripstop_error **e)
{
	int err = check_time(q->nic, now, e);

	if (err)
		return err;
	if (to != RIPSTOP_QP_RESET && to != RIPSTOP_QP_ERROR)
		return lib_fail(e, -EINVAL, "ripstop_qp_connect() makes a queue pair ready");
	err = rs_qp_modify(q->nic->nic, q->qp, to == RIPSTOP_QP_RESET ? RS_QPS_RESET : RS_QPS_ERR,
			   NULL, now);
	return err ? lib_fail(e, err, "the queue pair is not connected") : 0;
}

/* ---- Work ---- */

static int refused(int err, struct ripstop_error **e)
{
	return err == -ENOMEM
		       ? lib_fail(e, err, "the queue is full: take completions and post again")
		       : lib_fail(e, err,
				  "the work request is refused: the queue pair's state, an "
				  "operation that its transport does not have, or its SGEs");
}

int ripstop_qp_send(struct ripstop_qp *q, const struct ripstop_send *theirs, int64_t now,
		    struct ripstop_error **e)
{
	struct ripstop_nic *n = q->nic;
	struct ripstop_send s;
	struct rs_send_wr wr;
	int err = lib_take(&s, sizeof(s), theirs, "ripstop_send", e);

	if (err || (err = check_time(n, now, e)))
		return err;
	if (s.op > RIPSTOP_FETCH_ADD || s.flags > 7)
		return lib_fail(e, -EINVAL,
				"op, flags: expected RIPSTOP_SEND to "
				"RIPSTOP_FETCH_ADD, enum ripstop_send_flags");
	if (in_range("n_sge", s.n_sge, q->max_sge, e) || in_range("dscp", s.dscp, 63, e) ||
	    in_range("traffic_class", s.traffic_class, 7, e) ||
	    in_range("qpn", s.qpn, RS_QPN_MASK, e))
		return -EINVAL;
	wr = (struct rs_send_wr){
		.wr_id = s.id,
		.op = s.op,
		.flags = s.flags,
		.n_sge = s.n_sge,
		.imm = s.imm,
		.sge = (const struct rs_sge *)(const void *)s.sge,
		.remote_va = s.remote_va,
		.rkey = s.remote_key,
		.swap_add = s.swap_add,
		.compare = s.compare,
		.dest_qpn = s.qpn,
		.qkey = s.qkey,
	};
	if (q->transport == RS_UD) {
		wr.ah.sport = port_of(0, rs_qp_num(q->qp), s.qpn);
		wr.ah.tos = (uint8_t)(s.dscp << 2 | RS_ECN_ECT0);
		wr.ah.tc = s.traffic_class;
		err = peer_of(n, s.address, s.mac, &wr.ah.endpoint, e);
		if (err)
			return err;
	}
	err = rs_qp_post_send(n->nic, q->qp, &wr, now);
	return err ? refused(err, e) : 0;
}

int ripstop_qp_receive(struct ripstop_qp *q, uint64_t id, const struct ripstop_sge *sge,
		       uint8_t n_sge, struct ripstop_error **e)
{
	struct rs_recv_wr wr = {
		.wr_id = id, .n_sge = n_sge, .sge = (const struct rs_sge *)(const void *)sge};
	int err = in_range("n_sge", n_sge, q->max_sge, e);

	if (err)
		return err;
	err = rs_qp_post_recv(q->nic->nic, q->qp, &wr);
	return err ? refused(err, e) : 0;
}

/* ---- Packets ---- */

static bool to_us(const struct ripstop_nic *n, const struct rs_frame *f)
{
	return !memcmp(f->dip, n->address, 16) && f->ipv6 == n->ipv6;
}

/* Takes p. */
static int arrived(struct ripstop_nic *n, const uint8_t *frame, const struct rs_frame *f,
		   struct rs_packet *p, rs_time now)
{
	uint32_t *peer;

	if (p->kind == RS_KIND_PFC) {
		rs_lfc_heard(&lfc_conf, &n->lfc, &n->lfc_times, p, now);
		n->pauses++;
		rs_pool_free(&n->free, p);
		return RIPSTOP_RX_PAUSE;
	}
	if (!to_us(n, f)) {
		n->foreign++;
		rs_pool_free(&n->free, p);
		return RIPSTOP_RX_FOREIGN;
	}
	peer = slot_of(n, f->sip);
	p->src = *peer ? *peer : (uint32_t)STRANGER;
	p->dst = SELF;
	n->grh = frame + RS_ETH_BYTES + (f->vlan ? RS_VLAN_BYTES : 0);
	rs_nic_rx(n->nic, p, now);
	n->grh = NULL;
	return RIPSTOP_RX_TAKEN;
}

int ripstop_nic_receive(struct ripstop_nic *n, const void *frame, size_t size, int64_t now,
			struct ripstop_error **e)
{
	struct rs_error why = {0};
	struct rs_packet *p;
	struct rs_frame f;
	enum rs_decode r;
	int err = check_time(n, now, e);

	if (err)
		return err;
	p = rs_pool_alloc(&n->free);
	if (!p)
		return lib_fail(e, -ENOBUFS, "no packet buffer is free");
	r = rs_frame_decode(frame, size, &f, p, &why);
	if (r == RS_DECODE_OK || (r == RS_DECODE_RESERVED && to_us(n, &f)))
		return arrived(n, frame, &f, p, now);
	rs_pool_free(&n->free, p);
	if (r == RS_DECODE_OTHER) {
		n->other++;
		return RIPSTOP_RX_OTHER;
	}
	n->bad++;
	lib_error(e, &why, why.code ? why.code : -EINVAL);
	return RIPSTOP_RX_BAD;
}

static long encode(struct ripstop_nic *n, const struct rs_packet *p, void *out, size_t room)
{
	const struct peer *to = &n->peers[p->dst - 1];
	struct rs_frame f;

	rs_frame_of_endpoints(&f, 0, 1, n->ipv6);
	memcpy(f.smac, n->mac, 6);
	memcpy(f.dmac, to->mac, 6);
	memcpy(f.sip, n->address, 16);
	memcpy(f.dip, to->address, 16);
	return rs_frame_encode(&f, p, out, room);
}

long ripstop_nic_send(struct ripstop_nic *n, void *out, size_t room, int64_t now, int64_t *again,
		      struct ripstop_error **e)
{
	rs_time next = RS_NEVER;
	struct rs_packet *p;
	int err = check_time(n, now, e);
	long size;

	if (again)
		*again = RIPSTOP_NEVER;
	if (err)
		return err;
	if (room < RIPSTOP_FRAME_MAX)
		return lib_fail(e, -EMSGSIZE, "room for %zu bytes; expected %d", room,
				RIPSTOP_FRAME_MAX);
	rs_lfc_expire(&n->lfc, &n->lfc_times, now);
	p = rs_nic_tx(n->nic, n->lfc.paused.now, now, &next);
	if (!p) {
		if (again)
			*again = rs_time_min(next, rs_lfc_deadline(&n->lfc, &n->lfc_times));
		return 0;
	}
	size = encode(n, p, out, room);
	rs_pool_free(&n->free, p);
	return size < 0 ? lib_fail(e, (int)size, "a packet does not fit a frame") : size;
}

int64_t ripstop_nic_deadline(const struct ripstop_nic *n)
{
	return rs_nic_deadline(n->nic);
}

int ripstop_nic_expire(struct ripstop_nic *n, int64_t now, struct ripstop_error **e)
{
	int err = check_time(n, now, e);

	if (!err && rs_nic_deadline(n->nic) <= now)
		rs_nic_expire(n->nic, now);
	return err;
}

void ripstop_nic_counters(const struct ripstop_nic *n, struct ripstop_nic_counters *theirs)
{
	const struct rs_nic_counters *c = rs_nic_get_counters(n->nic);
#define C(name) .name = c->name
	struct ripstop_nic_counters ours = {
		C(tx_packets),
		C(tx_bytes),
		C(rx_packets),
		C(rx_bytes),
		C(tx_data_packets),
		C(tx_data_bytes),
		C(tx_ack_packets),
		C(retransmitted_packets),
		C(retransmitted_bytes),
		C(out_of_sequence),
		C(packet_seq_err),
		C(implied_nak_seq_err),
		C(duplicate_request),
		C(local_ack_timeout_err),
		C(rnr_nak_retry_err),
		C(req_remote_access_errors),
		C(resp_remote_access_errors),
		C(req_remote_invalid_request),
		C(resp_remote_invalid_request),
		C(req_cqe_error),
		C(resp_cqe_error),
		C(req_cqe_flush_error),
		C(np_ecn_marked_roce_packets),
		C(np_cnp_sent),
		C(rp_cnp_handled),
		C(rx_icrc_encapsulated),
		C(rx_dropped),
		C(bad_pkey),
		C(bad_qkey),
		.rx_foreign = n->foreign,
		.rx_other = n->other,
		.rx_bad = n->bad,
		.rx_pauses = n->pauses,
	};
#undef C
	lib_give(theirs, &ours, sizeof(ours));
}

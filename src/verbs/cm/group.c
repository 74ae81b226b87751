/* Multicast groups of a UD identifier: joined at once, as RoCEv2's are IP's (annex A17.4.5.2). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "verbs/cm/cm.h"

static bool same(const struct sockaddr_storage *a, const struct sockaddr *b)
{
	uint8_t ga[16], gb[16];
	uint16_t pa, pb;

	return rs_cm_gid_of((const struct sockaddr *)a, ga, &pa) && rs_cm_gid_of(b, gb, &pb) &&
	       !memcmp(ga, gb, 16);
}

static int join_locked(struct rs_cm_id *id, const struct sockaddr *addr, bool hear, void *context)
{
	struct rs_cm_group *g = calloc(1, sizeof(*g));
	struct rs_cm_event *e;
	uint16_t port;
	int err = 0;

	if (!g)
		return ENOMEM;
	if (!id->dev || !rs_cm_gid_of(addr, g->gid.raw, &port)) {
		free(g);
		return EINVAL;
	}
	memcpy(&g->addr, addr,
	       addr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
					  : sizeof(struct sockaddr_in6));
	if (id->base.qp && hear)
		err = ibv_attach_mcast(id->base.qp, &g->gid, 0);
	if (err) {
		free(g);
		return err;
	}
	g->attached = id->base.qp && hear;
	g->next = id->groups;
	id->groups = g;
	e = rs_cm_post(id, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	if (!e)
		return ENOMEM;
	rs_cm_fill_ah(id, g->gid.raw, &e->base.param.ud.ah_attr);
	e->base.param.ud.private_data = context;
	e->base.param.ud.qp_num = RS_MULTICAST_QPN;
	e->base.param.ud.qkey = RDMA_UDP_QKEY;
	return 0;
}

static int join(struct rdma_cm_id *base, const struct sockaddr *addr, bool hear, void *context)
{
	struct rs_cm_id *id = rs_cm_id(base);
	int err;

	pthread_mutex_lock(&rs_cm_lock);
	err = join_locked(id, addr, hear, context);
	pthread_mutex_unlock(&rs_cm_lock);
	return err ? rs_cm_fail(err) : rs_cm_wait(id);
}

RS_EXPORT int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context)
{
	return join(id, addr, true, context);
}

RS_EXPORT int rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *a,
				     void *context)
{
	const uint32_t both = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;

	if ((a->comp_mask & both) != both || a->comp_mask & ~both ||
	    a->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED)
		return rs_cm_fail(EINVAL);
	return join(id, a->addr, a->join_flags == RDMA_MC_JOIN_FLAG_FULLMEMBER, context);
}

RS_EXPORT int rdma_leave_multicast(struct rdma_cm_id *base, struct sockaddr *addr)
{
	struct rs_cm_id *id = rs_cm_id(base);
	struct rs_cm_group **at = &id->groups, *g;
	int err = EADDRNOTAVAIL;

	if (!addr)
		return rs_cm_fail(EINVAL);
	pthread_mutex_lock(&rs_cm_lock);
	while (*at && !same(&(*at)->addr, addr))
		at = &(*at)->next;
	g = *at;
	if (g) {
		*at = g->next;
		err = g->attached && base->qp ? ibv_detach_mcast(base->qp, &g->gid, 0) : 0;
		free(g);
	}
	pthread_mutex_unlock(&rs_cm_lock);
	return err ? rs_cm_fail(err) : 0;
}

/* What librdmacm.so.1 takes from libibverbs.so.1: QP1 and rdma_cm's ports of an opened device. */
#include "verbs/gsi.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include "live/knock.h"

RS_EXPORT unsigned rs_verbs_gsi_open(struct ibv_context *c, rs_gsi_fn *fn, void *arg)
{
	struct rs_live *l = rs_verbs_live(c);

	rs_live_lock(l);
	rs_live_gsi_on(l, fn, arg);
	rs_live_unlock(l);
	return rs_live_slot(l);
}

RS_EXPORT int rs_verbs_gsi_send(struct ibv_context *c, const struct rs_gsi_datagram *d)
{
	struct rs_live *l = rs_verbs_live(c);
	int err;

	rs_live_lock(l);
	err = rs_live_gsi_send(l, d);
	rs_live_gsi_drain(l);
	rs_live_unlock(l);
	return err;
}

RS_EXPORT int rs_verbs_mind(struct ibv_context *c, const struct pollfd *own, unsigned n, int64_t ns)
{
	const struct timespec ts = {ns / 1000000000, ns % 1000000000};
	struct pollfd f[RS_LIVE_MIND_MAX];

	if (rs_vctx(c)->lanes == 1)
		return rs_live_mind(rs_verbs_live(c), own, n, ns);
	/* whose thread minds what, the lanes know */
	rs_assert(n <= RS_LIVE_MIND_MAX);
	if (n)
		memcpy(f, own, n * sizeof(*own));
	return ppoll(f, n, &ts, NULL) < 0 ? -errno : 0;
}

RS_EXPORT bool rs_verbs_fills(struct ibv_qp *qp)
{
	struct rs_live *l = rs_vqp(qp)->live;
	bool fills;

	rs_live_lock(l);
	fills = rs_live_fills(l, rs_vqp(qp)->qp);
	rs_live_unlock(l);
	return fills;
}

RS_EXPORT enum rs_live_peer rs_verbs_peer_of(struct ibv_context *c, const uint8_t own[16],
					     const uint8_t peer[16], uint32_t qpn)
{
	struct rs_live *l = rs_verbs_live(c);
	enum rs_live_peer p;

	rs_live_lock(l);
	p = rs_live_peer_of(l, own, peer, qpn);
	rs_live_unlock(l);
	return p;
}

RS_EXPORT int rs_verbs_knock(struct ibv_context *c, const struct rs_gsi_datagram *d)
{
	struct rs_live *l = rs_verbs_live(c);
	int err;

	rs_live_lock(l);
	err = rs_live_knock(l, d);
	rs_live_unlock(l);
	return err;
}

RS_EXPORT bool rs_verbs_knock_refused(struct ibv_context *c, uint64_t *token)
{
	struct rs_live *l = rs_verbs_live(c);
	bool any;

	rs_live_lock(l);
	any = rs_live_knock_refused(l, token);
	rs_live_unlock(l);
	return any;
}

RS_EXPORT void rs_verbs_gsi_drain(struct ibv_context *c)
{
	struct rs_live *l = rs_verbs_live(c);

	rs_live_lock(l);
	rs_live_gsi_drain(l);
	rs_live_unlock(l);
}

RS_EXPORT bool rs_verbs_gsi_lockable(struct ibv_context *c)
{
	return rs_live_gsi_lockable(rs_verbs_live(c));
}

RS_EXPORT int rs_verbs_cm_bind(struct ibv_context *c, uint16_t space, uint16_t *port,
			       const uint8_t gid[16], unsigned how)
{
	return rs_live_cm_bind(rs_verbs_live(c), space, port, gid, how);
}

RS_EXPORT void rs_verbs_cm_change(struct ibv_context *c, int place, unsigned how)
{
	rs_live_cm_change(rs_verbs_live(c), place, how);
}

RS_EXPORT int rs_verbs_cm_listen(struct ibv_context *c, int place)
{
	return rs_live_cm_listen(rs_verbs_live(c), place);
}

RS_EXPORT void rs_verbs_cm_unbind(struct ibv_context *c, int place)
{
	rs_live_cm_unbind(rs_verbs_live(c), place);
}

RS_EXPORT bool rs_verbs_has_gid(const struct ibv_device *d, const uint8_t gid[16])
{
	const struct rs_netdev *n = &((const struct rs_vdevice *)(const void *)d)->live.net;

	for (unsigned i = 0; i < n->n_gids; i++)
		if (!memcmp(n->gid[i], gid, 16))
			return true;
	return false;
}

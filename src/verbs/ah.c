/* Address handles (IBTA §11.2.2) and the addresses of received datagrams. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "verbs/verbs.h"

RS_EXPORT struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct rs_vctx *c = rs_vctx(pd->context);
	struct rs_vah *ah;
	unsigned i;
	int err = 0;

	if (!attr->is_global || attr->port_num != RS_V_PORT) {
		errno = EINVAL;
		return NULL;
	}
	ah = calloc(1, sizeof(*ah));
	if (!ah) {
		errno = ENOMEM;
		return NULL;
	}
	rs_vctx_lock(c);
	for (i = 0; i < c->lanes && !err; i++)
		err = rs_live_path_get(c->lane[i].live, attr->grh.sgid_index, attr->grh.dgid.raw,
				       &ah->endpoint[i]);
	for (i--; err && i-- > 0;)
		rs_live_path_put(c->lane[i].live, ah->endpoint[i]);
	ah->base.handle = c->next_handle++;
	if (!err)
		rs_vpd(pd)->refs++;
	rs_vctx_unlock(c);
	if (err) {
		free(ah);
		errno = -err;
		return NULL;
	}
	ah->base.context = pd->context;
	ah->base.pd = pd;
	ah->attr = *attr;
	return &ah->base;
}

RS_EXPORT int ibv_destroy_ah(struct ibv_ah *base)
{
	struct rs_vah *ah = rs_container(base, struct rs_vah, base);
	struct rs_vctx *c = rs_vctx(base->context);

	rs_vctx_lock(c);
	for (unsigned i = 0; i < c->lanes; i++)
		rs_live_path_put(c->lane[i].live, ah->endpoint[i]);
	rs_vpd(base->pd)->refs--;
	rs_vctx_unlock(c);
	free(ah);
	return 0;
}

/* The kernel resolves neighbours: there is no layer 2 to fill in. */
RS_EXPORT int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
					  uint8_t mac[6], uint16_t *vid)
{
	memset(mac, 0, 6);
	if (vid)
		*vid = 0xffff;
	return 0;
}

/* ---- The sender of a datagram: from the 40 bytes before its payload (annex A17.4.5.2) ---- */

enum { VERSION_IPV6 = 6, IPV4_AT = 20, SOURCE_IPV4 = 12, IPV4_BYTES = 4 };

static int own_index(const struct rs_vctx *c, const uint8_t gid[16])
{
	const struct rs_netdev *n = &c->device->live.net;

	for (int i = 0; i < n->n_gids; i++)
		if (!memcmp(n->gid[i], gid, 16))
			return i;
	return -1;
}

RS_EXPORT int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port, struct ibv_wc *wc,
				  struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	const uint8_t *b = (const uint8_t *)grh, *v4 = b + IPV4_AT;
	bool ipv6 = be32toh(grh->version_tclass_flow) >> 28 == VERSION_IPV6;
	uint8_t source[16] = {[10] = 0xff, [11] = 0xff}, own[16] = {[10] = 0xff, [11] = 0xff};
	int index;

	memset(attr, 0, sizeof(*attr));
	if (port != RS_V_PORT || !(wc->wc_flags & IBV_WC_GRH)) {
		errno = EINVAL;
		return -1;
	}
	if (ipv6) {
		memcpy(source, grh->sgid.raw, 16);
		memcpy(own, grh->dgid.raw, 16);
	} else {
		memcpy(source + 12, v4 + SOURCE_IPV4, IPV4_BYTES);
		memcpy(own + 12, v4 + SOURCE_IPV4 + IPV4_BYTES, IPV4_BYTES);
	}
	index = own_index(rs_vctx(context), own);
	if (index < 0) {
		errno = ENOENT;
		return -1;
	}
	attr->is_global = 1;
	attr->port_num = port;
	attr->sl = wc->sl & 7;
	memcpy(attr->grh.dgid.raw, source, 16);
	attr->grh.sgid_index = (uint8_t)index;
	attr->grh.hop_limit = 64;
	attr->grh.traffic_class = ipv6 ? (be32toh(grh->version_tclass_flow) >> 20) & 0xff : v4[1];
	return 0;
}

RS_EXPORT struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc,
					       struct ibv_grh *grh, uint8_t port)
{
	struct ibv_ah_attr attr;

	return ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr) ? NULL
								      : ibv_create_ah(pd, &attr);
}

/* ---- Multicast (§10.5): the group's address is a GID, IPv4 ones mapped ---- */

RS_EXPORT int ibv_attach_mcast(struct ibv_qp *base, const union ibv_gid *gid, uint16_t lid)
{
	struct rs_live *l = rs_vqp(base)->live;
	uint32_t group;
	int err;

	rs_live_lock(l);
	err = rs_live_group_join(l, gid->raw, &group);
	if (!err) {
		err = rs_qp_attach(rs_live_nic(l), rs_vqp(base)->qp, group);
		if (err)
			rs_live_group_leave(l, group);
	}
	rs_live_unlock(l);
	return -err;
}

RS_EXPORT int ibv_detach_mcast(struct ibv_qp *base, const union ibv_gid *gid, uint16_t lid)
{
	struct rs_live *l = rs_vqp(base)->live;
	uint32_t group;
	int err;

	rs_live_lock(l);
	err = rs_live_group_find(l, gid->raw, &group);
	if (!err)
		err = rs_qp_detach(rs_live_nic(l), rs_vqp(base)->qp, group);
	if (!err)
		rs_live_group_leave(l, group);
	rs_live_unlock(l);
	return -err;
}

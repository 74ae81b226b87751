/* Address handles (IBTA §11.2.2) and the addresses of received datagrams. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "verbs/verbs.h"

RS_EXPORT struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct rs_vctx *c = rs_vctx(pd->context);
	struct rs_vah *ah;
	int err;

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
	err = rs_live_path_get(c->live, attr->grh.sgid_index, attr->grh.dgid.raw, &ah->endpoint);
	ah->base.handle = c->next_handle++;
	rs_vctx_unlock(c);
	if (err) {
		free(ah);
		errno = -err;
		return NULL;
	}
	ah->base.context = pd->context;
	ah->base.pd = pd;
	ah->attr = *attr;
	rs_vpd(pd)->refs++;
	return &ah->base;
}

RS_EXPORT int ibv_destroy_ah(struct ibv_ah *base)
{
	struct rs_vah *ah = rs_container(base, struct rs_vah, base);
	struct rs_vctx *c = rs_vctx(base->context);

	rs_vctx_lock(c);
	rs_live_path_put(c->live, ah->endpoint);
	rs_vctx_unlock(c);
	rs_vpd(base->pd)->refs--;
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

/* What the device, its port, its GIDs and P_Keys are: IBTA §11.2.1. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/units.h"
#include "live/rate.h"
#include "verbs/verbs.h"

/* What Mellanox's ConnectX-5 has: perftest and others choose the ibv_wr_* calls by it. The vendor
 * is our own: it is no Mellanox device, and its direct verbs do not work on it. */
enum { VENDOR = 0x525053, PART_CONNECTX5 = 4119 };
enum { LINK_UP = 5 };
/* active_speed_ex: rdma-core 60's last field. */
enum { SPEED_EX_AT = (offsetof(struct ibv_port_attr, port_cap_flags2) + 2 + 3) & ~3u };

static const struct rs_port_rate *rate_of(struct ibv_context *c)
{
	return rs_port_rate(rs_vctx(c)->device->live.net.name, getenv("RIPSTOP_RATE"));
}

uint64_t rs_v_port_mbps(struct ibv_context *c)
{
	return (uint64_t)(rate_of(c)->bps / RS_MBPS);
}

static enum ibv_mtu mtu_code(uint16_t bytes)
{
	return bytes >= 4096   ? IBV_MTU_4096
	       : bytes >= 2048 ? IBV_MTU_2048
	       : bytes >= 1024 ? IBV_MTU_1024
	       : bytes >= 512  ? IBV_MTU_512
			       : IBV_MTU_256;
}

_Static_assert(RS_LIVE_PORT_CAPS == (IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS), "one mask");

int rs_v_query_port(struct ibv_context *c, uint8_t port, struct ibv_port_attr *out, size_t n)
{
	const struct rs_netdev *net = &rs_vctx(c)->device->live.net;
	const struct rs_port_rate *rate = rate_of(c);
	struct ibv_port_attr a = {
		.state = IBV_PORT_ACTIVE,
		.max_mtu = IBV_MTU_4096,
		.active_mtu = mtu_code(rs_netdev_path_mtu(net)),
		.gid_tbl_len = RS_LIVE_GID_TABLE,
		.port_cap_flags = RS_LIVE_PORT_CAPS,
		.max_msg_sz = RS_V_MAX_MSG,
		.pkey_tbl_len = 1,
		.max_vl_num = 1,
		.active_width = rate->width,
		.active_speed = rate->speed,
		.phys_state = LINK_UP,
		.link_layer = IBV_LINK_LAYER_ETHERNET,
		.flags = IBV_QPF_GRH_REQUIRED,
	};

	const uint32_t speed_ex = rate->speed;

	if (port != RS_V_PORT)
		return EINVAL;
	memset(out, 0, n);
	memcpy(out, &a, n < sizeof(a) ? n : sizeof(a));
	if (n >= SPEED_EX_AT + sizeof(speed_ex))
		memcpy((uint8_t *)out + SPEED_EX_AT, &speed_ex, sizeof(speed_ex));
	return 0;
}

#undef ibv_query_port
/* The exported one is called by programs that were built before port_cap_flags2. */
RS_EXPORT int ibv_query_port(struct ibv_context *c, uint8_t port, struct _compat_ibv_port_attr *a)
{
	return rs_v_query_port(c, port, (struct ibv_port_attr *)(void *)a,
			       offsetof(struct ibv_port_attr, port_cap_flags2) & ~(size_t)3);
}

RS_EXPORT int ibv_query_device(struct ibv_context *c, struct ibv_device_attr *a)
{
	struct rs_vctx *x = rs_vctx(c);

	*a = (struct ibv_device_attr){
		.fw_ver = "0.1.0",
		.node_guid = ibv_get_device_guid(&x->device->base),
		.sys_image_guid = ibv_get_device_guid(&x->device->base),
		.max_mr_size = UINT64_MAX,
		.page_size_cap = 0xfffffffffffff000,
		.vendor_id = VENDOR,
		.vendor_part_id = PART_CONNECTX5,
		.max_qp = RS_LIVE_MAX_QPS,
		.max_qp_wr = RS_V_MAX_WR,
		.device_cap_flags = IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_RESIZE_MAX_WR |
				    IBV_DEVICE_SYS_IMAGE_GUID,
		.max_sge = RS_V_MAX_SGE,
		.max_sge_rd = RS_V_MAX_SGE,
		.max_cq = RS_LIVE_MAX_CQS,
		.max_cqe = RS_V_MAX_CQE,
		.max_mr = RS_LIVE_MAX_MRS,
		.max_pd = RS_V_MAX_PDS,
		.max_qp_rd_atom = RS_V_MAX_RD_ATOMIC,
		.max_res_rd_atom = RS_V_MAX_RD_ATOMIC * RS_LIVE_MAX_QPS,
		.max_qp_init_rd_atom = RS_V_MAX_RD_ATOMIC,
		.atomic_cap = IBV_ATOMIC_HCA,
		.max_ah = RS_LIVE_PATHS,
		.max_pkeys = 1,
		.local_ca_ack_delay = 15,
		.phys_port_cnt = 1,
	};
	rs_v_fill_services(a);
	return 0;
}

int rs_v_query_device_ex(struct ibv_context *c, const struct ibv_query_device_ex_input *in,
			 struct ibv_device_attr_ex *out, size_t n)
{
	struct ibv_device_attr_ex a = {0};

	if (in && in->comp_mask)
		return EINVAL;
	if (n < sizeof(a.orig_attr))
		return EINVAL;
	ibv_query_device(c, &a.orig_attr);
	a.odp_caps.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
	a.odp_caps.per_transport_caps.rc_odp_caps = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV |
						    IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ |
						    IBV_ODP_SUPPORT_ATOMIC;
	a.completion_timestamp_mask = UINT64_MAX;
	a.hca_core_clock = 1000000; /* kHz: the timestamps are nanoseconds */
	a.device_cap_flags_ex = a.orig_attr.device_cap_flags;
	a.max_dm_size = RS_V_MAX_DM;
	a.phys_port_cnt_ex = 1;
	rs_v_fill_services_ex(&a);
	memset(out, 0, n);
	memcpy(out, &a, n < sizeof(a) ? n : sizeof(a));
	return 0;
}

int rs_v_query_rt_values(struct ibv_context *c, struct ibv_values_ex *values)
{
	if (values->comp_mask != IBV_VALUES_MASK_RAW_CLOCK)
		return EINVAL;
	return clock_gettime(CLOCK_MONOTONIC, &values->raw_clock) ? errno : 0;
}

/* ---- GIDs ---- */

RS_EXPORT int ibv_query_gid(struct ibv_context *c, uint8_t port, int index, union ibv_gid *gid)
{
	const struct rs_netdev *net = &rs_vctx(c)->device->live.net;

	if (port != RS_V_PORT || index < 0 || index >= RS_LIVE_GID_TABLE) {
		errno = EINVAL;
		return -1;
	}
	memset(gid, 0, sizeof(*gid));
	if (index < net->n_gids)
		memcpy(gid, net->gid[index], sizeof(*gid));
	return 0;
}

static void fill_entry(const struct rs_netdev *net, uint32_t i, void *out, size_t n)
{
	struct ibv_gid_entry e = {
		.gid_index = i,
		.port_num = RS_V_PORT,
		.gid_type = IBV_GID_TYPE_ROCE_V2,
		.ndev_ifindex = net->index,
	};

	memcpy(&e.gid, net->gid[i], sizeof(e.gid));
	memset(out, 0, n);
	memcpy(out, &e, n < sizeof(e) ? n : sizeof(e));
}

RS_EXPORT int _ibv_query_gid_ex(struct ibv_context *c, uint32_t port, uint32_t index,
				struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
	const struct rs_netdev *net = &rs_vctx(c)->device->live.net;

	if (port != RS_V_PORT || index >= RS_LIVE_GID_TABLE)
		return EINVAL;
	if (flags)
		return EOPNOTSUPP;
	if (index >= net->n_gids)
		return ENODATA;
	fill_entry(net, index, entry, size);
	return 0;
}

RS_EXPORT ssize_t _ibv_query_gid_table(struct ibv_context *c, struct ibv_gid_entry *entries,
				       size_t max, uint32_t flags, size_t size)
{
	const struct rs_netdev *net = &rs_vctx(c)->device->live.net;

	if (flags)
		return -EOPNOTSUPP;
	if (net->n_gids > max)
		return -EINVAL;
	for (uint32_t i = 0; i < net->n_gids; i++)
		fill_entry(net, i, (uint8_t *)entries + i * size, size);
	return net->n_gids;
}

RS_EXPORT int ibv_query_pkey(struct ibv_context *c, uint8_t port, int index, __be16 *pkey)
{
	if (port != RS_V_PORT || index) {
		errno = EINVAL;
		return -1;
	}
	*pkey = htobe16(0xffff);
	return 0;
}

RS_EXPORT int ibv_get_pkey_index(struct ibv_context *c, uint8_t port, __be16 pkey)
{
	if (port == RS_V_PORT && (be16toh(pkey) & 0x7fff) == 0x7fff)
		return 0;
	errno = EINVAL;
	return -1;
}

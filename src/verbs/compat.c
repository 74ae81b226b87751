/* What librdmacm of rdma-core takes from libibverbs: sysfs files, and the kernel's forms of
 * attributes (rdma/ib_user_verbs.h, rdma/ib_user_sa.h) turned into the library's. */
#include <errno.h>
#include <stdarg.h>
#include <fcntl.h>
#include <infiniband/sa.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "verbs/verbs.h"

const char *ibv_get_sysfs_path(void);
int ibv_read_sysfs_file(const char *folder, const char *file, char *buf, size_t size);
int rs_private_ibv_query_gid_type(struct ibv_context *c, uint8_t port, unsigned index,
				  unsigned *type);
int rs_private_ibv_read_ibdev_sysfs_file(char *buf, size_t size, struct ibv_device *d,
					 const char *fmt, ...);
void ibv_copy_ah_attr_from_kern(struct ibv_ah_attr *to, struct ib_uverbs_ah_attr *from);
void ibv_copy_qp_attr_from_kern(struct ibv_qp_attr *to, struct ib_uverbs_qp_attr *from);
void ibv_copy_path_rec_from_kern(struct ibv_sa_path_rec *to, struct ib_user_path_rec *from);
void ibv_copy_path_rec_to_kern(struct ib_user_path_rec *to, struct ibv_sa_path_rec *from);

RS_EXPORT const char *ibv_get_sysfs_path(void)
{
	const char *path = getenv("SYSFS_PATH");

	return path && *path ? path : "/sys";
}

static int read_file(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = size ? read(fd, buf, size - 1) : -1;
	close(fd);
	if (n < 0)
		return -1;
	if (n && buf[n - 1] == '\n')
		n--;
	buf[n] = '\0';
	return (int)n;
}

RS_EXPORT int ibv_read_sysfs_file(const char *folder, const char *file, char *buf, size_t size)
{
	char path[512];

	if (snprintf(path, sizeof(path), "%s/%s", folder, file) >= (int)sizeof(path))
		return -1;
	return read_file(path, buf, size);
}

__attribute__((used)) int rs_private_ibv_read_ibdev_sysfs_file(char *buf, size_t size,
							       struct ibv_device *d,
							       const char *fmt, ...)
{
	char path[512], name[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	if (snprintf(path, sizeof(path), "%s/%s", d->ibdev_path, name) >= (int)sizeof(path))
		return -1;
	return read_file(path, buf, size);
}
RS_PRIVATE(ibv_read_ibdev_sysfs_file)

/* 0: InfiniBand or RoCE v1, 1: RoCE v2. */
__attribute__((used)) int rs_private_ibv_query_gid_type(struct ibv_context *c, uint8_t port,
							unsigned index, unsigned *type)
{
	union ibv_gid gid;

	if (ibv_query_gid(c, port, (int)index, &gid))
		return -1;
	*type = 1;
	return 0;
}
RS_PRIVATE(ibv_query_gid_type)

RS_EXPORT void ibv_copy_ah_attr_from_kern(struct ibv_ah_attr *to, struct ib_uverbs_ah_attr *from)
{
	memcpy(to->grh.dgid.raw, from->grh.dgid, sizeof(to->grh.dgid));
	to->grh.flow_label = from->grh.flow_label;
	to->grh.sgid_index = from->grh.sgid_index;
	to->grh.hop_limit = from->grh.hop_limit;
	to->grh.traffic_class = from->grh.traffic_class;
	to->dlid = from->dlid;
	to->sl = from->sl;
	to->src_path_bits = from->src_path_bits;
	to->static_rate = from->static_rate;
	to->is_global = from->is_global;
	to->port_num = from->port_num;
}

RS_EXPORT void ibv_copy_qp_attr_from_kern(struct ibv_qp_attr *to, struct ib_uverbs_qp_attr *from)
{
	to->cur_qp_state = (enum ibv_qp_state)from->cur_qp_state;
	to->path_mtu = (enum ibv_mtu)from->path_mtu;
	to->path_mig_state = (enum ibv_mig_state)from->path_mig_state;
	to->qkey = from->qkey;
	to->rq_psn = from->rq_psn;
	to->sq_psn = from->sq_psn;
	to->dest_qp_num = from->dest_qp_num;
	to->qp_access_flags = from->qp_access_flags;
	to->cap = (struct ibv_qp_cap){from->max_send_wr, from->max_recv_wr, from->max_send_sge,
				      from->max_recv_sge, from->max_inline_data};
	ibv_copy_ah_attr_from_kern(&to->ah_attr, &from->ah_attr);
	ibv_copy_ah_attr_from_kern(&to->alt_ah_attr, &from->alt_ah_attr);
	to->pkey_index = from->pkey_index;
	to->alt_pkey_index = from->alt_pkey_index;
	to->en_sqd_async_notify = from->en_sqd_async_notify;
	to->sq_draining = from->sq_draining;
	to->max_rd_atomic = from->max_rd_atomic;
	to->max_dest_rd_atomic = from->max_dest_rd_atomic;
	to->min_rnr_timer = from->min_rnr_timer;
	to->port_num = from->port_num;
	to->timeout = from->timeout;
	to->retry_cnt = from->retry_cnt;
	to->rnr_retry = from->rnr_retry;
	to->alt_port_num = from->alt_port_num;
	to->alt_timeout = from->alt_timeout;
}

RS_EXPORT void ibv_copy_path_rec_from_kern(struct ibv_sa_path_rec *to,
					   struct ib_user_path_rec *from)
{
	memcpy(to->dgid.raw, from->dgid, sizeof(to->dgid));
	memcpy(to->sgid.raw, from->sgid, sizeof(to->sgid));
	to->dlid = from->dlid;
	to->slid = from->slid;
	to->raw_traffic = (int)from->raw_traffic;
	to->flow_label = from->flow_label;
	to->hop_limit = (uint8_t)from->hop_limit;
	to->traffic_class = (uint8_t)from->traffic_class;
	to->reversible = (int)from->reversible;
	to->numb_path = (uint8_t)from->numb_path;
	to->pkey = from->pkey;
	to->sl = (uint8_t)from->sl;
	to->mtu_selector = (uint8_t)from->mtu_selector;
	to->mtu = (uint8_t)from->mtu;
	to->rate_selector = (uint8_t)from->rate_selector;
	to->rate = (uint8_t)from->rate;
	to->packet_life_time_selector = (uint8_t)from->packet_life_time_selector;
	to->packet_life_time = (uint8_t)from->packet_life_time;
	to->preference = (uint8_t)from->preference;
}

RS_EXPORT void ibv_copy_path_rec_to_kern(struct ib_user_path_rec *to, struct ibv_sa_path_rec *from)
{
	memcpy(to->dgid, from->dgid.raw, sizeof(to->dgid));
	memcpy(to->sgid, from->sgid.raw, sizeof(to->sgid));
	to->dlid = from->dlid;
	to->slid = from->slid;
	to->raw_traffic = (uint32_t)from->raw_traffic;
	to->flow_label = from->flow_label;
	to->hop_limit = from->hop_limit;
	to->traffic_class = from->traffic_class;
	to->reversible = (uint32_t)from->reversible;
	to->numb_path = from->numb_path;
	to->pkey = from->pkey;
	to->sl = from->sl;
	to->mtu_selector = from->mtu_selector;
	to->mtu = from->mtu;
	to->rate_selector = from->rate_selector;
	to->rate = from->rate;
	to->packet_life_time_selector = from->packet_life_time_selector;
	to->packet_life_time = from->packet_life_time;
	to->preference = from->preference;
}

/* Shared receive queues, multicast: what the device does not have yet says so (EOPNOTSUPP). */
#include <errno.h>
#include "verbs/verbs.h"

void rs_v_fill_srq_ops(struct verbs_context *v)
{
}

void rs_v_fill_services(struct ibv_device_attr *a)
{
}

void rs_v_fill_services_ex(struct ibv_device_attr_ex *a)
{
}

RS_EXPORT struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	errno = EOPNOTSUPP;
	return NULL;
}

RS_EXPORT int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	return EOPNOTSUPP;
}

RS_EXPORT int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	return EOPNOTSUPP;
}

RS_EXPORT int ibv_destroy_srq(struct ibv_srq *srq)
{
	return EOPNOTSUPP;
}

RS_EXPORT int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return EOPNOTSUPP;
}

RS_EXPORT int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return EOPNOTSUPP;
}

RS_EXPORT int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port, struct ibv_wc *wc,
				  struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	errno = EOPNOTSUPP;
	return -1;
}

RS_EXPORT struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc,
					       struct ibv_grh *grh, uint8_t port)
{
	errno = EOPNOTSUPP;
	return NULL;
}

/*
 * IBVERBS_PRIVATE_*: what rdma-core's own plug-ins (libmlx5, libefa) must find to be loaded. They
 * register and are ignored: their devices are the kernel's. Calls for the kernel are refused.
 */
#include <errno.h>
#include "verbs/verbs.h"

/* A call of a plug-in for a kernel's device, which no device here is. */
#define REFUSED(name)                                     \
	int rs_private_##name(void);                      \
	__attribute__((used)) int rs_private_##name(void) \
	{                                                 \
		return EOPNOTSUPP;                        \
	}                                                 \
	RS_PRIVATE(name)

/* The same of a call that gives a descriptor. */
#define REFUSED_MINUS(name)                               \
	int rs_private_##name(void);                      \
	__attribute__((used)) int rs_private_##name(void) \
	{                                                 \
		errno = EOPNOTSUPP;                       \
		return -1;                                \
	}                                                 \
	RS_PRIVATE(name)

/* The same of a call that gives a pointer. */
#define REFUSED_POINTER(name)                               \
	void *rs_private_##name(void);                      \
	__attribute__((used)) void *rs_private_##name(void) \
	{                                                   \
		errno = EOPNOTSUPP;                         \
		return NULL;                                \
	}                                                   \
	RS_PRIVATE(name)

/* A call that gives nothing: there is nothing for it to act on. */
#define IGNORED(name)                                      \
	void rs_private_##name(void);                      \
	__attribute__((used)) void rs_private_##name(void) \
	{                                                  \
	}                                                  \
	RS_PRIVATE(name)

extern bool rs_private_verbs_allow_disassociate_destroy;
__attribute__((used)) bool rs_private_verbs_allow_disassociate_destroy;
RS_PRIVATE(verbs_allow_disassociate_destroy)

IGNORED(verbs_register_driver_34)
IGNORED(verbs_register_driver_57)
IGNORED(verbs_register_driver_59)
IGNORED(verbs_register_driver_64)
IGNORED(verbs_register_driver_65)
IGNORED(verbs_set_ops)
IGNORED(verbs_init_cq)
IGNORED(verbs_uninit_context)
IGNORED(__verbs_log)
REFUSED_POINTER(verbs_open_device)
REFUSED_POINTER(_verbs_init_and_alloc_context)

unsigned int rs_private___ioctl_final_num_attrs(unsigned int n, void *link);
__attribute__((used)) unsigned int rs_private___ioctl_final_num_attrs(unsigned int n, void *link)
{
	return n;
}
RS_PRIVATE(__ioctl_final_num_attrs)

REFUSED(execute_ioctl)
REFUSED(ibv_cmd_advise_mr)
REFUSED(ibv_cmd_alloc_dm)
REFUSED(ibv_cmd_alloc_mw)
REFUSED(ibv_cmd_alloc_pd)
REFUSED(ibv_cmd_attach_mcast)
REFUSED(ibv_cmd_close_xrcd)
REFUSED(ibv_cmd_create_ah)
REFUSED(ibv_cmd_create_counters)
REFUSED(ibv_cmd_create_cq)
REFUSED(ibv_cmd_create_cq_ex)
REFUSED(ibv_cmd_create_flow)
REFUSED(ibv_cmd_create_flow_action_esp)
REFUSED(ibv_cmd_create_qp)
REFUSED(ibv_cmd_create_qp_ex)
REFUSED(ibv_cmd_create_qp_ex2)
REFUSED(ibv_cmd_create_rwq_ind_table)
REFUSED(ibv_cmd_create_srq)
REFUSED(ibv_cmd_create_srq_ex)
REFUSED(ibv_cmd_create_wq)
REFUSED(ibv_cmd_dealloc_mw)
REFUSED(ibv_cmd_dealloc_pd)
REFUSED(ibv_cmd_dereg_mr)
REFUSED(ibv_cmd_destroy_ah)
REFUSED(ibv_cmd_destroy_counters)
REFUSED(ibv_cmd_destroy_cq)
REFUSED(ibv_cmd_destroy_flow)
REFUSED(ibv_cmd_destroy_flow_action)
REFUSED(ibv_cmd_destroy_qp)
REFUSED(ibv_cmd_destroy_rwq_ind_table)
REFUSED(ibv_cmd_destroy_srq)
REFUSED(ibv_cmd_destroy_wq)
REFUSED(ibv_cmd_detach_mcast)
REFUSED(ibv_cmd_free_dm)
REFUSED(ibv_cmd_get_context)
REFUSED(ibv_cmd_modify_cq)
REFUSED(ibv_cmd_modify_flow_action_esp)
REFUSED(ibv_cmd_modify_qp)
REFUSED(ibv_cmd_modify_qp_ex)
REFUSED(ibv_cmd_modify_srq)
REFUSED(ibv_cmd_modify_wq)
REFUSED(ibv_cmd_open_qp)
REFUSED(ibv_cmd_open_xrcd)
REFUSED(ibv_cmd_poll_cq)
REFUSED(ibv_cmd_post_recv)
REFUSED(ibv_cmd_post_send)
REFUSED(ibv_cmd_post_srq_recv)
REFUSED(ibv_cmd_query_context)
REFUSED(ibv_cmd_query_device_any)
REFUSED(ibv_cmd_query_mr)
REFUSED(ibv_cmd_query_port)
REFUSED(ibv_cmd_query_qp)
REFUSED(ibv_cmd_query_srq)
REFUSED(ibv_cmd_read_counters)
REFUSED(ibv_cmd_reg_dm_mr)
REFUSED(ibv_cmd_reg_dmabuf_mr)
REFUSED(ibv_cmd_reg_mr)
REFUSED(ibv_cmd_req_notify_cq)
REFUSED(ibv_cmd_rereg_mr)
REFUSED(ibv_cmd_resize_cq)
REFUSED(ibv_cmd_create_cq_ex2)

/* Beyond rdma-core 56's. */
REFUSED(ibv_cmd_alloc_dmah)
REFUSED(ibv_cmd_create_comp_cntr)
REFUSED(ibv_cmd_destroy_comp_cntr)
REFUSED(ibv_cmd_free_dmah)
REFUSED(ibv_cmd_inc_comp_cntr)
REFUSED(ibv_cmd_inc_err_comp_cntr)
REFUSED(ibv_cmd_qp_attach_comp_cntr)
REFUSED(ibv_cmd_query_comp_cntr_caps)
REFUSED(ibv_cmd_query_port_speed)
REFUSED(ibv_cmd_read_comp_cntr)
REFUSED(ibv_cmd_read_err_comp_cntr)
REFUSED(ibv_cmd_reg_mr_ex)
REFUSED(ibv_cmd_set_comp_cntr)
REFUSED(ibv_cmd_set_err_comp_cntr)
REFUSED_MINUS(ibv_cmd_export_dmabuf_fd)
REFUSED_POINTER(ibv_dmabuf_heap_alloc)
REFUSED_POINTER(ibv_dmabuf_heap_cc_shared_init)
IGNORED(ibv_dmabuf_heap_destroy)
IGNORED(ibv_dmabuf_heap_free)

/* The ABI of libibverbs 1.0 (2006), whose objects had other layouts: programs linked against it
 * load, and are told ENOSYS. */
#include <errno.h>
#include <stddef.h>
#include "verbs/verbs.h"

#define OLD(name, version)                                      \
	__asm__(".symver rs_old_" #name "," #name "@" version); \
	__attribute__((used, visibility("default")))

/* Returning a pointer, an errno value, or nothing. */
#define OLD_POINTER(name)                                  \
	void *rs_old_##name(void);                         \
	OLD(name, "IBVERBS_1.0") void *rs_old_##name(void) \
	{                                                  \
		errno = ENOSYS;                            \
		return NULL;                               \
	}
#define OLD_INT(name)                                    \
	int rs_old_##name(void);                         \
	OLD(name, "IBVERBS_1.0") int rs_old_##name(void) \
	{                                                \
		errno = ENOSYS;                          \
		return ENOSYS;                           \
	}
#define OLD_VOID(name)                                    \
	void rs_old_##name(void);                         \
	OLD(name, "IBVERBS_1.0") void rs_old_##name(void) \
	{                                                 \
		errno = ENOSYS;                           \
	}
/* Those that say -1 with errno. */
#define OLD_MINUS(name)                                  \
	int rs_old_##name(void);                         \
	OLD(name, "IBVERBS_1.0") int rs_old_##name(void) \
	{                                                \
		errno = ENOSYS;                          \
		return -1;                               \
	}

OLD_POINTER(ibv_get_device_list)
OLD_VOID(ibv_free_device_list)
OLD_POINTER(ibv_get_device_name)
OLD_POINTER(ibv_open_device)
OLD_INT(ibv_close_device)
OLD_MINUS(ibv_get_async_event)
OLD_VOID(ibv_ack_async_event)
OLD_INT(ibv_query_device)
OLD_INT(ibv_query_port)
OLD_MINUS(ibv_query_gid)
OLD_MINUS(ibv_query_pkey)
OLD_POINTER(ibv_alloc_pd)
OLD_INT(ibv_dealloc_pd)
OLD_POINTER(ibv_reg_mr)
OLD_INT(ibv_dereg_mr)
OLD_POINTER(ibv_create_cq)
OLD_INT(ibv_resize_cq)
OLD_INT(ibv_destroy_cq)
OLD_MINUS(ibv_get_cq_event)
OLD_VOID(ibv_ack_cq_events)
OLD_POINTER(ibv_create_srq)
OLD_INT(ibv_modify_srq)
OLD_INT(ibv_query_srq)
OLD_INT(ibv_destroy_srq)
OLD_POINTER(ibv_create_qp)
OLD_INT(ibv_query_qp)
OLD_INT(ibv_modify_qp)
OLD_INT(ibv_destroy_qp)
OLD_POINTER(ibv_create_ah)
OLD_INT(ibv_destroy_ah)
OLD_INT(ibv_attach_mcast)
OLD_INT(ibv_detach_mcast)

uint64_t rs_old_ibv_get_device_guid(void);
/* 0: no GUID. */
OLD(ibv_get_device_guid, "IBVERBS_1.0") uint64_t rs_old_ibv_get_device_guid(void)
{
	errno = ENOSYS;
	return 0;
}

void rs_old_ibv_register_driver(void);
/* Plug-ins have nothing to drive here. */
OLD(ibv_register_driver, "IBVERBS_1.1") void rs_old_ibv_register_driver(void)
{
}

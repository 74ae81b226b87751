/* Devices and contexts: the list, open, close, import; what fork means. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "verbs/verbs.h"

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rs_vctx *contexts;
/* Devices once named stay the same objects: pointers to them outlive the lists. */
static struct rs_vdevice *known[RS_LIVE_DEVICES];
static const char mark[] = "ripstop";

static void warn(const struct rs_error *e)
{
	char text[1800];

	rs_error_text(e, text, sizeof(text));
	fprintf(stderr, "ripstop: %s\n", text);
}

static struct rs_vdevice *make_device(const struct rs_live_device *live, int index)
{
	struct rs_vdevice *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->base.node_type = IBV_NODE_CA;
	d->base.transport_type = IBV_TRANSPORT_IB;
	snprintf(d->base.name, sizeof(d->base.name), "%s", live->name);
	snprintf(d->base.dev_name, sizeof(d->base.dev_name), "uverbs%d", index);
	snprintf(d->base.dev_path, sizeof(d->base.dev_path), "/sys/class/infiniband_verbs/uverbs%d",
		 index);
	snprintf(d->base.ibdev_path, sizeof(d->base.ibdev_path), "/sys/class/infiniband/%s",
		 live->name);
	d->mark = mark;
	d->live = *live;
	return d;
}

/* The object of a device's name; made when it is new. NULL: too many, or no memory. */
static struct rs_vdevice *device_of(const struct rs_live_device *live)
{
	int i = 0;

	while (i < RS_LIVE_DEVICES && known[i] && strcmp(known[i]->live.name, live->name) != 0)
		i++;
	if (i == RS_LIVE_DEVICES)
		return NULL;
	if (!known[i])
		known[i] = make_device(live, i);
	else if (!known[i]->refs)
		known[i]->live = *live;
	return known[i];
}

RS_EXPORT struct ibv_device **ibv_get_device_list(int *num)
{
	struct rs_live_device *live = calloc(RS_LIVE_DEVICES, sizeof(*live));
	struct ibv_device **list = calloc(RS_LIVE_DEVICES + 1, sizeof(struct ibv_device *));
	struct rs_error e = {0};
	int n = -ENOMEM, out = 0;

	if (live && list)
		n = rs_live_devices(live, RS_LIVE_DEVICES, &e);
	if (n < 0) {
		if (e.code)
			warn(&e);
		free(live);
		free(list);
		if (num)
			*num = 0;
		errno = -n;
		return NULL;
	}
	pthread_mutex_lock(&list_lock);
	for (int i = 0; i < n; i++) {
		struct rs_vdevice *d = device_of(&live[i]);

		if (d)
			list[out++] = &d->base;
	}
	pthread_mutex_unlock(&list_lock);
	free(live);
	if (num)
		*num = out;
	return list;
}

RS_EXPORT void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

RS_EXPORT const char *ibv_get_device_name(struct ibv_device *d)
{
	return d->name;
}

/* The kernel's number of a device, by which programs ask its ib_core (NETLINK_RDMA): it does not
 * know this one. */
RS_EXPORT int ibv_get_device_index(struct ibv_device *d)
{
	(void)d;
	return -1;
}

RS_EXPORT __be64 ibv_get_device_guid(struct ibv_device *d)
{
	uint8_t guid[8];
	__be64 out;

	rs_netdev_guid(&rs_container(d, struct rs_vdevice, base)->live.net, guid);
	memcpy(&out, guid, sizeof(out));
	return out;
}

static void *compat(void)
{
	errno = EOPNOTSUPP;
	return NULL;
}

static void fill_ops(struct rs_vctx *c)
{
	struct ibv_context_ops *ops = &c->v.context.ops;
	struct verbs_context *v = &c->v;

	ops->_compat_alloc_pd = ops->_compat_dealloc_pd = ops->_compat_reg_mr = compat;
	ops->_compat_rereg_mr = ops->_compat_dereg_mr = ops->_compat_create_cq = compat;
	ops->_compat_cq_event = ops->_compat_resize_cq = ops->_compat_destroy_cq = compat;
	ops->_compat_create_srq = ops->_compat_modify_srq = ops->_compat_query_srq = compat;
	ops->_compat_destroy_srq = ops->_compat_create_qp = ops->_compat_query_qp = compat;
	ops->_compat_modify_qp = ops->_compat_destroy_qp = ops->_compat_create_ah = compat;
	ops->_compat_destroy_ah = ops->_compat_attach_mcast = ops->_compat_detach_mcast = compat;
	ops->_compat_async_event = compat;
	ops->poll_cq = rs_v_poll_cq;
	ops->req_notify_cq = rs_v_req_notify_cq;
	ops->post_send = rs_v_post_send;
	ops->post_recv = rs_v_post_recv;
	v->query_port = rs_v_query_port;
	v->query_device_ex = rs_v_query_device_ex;
	v->query_rt_values = rs_v_query_rt_values;
	v->create_cq_ex = rs_v_create_cq_ex;
	v->modify_cq = rs_v_modify_cq;
	v->create_qp_ex = rs_v_create_qp_ex;
	rs_v_fill_memory_ops(v);
	rs_v_fill_srq_ops(v);
	rs_v_fill_xrc_ops(v);
	rs_v_fill_window_ops(v);
}

static int open_files(struct rs_vctx *c)
{
	int err = rs_vevents_open(&c->async);

	/* A file whose inode tells the context, also after dup(): ibv_import_device(). */
	c->v.context.cmd_fd = memfd_create("ripstop", MFD_CLOEXEC);
	c->v.context.async_fd = c->async.level.fd;
	return err ? err : c->v.context.cmd_fd < 0 ? -errno : 0;
}

static void free_context(struct rs_vctx *c)
{
	/* their number stays: until its own turn each lane's thread reads it (rs_vcq_events()) */
	for (unsigned i = c->lanes; i-- > 0;)
		rs_live_close(c->lane[i].live);
	pthread_mutex_destroy(&c->telling);
	rs_vevents_close(&c->async);
	if (c->v.context.cmd_fd >= 0)
		close(c->v.context.cmd_fd);
	pthread_mutex_destroy(&c->v.context.mutex);
	free(c);
}

static int open_lanes(struct rs_vctx *c, const struct rs_live_device *d, struct rs_error *e)
{
	struct rs_live *l[RS_LIVE_LANES] = {0};
	unsigned lanes = 1, i;
	int err = rs_live_lanes(&lanes, e);

	for (i = 0; i < lanes && !err; i++)
		err = rs_live_open(d, &l[i], e);
	if (err) {
		for (i = 0; i < lanes; i++)
			if (l[i])
				rs_live_close(l[i]);
		return err;
	}
	for (i = 0; i < lanes; i++)
		c->lane[i] = (struct rs_vlane){.c = c, .live = l[i]};
	c->live = l[0];
	c->lanes = lanes;
	rs_vctx_lock(c);
	for (i = 0; i < lanes; i++) {
		if (i)
			rs_nic_share_keys(rs_live_nic(l[i]), rs_live_nic(l[0]));
		if (lanes > 1)
			rs_live_be_lane(l[i]);
		rs_live_on_event(l[i], rs_vcq_events, &c->lane[i]);
	}
	rs_vctx_unlock(c);
	return 0;
}

RS_EXPORT struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct rs_vdevice *d = rs_container(device, struct rs_vdevice, base);
	struct rs_vctx *c = calloc(1, sizeof(*c));
	struct rs_error e = {0};
	int err;

	if (!c) {
		errno = ENOMEM;
		return NULL;
	}
	c->device = d;
	c->v.sz = sizeof(c->v);
	c->v.context.device = device;
	c->v.context.num_comp_vectors = RS_V_COMP_VECTORS;
	c->v.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	pthread_mutex_init(&c->v.context.mutex, NULL);
	pthread_mutex_init(&c->telling, NULL);
	fill_ops(c);
	err = open_files(c);
	if (!err)
		err = open_lanes(c, &d->live, &e);
	if (err) {
		if (e.code)
			warn(&e);
		free_context(c);
		errno = -err;
		return NULL;
	}
	c->refs = 1;
	pthread_mutex_lock(&list_lock);
	d->refs++;
	c->next = contexts;
	contexts = c;
	pthread_mutex_unlock(&list_lock);
	return &c->v.context;
}

/* What the application left is torn down, as the kernel does when its file is closed: perftest
 * leaves a CQ behind. */
RS_EXPORT int ibv_close_device(struct ibv_context *context)
{
	struct rs_vctx *c = rs_vctx(context), **at = &contexts;

	pthread_mutex_lock(&list_lock);
	if (--c->refs) {
		pthread_mutex_unlock(&list_lock);
		return 0;
	}
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->device->refs--;
	pthread_mutex_unlock(&list_lock);
	free_context(c);
	return 0;
}

/* Of the context whose cmd_fd is the same file: the same process's. */
RS_EXPORT struct ibv_context *ibv_import_device(int cmd_fd)
{
	struct stat mine, its;
	struct rs_vctx *c;

	if (fstat(cmd_fd, &mine)) {
		errno = EBADF;
		return NULL;
	}
	pthread_mutex_lock(&list_lock);
	for (c = contexts; c; c = c->next)
		if (!fstat(c->v.context.cmd_fd, &its) && its.st_ino == mine.st_ino &&
		    its.st_dev == mine.st_dev)
			break;
	if (c) {
		c->refs++;
		close(cmd_fd);
	}
	pthread_mutex_unlock(&list_lock);
	errno = c ? errno : EINVAL;
	return c ? &c->v.context : NULL;
}

/* Exported for old programs; in no header. */
int ibv_dontfork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size);

/* Memory is copied by the program's own process: a fork takes nothing away. */
RS_EXPORT int ibv_fork_init(void)
{
	return 0;
}

RS_EXPORT enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}

RS_EXPORT int ibv_dontfork_range(void *base, size_t size)
{
	return 0;
}

RS_EXPORT int ibv_dofork_range(void *base, size_t size)
{
	return 0;
}

struct rs_live *rs_verbs_live(struct ibv_context *c)
{
	return rs_vctx(c)->live;
}

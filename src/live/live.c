/* An opened device: made, driven by whoever has its lock, closed; and what a fork does to it. */
#include "live/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/units.h"
#include "live/guard.h"
#include "live/near.h"
#include "live/stamps.h"
#include "live/state.h"
#include "wire/telemetry.h"

enum { LINE_RATE_GBPS = 8000 }; /* no pacing: the sockets are the limit */

#ifdef __SANITIZE_THREAD__
char rs_live_wire;
#endif

/* All devices of the process, for fork's handlers. */
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rs_live *all;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void before_fork(void)
{
	pthread_mutex_lock(&all_lock);
	for (struct rs_live *l = all; l; l = l->next)
		pthread_mutex_lock(&l->lock);
}

static void after_fork_parent(void)
{
	for (struct rs_live *l = all; l; l = l->next)
		pthread_mutex_unlock(&l->lock);
	pthread_mutex_unlock(&all_lock);
}

/* The child has the parent's sockets but not its threads: its copies of devices stay silent. */
static void after_fork_child(void)
{
	for (struct rs_live *l = all; l; l = l->next) {
		l->forked = true;
		rs_near_abandon(l);
		pthread_mutex_init(&l->lock, NULL);
	}
	pthread_mutex_init(&all_lock, NULL);
}

/* What was received is acknowledged and what was posted sent, though the program ends without
 * closing its devices. */
static void at_exit(void)
{
	pthread_mutex_lock(&all_lock);
	for (struct rs_live *l = all; l; l = l->next) {
		if (pthread_mutex_trylock(&l->lock))
			continue; /* whoever drives it sees to it, or was stopped while it did */
		l->tx.urgent = true;
		if (!l->forked) {
			rs_tx_run(l);
			rs_shm_linger(l);
		}
		pthread_mutex_unlock(&l->lock);
	}
	pthread_mutex_unlock(&all_lock);
}

static void begin(void)
{
	atexit(at_exit);
	rs_icrc_init();
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* The processor's own counter, which takes a fifth of what the kernel's clock does, says whether
 * that was read a moment ago. */
int64_t rs_live_ns(void)
{
#if defined(__x86_64__)
	static _Thread_local struct {
		uint64_t cycles;
		int64_t ns;
	} read __attribute__((tls_model("initial-exec")));
	uint64_t cycles = __builtin_ia32_rdtsc();

	if (cycles - read.cycles >= rs_live_tuning.clock_cycles) {
		read.cycles = cycles;
		read.ns = rs_clock_ns();
	}
	return read.ns;
#else
	return rs_clock_ns();
#endif
}

rs_time rs_live_clock(const struct rs_live *l)
{
	return (rs_live_ns() - l->epoch_ns) * RS_NS;
}

rs_time rs_live_tick(struct rs_live *l)
{
	l->clock = rs_live_clock(l);
	return l->clock;
}

rs_time rs_live_now(struct rs_live *l)
{
	return rs_time_max(rs_live_tick(l), l->floor);
}

/* From the kernel, some at a time. Where it has none no device was opened (rs_local_open()). */
static uint32_t draw(void *live)
{
	struct rs_live *l = live;

	if (!l->randoms) {
		int err = rs_live_random(l->random, sizeof(l->random));

		rs_assert(!err);
		l->randoms = RS_RANDOMS;
	}
	return l->random[--l->randoms];
}

/* RIPSTOP_RECOVERY: selective towards peers that say that they are, too; else go-back-N. */
static int read_recovery(struct rs_live *l, struct rs_error *e)
{
	const char *wish = getenv("RIPSTOP_RECOVERY");

	if (wish && *wish && strcmp(wish, "go-back-n") != 0 && strcmp(wish, "selective") != 0)
		return rs_error_set(e, -EINVAL,
				    "RIPSTOP_RECOVERY=%s is neither go-back-n nor selective", wish);
	l->selective = wish && !strcmp(wish, "selective");
	return 0;
}

/* RIPSTOP_ACK_DSCP: of ACKs and NAKs; without it, that of the packets which they answer. */
static int read_ack_dscp(struct rs_live *l, struct rs_error *e)
{
	const char *wish = getenv("RIPSTOP_ACK_DSCP");
	struct rs_error why = {0};
	int64_t dscp = 0;

	if (!wish || !*wish)
		return 0;
	if (rs_parse_int(wish, 0, 63, &dscp, &why))
		return rs_error_set(e, -EINVAL, "RIPSTOP_ACK_DSCP: %s", why.what);
	l->ack_apart = true;
	l->ack_tos = (uint8_t)(dscp << 2);
	return 0;
}

int rs_live_lanes(unsigned *n, struct rs_error *e)
{
	const char *wish = getenv("RIPSTOP_SOCKETS"), *rate = getenv("RIPSTOP_RATE");
	struct rs_error why = {0};
	int64_t lanes = 1;

	if (wish && *wish && rs_parse_int(wish, 1, RS_LIVE_LANES, &lanes, &why))
		return rs_error_set(e, -EINVAL, "RIPSTOP_SOCKETS: %s", why.what);
	if (lanes > 1 && rate && *rate)
		return rs_error_set(e, -EINVAL,
				    "RIPSTOP_RATE limits one socket: it does not go with "
				    "RIPSTOP_SOCKETS=%s",
				    wish);
	*n = (unsigned)lanes;
	return 0;
}

void rs_live_be_lane(struct rs_live *l)
{
	atomic_store(&l->lane, true);
}

bool rs_live_selective(const struct rs_live *l)
{
	return l->selective;
}

static int make_nic(struct rs_live *l, struct rs_error *e)
{
	struct rs_nic_config c = {
		.endpoint = 0,
		.line_rate = l->congestion.rate ? l->congestion.rate : LINE_RATE_GBPS * RS_GBPS,
		.rtt_rate = l->congestion.start_rate,
		.int_scale = RS_INT_SOFTWARE,
		.cc = l->congestion.use,
		.n_cc = l->congestion.n,
		.pace_late = rs_live_tuning.pace_late,
		.max_qps = RS_LIVE_MAX_QPS,
		.max_mrs = RS_LIVE_MAX_MRS,
		.max_cqs = RS_LIVE_MAX_CQS,
		/* not where the slot's last holder began: its peers may still be sending; nor
		 * where anybody can foresee */
		.first_qpn = l->slot * RS_SLOT_QPNS + draw(l) % (RS_SLOT_QPNS - RS_LIVE_MAX_QPS),
		.random = draw,
		.random_arg = l,
		.device_region = true,
		.free = &l->free,
		.cnp_tos = 48 << 2,
		.ack_apart = l->ack_apart,
		.ack_tos = l->ack_tos,
		.ack_tc = (uint8_t)rs_live_class(l, l->ack_tos),
		.ack_every = rs_live_tuning.ack_every,
		.ack_bytes = rs_live_tuning.ack_bytes,
		.min_rto = rs_live_tuning.min_rto,
		.rto_late = rs_live_tuning.rto_late,
		.rto_grace = rs_live_tuning.rto_grace,
		.rnr_grace = rs_live_tuning.rnr_grace,
		.probe = rs_live_tuning.probe,
		.copy_payload = true,
		.tell_credits = true,
		.copy = rs_guard_copy,
		.swap = rs_guard_swap,
		.max_srqs = RS_LIVE_MAX_SRQS,
		.qp_counters = true,
		.grh = rs_group_grh,
		.grh_arg = l,
	};

	int err;

	if (l->selective)
		c.selective = rs_live_tuning.selective;
	memcpy(c.cc_of_class, l->congestion.of_class, sizeof(c.cc_of_class));
	/* classes are told apart for their congestion control alone: they share the port alike */
	memset(c.weight, l->congestion.n > 1, sizeof(c.weight));
	l->port_pace = rs_pace_of(l->congestion.rate);
	err = rs_nic_create(&c, &l->nic, e);
	if (!err)
		rs_flow_bind(&l->flow, l->nic, c.first_qpn);
	return err;
}

static int make_flow(struct rs_live *l, struct rs_error *e)
{
	struct rs_window_config c = {.max_qps = RS_LIVE_MAX_QPS,
				     .first_question = draw(l),
				     .tuning = rs_live_tuning.window};
	int err = rs_flow_init(&l->flow, &c);

	return err ? rs_error_set(e, err, "no memory for a device's windows") : 0;
}

static int make_parts(struct rs_live *l, struct rs_error *e)
{
	if (rs_pool_init(&l->pool, RS_POOL_PACKETS) || rs_paths_init(&l->paths) || rs_rx_init(l) ||
	    rs_tx_init(l) || rs_stamps_init(l))
		return rs_error_set(e, -ENOMEM, "no memory for a device's buffers");
	rs_pool_list_init(&l->free, &l->pool);
	return 0;
}

static void free_parts(struct rs_live *l)
{
	rs_shm_close(l);
	rs_steer_close(l);
	rs_nic_destroy(l->nic);
	rs_tx_fini(l);
	rs_flow_fini(&l->flow);
	rs_rx_fini(l);
	rs_paths_fini(&l->paths);
	rs_stamps_fini(l);
	rs_pool_fini(&l->pool);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

static void add_to_all(struct rs_live *l)
{
	pthread_mutex_lock(&all_lock);
	l->next = all;
	all = l;
	pthread_mutex_unlock(&all_lock);
}

static void remove_from_all(struct rs_live *l)
{
	struct rs_live **at = &all;

	pthread_mutex_lock(&all_lock);
	while (*at && *at != l)
		at = &(*at)->next;
	if (*at)
		*at = l->next;
	pthread_mutex_unlock(&all_lock);
}

int rs_live_open(const struct rs_live_device *d, struct rs_live **out, struct rs_error *e)
{
	struct rs_live *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return rs_error_set(e, -ENOMEM, "no memory for a device");
	pthread_once(&once, begin);
	rs_guard_open();
	pthread_mutex_init(&l->lock, NULL);
	l->device = *d;
	rs_netdev_settle(&d->net);
	l->epoch_ns = rs_clock_ns();
	l->fill = !rs_netdev_captured(d->net.index); /* whoever captures wants a NIC's packets */
	err = rs_congestion_read(&l->congestion, getenv("RIPSTOP_CC"), getenv("RIPSTOP_CC_SET"),
				 getenv("RIPSTOP_RATE"), rs_congestion_speed(d->net.name), e);
	if (!err)
		err = read_recovery(l, e);
	if (!err)
		err = read_ack_dscp(l, e);
	if (!err)
		err = make_parts(l, e);
	if (!err)
		err = rs_steer_open(l, e);
	if (!err)
		err = rs_shm_open(l, e);
	if (!err) {
		rs_grant_init(l);
		err = make_flow(l, e);
	}
	if (!err)
		err = make_nic(l, e);
	if (!err) {
		err = rs_progress_start(l);
		if (err)
			rs_error_set(e, err, "cannot start a device's thread: %s", strerror(-err));
	}
	if (err) {
		free_parts(l);
		return err;
	}
	add_to_all(l);
	*out = l;
	return 0;
}

void rs_live_close(struct rs_live *l)
{
	remove_from_all(l);
	rs_progress_stop(l);
	rs_tx_flush_acks(l);
	free_parts(l);
}

void rs_live_lock(struct rs_live *l)
{
	pthread_mutex_lock(&l->lock);
}

bool rs_live_trylock(struct rs_live *l)
{
	return !pthread_mutex_trylock(&l->lock);
}

void rs_live_unlock(struct rs_live *l)
{
	pthread_mutex_unlock(&l->lock);
}

unsigned rs_live_class(const struct rs_live *l, uint8_t tos)
{
	return rs_congestion_class(&l->congestion, tos);
}

struct rs_nic *rs_live_nic(struct rs_live *l)
{
	return l->nic;
}

const struct rs_live_device *rs_live_device(const struct rs_live *l)
{
	return &l->device;
}

void rs_live_on_event(struct rs_live *l, void (*fn)(void *arg), void *arg)
{
	l->on_event = fn;
	l->event_arg = arg;
}

const struct rs_live_counters *rs_live_get_counters(const struct rs_live *l)
{
	return &l->counters;
}

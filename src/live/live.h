/*
 * The real-time world: the same rs_nic over UDP sockets (RoCEv2, IBTA annex A17). One struct
 * rs_live is one opened device: an engine, its sockets, a lease of QPNs and a progress thread.
 *
 * The engine is single-threaded: its caller, and the caller of anything here that says
 * "locked", holds rs_live_lock(). The application drives it with rs_live_progress() as it polls;
 * the thread does so when the application does not poll.
 */
#ifndef RS_LIVE_LIVE_H
#define RS_LIVE_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "base/time.h"
#include "rdma/nic.h"

enum {
	RS_LIVE_GIDS = 32, /* addresses of an interface that become GIDs; the rest are left out */
	RS_LIVE_GID_TABLE = 64, /* gid_tbl_len: there are always empty places */
	RS_LIVE_DEVICES = 64,
	RS_LIVE_NAME = 64,
	RS_LIVE_PATHS = 1 << 16, /* (own address, peer's address) pairs a device knows at once */
	RS_LIVE_MAX_QPS = 1 << 15,
	RS_LIVE_MAX_MRS = 1 << 20, /* 64 MiB of table, where they are used */
	RS_LIVE_MAX_CQS = 1 << 15,
	RS_LIVE_MAX_SRQS = 1 << 14,
	RS_LIVE_MAX_GROUPS = 64,
	RS_LIVE_LANES = 8, /* devices that a program may see as one */
	/* CapabilityMask of PortInfo (IBTA volume 1, table 155): connection management; GIDs that
	 * are IP addresses (A17) */
	RS_LIVE_PORT_CAPS = 1 << 16 | 1 << 26,
};

/* A network interface as a port of a NIC. */
struct rs_netdev {
	char name[16];
	unsigned index;
	uint32_t mtu; /* of IP packets */
	bool up, carrier, loopback;
	uint8_t mac[6];
	uint8_t n_gids;
	uint8_t gid[RS_LIVE_GIDS][16]; /* IPv4 as ::ffff:a.b.c.d, first; then IPv6 */
};

struct rs_live_device {
	char name[RS_LIVE_NAME];
	struct rs_netdev net;
};

/*
 * The devices of this process: those that RIPSTOP_DEVICES names (NAME=NETDEV,...; set by ripstop
 * exec), or one an interface that is up and has an address, called rs_INTERFACE. Returns how many;
 * negative: -EINVAL or -ENODEV on a name that fits no usable interface, e saying which and why.
 */
int rs_live_devices(struct rs_live_device *out, unsigned max, struct rs_error *e);
/* The name=netdev list itself, without looking at its text's meaning elsewhere: NAME[=NETDEV]. */
int rs_live_device_parse(const char *spec, struct rs_live_device *out, struct rs_error *e);
/* Read an interface anew. -ENODEV. */
int rs_netdev_read(const char *name, struct rs_netdev *out, struct rs_error *e);
/* The largest path MTU (256..4096) that its MTU carries: 96 bytes are kept for headers, as Linux
 * does. 0: not even 256. */
uint16_t rs_netdev_path_mtu(const struct rs_netdev *n);
/* Does a packet socket of this network namespace take every frame of the interface, of loopback or
 * of all interfaces, as tcpdump's do? False where that cannot be read. */
bool rs_netdev_captured(unsigned index);
/* Wait until Linux lets its IPv6 addresses be sent from, which takes some 2 s from when they came;
 * not for ever, and not where the link is down. */
void rs_netdev_settle(const struct rs_netdev *n);
/* The GUID of the node whose port it is. */
void rs_netdev_guid(const struct rs_netdev *n, uint8_t guid[8]);

/* ---- An opened device ---- */

struct rs_live;

/* -EADDRINUSE: port 4791 is taken; -EAGAIN: all QPN leases are; e says what to do. */
int rs_live_open(const struct rs_live_device *d, struct rs_live **out, struct rs_error *e);
void rs_live_close(struct rs_live *l);
/* RIPSTOP_SOCKETS: how many of them a program is to see as one, 1 to RS_LIVE_LANES; 1 where it does
 * not say. */
int rs_live_lanes(unsigned *n, struct rs_error *e);
/* Locked, before the first queue pair: it is one of several. While a stream is on its way, its
 * thread drives it, though the application polls: so each has a core. */
void rs_live_be_lane(struct rs_live *l);

void rs_live_lock(struct rs_live *l);
bool rs_live_trylock(struct rs_live *l);
void rs_live_unlock(struct rs_live *l);
struct rs_nic *rs_live_nic(struct rs_live *l);
/* Queue pairs of RC are to be made with rs_recovery_selective. */
bool rs_live_selective(const struct rs_live *l);
/* The class of a queue pair whose packets have this TOS: RIPSTOP_CC may tell classes apart. */
unsigned rs_live_class(const struct rs_live *l, uint8_t tos);
const struct rs_live_device *rs_live_device(const struct rs_live *l);
rs_time rs_live_now(struct rs_live *l);

/* Locked: receive, run timers, send. False when nothing came for a while, or is to be expected for
 * one: the caller, once it has unlocked, does well to rest. */
bool rs_live_progress(struct rs_live *l);
/* Not locked: yield the core to another process, or sleep while much is on its way. Who is about to
 * sleep does not yield: on a busy machine Linux gives the core back only when all others had their
 * turn, while who sleeps is woken at once. */
void rs_live_rest(struct rs_live *l, bool yields);
/* Locked: the application polls, though there was no need to drive. */
void rs_live_polled(struct rs_live *l);
/* Locked: send what a post made ready, and see that the thread wakes for its timers. */
void rs_live_kick(struct rs_live *l);
/* The same where the application asked to be told of a completion: it may poll no more. */
void rs_live_awaited(struct rs_live *l);
enum { RS_LIVE_MIND_MAX = 64 };
/* Not locked: the application sleeps until one of its n descriptors can be read, until something
 * came for the device, which is then driven, or so long. -EINTR, and poll(2)'s other errors. */
struct pollfd;
int rs_live_mind(struct rs_live *l, const struct pollfd *own, unsigned n, int64_t ns);
/* The same after posts to a queue pair of RC, or XRC's initiator. While much is on its way to its
 * peer and the application polls, what was posted waits for the next poll: sends go in batches. */
void rs_live_posted(struct rs_live *l, struct rs_qp *qp, unsigned requests);
/* Locked: the queue pair is about to send, loose: it is of UC. Returns the bytes that are on their
 * way to its peer's socket. */
uint64_t rs_live_join(struct rs_live *l, const struct rs_qp *qp, bool loose);
/* Locked: packets are on their way to its peer by the wire, filled to one length (wire/filler.h):
 * the last of a WRITE that carries an immediate needs no send of its own. */
bool rs_live_fills(const struct rs_live *l, const struct rs_qp *qp);
/* Locked: a queue pair is connected to a QPN at the other end of a path: a way to it that is
 * shorter than the wire is looked for. */
void rs_live_connected(struct rs_live *l, uint32_t endpoint, uint32_t dest_qpn);
/* Locked: the queue pair was reset: nothing of it is on its way. */
void rs_live_left(struct rs_live *l, const struct rs_qp *qp);
/* Locked: before a region is deregistered or changed, after a queue pair is reset or destroyed: no
 * process of this host reads or writes their memory behind the engine's back from here on. */
void rs_live_settle(struct rs_live *l);
/* Locked: called after each progress that completed something. */
void rs_live_on_event(struct rs_live *l, void (*fn)(void *arg), void *arg);

/*
 * Locked: the endpoint number that stands for packets from own GID sgid (an index) to dgid: what
 * rs_qp_attr.dest_endpoint and address handles name. -EINVAL: no such own GID, or the two are not
 * of one family; -ENOSPC: RS_LIVE_PATHS are in use. Each is counted; put gives it back.
 */
int rs_live_path_get(struct rs_live *l, unsigned sgid, const uint8_t dgid[16], uint32_t *endpoint);
void rs_live_path_put(struct rs_live *l, uint32_t endpoint);
/* Locked: the addresses of a packet's src or dst; false: no such path any more. */
bool rs_live_path_gids(struct rs_live *l, uint32_t endpoint, uint8_t own[16], uint8_t peer[16]);

/*
 * Locked: hear a multicast group; its number is what rs_qp_attach() takes. Counted; leave undoes
 * one join. -EINVAL: no multicast address, or of a family that the device has none of; -ENOSPC.
 */
int rs_live_group_join(struct rs_live *l, const uint8_t gid[16], uint32_t *group);
int rs_live_group_find(struct rs_live *l, const uint8_t gid[16], uint32_t *group);
void rs_live_group_leave(struct rs_live *l, uint32_t group);

/* Packets of the sockets, beside the engine's counters. */
struct rs_live_counters {
	uint64_t rx_datagrams, tx_datagrams;
	uint64_t rx_calls, tx_calls;
	/* Dropped: no RoCEv2 packet; from an address that no QP or address handle names; for a QPN
	 * that no process has; to QP1, but no management datagram; no packet buffer was free. */
	uint64_t rx_malformed, rx_stranger, rx_ownerless, rx_bad_mad, rx_no_room;
	uint64_t rx_stray, tx_stray; /* handed over between processes of this host */
	uint64_t rx_shared,
		tx_shared;   /* packets through memory shared with a process of this host */
	uint64_t rx_stamped; /* packets with stamps of switches, HPCC's telemetry */
	uint64_t tx_refused; /* the kernel refused to send: lost, the transport repeats */
};
const struct rs_live_counters *rs_live_get_counters(const struct rs_live *l);

#endif

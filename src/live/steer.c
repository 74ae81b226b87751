/*
 * UDP port 4791 shared by the processes of a host: a SO_REUSEPORT group whose classic BPF program
 * picks the socket by the top byte of the BTH's destination QP (IBTA §9.2). The group's order is a
 * hint kept in the registry; a datagram that lands in a wrong process is handed over by a Unix
 * socket. Of what this host itself sends only what comes from port 4791 is heard: the kernel gives
 * that to one user's sockets.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/if_arp.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "live/meet.h"
#include "live/state.h"
#include "base/bytes.h"
#include "base/socket.h"
#include "base/units.h"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

enum {
	DEST_QP_AT = 5,
	MAD_AT = RS_BTH_BYTES + RS_DETH_BYTES,
	PENDING_MAX = 4096, /* datagrams; some 2 MB */
};
enum { BUFFER_MIN = 64 << 10, BUFFER_MAX = 1 << 30 };

enum { IPV4_DESTINATION_AT = 16, LOOPBACK_NET = 127 };

/* What goes before a handed-over datagram's bytes, behind its receiver's key. */
struct stray {
	uint8_t own[16], peer[16];
	uint16_t sport, id;
	uint8_t tos;
	uint8_t zero[3];
};

/* A management datagram that another process's socket has no room for. */
struct rs_pending {
	struct rs_pending *next;
	struct stray head;
	unsigned slot;
	size_t n;
	uint8_t bytes[];
};

static int set_int(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) ? -errno : 0;
}

/*
 * A large buffer where allowed; else what the administrator's limit gives, of which Linux makes
 * twice as much. RIPSTOP_BUFFER asks for another size, as a process without rights would.
 */
static int set_buffers(int fd, struct rs_error *e)
{
	const char *wish = getenv("RIPSTOP_BUFFER");
	struct rs_error why = {0};
	uint64_t bytes;

	if (wish) {
		if (rs_parse_bytes(wish, &bytes, &why))
			return rs_error_set(e, -EINVAL, "RIPSTOP_BUFFER: %s", why.what);
		if (bytes < BUFFER_MIN || bytes > BUFFER_MAX)
			return rs_error_set(e, -ERANGE, "RIPSTOP_BUFFER=%s is not in 64KiB..1GiB",
					    wish);
		return set_int(fd, SOL_SOCKET, SO_RCVBUF, (int)bytes);
	}
	if (set_int(fd, SOL_SOCKET, SO_RCVBUFFORCE, rs_live_tuning.receive_buffer))
		set_int(fd, SOL_SOCKET, SO_RCVBUF, rs_live_tuning.receive_buffer);
	if (set_int(fd, SOL_SOCKET, SO_SNDBUFFORCE, rs_live_tuning.send_buffer))
		set_int(fd, SOL_SOCKET, SO_SNDBUF, rs_live_tuning.send_buffer);
	return 0;
}

static int set_options(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{IPPROTO_IPV6, IPV6_V6ONLY, 0},
		{SOL_SOCKET, SO_REUSEPORT, 1},
		/* DF and, not being connected, identification 0: what the ICRC covers */
		{IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO},
		{IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO},
		{IPPROTO_IPV6, IPV6_RECVPKTINFO, 1},
		{IPPROTO_IPV6, IPV6_RECVTCLASS, 1},
		{IPPROTO_IP, IP_RECVTOS, 1},
		{IPPROTO_IP, IP_MULTICAST_ALL, 0},
		{SOL_UDP, UDP_GRO, 1},
	};

	for (unsigned i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		int err = set_int(fd, options[i].level, options[i].name, options[i].value);

		if (err)
			return err;
	}
	return 0;
}

/* What goes to QP1 and answers something: to who asked, by the top byte of the communication ID
 * (gsi.h). The accumulator then has the slot; what a datagram is too short for reads as 0. */
static unsigned load_slot(struct sock_filter *code)
{
	static const struct sock_filter load[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, DEST_QP_AT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 11), /* a queue pair's: done */
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, MAD_AT + RS_GSI_CLASS_AT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RS_GSI_CM, 0, 8),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, MAD_AT + RS_GSI_ATTRIBUTE_AT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RS_GSI_REQ, 6, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RS_GSI_SIDR_REQ, 5, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RS_GSI_SIDR_REP, 2, 0),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, MAD_AT + RS_GSI_REMOTE_ID_AT),
		BPF_JUMP(BPF_JMP | BPF_JA, 3, 0, 0),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, MAD_AT + RS_GSI_LOCAL_ID_AT),
		BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0),
		BPF_STMT(BPF_LD | BPF_IMM, 0),
	};

	memcpy(code, load, sizeof(load));
	return sizeof(load) / sizeof(load[0]);
}

/* Slot -> place in the group; what is nobody's goes to place 0. */
static void attach_program(int fd, const uint8_t order[RS_SLOTS], unsigned members)
{
	struct sock_filter code[2 * RS_SLOTS + 16];
	struct sock_fprog program = {.filter = code};
	unsigned n = load_slot(code);

	for (unsigned i = 0; i < members; i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, order[i], 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, i);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
	program.len = (unsigned short)n;
	/* Refused: packets are spread by hash, and handed over. */
	setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof(program));
}

static void join_program(struct rs_live *l)
{
	uint8_t order[RS_SLOTS];
	unsigned members = rs_registry_order(l->registry, order);

	attach_program(l->udp, order, members);
}

/* For those who stay: the last of the group takes the place of who leaves. The program outlives the
 * socket that it was attached by. */
static void leave_program(struct rs_live *l)
{
	uint8_t order[RS_SLOTS];
	unsigned members = rs_registry_order(l->registry, order), mine = 0;

	while (mine < members && order[mine] != l->slot)
		mine++;
	if (mine == members || members == 1)
		return;
	order[mine] = order[members - 1];
	attach_program(l->udp, order, members - 1);
}

/*
 * Everybody on this host can send from any port to 4791 and, by IPV6_FREEBIND, under any IPv6
 * source address, but only to what goes through the loopback device; multicast comes back marked.
 * What comes from elsewhere is never for 127/8. The kernel runs this before a datagram takes room
 * in the socket. At [0] is the UDP header, its first two bytes the source port.
 */
static int demand_port(int fd)
{
	static struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_HATYPE)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARPHRD_LOOPBACK, 7, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_LOOPBACK, 5, 0),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, (uint32_t)SKF_NET_OFF),
		BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 4, 0, 4),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, (uint32_t)SKF_NET_OFF + IPV4_DESTINATION_AT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, LOOPBACK_NET, 3, 2),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RS_UDP_PORT, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) ? -errno : 0;
}

static int open_udp(struct rs_live *l, struct rs_error *e)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(RS_UDP_PORT)};
	int err;

	l->udp = rs_socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (l->udp < 0)
		return rs_error_set(e, -errno, "cannot open a UDP socket of IPv6: %s",
				    strerror(errno));
	err = set_options(l->udp);
	if (!err)
		err = demand_port(l->udp);
	if (err)
		return rs_error_set(e, err, "cannot set the options of the UDP socket: %s",
				    strerror(-err));
	err = set_buffers(l->udp, e);
	if (err)
		return err;
	if (bind(l->udp, (struct sockaddr *)&any, sizeof(any))) {
		err = -errno;
		rs_error_set(e, err, "cannot bind UDP port %d: %s", RS_UDP_PORT, strerror(-err));
		if (err == -EADDRINUSE)
			rs_meet_blame(e);
		return err;
	}
	return 0;
}

static int open_stray(struct rs_live *l, struct rs_error *e)
{
	l->stray = rs_local_open(&l->address);
	if (l->stray < 0)
		return rs_error_set(e, l->stray, "cannot open the socket between processes: %s",
				    strerror(-l->stray));
	rs_registry_announce(l->registry, &l->address);
	return 0;
}

int rs_steer_open(struct rs_live *l, struct rs_error *e)
{
	int err;

	l->udp = l->stray = l->knock = -1;
	l->pending_end = &l->pending;
	l->pending_again = RS_NEVER;
	err = rs_registry_open(&l->registry, &l->slot, e);
	if (err)
		return err;
	err = open_udp(l, e);
	if (!err)
		err = open_stray(l, e);
	if (!err) {
		join_program(l);
		rs_registry_joined(l->registry);
		return 0;
	}
	rs_steer_close(l);
	return err;
}

void rs_steer_close(struct rs_live *l)
{
	if (!l->registry)
		return;
	if (l->forked)
		rs_registry_abandon(l->registry);
	else
		rs_registry_lock(l->registry);
	if (!l->forked && l->udp >= 0)
		leave_program(l);
	if (l->udp >= 0)
		close(l->udp);
	if (l->stray >= 0)
		close(l->stray);
	if (l->knock >= 0)
		close(l->knock);
	l->udp = l->stray = l->knock = -1;
	while (l->pending) {
		struct rs_pending *p = l->pending;

		l->pending = p->next;
		free(p);
	}
	if (!l->forked)
		rs_registry_leave(l->registry);
	l->registry = NULL;
}

bool rs_steer_tell(struct rs_live *l, unsigned slot, const void *bytes, size_t n, const void *more,
		   size_t n2, int fd)
{
	_Alignas(8) uint8_t control[CMSG_SPACE(sizeof(int))] = {0};
	struct rs_local_address address;
	struct sockaddr_un to;
	struct iovec iov[3] = {{address.key, sizeof(address.key)},
			       {(void *)(uintptr_t)bytes, n},
			       {(void *)(uintptr_t)more, n2}};
	struct msghdr m = {.msg_name = &to, .msg_iov = iov, .msg_iovlen = n2 ? 3 : 2};

	rs_registry_address(l->registry, slot, &address);
	m.msg_namelen = rs_local_name(&address, &to);
	if (fd >= 0) {
		struct cmsghdr *c;

		m.msg_control = control;
		m.msg_controllen = sizeof(control);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	return sendmsg(l->stray, &m, MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
}

/*
 * A Unix socket holds ten datagrams (net.unix.max_dgram_qlen), and its sender cannot ask for more.
 * Who connects a thousand times would wait for as many timeouts.
 */
static void keep(struct rs_live *l, unsigned slot, const struct stray *head,
		 const struct rs_datagram *d)
{
	struct rs_pending *p = l->pendings < PENDING_MAX ? malloc(sizeof(*p) + d->n) : NULL;

	if (!p)
		return;
	*p = (struct rs_pending){.head = *head, .slot = slot, .n = d->n};
	memcpy(p->bytes, d->bytes, d->n);
	*l->pending_end = p;
	l->pending_end = &p->next;
	if (!l->pendings++)
		l->pending_again = rs_live_now(l) + rs_live_tuning.pending_again;
}

void rs_steer_again(struct rs_live *l, rs_time now)
{
	struct rs_pending **at = &l->pending;
	uint8_t full[RS_SLOTS / 8] = {0};

	if (now < l->pending_again)
		return;
	while (*at) {
		struct rs_pending *p = *at;
		bool waits = full[p->slot / 8] & 1 << p->slot % 8;

		/* Of one slot's, in their order. */
		if (waits ||
		    (rs_registry_lives(l->registry, p->slot) &&
		     !rs_steer_tell(l, p->slot, &p->head, sizeof(p->head), p->bytes, p->n, -1))) {
			full[p->slot / 8] |= (uint8_t)(1 << p->slot % 8);
			at = &p->next;
			continue;
		}
		l->counters.tx_stray++;
		*at = p->next;
		free(p);
		l->pendings--;
	}
	l->pending_end = at;
	l->pending_again = l->pendings ? now + rs_live_tuning.pending_again : RS_NEVER;
}

/* The name of a dead process's socket is free for anyone: no packet goes there. */
bool rs_steer_hand_over(struct rs_live *l, const struct rs_datagram *d, unsigned slot)
{
	struct stray head = {.sport = d->sport, .id = d->id, .tos = d->tos};

	if (slot == l->slot || !rs_registry_lives(l->registry, slot))
		return false;
	memcpy(head.own, d->own, 16);
	memcpy(head.peer, d->peer, 16);
	/* Full or gone: lost, as on a wire; the transport repeats. */
	if (rs_steer_tell(l, slot, &head, sizeof(head), d->bytes, d->n, -1))
		l->counters.tx_stray++;
	else if (!d->bytes[DEST_QP_AT])
		keep(l, slot, &head, d);
	return true;
}

/* The pid of a datagram's sender, which the kernel vouches for (0: not of this PID namespace), and
 * the descriptor that it passed or -1, which is the caller's to close. */
static void read_sender(struct msghdr *m, int32_t *pid, int *fd)
{
	*fd = -1;
	*pid = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		struct ucred who;

		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_RIGHTS) { /* there is room for one */
			memcpy(fd, CMSG_DATA(c), sizeof(*fd));
		} else if (c->cmsg_type == SCM_CREDENTIALS) {
			memcpy(&who, CMSG_DATA(c), sizeof(who));
			*pid = who.pid;
		}
	}
}

bool rs_steer_receive(struct rs_live *l, void (*take)(struct rs_live *l, struct rs_datagram *d))
{
	bool any = false;

	for (unsigned i = 0; i < RS_STRAY_BATCH; i++) {
		uint8_t *bytes = l->rx.bytes[0] + RS_RX_HEAD;
		_Alignas(8)
			uint8_t control[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))];
		uint8_t key[RS_LOCAL_KEY];
		struct stray head;
		struct iovec iov[3] = {
			{key, sizeof(key)}, {&head, sizeof(head)}, {bytes, RS_TX_SLOT}};
		struct msghdr m = {.msg_iov = iov,
				   .msg_iovlen = 3,
				   .msg_control = control,
				   .msg_controllen = sizeof(control)};
		ssize_t n = recvmsg(l->stray, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		struct rs_datagram d;
		bool ours;
		int32_t pid;
		int fd;

		if (n < 0)
			break;
		read_sender(&m, &pid, &fd);
		/* The filter has seen to it already. */
		ours = n >= (ssize_t)sizeof(key) && !memcmp(key, l->address.key, sizeof(key));
		if (!ours && fd >= 0)
			close(fd);
		n -= (ssize_t)sizeof(key);
		if ((m.msg_flags & MSG_TRUNC) || !ours ||
		    rs_shm_heard(l, &head, (size_t)n, pid, fd) ||
		    rs_counters_answer(l, &head, (size_t)n) || (size_t)n <= sizeof(head))
			continue;
		d = (struct rs_datagram){.sport = head.sport,
					 .id = head.id,
					 .tos = head.tos,
					 .bytes = bytes,
					 .n = (size_t)n - sizeof(head)};
		memcpy(d.own, head.own, 16);
		memcpy(d.peer, head.peer, 16);
		l->counters.rx_stray++;
		any = true;
		take(l, &d);
	}
	return any;
}

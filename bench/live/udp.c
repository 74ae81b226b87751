/*
 * What UDP sockets alone reach, as the limit of a RoCEv2 NIC in user space: a stream of segmented
 * sends (UDP_SEGMENT, UDP_GRO), and a ping-pong of small datagrams that spins. Nothing is computed
 * and nobody looks at the bytes; or, as WRITEs, a CRC-32 of them is computed, each message begins
 * with a packet that is 16 bytes longer than the rest (a RETH) and therefore with a send of its
 * own, and payloads lie apart from headers, in memory of the application's. The ping-pong `as` a
 * NIC has its sockets and calls, and the ACK of the last message behind each, and still computes
 * nothing. HOW says what else it could be: `within`, the ACK's bytes are in the message's datagram;
 * `none`, they are nowhere; `connected`, a second socket sends, which knows its peer and its
 * source.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <isa-l/crc.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

enum {
	BATCH = 32, /* messages a system call */
	MESSAGE_MAX = 65507,
	SEGMENTS_MAX = 64,
	BUFFER = 32 << 20,
	SLOTS = 32, /* 2 MB in all: what a cache holds */
	SLOT = 65536,
	PINGS = 20000,
	PING_BYTES = 34, /* BTH, RETH, 2 bytes, ICRC of a WRITE, as the notes' measurement */
	ACK_BYTES = 20,  /* BTH, AETH, ICRC */
	ROCE = 4791,
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double cpu(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

static void die(const char *what)
{
	fprintf(stderr, "udp: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void set(int fd, int level, int name, int value)
{
	if (setsockopt(fd, level, name, &value, sizeof(value)))
		die("setsockopt");
}

/* Bound to a port, and with an address given, connected to it. */
static int open_socket(int port, const char *peer)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_DGRAM, 0), size = BUFFER;

	if (fd < 0)
		die("socket");
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (!peer && bind(fd, (struct sockaddr *)&a, sizeof(a)))
		die("bind");
	if (peer && inet_pton(AF_INET, peer, &a.sin_addr) != 1)
		die(peer);
	if (peer && connect(fd, (struct sockaddr *)&a, sizeof(a)))
		die("connect");
	return fd;
}

static void fill(struct mmsghdr *m, struct iovec *iov, uint8_t *bytes, size_t n)
{
	for (unsigned i = 0; i < BATCH; i++) {
		iov[i] = (struct iovec){bytes + (size_t)i * SLOT, n};
		m[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &iov[i], .msg_iovlen = 1}};
	}
}

static uint8_t *memory(void)
{
	uint8_t *bytes = malloc((size_t)SLOTS * SLOT);

	if (!bytes)
		die("malloc");
	memset(bytes, 1, (size_t)SLOTS * SLOT);
	return bytes;
}

enum { HEAD = 12, RETH = 16, TRAILER = 4, PIECES_MAX = 2 * SEGMENTS_MAX + 1, BURST = 16 };

/* One send of a WRITE's packets: headers, a payload, the ICRC and the next packet's headers, and so
 * on; payloads of up to 1024 bytes are copied between their headers, as pieces cost more. */
struct part {
	struct iovec iov[PIECES_MAX];
	_Alignas(8) uint8_t control[CMSG_SPACE(sizeof(uint16_t))];
	uint8_t heads[SEGMENTS_MAX][HEAD + RETH + TRAILER];
	uint8_t copied[SLOT];
};

/* Returns the payload's bytes. */
static size_t fill_part(struct part *p, struct mmsghdr *m, const uint8_t *payload, unsigned packets,
			unsigned bytes, bool first)
{
	uint16_t segment = (uint16_t)(HEAD + bytes + TRAILER + (first ? RETH : 0));
	struct cmsghdr *c = (struct cmsghdr *)(void *)p->control;
	uint8_t *at = p->copied;
	unsigned n = 0;

	for (unsigned i = 0; i < packets; i++) {
		size_t head = HEAD + (i || !first ? 0 : RETH);
		uint32_t crc;

		if (bytes <= 1024) {
			memcpy(at + head, payload, bytes);
			crc = crc32_gzip_refl(i, at + head, bytes);
			memcpy(at + head + bytes, &crc, sizeof(crc));
			at += head + bytes + TRAILER;
		} else {
			uint8_t *h = p->heads[i];

			crc = crc32_gzip_refl(i, payload, bytes);
			memcpy(h, &crc, sizeof(crc));
			p->iov[n++] = (struct iovec){h, (i ? TRAILER : 0) + head};
			p->iov[n++] = (struct iovec){(void *)(uintptr_t)payload, bytes};
		}
		payload += bytes;
	}
	p->iov[n] = n ? (struct iovec){p->heads[0], TRAILER}
		      : (struct iovec){p->copied, (size_t)(at - p->copied)};
	m->msg_hdr = (struct msghdr){.msg_iov = p->iov, .msg_iovlen = n + 1};
	if (packets > 1) {
		m->msg_hdr.msg_control = p->control;
		m->msg_hdr.msg_controllen = sizeof(p->control);
		c->cmsg_level = SOL_UDP;
		c->cmsg_type = UDP_SEGMENT;
		c->cmsg_len = CMSG_LEN(sizeof(segment));
		memcpy(CMSG_DATA(c), &segment, sizeof(segment));
	}
	return (size_t)packets * bytes;
}

static void give(int fd, struct mmsghdr *m, unsigned n)
{
	for (unsigned sent = 0; sent < n;) {
		int k = sendmmsg(fd, m + sent, n - sent, 0);

		if (k < 0 && errno != ENOBUFS && errno != ECONNREFUSED)
			die("sendmmsg");
		sent += k > 0 ? (unsigned)k : 0;
	}
}

/* WRITEs of so many bytes from one place, cut as an RC requester cuts them. */
static void send_writes(const char *peer, int port, unsigned segment, double seconds, unsigned size)
{
	unsigned mtu = segment - HEAD - TRAILER, packets = size / mtu;
	unsigned per = MESSAGE_MAX / segment < SEGMENTS_MAX ? MESSAGE_MAX / segment : SEGMENTS_MAX;
	struct part *parts = malloc(sizeof(*parts) * BURST);
	uint8_t *payload = malloc(size);
	int fd = open_socket(port, peer);
	struct mmsghdr m[BURST];
	uint64_t bytes = 0;
	double begin, used;

	if (!parts || !payload)
		die("malloc");
	memset(payload, 1, size);
	begin = now();
	used = cpu();
	for (unsigned n = 0, k = 0; now() - begin < seconds;) {
		/* a second one beside the first where the rest then takes a send less */
		unsigned lead = (packets - 1) % per == 1 ? 2 : 1;
		unsigned left = packets - k, take = !k ? lead : left < per ? left : per;

		bytes += fill_part(&parts[n], &m[n], payload + (size_t)k * mtu, take, mtu, !k);
		k = take == left ? 0 : k + take;
		if (++n == BURST) {
			give(fd, m, n);
			n = 0;
		}
	}
	printf("sent %.3f Gb/s, cpu %.3f\n", (double)bytes * 8e-9 / (now() - begin),
	       (cpu() - used) / (now() - begin));
}

static void send_stream(const char *peer, int port, unsigned segment, double seconds)
{
	unsigned per = MESSAGE_MAX / segment < SEGMENTS_MAX ? MESSAGE_MAX / segment : SEGMENTS_MAX;
	int fd = open_socket(port, peer);
	struct mmsghdr m[BATCH];
	struct iovec iov[BATCH];
	uint64_t bytes = 0;
	double begin, used;

	set(fd, SOL_UDP, UDP_SEGMENT, (int)segment);
	fill(m, iov, memory(), (size_t)per * segment);
	begin = now();
	used = cpu();
	while (now() - begin < seconds) {
		int n = sendmmsg(fd, m, BATCH, 0);

		if (n < 0 && errno != ENOBUFS && errno != ECONNREFUSED)
			die("sendmmsg");
		bytes += n > 0 ? (uint64_t)n * per * segment : 0;
	}
	printf("sent %.3f Gb/s, cpu %.3f\n", (double)bytes * 8e-9 / (now() - begin),
	       (cpu() - used) / (now() - begin));
}

/* Until nothing has come for half a second. */
static void receive_stream(int port)
{
	struct timeval idle = {0, 500000};
	int fd = open_socket(port, NULL);
	double begin = 0, end = 0, used = 0, used_end = 0;
	struct mmsghdr m[BATCH];
	struct iovec iov[BATCH];
	uint64_t bytes = 0;

	set(fd, SOL_UDP, UDP_GRO, 1);
	fill(m, iov, memory(), SLOT);
	for (;;) {
		int n = recvmmsg(fd, m, BATCH, MSG_WAITFORONE, NULL);

		if (n < 0 && errno == EINTR) /* it was stopped for a while: beside */
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0)
			die("recvmmsg");
		end = now();
		used_end = cpu();
		if (begin == 0) {
			begin = end;
			used = used_end;
			setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &idle, sizeof(idle));
			continue; /* time runs from here */
		}
		for (int i = 0; i < n; i++)
			bytes += m[i].msg_len;
	}
	printf("received %.3f Gb/s, cpu %.3f\n", (double)bytes * 8e-9 / (end - begin),
	       (used_end - used) / (end - begin));
}

static void pong(int port)
{
	struct timeval limit = {10, 0};
	int fd = open_socket(port, NULL);
	struct sockaddr_in from;
	uint8_t b[PING_BYTES];

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	for (unsigned i = 0; i < PINGS;) {
		socklen_t length = sizeof(from);
		ssize_t n = recvfrom(fd, b, sizeof(b), i ? MSG_DONTWAIT : 0,
				     (struct sockaddr *)&from, &length);

		if (n < 0 && errno == EAGAIN && i)
			continue;
		if (n < 0)
			die("nobody pings");
		if (sendto(fd, b, sizeof(b), 0, (struct sockaddr *)&from, length) < 0)
			die("sendto");
		i++;
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void ping(const char *peer, int port)
{
	static double took[PINGS];
	int fd = open_socket(port, peer);
	uint8_t b[PING_BYTES] = {0};

	for (unsigned i = 0; i < PINGS; i++) {
		double begin = now();

		if (send(fd, b, sizeof(b), 0) < 0)
			die("send");
		while (recv(fd, b, sizeof(b), MSG_DONTWAIT) < 0) {
			if (errno != EAGAIN)
				die("recv");
			if (now() - begin > 5)
				die("no answer");
		}
		took[i] = (now() - begin) * 0.5e6;
	}
	qsort(took, PINGS, sizeof(took[0]), by_value);
	printf("half %.3f us, p99 %.3f\n", took[PINGS / 2], took[PINGS * 99 / 100]);
}

/*
 * What src/live/ asks of its sockets: both families, not connected (identification 0), the address
 * that it was sent to and the TOS of what comes, a source address with what goes, blocks of
 * segments.
 */
struct nic {
	int fd, out;
	bool connected, within;
	size_t ack;
	struct sockaddr_in6 to;
	struct in6_pktinfo own;
	_Alignas(8) uint8_t control[128];
};

static void connect_out(struct nic *n)
{
	n->out = socket(AF_INET6, SOCK_DGRAM, 0);
	if (n->out < 0)
		die("socket");
	set(n->out, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
	if (connect(n->out, (struct sockaddr *)&n->to, sizeof(n->to)))
		die("connect");
}

static void open_nic(struct nic *n, const char *own, const char *peer, const char *how)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(ROCE)};
	char mapped[64];

	*n = (struct nic){.fd = socket(AF_INET6, SOCK_DGRAM, 0),
			  .connected = strstr(how, "connected"),
			  .within = strstr(how, "within"),
			  .ack = strstr(how, "none") ? 0 : ACK_BYTES,
			  .to = {.sin6_family = AF_INET6, .sin6_port = htons(ROCE)}};
	snprintf(mapped, sizeof(mapped), "::ffff:%s", own);
	if (inet_pton(AF_INET6, mapped, &n->own.ipi6_addr) != 1)
		die(own);
	snprintf(mapped, sizeof(mapped), "::ffff:%s", peer);
	if (inet_pton(AF_INET6, mapped, &n->to.sin6_addr) != 1)
		die(peer);
	set(n->fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
	set(n->fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
	set(n->fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
	set(n->fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
	set(n->fd, IPPROTO_IP, IP_RECVTOS, 1);
	set(n->fd, SOL_UDP, UDP_GRO, 1);
	if (bind(n->fd, (struct sockaddr *)&any, sizeof(any)))
		die("bind");
	n->out = n->fd;
	if (n->connected)
		connect_out(n);
}

static void add_control(struct nic *n, struct msghdr *m, int level, int type, const void *data,
			size_t bytes)
{
	struct cmsghdr *c = (struct cmsghdr *)(void *)(n->control + m->msg_controllen);

	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(bytes);
	memcpy(CMSG_DATA(c), data, bytes);
	m->msg_controllen += CMSG_SPACE(bytes);
}

static void nic_send(struct nic *n, uint8_t *b)
{
	struct iovec v = {b, PING_BYTES + n->ack};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = n->control};
	uint16_t segment = PING_BYTES;

	if (!n->connected) {
		m.msg_name = &n->to;
		m.msg_namelen = sizeof(n->to);
		add_control(n, &m, IPPROTO_IPV6, IPV6_PKTINFO, &n->own, sizeof(n->own));
	}
	if (n->ack && !n->within)
		add_control(n, &m, SOL_UDP, UDP_SEGMENT, &segment, sizeof(segment));
	if (sendmsg(n->out, &m, MSG_DONTWAIT) < 0)
		die("sendmsg");
}

static void nic_receive(struct nic *n, uint8_t *b, double begin)
{
	for (;;) {
		struct sockaddr_in6 from;
		struct iovec v = {b, MESSAGE_MAX};
		struct msghdr m = {.msg_name = &from,
				   .msg_namelen = sizeof(from),
				   .msg_iov = &v,
				   .msg_iovlen = 1,
				   .msg_control = n->control,
				   .msg_controllen = sizeof(n->control)};

		if (recvmsg(n->fd, &m, MSG_DONTWAIT) >= 0)
			return;
		if (errno != EAGAIN)
			die("recvmsg");
		if (begin > 0 && now() - begin > 5)
			die("no answer");
	}
}

static void ping_as_nic(const char *own, const char *peer, const char *how, bool first)
{
	static uint8_t b[MESSAGE_MAX];
	static double took[PINGS];
	struct nic n;

	open_nic(&n, own, peer, how);
	alarm(20);
	for (unsigned i = 0; i < PINGS; i++) {
		double begin = now();

		if (first)
			nic_send(&n, b);
		nic_receive(&n, b, first ? begin : 0);
		if (!first)
			nic_send(&n, b);
		took[i] = (now() - begin) * 0.5e6;
	}
	qsort(took, PINGS, sizeof(took[0]), by_value);
	if (first)
		printf("half %.3f us, p99 %.3f\n", took[PINGS / 2], took[PINGS * 99 / 100]);
}

int main(int argc, char **argv)
{
	if (argc == 7 && !strcmp(argv[1], "send"))
		send_writes(argv[2], atoi(argv[3]), (unsigned)atoi(argv[4]), atof(argv[5]),
			    (unsigned)atoi(argv[6]));
	else if (argc == 6 && !strcmp(argv[1], "send"))
		send_stream(argv[2], atoi(argv[3]), (unsigned)atoi(argv[4]), atof(argv[5]));
	else if (argc == 3 && !strcmp(argv[1], "receive"))
		receive_stream(atoi(argv[2]));
	else if (argc == 3 && !strcmp(argv[1], "pong"))
		pong(atoi(argv[2]));
	else if (argc == 4 && !strcmp(argv[1], "ping"))
		ping(argv[2], atoi(argv[3]));
	else if ((argc == 5 || argc == 6) && !strcmp(argv[1], "as"))
		ping_as_nic(argv[3], argv[4], argc == 6 ? argv[5] : "", !strcmp(argv[2], "ping"));
	else {
		fprintf(stderr,
			"usage: udp send ADDRESS PORT SEGMENT SECONDS [SIZE] | udp receive PORT |"
			" udp pong PORT | udp ping ADDRESS PORT | udp as ping|pong OWN PEER "
			"[HOW]\n");
		return 2;
	}
	return 0;
}

/* Finding the others on port 4791: see meet.h. */
#include "live/meet.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/socket.h"
#include "live/grant.h"
#include "live/gsi.h"
#include "live/state.h"
#include "live/vendor_mad.h"

enum { ADDRESS_AT = 64 }; /* in our vendor's datagram */

/* 127.255.255.255 reaches every socket of the port once and never leaves the host (RFC 1122
 * §3.2.1.3 (g)); a comer's own socket is bound to it, so that it is no member of the group. */
static const uint8_t everybody[16] = {[10] = 0xff, [11] = 0xff, 127, 255, 255, 255};
static const uint8_t loopback[16] = {[10] = 0xff, [11] = 0xff, 127, 0, 0, 1};

/* ---- Who holds the port ---- */

struct holder {
	bool comer, member;
	unsigned uid;
	unsigned long inode;
};

/* A line of /proc/net/udp or udp6 (proc(5)); false: another port's. */
static bool read_holder(const char *line, struct holder *h)
{
	char address[40];
	unsigned port;

	if (sscanf(line, "%*s %32[0-9A-F]:%x %*s %*s %*s %*s %*s %u %*s %lu", address, &port,
		   &h->uid, &h->inode) != 4 ||
	    port != RS_UDP_PORT)
		return false;
	h->comer = !strcmp(address, "FFFFFF7F") || !strcmp(address, "7FFFFFFF");
	h->member = strlen(address) == 32 && strspn(address, "0") == 32;
	return true;
}

/* Comers are listed in the first file, members in the second: who stops being the one is the other
 * already, and is seen as at least one of the two. */
static int each_holder(void (*each)(void *arg, const struct holder *h), void *arg)
{
	static const char *const files[] = {"/proc/thread-self/net/udp",
					    "/proc/thread-self/net/udp6"};

	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		FILE *f = fopen(files[i], "re");
		struct holder h;
		char line[256];

		if (!f && i == 0)
			return -ENOENT;
		while (f && fgets(line, sizeof(line), f))
			if (read_holder(line, &h))
				each(arg, &h);
		if (f)
			fclose(f);
	}
	return 0;
}

struct count {
	struct rs_meet_port *port;
	unsigned long mine, first;
};

static void count(void *arg, const struct holder *h)
{
	struct count *c = arg;

	c->port->members += h->member;
	c->port->comers += h->comer;
	if (h->comer && h->inode < c->first)
		c->first = h->inode;
}

int rs_meet_look(const struct rs_meet *m, struct rs_meet_port *out)
{
	struct count c = {.port = out, .mine = m ? (unsigned long)m->inode : 0, .first = ~0ul};
	int err;

	*out = (struct rs_meet_port){0};
	err = each_holder(count, &c);
	out->mine_first = m && c.first == c.mine;
	return err;
}

static void note_holder(void *arg, const struct holder *h)
{
	struct holder *last = arg;

	*last = *h;
}

void rs_meet_blame(struct rs_error *e)
{
	struct holder h = {.inode = ~0ul};

	if (each_holder(note_holder, &h) || h.inode == ~0ul)
		rs_error_hint(e,
			      "the kernel's rdma_rxe or another user holds it: rmmod rdma_rxe, "
			      "or look with ss -ulpn 'sport = %d'",
			      RS_UDP_PORT);
	else if (!h.inode)
		rs_error_hint(e,
			      "the kernel holds it, as its rdma_rxe does: rmmod rdma_rxe, or look "
			      "with ss -ulpn 'sport = %d'",
			      RS_UDP_PORT);
	else
		rs_error_hint(
			e,
			"a program of user %u holds it: only one user's programs share it, and "
			"rdma_rxe with none; look with ss -ulpn 'sport = %d'",
			h.uid, RS_UDP_PORT);
}

/* ---- The comer ---- */

static int open_udp(struct rs_meet *m)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(RS_UDP_PORT)};
	static const struct {
		int level, name, value;
	} options[] = {
		{SOL_SOCKET, SO_REUSEPORT, 1},
		{SOL_SOCKET, SO_BROADCAST, 1},
		{IPPROTO_IP, IP_FREEBIND, 1}, /* with a loopback that is down, too */
		/* identification 0: what the ICRC covers */
		{IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO},
	};
	struct stat st;
	int err = 0;

	memcpy(&to.sin_addr, everybody + 12, 4);
	m->udp = rs_socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (m->udp < 0)
		return -errno;
	for (unsigned i = 0; !err && i < sizeof(options) / sizeof(options[0]); i++)
		if (setsockopt(m->udp, options[i].level, options[i].name, &options[i].value,
			       sizeof(options[i].value)))
			err = -errno;
	if (!err && (bind(m->udp, (struct sockaddr *)&to, sizeof(to)) || fstat(m->udp, &st)))
		err = -errno;
	if (!err)
		m->inode = (uint64_t)st.st_ino;
	return err;
}

int rs_meet_open(struct rs_meet *m, struct rs_error *e)
{
	int err;

	m->local = -1;
	err = open_udp(m);
	if (!err) {
		m->local = rs_local_open(&m->address);
		err = m->local < 0 ? m->local : 0;
	}
	if (!err)
		return 0;
	rs_meet_close(m);
	if (err == -EADDRINUSE) {
		rs_error_set(e, err, "cannot bind UDP port %d: %s", RS_UDP_PORT, strerror(-err));
		rs_meet_blame(e);
		return err;
	}
	return rs_error_set(e, err, "cannot open the sockets to find other processes by: %s",
			    strerror(-err));
}

void rs_meet_close(struct rs_meet *m)
{
	if (m->udp >= 0)
		close(m->udp);
	if (m->local >= 0)
		close(m->local);
	m->udp = m->local = -1;
}

static void send_question(const struct rs_meet *m)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(RS_UDP_PORT)};
	struct rs_gsi_datagram d = {.dest_qp = RS_GSI_QPN};
	uint8_t frame[RS_GSI_FRAME_MAX];
	size_t head;
	long n;

	memcpy(d.own, loopback, 16);
	memcpy(d.peer, everybody, 16);
	vendor_mad_begin(d.mad, MAD_GET, MAD_LAYOUT_MEET);
	memcpy(d.mad + ADDRESS_AT, &m->address, sizeof(m->address));
	memcpy(&to.sin_addr, everybody + 12, 4);
	n = rs_gsi_encode(&d, frame, sizeof(frame), &head);
	/* not sent: the caller asks again */
	if (n > 0)
		sendto(m->udp, frame + head, (size_t)n - head, MSG_DONTWAIT | MSG_NOSIGNAL,
		       (struct sockaddr *)&to, sizeof(to));
}

/* The descriptor that an answer brings; what comes without the key does not come here at all. */
static int take_answer(const struct rs_meet *m)
{
	uint8_t key[RS_LOCAL_KEY];
	_Alignas(8) uint8_t control[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))];
	struct iovec iov = {key, sizeof(key)};
	struct msghdr h = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};
	int fd = -EAGAIN;

	if (recvmsg(m->local, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0)
		return -EAGAIN;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&h); c; c = CMSG_NXTHDR(&h, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	if (fd >= 0 && memcmp(key, m->address.key, sizeof(key)) != 0) {
		close(fd);
		return -EAGAIN;
	}
	return fd;
}

int rs_meet_ask(const struct rs_meet *m, int wait_ms)
{
	struct pollfd p = {.fd = m->local, .events = POLLIN};

	send_question(m);
	return poll(&p, 1, wait_ms) == 1 ? take_answer(m) : -EAGAIN;
}

/* ---- Who is there ---- */

bool rs_meet_is_question(const uint8_t *mad)
{
	return vendor_mad_is(mad, MAD_LAYOUT_MEET) && mad[MAD_METHOD_AT] == MAD_GET;
}

/* Both addresses are the loopback's, which no packet from without may have, and of what this host
 * sends only what comes from port 4791 passes the filter. */
void rs_meet_answer(struct rs_live *l, const struct rs_datagram *d, const uint8_t *mad)
{
	struct rs_local_address to;
	struct sockaddr_un name;
	_Alignas(8) uint8_t control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec iov = {to.key, sizeof(to.key)};
	struct msghdr m = {.msg_name = &name,
			   .msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int fd = rs_registry_descriptor(l->registry);

	if (d->sport != RS_UDP_PORT || memcmp(d->own, everybody, 16) != 0 ||
	    memcmp(d->peer, loopback, 16) != 0)
		return;
	memcpy(&to, mad + ADDRESS_AT, sizeof(to));
	m.msg_namelen = rs_local_name(&to, &name);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	/* gone, or answered by another */
	sendmsg(l->stray, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
}

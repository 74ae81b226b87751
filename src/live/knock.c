/* The socket that questions after a peer's life go from: see knock.h. */
#include "live/knock.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>
/* stands on time.h */
#include <linux/errqueue.h>
#include "base/socket.h"
#include "live/gsi.h"
#include "live/state.h"

enum { MAD_AT = RS_BTH_BYTES + RS_DETH_BYTES };

static int open_socket(struct rs_live *l)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{IPPROTO_IPV6, IPV6_V6ONLY, 0},
		{IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO},
		{IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO},
		{IPPROTO_IP, IP_RECVERR, 1},
		{IPPROTO_IPV6, IPV6_RECVERR, 1},
	};
	struct sockaddr_in6 any = {.sin6_family = AF_INET6};
	socklen_t n = sizeof(any);
	int fd = rs_socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int bad = fd < 0;

	for (unsigned i = 0; !bad && i < sizeof(options) / sizeof(options[0]); i++)
		bad = setsockopt(fd, options[i].level, options[i].name, &options[i].value,
				 sizeof(options[i].value));
	if (!bad)
		bad = bind(fd, (struct sockaddr *)&any, n) ||
		      getsockname(fd, (struct sockaddr *)&any, &n);
	if (!bad) {
		l->knock = fd;
		l->knock_port = ntohs(any.sin6_port);
		return 0;
	}
	bad = -errno;
	if (fd >= 0)
		close(fd);
	return bad;
}

int rs_live_knock(struct rs_live *l, const struct rs_gsi_datagram *d)
{
	struct rs_gsi_datagram from = *d;
	int err = l->forked ? -ENODEV : l->knock < 0 ? open_socket(l) : 0;

	if (err)
		return err;
	from.sport = l->knock_port;
	err = rs_gsi_send_by(l, l->knock, &from);
	/* What an earlier one met is told by the next send, which is not sent. */
	return err == -ECONNREFUSED ? rs_gsi_send_by(l, l->knock, &from) : err;
}

/* A peer's own kernel has no socket there; a router's or a filter's other words are no proof. */
static bool port_unreachable(const struct cmsghdr *c)
{
	struct sock_extended_err e;

	if (!(c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) &&
	    !(c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR))
		return false;
	memcpy(&e, CMSG_DATA(c), sizeof(e));
	if (e.ee_origin == SO_EE_ORIGIN_ICMP)
		return e.ee_type == 3 && e.ee_code == 3;
	return e.ee_origin == SO_EE_ORIGIN_ICMP6 && e.ee_type == 1 && e.ee_code == 4;
}

/* The kernel has compared addresses and ports with ours; the quoted question has the token, which
 * only who saw it knows. */
bool rs_live_knock_refused(struct rs_live *l, uint64_t *token)
{
	while (!l->forked && l->knock >= 0) {
		uint8_t quoted[MAD_AT + RS_MAD_BYTES];
		_Alignas(8) uint8_t control[256];
		struct iovec iov = {quoted, sizeof(quoted)};
		struct msghdr m = {.msg_iov = &iov,
				   .msg_iovlen = 1,
				   .msg_control = control,
				   .msg_controllen = sizeof(control)};
		ssize_t n = recvmsg(l->knock, &m, MSG_ERRQUEUE | MSG_DONTWAIT);
		bool refused = false;

		if (n < 0)
			return false;
		for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
			refused |= port_unreachable(c);
		if (!refused || (size_t)n < MAD_AT + KNOCK_IS_AT ||
		    !rs_knock_is_knock(quoted + MAD_AT))
			continue;
		*token = rs_get64(quoted + MAD_AT + MAD_TRANSACTION_AT);
		return true;
	}
	return false;
}

void rs_knock_answer_alone(struct rs_live *l, const struct rs_gsi_datagram *d)
{
	struct rs_gsi_datagram out = {0};
	enum rs_knock_is is;
	struct rs_knock k;

	if (!rs_knock_decode(d->mad, &k, &is) || is != RS_KNOCK_QUESTION)
		return;
	memcpy(out.own, d->own, 16);
	memcpy(out.peer, d->peer, 16);
	rs_knock_encode(&k, RS_KNOCK_GONE, out.mad);
	rs_live_gsi_send(l, &out);
}

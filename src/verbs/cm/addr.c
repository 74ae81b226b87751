/* Addresses: sockets' to GIDs and back, which device reaches them, and rdma_getaddrinfo(). */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "verbs/cm/cm.h"

bool rs_cm_gid_of(const struct sockaddr *a, uint8_t gid[16], uint16_t *port)
{
	const struct sockaddr_in *v4 = (const void *)a;
	const struct sockaddr_in6 *v6 = (const void *)a;

	memset(gid, 0, 16);
	if (!a)
		return false;
	if (a->sa_family == AF_INET) {
		*port = ntohs(v4->sin_port);
		if (v4->sin_addr.s_addr == INADDR_ANY)
			return true;
		gid[10] = gid[11] = 0xff;
		memcpy(gid + 12, &v4->sin_addr, 4);
		return true;
	}
	if (a->sa_family != AF_INET6)
		return false;
	*port = ntohs(v6->sin6_port);
	memcpy(gid, &v6->sin6_addr, 16);
	return true;
}

bool rs_cm_is_ipv4(const uint8_t gid[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(gid, mapped, sizeof(mapped));
}

void rs_cm_addr_of(const uint8_t gid[16], uint16_t port, struct sockaddr_storage *a)
{
	struct sockaddr_in *v4 = (void *)a;
	struct sockaddr_in6 *v6 = (void *)a;

	memset(a, 0, sizeof(*a));
	if (rs_cm_is_ipv4(gid)) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		memcpy(&v4->sin_addr, gid + 12, 4);
		return;
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(port);
	memcpy(&v6->sin6_addr, gid, 16);
}

static const struct rdma_addrinfo no_hints = {.ai_port_space = RDMA_PS_TCP,
					      .ai_qp_type = IBV_QPT_RC};

static struct sockaddr *copy_addr(const struct sockaddr *a, socklen_t n)
{
	struct sockaddr *out = malloc(n);

	if (out)
		memcpy(out, a, n);
	return out;
}

static int type_of(const struct rdma_addrinfo *h)
{
	if (h->ai_qp_type)
		return h->ai_qp_type;
	return h->ai_port_space == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC;
}

static int fill(struct rdma_addrinfo *out, const struct rdma_addrinfo *h, const struct addrinfo *ai)
{
	bool passive = h->ai_flags & RAI_PASSIVE;

	out->ai_flags = h->ai_flags;
	out->ai_family = ai->ai_family;
	out->ai_qp_type = type_of(h);
	out->ai_port_space = h->ai_port_space                ? h->ai_port_space
			     : out->ai_qp_type == IBV_QPT_UD ? RDMA_PS_UDP
							     : RDMA_PS_TCP;
	if (passive) {
		out->ai_src_addr = copy_addr(ai->ai_addr, ai->ai_addrlen);
		out->ai_src_len = ai->ai_addrlen;
		return out->ai_src_addr ? 0 : -1;
	}
	out->ai_dst_addr = copy_addr(ai->ai_addr, ai->ai_addrlen);
	out->ai_dst_len = ai->ai_addrlen;
	if (h->ai_src_len && h->ai_src_addr) {
		out->ai_src_addr = copy_addr(h->ai_src_addr, h->ai_src_len);
		out->ai_src_len = h->ai_src_len;
		if (!out->ai_src_addr)
			return -1;
	}
	return out->ai_dst_addr ? 0 : -1;
}

RS_EXPORT int rdma_getaddrinfo(const char *node, const char *service,
			       const struct rdma_addrinfo *hints, struct rdma_addrinfo **res)
{
	const struct rdma_addrinfo *h = hints ? hints : &no_hints;
	struct addrinfo ask = {.ai_socktype = SOCK_STREAM}, *ai = NULL;
	struct rdma_addrinfo *out;
	int err;

	if (!node && !service && !(hints && (h->ai_src_addr || h->ai_dst_addr)))
		return rs_cm_fail(EINVAL);
	ask.ai_flags = (h->ai_flags & RAI_PASSIVE ? AI_PASSIVE : 0) |
		       (h->ai_flags & RAI_NUMERICHOST ? AI_NUMERICHOST : 0);
	if (h->ai_flags & RAI_FAMILY)
		ask.ai_family = h->ai_family;
	if (h->ai_family && h->ai_family != AF_INET && h->ai_family != AF_INET6)
		return EAI_FAMILY;
	out = calloc(1, sizeof(*out));
	if (!out)
		return rs_cm_fail(ENOMEM);
	if (node || service) {
		err = getaddrinfo(node, service, &ask, &ai);
	} else {
		const struct sockaddr *a = h->ai_dst_addr ? h->ai_dst_addr : h->ai_src_addr;
		struct addrinfo given = {.ai_family = a->sa_family,
					 .ai_addr = (struct sockaddr *)(uintptr_t)a,
					 .ai_addrlen =
						 h->ai_dst_addr ? h->ai_dst_len : h->ai_src_len};

		err = fill(out, h, &given) ? EAI_MEMORY : 0;
	}
	if (!err && ai)
		err = fill(out, h, ai) ? EAI_MEMORY : 0;
	if (ai)
		freeaddrinfo(ai);
	if (err) {
		rdma_freeaddrinfo(out);
		return err;
	}
	*res = out;
	return 0;
}

RS_EXPORT void rdma_freeaddrinfo(struct rdma_addrinfo *a)
{
	while (a) {
		struct rdma_addrinfo *next = a->ai_next;

		free(a->ai_src_addr);
		free(a->ai_dst_addr);
		free(a->ai_src_canonname);
		free(a->ai_dst_canonname);
		free(a->ai_route);
		free(a->ai_connect);
		free(a);
		a = next;
	}
}

static __be16 port_of(const struct sockaddr_storage *a)
{
	const struct sockaddr_in *v4 = (const void *)a;
	const struct sockaddr_in6 *v6 = (const void *)a;

	return a->ss_family == AF_INET    ? v4->sin_port
	       : a->ss_family == AF_INET6 ? v6->sin6_port
					  : 0;
}

RS_EXPORT __be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return port_of(&id->route.addr.src_storage);
}

RS_EXPORT __be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
	return port_of(&id->route.addr.dst_storage);
}

RS_EXPORT const char *rdma_event_str(enum rdma_cm_event_type e)
{
	static const char *const names[] = {
		"RDMA_CM_EVENT_ADDR_RESOLVED",
		"RDMA_CM_EVENT_ADDR_ERROR",
		"RDMA_CM_EVENT_ROUTE_RESOLVED",
		"RDMA_CM_EVENT_ROUTE_ERROR",
		"RDMA_CM_EVENT_CONNECT_REQUEST",
		"RDMA_CM_EVENT_CONNECT_RESPONSE",
		"RDMA_CM_EVENT_CONNECT_ERROR",
		"RDMA_CM_EVENT_UNREACHABLE",
		"RDMA_CM_EVENT_REJECTED",
		"RDMA_CM_EVENT_ESTABLISHED",
		"RDMA_CM_EVENT_DISCONNECTED",
		"RDMA_CM_EVENT_DEVICE_REMOVAL",
		"RDMA_CM_EVENT_MULTICAST_JOIN",
		"RDMA_CM_EVENT_MULTICAST_ERROR",
		"RDMA_CM_EVENT_ADDR_CHANGE",
		"RDMA_CM_EVENT_TIMEWAIT_EXIT",
		"RDMA_CM_EVENT_ADDRINFO_RESOLVED",
		"RDMA_CM_EVENT_ADDRINFO_ERROR",
		"RDMA_CM_EVENT_USER",
	};

	return (unsigned)e < sizeof(names) / sizeof(names[0]) ? names[e] : "UNKNOWN EVENT";
}

/* Datagram rsockets (rsocket(7)), call by call: who is asked, what comes back, what is refused. 0
 * is success. Linked with Debian's librdmacm, run on ours. dgram ADDRESS */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <rdma/rsocket.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(c)                                                                     \
	do {                                                                         \
		if (!(c)) {                                                          \
			printf("line %d: %s (%s)\n", __LINE__, #c, strerror(errno)); \
			exit(1);                                                     \
		}                                                                    \
	} while (0)

enum { MOST = 2024, ROUNDS = 200 };

static struct addrinfo *address;
static uint8_t out[4096], in[4096];

/* Bound to a port that the system chose; its name. */
static int open_one(struct sockaddr_storage *name)
{
	int fd = rsocket(address->ai_family, SOCK_DGRAM, 0);
	socklen_t n = sizeof(*name);

	CHECK(fd >= 0);
	CHECK(!rbind(fd, address->ai_addr, address->ai_addrlen));
	CHECK(!rgetsockname(fd, (struct sockaddr *)name, &n) && n == address->ai_addrlen);
	return fd;
}

static bool same(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	return !memcmp(a, b, address->ai_addrlen);
}

/* From one to the other, until it is there: datagrams may be lost. */
static void deliver(int from, int to, const struct sockaddr_storage *there,
		    const struct sockaddr_storage *here, size_t n)
{
	struct sockaddr_storage whence = {0};
	socklen_t len;

	for (size_t i = 0; i < n; i++)
		out[i] = (uint8_t)rand();
	for (int tries = 0; tries < 5; tries++) {
		struct pollfd p = {.fd = to, .events = POLLIN};

		CHECK(rsendto(from, out, n, 0, (const struct sockaddr *)there,
			      address->ai_addrlen) == (ssize_t)n);
		if (rpoll(&p, 1, 500) == 1)
			break;
	}
	len = sizeof(whence);
	CHECK(rrecvfrom(to, in, sizeof(in), MSG_DONTWAIT, (struct sockaddr *)&whence, &len) ==
	      (ssize_t)n);
	CHECK(len == address->ai_addrlen && same(&whence, here) && !memcmp(in, out, n));
}

static void every_size(int a, int b, const struct sockaddr_storage *at_a,
		       const struct sockaddr_storage *at_b)
{
	static const size_t sizes[] = {0, 1, 16, 999, 1000, 1016, 1017, 1400, 2000, MOST};

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		deliver(a, b, at_b, at_a, sizes[i]);
		deliver(b, a, at_a, at_b, sizes[i]);
	}
	for (unsigned i = 0; i < ROUNDS; i++)
		deliver(i & 1 ? a : b, i & 1 ? b : a, i & 1 ? at_b : at_a, i & 1 ? at_a : at_b,
			(size_t)rand() % MOST);
}

static void refusals(int a, const struct sockaddr_storage *at_b)
{
	struct sockaddr_storage nobody = *at_b;
	socklen_t n = sizeof(nobody);
	int v = 1;

	CHECK(rsendto(a, out, MOST + 1, 0, (const struct sockaddr *)at_b, address->ai_addrlen) <
		      0 &&
	      errno == EMSGSIZE);
	CHECK(rsend(a, out, 1, 0) < 0 && errno == EDESTADDRREQ);
	CHECK(rlisten(a, 1) < 0 && errno == EOPNOTSUPP);
	CHECK(rgetpeername(a, (struct sockaddr *)&nobody, &n) < 0 && errno == ENOTCONN);
	CHECK(rsetsockopt(a, IPPROTO_TCP, 1, &v, sizeof(v)) < 0 && errno == ENOPROTOOPT);
	n = sizeof(v);
	CHECK(!rgetsockopt(a, SOL_SOCKET, SO_TYPE, &v, &n) && v == SOCK_DGRAM);
	CHECK(rrecv(a, in, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
	CHECK(rsocket(AF_UNIX, SOCK_DGRAM, 0) < 0 && errno == EAFNOSUPPORT);
	CHECK(rsocket(AF_INET, SOCK_DGRAM, IPPROTO_TCP) < 0 && errno == EPROTONOSUPPORT);
}

/* What is too long for the buffer is cut; a look leaves it there. */
static void pieces(int a, int b, const struct sockaddr_storage *at_b)
{
	struct iovec v[2] = {{in, 3}, {in + 3, 4}};
	struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
	struct pollfd p = {.fd = b, .events = POLLIN};

	memcpy(out, "0123456789", 10);
	CHECK(rsendto(a, out, 10, 0, (const struct sockaddr *)at_b, address->ai_addrlen) == 10);
	CHECK(rpoll(&p, 1, 2000) == 1);
	CHECK(rrecv(b, in, 4, MSG_PEEK) == 4 && !memcmp(in, "0123", 4));
	CHECK(rrecv(b, in, 4, MSG_PEEK | MSG_TRUNC) == 10);
	CHECK(rrecvmsg(b, &m, 0) == 7 && (m.msg_flags & MSG_TRUNC) && !memcmp(in, "0123456", 7));
	CHECK(rrecv(b, in, 4, MSG_DONTWAIT) < 0 && errno == EAGAIN);
}

/* A connected one hears its peer alone. */
static void connected(int a, int b, const struct sockaddr_storage *at_a,
		      const struct sockaddr_storage *at_b)
{
	struct sockaddr_storage name;
	struct pollfd p = {.fd = a, .events = POLLIN};
	socklen_t n = sizeof(name);
	int c = open_one(&name);

	CHECK(!rconnect(a, (const struct sockaddr *)at_b, address->ai_addrlen));
	CHECK(!rgetpeername(a, (struct sockaddr *)&name, &n) && same(&name, at_b));
	CHECK(rsendto(c, out, 9, 0, (const struct sockaddr *)at_a, address->ai_addrlen) == 9);
	CHECK(rpoll(&p, 1, 200) == 0);
	CHECK(rwrite(a, "hello", 5) == 5);
	p.fd = b;
	CHECK(rpoll(&p, 1, 2000) == 1 && rread(b, in, sizeof(in)) == 5 && !memcmp(in, "hello", 5));
	CHECK(rfcntl(a, F_SETFL, O_NONBLOCK) == 0 && rrecv(a, in, 1, 0) < 0 && errno == EAGAIN);
	CHECK(!rclose(c));
}

int main(int argc, char **argv)
{
	struct addrinfo hints = {.ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICHOST};
	struct sockaddr_storage at_a = {0}, at_b = {0};
	int a, b;

	CHECK(argc == 2 && !getaddrinfo(argv[1], "0", &hints, &address));
	a = open_one(&at_a);
	b = open_one(&at_b);
	refusals(a, &at_b);
	every_size(a, b, &at_a, &at_b);
	pieces(a, b, &at_b);
	connected(a, b, &at_a, &at_b);
	CHECK(!rclose(a) && !rclose(b) && rclose(a) < 0 && errno == EBADF);
	freeaddrinfo(address);
	return 0;
}

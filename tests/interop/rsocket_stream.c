/* Sends a known stream both ways over an rsocket, in pieces of random size, and checks each byte
 * that comes. usage: rsocket_stream ADDRESS PORT BYTES nonblocking|blocking|poll|exit server|client
 * exit: a signal handler ends the program after 0.3 s, wherever it is. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <rdma/rsocket.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

/* Blocking sends of more than the peer gives credit for, when both send, are a deadlock by right.
 * Of its 128 KiB up to half is given back late, so nobody is further ahead than this of what came:
 * two windows of 64 KiB are never full at once. */
enum { PIECE = 300000, SMALL = 20000, AHEAD = 48000 };

static uint32_t seed;
static uint8_t out[PIECE], in[PIECE];
static uint64_t sent, received, total;

static uint32_t draw(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

static uint8_t byte_at(uint64_t i)
{
	return (uint8_t)((i * 2654435761u) >> 13 ^ i);
}

static int fail(const char *what)
{
	perror(what);
	exit(1);
}

static void send_piece(int fd, int flags)
{
	size_t n = draw(flags ? PIECE : SMALL) + 1;
	ssize_t r;

	n = n < total - sent ? n : total - sent;
	for (size_t i = 0; i < n; i++)
		out[i] = byte_at(sent + i);
	r = rsend(fd, out, n, flags);
	if (r < 0 && errno != EAGAIN)
		fail("rsend");
	sent += r > 0 ? (uint64_t)r : 0;
}

static void receive_piece(int fd)
{
	ssize_t r = rrecv(fd, in, draw(PIECE) + 1, MSG_DONTWAIT);

	if (r < 0 && errno != EAGAIN)
		fail("rrecv");
	if (!r)
		fail("end of stream");
	for (ssize_t i = 0; i < r; i++)
		if (in[i] != byte_at(received + (uint64_t)i)) {
			fprintf(stderr, "byte %llu is wrong\n",
				(unsigned long long)received + (unsigned long long)i);
			exit(1);
		}
	received += r > 0 ? (uint64_t)r : 0;
}

static int open_stream(const char *address, const char *port, int server)
{
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(atoi(port))};
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};
	int is6 = strchr(address, ':') != NULL;
	struct sockaddr *a = is6 ? (void *)&v6 : (void *)&v4;
	socklen_t n = is6 ? sizeof(v6) : sizeof(v4);
	int fd = rsocket(a->sa_family, SOCK_STREAM, 0), listener;

	if (fd < 0 ||
	    inet_pton(a->sa_family, address, is6 ? (void *)&v6.sin6_addr : &v4.sin_addr) != 1)
		fail("rsocket");
	if (!server)
		return rconnect(fd, a, n) ? fail("rconnect") : fd;
	listener = fd;
	if (rbind(listener, a, n) || rlisten(listener, 1))
		fail("rlisten");
	fd = raccept(listener, NULL, NULL);
	if (fd < 0)
		fail("raccept");
	rclose(listener);
	return fd;
}

static void leave(int sig)
{
	exit(0);
}

static void leave_soon(void)
{
	struct itimerval t = {.it_value = {0, 300000}};

	signal(SIGALRM, leave);
	setitimer(ITIMER_REAL, &t, NULL);
}

int main(int argc, char **argv)
{
	int fd, flags, polls, server;
	uint8_t last;

	if (argc != 6)
		return 2;
	server = !strcmp(argv[5], "server");
	seed = server + 1;
	total = strtoull(argv[3], NULL, 0);
	polls = !strcmp(argv[4], "poll");
	flags = !strcmp(argv[4], "blocking") ? 0 : MSG_DONTWAIT;
	fd = open_stream(argv[1], argv[2], server);
	if (!strcmp(argv[4], "exit"))
		leave_soon();
	while (sent < total || received < total) {
		struct pollfd p = {.fd = fd,
				   .events = (short)((sent < total ? POLLOUT : 0) |
						     (received < total ? POLLIN : 0))};

		if (polls && rpoll(&p, 1, 5000) != 1)
			fail("rpoll");
		if (sent < total && (flags || sent + SMALL < received + AHEAD))
			send_piece(fd, flags);
		if (received < total)
			receive_piece(fd);
	}
	/* the end of the stream, each way in its turn */
	if (rshutdown(fd, SHUT_WR))
		fail("rshutdown");
	if (rrecv(fd, &last, 1, 0) != 0)
		fail("no end of stream");
	if (rsend(fd, &last, 1, 0) != -1 || errno != EPIPE)
		fail("sent after the end");
	if (rclose(fd))
		fail("rclose");
	return 0;
}

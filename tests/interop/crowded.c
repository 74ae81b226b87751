/*
 * Round trips of 64 bytes between two processes on a core that they share with busy ones, over TCP
 * and over rsockets. Who waits has to sleep, not to give the core away: Linux wakes a sleeper at
 * once, and gives a core that was given away back when all others had their slices. usage: crowded
 * ADDRESS PORT BUSY
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <poll.h>
#include <rdma/rsocket.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(c)                                               \
	do {                                                   \
		if (!(c)) {                                    \
			printf("line %d: %s\n", __LINE__, #c); \
			perror("errno");                       \
			exit(1);                               \
		}                                              \
	} while (0)

enum { BYTES = 64, SECONDS = 2, TURNS = 3, MOST_BUSY = 64 };

/* Sockets of the kernel, and of librdmacm. */
static const struct calls {
	const char *name;
	int (*socket)(int, int, int);
	int (*bind)(int, const struct sockaddr *, socklen_t);
	int (*listen)(int, int);
	int (*accept)(int, struct sockaddr *, socklen_t *);
	int (*connect)(int, const struct sockaddr *, socklen_t);
	int (*setsockopt)(int, int, int, const void *, socklen_t);
	int (*poll)(struct pollfd *, nfds_t, int);
	ssize_t (*recv)(int, void *, size_t, int);
	ssize_t (*send)(int, const void *, size_t, int);
	int (*close)(int);
} tcp = {"TCP", socket, bind, listen, accept, connect, setsockopt, poll, recv, send, close},
  rdma = {"rsockets",  rsocket, rbind, rlisten, raccept, rconnect,
	  rsetsockopt, rpoll,   rrecv, rsend,   rclose};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void stay_on_one_core(void)
{
	cpu_set_t all, one;
	int last = 0;

	CHECK(!sched_getaffinity(0, sizeof(all), &all));
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &all))
			last = i;
	CPU_ZERO(&one);
	CPU_SET(last, &one);
	CHECK(!sched_setaffinity(0, sizeof(one), &one));
}

static pid_t child(void)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();

	CHECK(pid >= 0);
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/* False: the peer is gone. */
static bool receive(const struct calls *c, int fd, char *bytes)
{
	size_t got = 0;

	while (got < BYTES) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		ssize_t n;

		CHECK(c->poll(&p, 1, 60000) == 1);
		n = c->recv(fd, bytes + got, BYTES - got, 0);
		if (n <= 0)
			return false;
		got += (size_t)n;
	}
	return true;
}

static void serve(const struct calls *c, const struct sockaddr_in *at)
{
	char bytes[BYTES];
	int fd, on = 1, listening = c->socket(AF_INET, SOCK_STREAM, 0);

	CHECK(listening >= 0);
	CHECK(!c->setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)));
	CHECK(!c->bind(listening, (const struct sockaddr *)at, sizeof(*at)));
	CHECK(!c->listen(listening, 1));
	fd = c->accept(listening, NULL, NULL);
	CHECK(fd >= 0);
	while (receive(c, fd, bytes))
		CHECK(c->send(fd, bytes, BYTES, 0) == BYTES);
	exit(0);
}

static int connected(const struct calls *c, const struct sockaddr_in *at)
{
	double until = now() + 60;

	for (;;) {
		int fd = c->socket(AF_INET, SOCK_STREAM, 0);

		CHECK(fd >= 0);
		if (!c->connect(fd, (const struct sockaddr *)at, sizeof(*at)))
			return fd;
		c->close(fd);
		CHECK(now() < until);
		usleep(50000);
	}
}

/* Round trips a second. */
static double measure(const struct calls *c, const struct sockaddr_in *at)
{
	char out[BYTES], in[BYTES] = {0};
	pid_t server = child();
	unsigned long n = 0;
	double from, took;
	int fd;

	if (!server)
		serve(c, at);
	fd = connected(c, at);
	from = now();
	do {
		memset(out, (int)++n, BYTES);
		CHECK(c->send(fd, out, BYTES, 0) == BYTES);
		CHECK(receive(c, fd, in) && !memcmp(in, out, BYTES));
		took = now() - from;
	} while (took < SECONDS);
	c->close(fd);
	CHECK(waitpid(server, NULL, 0) == server);
	printf("%s: %.0f round trips a second\n", c->name, (double)n / took);
	return (double)n / took;
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	pid_t busy[MOST_BUSY];
	int n;
	bool well = false;
	double by_tcp;

	CHECK(argc == 4 && inet_pton(AF_INET, argv[1], &at.sin_addr) == 1);
	n = atoi(argv[3]);
	CHECK(n <= MOST_BUSY);
	at.sin_port = htons((uint16_t)atoi(argv[2]));
	stay_on_one_core();
	for (int i = 0; i < n; i++)
		if (!(busy[i] = child()))
			for (;;)
				;
	by_tcp = measure(&tcp, &at);
	/* 0.002 of TCP's rate where each look gives the core away, 0.4 where none does; other
	 * processes may disturb a turn */
	for (int i = 0; i < TURNS && !well; i++)
		well = measure(&rdma, &at) > by_tcp / 20;
	for (int i = 0; i < n; i++)
		kill(busy[i], SIGKILL);
	CHECK(well);
	return 0;
}

/*
 * Calls that libibverbs and librdmacm got after rdma-core 44, declared as rdma-core 65's headers
 * do: linked with the drop-in libraries, it asks for IBVERBS_1.15 to 1.18 and RDMACM_1.4 and 1.5.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

struct buf;
struct mr_init {
	size_t length;
	int access;
	uint64_t comp_mask, iova;
	void *addr;
	int fd;
	uint64_t fd_offset;
	void *dmah;
	struct buf *buf;
};
struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct mr_init *a);
int ibv_query_port_speed(struct ibv_context *c, uint32_t port, uint64_t *speed);
void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct buf **buf);
void ibv_free_buf(struct buf *buf);
struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct buf *b, void *addr, size_t n, int access);
int ibv_export_buf_dmabuf_fd(struct buf *b);
void *ibv_alloc_dmah(struct ibv_context *c, void *attr);
int _ibv_query_comp_cntr_caps(struct ibv_context *c, void *caps, size_t n);
void *ibv_create_comp_cntr(struct ibv_context *c, void *attr);
int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node, const char *service,
			  const struct rdma_addrinfo *hints);
int rdma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info);
int rdma_write_cm_event(struct rdma_cm_id *id, enum rdma_cm_event_type event, int status,
			uint64_t arg);
int repoll_create(int flags);
int repoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
int repoll_wait(int epfd, struct epoll_event *events, int max, int timeout);

enum { IOVA = 1, ADDR = 2, FD = 4, FD_OFFSET = 8, DMAH = 16, BUF = 32 };
enum { ADDRINFO_RESOLVED = 16, ADDRINFO_ERROR = 17, USER = 18, RAI_SA_ = 0x10 };
enum { RIGHTS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE };

#define CHECK(x)                                                                         \
	do {                                                                             \
		if (!(x)) {                                                              \
			fprintf(stderr, "%d: %s (%s)\n", __LINE__, #x, strerror(errno)); \
			exit(1);                                                         \
		}                                                                        \
	} while (0)

static void memory(struct ibv_context *c)
{
	struct ibv_pd *pd = ibv_alloc_pd(c), *other = ibv_alloc_pd(c);
	struct ibv_parent_domain_init_attr unprotected = {.pd = pd, .comp_mask = 1 << 2};
	struct buf *b = NULL;
	uint8_t *bytes = ibv_alloc_buf(pd, 10000, &b);
	struct mr_init a = {.length = 4096, .access = RIGHTS, .comp_mask = ADDR, .addr = bytes};
	struct ibv_mr *mr;

	CHECK(bytes && b && (uintptr_t)bytes % 4096 == 0);
	CHECK((mr = ibv_reg_mr_ex(pd, &a)) && mr->addr == bytes && mr->length == 4096 &&
	      mr->pd == pd);
	CHECK(!ibv_dereg_mr(mr));
	a.comp_mask = ADDR | BUF | IOVA;
	a.buf = b;
	a.iova = 0x1000;
	CHECK((mr = ibv_reg_mr_ex(pd, &a)) && !ibv_dereg_mr(mr));
	a.length = 10001; /* beyond the buffer */
	CHECK(!ibv_reg_mr_ex(pd, &a) && errno == EINVAL);
	a.comp_mask = IOVA;
	CHECK(!ibv_reg_mr_ex(pd, &a) && errno == EINVAL);
	a.comp_mask = ADDR | 1 << 20;
	CHECK(!ibv_reg_mr_ex(pd, &a) && errno == EINVAL);
	a.comp_mask = FD | FD_OFFSET | IOVA;
	CHECK(!ibv_reg_mr_ex(pd, &a) && errno == EOPNOTSUPP);
	CHECK((mr = ibv_reg_buf_mr(pd, b, bytes + 5000, 5000, RIGHTS)) && !ibv_dereg_mr(mr));
	CHECK(!ibv_reg_buf_mr(pd, b, bytes + 5000, 5001, RIGHTS) && errno == EINVAL);
	CHECK(!ibv_reg_buf_mr(pd, b, bytes - 1, 1, RIGHTS) && errno == EINVAL);
	CHECK(!ibv_reg_buf_mr(other, b, bytes, 5000, RIGHTS) && errno == EINVAL);
	CHECK(ibv_export_buf_dmabuf_fd(b) == -1 && errno == ENODATA);
	ibv_free_buf(b);
	/* memory that a confidential virtual machine shares: said to be lacking, not to be wrong */
	CHECK(!ibv_alloc_parent_domain(c, &unprotected) && errno == EOPNOTSUPP);
	CHECK(!ibv_dealloc_pd(other) && !ibv_dealloc_pd(pd));
}

static void device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *c = list && list[0] ? ibv_open_device(list[0]) : NULL;
	uint64_t speed = 0;
	uint8_t caps[64];

	CHECK(c);
	CHECK(ibv_get_device_index(list[0]) ==
	      -1); /* ib_core's number of another device would be taken for it */
	CHECK(!ibv_query_port_speed(c, 1, &speed) && speed == 1000); /* 100 Gb/s */
	CHECK(ibv_query_port_speed(c, 2, &speed) == EINVAL);
	CHECK(!ibv_alloc_dmah(c, caps) && errno == EOPNOTSUPP);
	CHECK(_ibv_query_comp_cntr_caps(c, caps, sizeof(caps)) == EOPNOTSUPP);
	CHECK(!ibv_create_comp_cntr(c, caps) && errno == EOPNOTSUPP);
	memory(c);
	CHECK(!ibv_close_device(c));
	ibv_free_device_list(list);
}

static struct rdma_cm_event *event(struct rdma_event_channel *ch, unsigned type)
{
	struct rdma_cm_event *e;

	CHECK(!rdma_get_cm_event(ch, &e));
	CHECK((unsigned)e->event == type);
	return e;
}

static void addresses(void)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_addrinfo hints = {.ai_flags = RAI_NUMERICHOST, .ai_port_space = RDMA_PS_TCP},
			     *ai;
	struct rdma_cm_event *e;
	struct rdma_cm_id *id;
	uint64_t arg;

	CHECK(ch && !rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
	CHECK(rdma_query_addrinfo(id, &ai) == -1 && errno == ENOENT);
	CHECK(!rdma_resolve_addrinfo(id, "127.0.0.1", "7471", &hints));
	e = event(ch, ADDRINFO_RESOLVED);
	CHECK(e->status == 0 && !rdma_ack_cm_event(e));
	CHECK(!strcmp(rdma_event_str((enum rdma_cm_event_type)ADDRINFO_RESOLVED),
		      "RDMA_CM_EVENT_ADDRINFO_RESOLVED"));
	CHECK(!rdma_query_addrinfo(id, &ai));
	CHECK(ai->ai_dst_addr && ((struct sockaddr_in *)ai->ai_dst_addr)->sin_port == htons(7471));
	CHECK(!rdma_resolve_addr(id, NULL, ai->ai_dst_addr, 2000));
	rdma_freeaddrinfo(ai);
	rdma_ack_cm_event(event(ch, RDMA_CM_EVENT_ADDR_RESOLVED));
	CHECK(rdma_query_addrinfo(id, &ai) == -1 && errno == ENOENT);
	CHECK(!rdma_resolve_addrinfo(id, "no.such.host.", "1", &hints));
	e = event(ch, ADDRINFO_ERROR);
	CHECK(e->status != 0 && !rdma_ack_cm_event(e));
	hints.ai_flags = RAI_SA_;
	CHECK(rdma_resolve_addrinfo(id, NULL, "7471", &hints) == -1 && errno == EOPNOTSUPP);
	CHECK(rdma_write_cm_event(id, RDMA_CM_EVENT_ESTABLISHED, 0, 0) == -1 && errno == EINVAL);
	CHECK(!rdma_write_cm_event(id, (enum rdma_cm_event_type)USER, 7, 0x123456789abcdef));
	e = event(ch, USER);
	memcpy(&arg, &e->param, sizeof(arg));
	CHECK(e->id == id && e->status == 7 && arg == 0x123456789abcdef && !rdma_ack_cm_event(e));
	/* destroyed while it is asked for */
	hints.ai_flags = 0;
	CHECK(!rdma_resolve_addrinfo(id, "127.0.0.1", "7471", &hints) && !rdma_destroy_id(id));
	rdma_destroy_event_channel(ch);
}

/* ---- repoll: one server, many clients, one of them a pipe ---- */

enum { CLIENTS = 6, ROUNDS = 40, BLOCK = 3000 };

static struct sockaddr_in at = {.sin_family = AF_INET};
static unsigned flags_of_poll;

static void *client(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;
	uint8_t out[BLOCK], in[BLOCK];
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	CHECK(fd >= 0 && !rconnect(fd, (struct sockaddr *)&at, sizeof(at)));
	for (unsigned r = 0; r < ROUNDS; r++) {
		for (unsigned i = 0; i < BLOCK; i++)
			out[i] = (uint8_t)(i * seed + r);
		CHECK(rsend(fd, out, BLOCK, 0) == BLOCK);
		for (size_t n = 0; n < BLOCK;) {
			ssize_t got = rrecv(fd, in + n, BLOCK - n, 0);

			CHECK(got > 0);
			n += (size_t)got;
		}
		CHECK(!memcmp(in, out, BLOCK));
	}
	CHECK(!rclose(fd));
	return NULL;
}

/* What came goes back. False: it is over. */
static int echo(int fd)
{
	uint8_t bytes[BLOCK];
	ssize_t n = rrecv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return 1;
	if (n <= 0)
		return 0;
	CHECK(rsend(fd, bytes, (size_t)n, 0) == n);
	return 1;
}

static void watch(int set, int fd, unsigned events)
{
	struct epoll_event e = {.events = events | flags_of_poll, .data.fd = fd};

	CHECK(!repoll_ctl(set, EPOLL_CTL_ADD, fd, &e));
	CHECK(repoll_ctl(set, EPOLL_CTL_ADD, fd, &e) == -1 && errno == EEXIST);
}

static void serve(int set, int listener, int in)
{
	struct epoll_event e[4];
	unsigned over = 0, piped = 0;

	while (over < CLIENTS || !piped) {
		int n = repoll_wait(set, e, 4, 10000);

		if (n < 0 && errno == EINTR) /* it was stopped, and goes on: signal(7) */
			continue;
		CHECK(n > 0);
		for (int i = 0; i < n; i++) {
			int fd = e[i].data.fd;
			char byte;

			if (fd == listener) {
				int s = raccept(listener, NULL, NULL);

				CHECK(s >= 0);
				watch(set, s, EPOLLIN | (flags_of_poll & EPOLLET ? EPOLLOUT : 0));
			} else if (fd == in) {
				CHECK(read(in, &byte, 1) == 1 && byte == 'x');
				CHECK(!repoll_ctl(set, EPOLL_CTL_DEL, in, NULL));
				piped++;
			} else if (!echo(fd)) {
				CHECK(!repoll_ctl(set, EPOLL_CTL_DEL, fd, NULL));
				CHECK(!rclose(fd));
				over++;
			} else if (flags_of_poll & EPOLLONESHOT) {
				struct epoll_event again = {.events = EPOLLIN | EPOLLONESHOT,
							    .data.fd = fd};

				CHECK(!repoll_ctl(set, EPOLL_CTL_MOD, fd, &again));
			}
		}
	}
}

static void sockets(unsigned flags)
{
	int set = repoll_create(EPOLL_CLOEXEC), listener = rsocket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(at);
	pthread_t t[CLIENTS];
	struct epoll_event e;
	int p[2];

	at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	CHECK(set >= 0 && listener >= 0 && !pipe(p));
	CHECK(!rbind(listener, (struct sockaddr *)&at, sizeof(at)) && !rlisten(listener, 16));
	CHECK(!rgetsockname(listener, (struct sockaddr *)&at, &len));
	flags_of_poll = 0;
	watch(set, listener, EPOLLIN);
	watch(set, p[0], EPOLLIN);
	CHECK(repoll_wait(set, &e, 1, 0) == 0 && repoll_wait(set, &e, 1, 20) == 0);
	CHECK(repoll_wait(set, &e, 0, 0) == -1 && errno == EINVAL);
	CHECK(repoll_ctl(set, EPOLL_CTL_DEL, 999, NULL) == -1 && errno == EBADF);
	flags_of_poll = flags;
	for (uintptr_t i = 0; i < CLIENTS; i++)
		CHECK(!pthread_create(&t[i], NULL, client, (void *)(2 * i + 1)));
	CHECK(write(p[1], "x", 1) == 1);
	serve(set, listener, p[0]);
	for (unsigned i = 0; i < CLIENTS; i++)
		pthread_join(t[i], NULL);
	CHECK(!rclose(listener) && !rclose(set));
	CHECK(repoll_wait(set, &e, 1, 0) == -1 && errno == EBADF);
	close(p[0]);
	close(p[1]);
}

static void *changes(void *arg)
{
	struct epoll_event e = {.events = EPOLLIN};

	usleep(50000);
	CHECK(!repoll_ctl(*(int *)arg, EPOLL_CTL_ADD, ((int *)arg)[1], &e));
	return NULL;
}

/* Who waits without a limit sees what another thread adds. */
static void added_meanwhile(void)
{
	int set = repoll_create(0), listener = rsocket(AF_INET, SOCK_STREAM, 0), p[2], fds[2];
	struct epoll_event e = {.events = EPOLLIN};
	pthread_t t;

	CHECK(!pipe(p) && write(p[1], "x", 1) == 1 && listener >= 0);
	fds[0] = set;
	fds[1] = p[0];
	CHECK(!pthread_create(&t, NULL, changes, fds));
	CHECK(repoll_wait(set, &e, 1, -1) == 1 && e.events == EPOLLIN);
	pthread_join(t, NULL);
	CHECK(!rclose(set) && !rclose(listener));
}

/* What is closed is watched no more (epoll(7)), and who gets its number is not watched in its
 * place. nginx tries a socket so, at its start. */
static void closed(void)
{
	int set = repoll_create(0), s, p[2], q[2];
	struct epoll_event e = {.events = EPOLLIN, .data.u32 = 7}, got[4];
	char byte;

	CHECK(set >= 0 && !pipe(p) && !repoll_ctl(set, EPOLL_CTL_ADD, p[0], &e));
	close(p[0]);
	close(p[1]);
	CHECK(!pipe(q) && q[0] == p[0] && write(q[1], "x", 1) == 1);
	CHECK(repoll_wait(set, got, 4, 20) == 0);
	CHECK(repoll_ctl(set, EPOLL_CTL_MOD, q[0], &e) == -1 && errno == ENOENT);
	e.events |= EPOLLET; /* of the kernel's descriptors an edge is told once */
	CHECK(!repoll_ctl(set, EPOLL_CTL_ADD, q[0], &e));
	CHECK(repoll_wait(set, got, 4, 1000) == 1 && got[0].data.u32 == 7 &&
	      got[0].events == EPOLLIN);
	CHECK(repoll_wait(set, got, 4, 20) == 0 && read(q[0], &byte, 1) == 1);

	e = (struct epoll_event){.events = EPOLLOUT, .data.u32 = 8};
	CHECK((s = rsocket(AF_INET, SOCK_STREAM, 0)) >= 0 &&
	      !repoll_ctl(set, EPOLL_CTL_ADD, s, &e));
	CHECK(repoll_wait(set, got, 4, 1000) == 1 && got[0].data.u32 == 8);
	CHECK(write(q[1], "x", 1) == 1 && repoll_wait(set, got, 4, 1000) == 2); /* of both kinds */
	CHECK(!rclose(s) && repoll_wait(set, got, 4, 20) == 0);
	CHECK(repoll_ctl(set, EPOLL_CTL_DEL, s, NULL) == -1);
	CHECK(!rclose(set));
	close(q[0]);
	close(q[1]);
}

/* A program that does not wait for its connection asks for it again to hear whether it is there, as
 * hiredis does. */
static void asked_twice(void)
{
	int listener = rsocket(AF_INET, SOCK_STREAM, 0), fd = rsocket(AF_INET, SOCK_STREAM, 0),
	    served;
	struct pollfd f = {.fd = fd, .events = POLLOUT};
	socklen_t len = sizeof(at);

	at.sin_port = 0;
	CHECK(!rbind(listener, (struct sockaddr *)&at, sizeof(at)) && !rlisten(listener, 1));
	CHECK(!rgetsockname(listener, (struct sockaddr *)&at, &len));
	CHECK(!rfcntl(fd, F_SETFL, O_NONBLOCK));
	CHECK(rconnect(fd, (struct sockaddr *)&at, sizeof(at)) == -1 && errno == EINPROGRESS);
	CHECK((served = raccept(listener, NULL, NULL)) >= 0 && rpoll(&f, 1, 10000) == 1);
	CHECK(!rconnect(fd, (struct sockaddr *)&at, sizeof(at)));
	CHECK(!rclose(fd) && !rclose(served) && !rclose(listener));
}

int main(void)
{
	device();
	addresses();
	sockets(0);
	sockets(EPOLLONESHOT);
	sockets(EPOLLET);
	closed();
	asked_twice();
	added_meanwhile();
	printf("passed\n");
	return 0;
}

/* The drop-in librdmacm on loopback: who may have a port beside whom, who hears what, and event
 * channels. The rules of ports are Linux's (cma_check_port() and what calls it, 6.x). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PORT = 21000, PATIENCE_MS = 20000, REQUESTS = 5 };

static int set_device(void **state)
{
	setenv("RIPSTOP_DEVICES", "d=lo", 1);
	return 0;
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static bool readable(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, ms) == 1;
}

static struct rdma_event_channel *make_channel(void)
{
	struct rdma_event_channel *c = rdma_create_event_channel();

	assert_non_null(c);
	fcntl(c->fd, F_SETFL, fcntl(c->fd, F_GETFL) | O_NONBLOCK);
	return c;
}

/* ---- Ports ---- */

/* An address, and the option AFONLY: -1 is not set. */
static const struct kind {
	const char *address;
	int only;
	const char *hears; /* requests to 127.0.0.1, to ::1 */
	const char *beside;
} kinds[] = {
	/* Two on one port: . both, U EADDRINUSE, N EADDRNOTAVAIL; columns are the rows again. IPv4
	 * is for IPv4 only unless the option says no, IPv6 for both unless it says yes. Where both
	 * are for their family only and these differ, they never meet; else a wildcard meets all.
	 */
	{"0.0.0.0", -1, "4", "NNNNN.N."},   {"0.0.0.0", 0, "46", "NNNNNNNN"},
	{"127.0.0.1", -1, "4", "NNUUN..."}, {"127.0.0.1", 0, "4", "NNUUNN.."},
	{"::", -1, "46", "NNNNNNNN"},       {"::", 1, "6", ".N.NNNNN"},
	{"::1", -1, "6", "NN..NNUU"},       {"::1", 1, "6", ".N..NNUU"},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void address(const char *text, uint16_t port, struct sockaddr_storage *a)
{
	struct sockaddr_in *v4 = (void *)a;
	struct sockaddr_in6 *v6 = (void *)a;

	memset(a, 0, sizeof(*a));
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		return;
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(port);
	assert_int_equal(inet_pton(AF_INET6, text, &v6->sin6_addr), 1);
}

static struct rdma_cm_id *make_id(struct rdma_event_channel *c)
{
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_id(c, &id, NULL, RDMA_PS_TCP), 0);
	return id;
}

static int set(struct rdma_cm_id *id, int option, int value)
{
	return rdma_set_option(id, RDMA_OPTION_ID, option, &value, sizeof(value)) ? errno : 0;
}

static int bind_as(struct rdma_cm_id *id, const struct kind *k, bool reuse, uint16_t port)
{
	struct sockaddr_storage a;

	if (k->only >= 0)
		assert_int_equal(set(id, RDMA_OPTION_ID_AFONLY, k->only), 0);
	if (reuse)
		assert_int_equal(set(id, RDMA_OPTION_ID_REUSEADDR, 1), 0);
	address(k->address, port, &a);
	return rdma_bind_addr(id, (struct sockaddr *)&a) ? errno : 0;
}

static int expected(unsigned i, unsigned j)
{
	char c = kinds[i].beside[j];

	return c == 'U' ? EADDRINUSE : c == 'N' ? EADDRNOTAVAIL : 0;
}

static void test_who_may_have_a_port_beside_whom(void **state)
{
	struct rdma_event_channel *c = make_channel();

	for (unsigned i = 0; i < KINDS; i++)
		for (unsigned j = 0; j < KINDS; j++)
			for (unsigned reuse = 0; reuse < 4; reuse++) {
				struct rdma_cm_id *a = make_id(c), *b = make_id(c);
				int want = reuse == 3 ? 0 : expected(i, j);

				assert_int_equal(bind_as(a, &kinds[i], reuse & 1, PORT), 0);
				if (bind_as(b, &kinds[j], reuse & 2, PORT) != want)
					fail_msg("%u beside %u, reuse %u: not %d", j, i, reuse,
						 want);
				rdma_destroy_id(b);
				rdma_destroy_id(a);
			}
	rdma_destroy_event_channel(c);
}

/* REUSEADDR is for those who do not listen: a listener is alone, and shares no more. */
static void test_who_listens_shares_no_more(void **state)
{
	struct rdma_event_channel *c = make_channel();

	for (unsigned i = 0; i < KINDS; i++)
		for (unsigned j = 0; j < KINDS; j++) {
			struct rdma_cm_id *a = make_id(c), *b = make_id(c), *late = make_id(c);
			int want = expected(i, j);

			assert_int_equal(bind_as(a, &kinds[i], true, PORT), 0);
			assert_int_equal(bind_as(b, &kinds[j], true, PORT), 0);
			assert_int_equal(rdma_listen(a, 4) ? errno : 0, want);
			rdma_destroy_id(b);
			assert_int_equal(rdma_listen(a, 4), 0);
			assert_int_equal(bind_as(late, &kinds[j], true, PORT), want);
			rdma_destroy_id(late);
			rdma_destroy_id(a);
		}
	rdma_destroy_event_channel(c);
}

/* The options may come after the bind, for those who come later; a listener's stay as they are. */
static void test_options_hold_from_when_they_are_set(void **state)
{
	struct rdma_event_channel *c = make_channel();
	struct rdma_cm_id *a = make_id(c), *b = make_id(c);

	assert_int_equal(bind_as(a, &kinds[4], false, PORT), 0);
	assert_int_equal(bind_as(b, &kinds[0], false, PORT), EADDRNOTAVAIL);
	assert_int_equal(set(a, RDMA_OPTION_ID_AFONLY, 1), 0);
	assert_int_equal(bind_as(b, &kinds[0], false, PORT), 0);
	assert_int_equal(rdma_listen(a, 4), 0);
	assert_int_equal(rdma_listen(b, 4), 0);
	assert_int_equal(set(a, RDMA_OPTION_ID_AFONLY, 0), EINVAL);
	assert_int_equal(set(a, RDMA_OPTION_ID_REUSEADDR, 1), EINVAL);
	rdma_destroy_id(b);
	rdma_destroy_id(a);
	rdma_destroy_event_channel(c);
}

/* Port 0: each has one of its own, of those at one address. */
static void test_ports_that_are_given_out_differ(void **state)
{
	enum { IDS = 3000, ROUNDS = 2 };
	struct rdma_event_channel *c = make_channel();
	static struct rdma_cm_id *id[IDS];

	for (unsigned round = 0; round < ROUNDS; round++) {
		static bool taken[ROUNDS][UINT16_MAX + 1];

		for (unsigned i = 0; i < IDS; i++) {
			uint16_t port;

			id[i] = make_id(c);
			assert_int_equal(bind_as(id[i], &kinds[0], i & 8, 0), 0);
			port = be16toh(rdma_get_src_port(id[i]));
			assert_false(taken[round][port]);
			taken[round][port] = true;
		}
		for (unsigned i = 0; i < IDS; i++)
			rdma_destroy_id(id[i * 7 % IDS]); /* 7 does not divide it */
	}
	rdma_destroy_event_channel(c);
}

/* ---- Who hears ---- */

static struct rdma_cm_event *next_event(struct rdma_event_channel *c)
{
	struct rdma_cm_event *e;

	assert_true(readable(c->fd, PATIENCE_MS));
	assert_int_equal(rdma_get_cm_event(c, &e), 0);
	return e;
}

/* As librdmacm: fabtests' programs connect without an address where they were given none. */
static void test_no_address_is_invalid(void **state)
{
	struct rdma_event_channel *c = rdma_create_event_channel();
	struct sockaddr_storage a, unknown = {.ss_family = AF_UNIX};
	struct sockaddr *none[] = {NULL, (struct sockaddr *)&unknown};
	struct rdma_cm_id *id = make_id(c);

	address("127.0.0.1", 0, &a);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rdma_bind_addr(id, none[i]), -1);
		assert_int_equal(errno, EINVAL);
		assert_int_equal(rdma_resolve_addr(id, NULL, none[i], 1000), -1);
		assert_int_equal(errno, EINVAL);
	}
	assert_int_equal(rdma_resolve_addr(id, none[1], (struct sockaddr *)&a, 1000), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rdma_bind_addr(id, (struct sockaddr *)&a), 0);
	assert_int_equal(rdma_join_multicast(id, NULL, NULL), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rdma_leave_multicast(id, NULL), -1);
	assert_int_equal(errno, EINVAL);
	rdma_destroy_id(id);
	rdma_destroy_event_channel(c);
}

static void make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr a = {.qp_type = IBV_QPT_RC, .cap = {1, 1, 1, 1, 0}};

	assert_int_equal(rdma_create_qp(id, NULL, &a), 0);
}

/* A connection is asked for; what comes of it is told on c. */
static struct rdma_cm_id *ask(struct rdma_event_channel *c, const char *to, uint16_t port)
{
	struct rdma_conn_param param = {.retry_count = 7};
	struct rdma_cm_id *id = make_id(c);
	struct sockaddr_storage a;
	struct rdma_cm_event *e;

	address(to, port, &a);
	assert_int_equal(rdma_resolve_addr(id, NULL, (struct sockaddr *)&a, 1000), 0);
	e = next_event(c);
	assert_int_equal(e->event, RDMA_CM_EVENT_ADDR_RESOLVED);
	rdma_ack_cm_event(e);
	assert_int_equal(rdma_resolve_route(id, 1000), 0);
	rdma_ack_cm_event(next_event(c));
	make_qp(id);
	assert_int_equal(rdma_connect(id, &param), 0);
	return id;
}

static void forget(struct rdma_cm_id *id)
{
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
}

/* A request that was got. */
static void refuse(struct rdma_cm_event *e)
{
	struct rdma_cm_id *id = e->id;

	rdma_ack_cm_event(e);
	rdma_reject(id, NULL, 0);
	rdma_destroy_id(id);
}

static void test_listeners_hear_their_families(void **state)
{
	static const char *const to[] = {"127.0.0.1", "::1"};
	struct rdma_event_channel *theirs[KINDS][2], *c[KINDS];
	struct rdma_cm_id *l[KINDS], *asks[KINDS][2];

	for (unsigned i = 0; i < KINDS; i++) {
		c[i] = make_channel();
		l[i] = make_id(c[i]);
		assert_int_equal(bind_as(l[i], &kinds[i], false, (uint16_t)(PORT + i)), 0);
		assert_int_equal(rdma_listen(l[i], 8), 0);
		for (unsigned k = 0; k < 2; k++) {
			theirs[i][k] = make_channel();
			asks[i][k] = ask(theirs[i][k], to[k], (uint16_t)(PORT + i));
		}
	}
	for (unsigned i = 0; i < KINDS; i++)
		for (unsigned k = 0; k < 2; k++) {
			bool heard = strchr(kinds[i].hears, k ? '6' : '4') != NULL;
			struct rdma_cm_event *e;

			if (heard) {
				e = next_event(c[i]);
				assert_int_equal(e->event, RDMA_CM_EVENT_CONNECT_REQUEST);
				refuse(e);
			}
			e = next_event(theirs[i][k]);
			assert_int_equal(e->event, RDMA_CM_EVENT_REJECTED);
			assert_int_equal(e->status, heard ? 28 : 8); /* consumer; no such service */
			rdma_ack_cm_event(e);
			forget(asks[i][k]);
			rdma_destroy_event_channel(theirs[i][k]);
		}
	for (unsigned i = 0; i < KINDS; i++) {
		assert_false(readable(c[i]->fd, 0));
		rdma_destroy_id(l[i]);
		rdma_destroy_event_channel(c[i]);
	}
}

/* As tgtd: one process has IPv4's wildcard, another IPv6's, on one port; each hears its own. */
static int other[2], told[2]; /* begin; it has the port */
static pid_t other_pid;

static void other_process(void)
{
	struct rdma_event_channel *c = rdma_create_event_channel();
	struct rdma_cm_id *id = NULL;
	struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(PORT)};
	struct rdma_cm_event *e;
	int on = 1;
	char go;

	if (read(other[0], &go, 1) != 1)
		_exit(0);
	setenv("RIPSTOP_DEVICES", "d=lo", 1);
	go = rdma_create_id(c, &id, NULL, RDMA_PS_TCP) ||
	     rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, sizeof(on)) ||
	     rdma_bind_addr(id, (struct sockaddr *)&any) || rdma_listen(id, 8);

	if (write(told[1], &go, 1) != 1 || go || rdma_get_cm_event(c, &e) ||
	    e->event != RDMA_CM_EVENT_CONNECT_REQUEST || rdma_reject(e->id, "six", 3))
		_exit(1);
	pause_ms(500);
	_exit(0);
}

static void test_families_of_one_port_are_two_processes(void **state)
{
	struct rdma_event_channel *c = make_channel(), *theirs = make_channel();
	struct rdma_cm_id *l = make_id(c), *id;
	struct rdma_cm_event *e;
	char go = 1;
	int status;

	assert_int_equal(bind_as(l, &kinds[0], false, PORT), 0);
	assert_int_equal(rdma_listen(l, 8), 0);
	assert_int_equal(write(other[1], &go, 1), 1);
	assert_int_equal(read(told[0], &go, 1), 1);
	assert_int_equal(go, 0);
	id = ask(theirs, "::1", PORT);
	e = next_event(theirs);
	assert_int_equal(e->event, RDMA_CM_EVENT_REJECTED);
	assert_memory_equal(e->param.conn.private_data, "six", 3);
	rdma_ack_cm_event(e);
	forget(id);
	assert_int_equal(waitpid(other_pid, &status, 0), other_pid);
	assert_int_equal(status, 0);
	id = ask(theirs, "127.0.0.1", PORT);
	e = next_event(c);
	assert_int_equal(e->event, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_ptr_equal(e->listen_id, l);
	refuse(e);
	forget(id);
	rdma_destroy_event_channel(theirs);
	rdma_destroy_id(l);
	rdma_destroy_event_channel(c);
}

/* ---- Event channels ---- */

/* A dropped event leaves no channel readable; nor does one that was got. */
static void test_channel_is_readable_only_while_an_event_waits(void **state)
{
	struct rdma_event_channel *c = make_channel();
	struct sockaddr_storage to;
	struct rdma_cm_id *id[3];
	struct rdma_cm_event *e;

	address("127.0.0.1", PORT, &to);
	for (unsigned i = 0; i < 3; i++) {
		id[i] = make_id(c);
		assert_int_equal(rdma_resolve_addr(id[i], NULL, (struct sockaddr *)&to, 1000), 0);
	}
	rdma_destroy_id(id[1]);
	for (unsigned i = 0; i < 3; i += 2) {
		assert_true(readable(c->fd, 0));
		assert_int_equal(rdma_get_cm_event(c, &e), 0);
		assert_ptr_equal(e->id, id[i]);
		rdma_ack_cm_event(e);
	}
	assert_false(readable(c->fd, 0));
	assert_int_equal(rdma_get_cm_event(c, &e), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(rdma_resolve_route(id[0], 1000), 0);
	assert_true(readable(c->fd, 0));
	rdma_destroy_id(id[0]);
	assert_false(readable(c->fd, 0));
	assert_int_equal(rdma_get_cm_event(c, &e), -1);
	assert_int_equal(errno, EAGAIN);
	rdma_destroy_id(id[2]);
	rdma_destroy_event_channel(c);
}

static void on_signal(int number)
{
}

static void *get_one(void *arg)
{
	struct rdma_cm_event *e;

	return (void *)(intptr_t)(rdma_get_cm_event(arg, &e) ? errno : 0);
}

static void test_wait_goes_on_after_a_signal_that_restarts(void **state)
{
	struct rdma_event_channel *c = rdma_create_event_channel();
	struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	pthread_t t;
	void *status;

	for (unsigned restarts = 0; restarts < 2; restarts++) {
		a.sa_flags = restarts ? SA_RESTART : 0;
		sigaction(SIGUSR1, &a, NULL);
		assert_int_equal(pthread_create(&t, NULL, get_one, c), 0);
		pause_ms(100);
		pthread_kill(t, SIGUSR1);
		pause_ms(100);
		if (restarts) {
			assert_int_equal(pthread_tryjoin_np(t, &status), EBUSY);
			a.sa_flags = 0;
			sigaction(SIGUSR1, &a, NULL);
			pthread_kill(t, SIGUSR1);
		}
		pthread_join(t, &status);
		assert_int_equal((intptr_t)status, EINTR);
	}
	rdma_destroy_event_channel(c);
}

static void wait_requests(struct rdma_event_channel *c)
{
	assert_true(readable(c->fd, PATIENCE_MS));
	pause_ms(300); /* the others */
}

/* Requests that wait belong to the listener: they come where it is, as do those after. */
static void test_listener_takes_its_requests_along(void **state)
{
	struct rdma_event_channel *from = make_channel(), *to = make_channel(),
				  *theirs = make_channel();
	struct rdma_cm_id *l = make_id(from), *beside = make_id(from), *asks[REQUESTS + 1];
	struct sockaddr_storage a;
	struct rdma_cm_event *e;

	assert_int_equal(bind_as(l, &kinds[0], false, PORT), 0);
	assert_int_equal(rdma_listen(l, REQUESTS + 1), 0);
	address("127.0.0.1", PORT, &a);
	for (unsigned i = 0; i < REQUESTS; i++)
		asks[i] = ask(theirs, "127.0.0.1", PORT);
	wait_requests(from);
	assert_int_equal(rdma_resolve_addr(beside, NULL, (struct sockaddr *)&a, 1000), 0);
	assert_int_equal(rdma_migrate_id(l, to), 0);
	/* what is not about it stays */
	e = next_event(from);
	assert_ptr_equal(e->id, beside);
	rdma_ack_cm_event(e);
	assert_false(readable(from->fd, 0));
	asks[REQUESTS] = ask(theirs, "127.0.0.1", PORT);
	for (unsigned i = 0; i <= REQUESTS; i++) {
		e = next_event(to);
		assert_int_equal(e->event, RDMA_CM_EVENT_CONNECT_REQUEST);
		assert_ptr_equal(e->listen_id, l);
		assert_ptr_equal(e->id->channel, to);
		refuse(e);
		forget(asks[i]);
	}
	assert_false(readable(to->fd, 0));
	rdma_destroy_event_channel(theirs);
	rdma_destroy_id(beside);
	rdma_destroy_event_channel(from);
	rdma_destroy_id(l);
	rdma_destroy_event_channel(to);
}

/* The old channel may go as soon as nothing came from it that is not acknowledged. */
static void *migrate(void *arg)
{
	struct rdma_cm_id *id = arg;
	struct rdma_event_channel *to = rdma_create_event_channel();

	return rdma_migrate_id(id, to) ? NULL : to;
}

static void test_migration_waits_for_acknowledgements(void **state)
{
	struct rdma_event_channel *c = make_channel();
	struct rdma_cm_id *id = make_id(c);
	struct sockaddr_storage to;
	struct rdma_cm_event *e;
	pthread_t t;
	void *made;

	address("127.0.0.1", PORT, &to);
	assert_int_equal(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 1000), 0);
	e = next_event(c);
	assert_int_equal(pthread_create(&t, NULL, migrate, id), 0);
	pause_ms(100);
	assert_int_equal(pthread_tryjoin_np(t, &made), EBUSY);
	rdma_ack_cm_event(e);
	assert_int_equal(pthread_join(t, &made), 0);
	assert_ptr_equal(id->channel, made);
	rdma_destroy_id(id);
	rdma_destroy_event_channel(c);
	rdma_destroy_event_channel(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_may_have_a_port_beside_whom),
		cmocka_unit_test(test_who_listens_shares_no_more),
		cmocka_unit_test(test_no_address_is_invalid),
		cmocka_unit_test(test_options_hold_from_when_they_are_set),
		cmocka_unit_test(test_ports_that_are_given_out_differ),
		cmocka_unit_test(test_listeners_hear_their_families),
		cmocka_unit_test(test_families_of_one_port_are_two_processes),
		cmocka_unit_test(test_channel_is_readable_only_while_an_event_waits),
		cmocka_unit_test(test_wait_goes_on_after_a_signal_that_restarts),
		cmocka_unit_test(test_listener_takes_its_requests_along),
		cmocka_unit_test(test_migration_waits_for_acknowledgements),
	};

	/* before there are threads: ThreadSanitizer follows no fork of several */
	if (pipe(other) | pipe(told) || (other_pid = fork()) < 0)
		return 1;
	if (!other_pid) {
		close(other[1]);
		other_process();
	}
	return cmocka_run_group_tests(tests, set_device, NULL);
}

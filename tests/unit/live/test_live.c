/* The live world's parts that need no network: path MTUs, ICRCs with a hidden identification,
 * paths, leases of queue pair numbers. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "live/guard.h"
#include "live/state.h"
#include "wire/filler.h"
#include "base/bytes.h"

static void test_path_mtu_leaves_room_for_headers(void **state)
{
	static const struct {
		uint32_t mtu;
		uint16_t path;
	} cases[] = {{65536, 4096}, {9000, 4096}, {4192, 4096}, {4191, 2048}, {2144, 2048},
		     {2143, 1024},  {1500, 1024}, {1120, 1024}, {1119, 512},  {608, 512},
		     {607, 256},    {352, 256},   {351, 0},     {0, 0}};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rs_netdev n = {.mtu = cases[i].mtu};

		assert_int_equal(rs_netdev_path_mtu(&n), cases[i].path);
	}
}

static void test_device_names_are_checked(void **state)
{
	static const char *const bad[] = {"",
					  "=lo",
					  "a/b=lo",
					  ".x=lo",
					  "a b=lo",
					  "x=no-such-if",
					  "x=0123456789012345678901234567890"};
	struct rs_live_device d;
	struct rs_error e;

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		e = (struct rs_error){0};
		assert_true(rs_live_device_parse(bad[i], &d, &e) < 0);
		assert_true(e.what[0]);
	}
}

/* An IPv4 packet of n bytes up to its ICRC, with identification id. */
static void make_packet(uint8_t *ip, size_t n, uint16_t id, uint32_t seed)
{
	for (size_t i = 0; i < n; i++)
		ip[i] = (uint8_t)((seed + i * 2654435761u) >> 13);
	ip[0] = 0x45;
	rs_put16(ip + 2, (uint32_t)n + 4);
	rs_put16(ip + 4, id);
}

static void test_icrc_is_right_for_every_identification_and_wrong_for_a_flipped_bit(void **state)
{
	static const size_t lengths[] = {40, 60, 300, 1068, 4140};
	struct rs_live *l = calloc(1, sizeof(*l));
	uint8_t ip[4200];
	uint32_t right;

	assert_non_null(l);
	for (unsigned k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
		size_t n = lengths[k];

		for (uint32_t id = 0; id < 65536; id += k ? 977 : 1) {
			make_packet(ip, n, (uint16_t)id, k);
			right = rs_icrc(ip, n, false);
			rs_put16(ip + 4, 0);
			assert_true(rs_icrc_any_id(l, ip, n, right));
		}
		make_packet(ip, n, 0, k);
		right = rs_icrc(ip, n, false);
		/* past the fields that the ICRC masks */
		for (size_t bit = 8 * 33; bit < 8 * n; bit += 7) {
			ip[bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_false(rs_icrc_any_id(l, ip, n, right));
			ip[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
	}
	free(l);
}

enum { TWIN = 200 };

static void peer_of(unsigned i, uint8_t gid[16])
{
	memset(gid, 0, 16);
	gid[10] = gid[11] = 0xff;
	rs_put32(gid + 12, 0x0a000000 + i);
}

/* Beside a table of reference counts. */
static void test_paths_are_counted_and_forgotten(void **state)
{
	struct rs_live *l = calloc(1, sizeof(*l));
	uint32_t refs[TWIN] = {0}, number[TWIN], x = 12345;
	uint8_t gid[16], own[16], peer[16];

	assert_non_null(l);
	assert_int_equal(rs_paths_init(&l->paths), 0);
	l->device.net.n_gids = 1;
	peer_of(999, l->device.net.gid[0]);
	for (unsigned step = 0; step < 20000; step++) {
		unsigned i = (x = x * 1664525 + 1013904223) >> 8 & 0xffff;

		i %= TWIN;
		peer_of(i, gid);
		if (x >> 31) {
			assert_int_equal(rs_live_path_get(l, 0, gid, &number[i]), 0);
			refs[i]++;
		} else if (refs[i]) {
			rs_live_path_put(l, number[i]);
			refs[i]--;
		}
		assert_int_equal(rs_paths_find(&l->paths, l->device.net.gid[0], gid),
				 refs[i] ? number[i] : UINT32_MAX);
		if (refs[i]) {
			assert_true(rs_live_path_gids(l, number[i], own, peer));
			assert_memory_equal(peer, gid, 16);
		}
	}
	memset(gid, 0xfd, 16);
	assert_int_equal(rs_live_path_get(l, 0, gid, &number[0]), -EINVAL); /* IPv6 from IPv4 */
	assert_int_equal(rs_live_path_get(l, 1, gid, &number[0]), -EINVAL); /* no such GID */
	rs_paths_fini(&l->paths);
	free(l);
}

static void test_strangers_paths_are_bounded(void **state)
{
	struct rs_live *l = calloc(1, sizeof(*l));
	uint8_t own[16], gid[16];
	uint32_t kept;

	assert_non_null(l);
	assert_int_equal(rs_paths_init(&l->paths), 0);
	peer_of(0, own);
	l->device.net.n_gids = 1;
	memcpy(l->device.net.gid[0], own, 16);
	peer_of(7, gid);
	assert_int_equal(rs_live_path_get(l, 0, gid, &kept), 0);
	for (unsigned i = 1; i < 5 * RS_TEMPORARY_PATHS; i++) {
		peer_of(i, gid);
		assert_int_not_equal(rs_paths_temporary(l, own, gid), UINT32_MAX);
	}
	assert_true(l->paths.fresh <= RS_TEMPORARY_PATHS + 2);
	peer_of(7, gid); /* what a QP holds stays */
	assert_int_equal(rs_paths_find(&l->paths, own, gid), kept);
	rs_paths_fini(&l->paths);
	free(l);
}

static void test_leases_differ_keep_the_groups_order_and_survive_a_crash(void **state)
{
	struct rs_registry *r[3];
	unsigned slot[3], crashed;
	uint8_t order[RS_SLOTS];
	struct rs_error e = {0};
	int status, pipes[2];
	pid_t child;

	assert_int_equal(pipe(pipes), 0);
	child = fork();
	if (!child) {
		if (rs_registry_open(&r[0], &slot[0], NULL))
			_exit(1);
		rs_registry_joined(r[0]);
		_exit(write(pipes[1], &slot[0], sizeof(slot[0])) != sizeof(slot[0]));
	}
	waitpid(child, &status, 0);
	if (status)
		skip(); /* no place for a registry here */
	assert_int_equal(read(pipes[0], &crashed, sizeof(crashed)), sizeof(crashed));
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(rs_registry_open(&r[i], &slot[i], &e), 0);
		rs_registry_joined(r[i]);
		assert_true(slot[i] >= RS_SLOT_FIRST && slot[i] <= RS_SLOT_LAST);
		assert_true(rs_registry_leased(r[i], slot[i]));
	}
	assert_false(rs_registry_leased(r[0], crashed) && crashed != slot[0] &&
		     crashed != slot[1] && crashed != slot[2]);
	assert_true(slot[0] != slot[1] && slot[1] != slot[2] && slot[0] != slot[2]);
	rs_registry_lock(r[0]);
	{
		unsigned n = rs_registry_order(r[0], order);

		assert_int_equal(order[n - 1], slot[2]);
		assert_int_equal(order[n - 3], slot[0]);
		rs_registry_leave(r[0]); /* and lets go of the lock */
		rs_registry_lock(r[1]);
		assert_int_equal(rs_registry_order(r[1], order), n - 1);
		assert_int_equal(order[n - 3], slot[2]); /* the last took its place */
		assert_int_equal(order[n - 2], slot[1]);
		rs_registry_leave(r[1]);
		rs_registry_lock(r[2]);
		rs_registry_leave(r[2]);
	}
	close(pipes[0]);
	close(pipes[1]);
}

/* It has the registry's file open as its parent had: neither a lock nor a lease stays with it. */
static void test_a_forked_child_keeps_nothing_locked(void **state)
{
	struct rs_registry *r, *other, *next;
	unsigned slot, others, nexts;
	int status;
	pid_t child;

	if (rs_registry_open(&r, &slot, NULL))
		skip();
	rs_registry_joined(r);
	assert_int_equal(rs_registry_open(&other, &others, NULL), 0);
	rs_registry_joined(other);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* if the alarm ends the test */
		pause();
		_exit(0);
	}
	rs_registry_lock(r);
	rs_registry_leave(r);
	alarm(20); /* it would wait for ever */
	assert_int_equal(rs_registry_open(&next, &nexts, NULL), 0);
	rs_registry_joined(next);
	assert_false(rs_registry_lives(next, slot) && nexts != slot);
	assert_true(rs_registry_lives(next, others));
	rs_registry_lock(next);
	rs_registry_leave(next);
	rs_registry_lock(other);
	rs_registry_leave(other);
	alarm(0);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
}

static uint32_t draw(uint32_t *x)
{
	return *x = *x * 1664525 + 1013904223;
}

/* A packet as the engine gives it; its payload lies in bytes. */
static void random_packet(struct rs_packet *p, uint32_t *x, const uint8_t *bytes)
{
	static const uint8_t opcodes[] = {
		RS_OP_SEND_FIRST,        RS_OP_SEND_MIDDLE,         RS_OP_SEND_LAST,
		RS_OP_SEND_ONLY,         RS_OP_SEND_LAST_IMM,       RS_OP_WRITE_FIRST,
		RS_OP_WRITE_LAST,        RS_OP_WRITE_MIDDLE,        RS_OP_WRITE_ONLY,
		RS_OP_WRITE_ONLY_IMM,    RS_OP_ACKNOWLEDGE,         RS_OP_READ_REQUEST,
		RS_OP_CMP_SWAP,          RS_OP_READ_RESPONSE_FIRST, RS_UD | RS_OP_SEND_ONLY,
		RS_OP_ATOMIC_ACKNOWLEDGE};

	memset(p, 0, sizeof(*p));
	p->opcode = opcodes[(draw(x) >> 16) % sizeof(opcodes)];
	if (rs_opcodes[p->opcode].flags & RS_F_PAYLOAD)
		p->payload_bytes = (uint16_t)((draw(x) >> 12) % 4097);
	if (draw(x) >> 31)
		p->payload_bytes &= 0x1000; /* none, or the most */
	p->payload = p->payload_bytes ? bytes : NULL;
	p->bth_flags = (uint8_t)(draw(x) >> 20 & (RS_BTH_SE | RS_BTH_MIGREQ | RS_BTH_ACKREQ));
	p->dest_qp = draw(x) >> 24 & 1 ? 0x010203 : 0x01ffff;
	p->psn = draw(x) >> 8;
	p->pkey = 0xffff;
	p->aeth = draw(x);
	p->src_qp = draw(x) >> 8;
	p->qkey = draw(x);
	p->va = (uint64_t)draw(x) << 32 | draw(x);
	p->rkey = draw(x);
	p->dma_bytes = draw(x);
	p->imm = draw(x);
	p->swap_add = draw(x);
	p->compare = draw(x);
	p->sport = RS_UDP_PORT;
	p->tos = (uint8_t)(draw(x) >> 30);
}

/* What wire/ makes of the same packet, its UDP payload compared. */
static void assert_encoded(const struct rs_live *l, const struct rs_packet *p, unsigned id,
			   const uint8_t *got, size_t n)
{
	const struct rs_path *path = &l->paths.path[p->dst];
	struct rs_frame f = {.ipv6 = path->ipv6,
			     .ttl = 64,
			     .dport = RS_UDP_PORT,
			     .ip_id = path->ipv6 ? 0 : (uint16_t)id,
			     .ip_frag = path->ipv6 ? 0 : 0x4000};
	size_t head = RS_ETH_BYTES + (path->ipv6 ? RS_IPV6_BYTES : RS_IPV4_BYTES) + RS_UDP_BYTES;
	uint8_t frame[RS_TX_SLOT];
	long all;

	f.filled = (uint8_t)rs_filler_find(got, n);
	f.bth_reserved = f.filled ? RS_BTH4_FILLED << 8 : 0;
	memcpy(f.sip, path->own, 16);
	memcpy(f.dip, path->peer, 16);
	all = rs_frame_encode(&f, p, frame, sizeof(frame));
	assert_int_equal((size_t)all - head, n);
	assert_memory_equal(frame + head, got, n);
}

static void test_encoded_bytes_are_those_of_wire_wherever_payloads_lie(void **state)
{
	struct rs_live *l = calloc(1, sizeof(*l));
	uint8_t own[2][16] = {{0}}, peer[2][16] = {{0}}, *bytes = malloc(8192),
		*flat = malloc(70000);
	struct rs_packet p[RS_TX_BATCH];
	uint32_t x = 7, ends[2];

	assert_non_null(l);
	rs_icrc_init();
	assert_int_equal(rs_tx_init(l), 0);
	assert_int_equal(rs_paths_init(&l->paths), 0);
	peer_of(1, own[0]);
	peer_of(2, peer[0]);
	own[1][0] = peer[1][0] = 0xfd;
	own[1][15] = 3;
	for (unsigned i = 0; i < 2; i++)
		ends[i] = rs_paths_temporary(l, own[i], peer[i]);
	for (unsigned i = 0; i < 8192; i++)
		bytes[i] = (uint8_t)(draw(&x) >> 16);
	for (unsigned round = 0; round < 300; round++) {
		unsigned n = 1 + draw(&x) % RS_TX_BATCH, sent = 0;

		l->tx.packets = l->tx.pieces = l->tx.runs = l->tx.runs_sent = 0;
		l->tx.used = 0;
		l->tx.settled = false;
		for (unsigned i = 0; i < n; i++) {
			random_packet(&p[i], &x, bytes + (draw(&x) >> 20));
			if (i && draw(&x) >> 30) { /* the same once more: a run */
				p[i] = p[i - 1];
				p[i].psn++;
			}
			p[i].dst = ends[draw(&x) >> 24 & 1];
			rs_tx_encode(l, &p[i], round & 2);
		}
		if (round & 1)
			rs_tx_settle(&l->tx);
		for (unsigned i = 0; i < l->tx.runs; i++) {
			const struct rs_run *r = &l->tx.run[i];
			size_t at = 0;

			for (unsigned k = 0; k < r->pieces; k++) {
				const struct iovec *v = &l->tx.piece[r->first + k];

				memcpy(flat + at, v->iov_base, v->iov_len);
				at += v->iov_len;
			}
			assert_int_equal(at, r->bytes);
			assert_true(at <= RS_TX_RUN_BYTES);
			for (unsigned k = 0; k < r->count; k++, sent++) {
				size_t from = (size_t)k * r->segment;
				bool last = k + 1 == r->count;

				assert_int_equal(p[sent].dst, r->path);
				assert_encoded(l, &p[sent], k, flat + from,
					       last ? at - from : r->segment);
			}
		}
		assert_int_equal(sent, n);
	}
	rs_tx_fini(l);
	rs_paths_fini(&l->paths);
	free(bytes);
	free(flat);
	free(l);
}

/* Messages of so many full packets of which First is the longest, one behind another; the sends. */
static unsigned sends_of(struct rs_live *l, uint32_t end, const uint8_t *bytes, uint8_t first,
			 unsigned packets, bool fill)
{
	struct rs_tx *t = &l->tx;

	t->packets = t->pieces = t->runs = t->runs_sent = 0;
	t->used = 0;
	t->settled = false;
	for (unsigned i = 0; i < RS_TX_BATCH; i++) {
		unsigned k = i % packets;
		struct rs_packet p = {
			.opcode = (uint8_t)(first + (k ? 1 : 0) + (k && k == packets - 1 ? 1 : 0)),
			.payload = bytes,
			.payload_bytes = 4096,
			.dest_qp = 0x010203,
			.psn = i,
			.dma_bytes = 4096 * packets,
			.dst = end};

		rs_tx_encode(l, &p, fill);
	}
	return t->runs;
}

static void test_filled_packets_go_with_their_messages_first(void **state)
{
	struct rs_live *l = calloc(1, sizeof(*l));
	uint8_t own[16] = {0}, peer[16] = {0}, bytes[4096] = {0};
	uint32_t end;

	assert_non_null(l);
	rs_icrc_init();
	assert_int_equal(rs_tx_init(l), 0);
	assert_int_equal(rs_paths_init(&l->paths), 0);
	peer_of(1, own);
	peer_of(2, peer);
	end = rs_paths_temporary(l, own, peer);
	/* 15 packets of 4128 bytes are a send's 65,000 */
	for (unsigned packets = 2; packets <= RS_TX_BATCH; packets *= 2)
		assert_int_equal(sends_of(l, end, bytes, RS_OP_WRITE_FIRST, packets, true),
				 (RS_TX_BATCH + 14) / 15);
	assert_int_equal(sends_of(l, end, bytes, RS_OP_WRITE_FIRST, 16, false), 2 * 16);
	assert_int_equal(sends_of(l, end, bytes, RS_OP_WRITE_FIRST, 2, false), RS_TX_BATCH / 2);
	/* their Last is as long as their First */
	assert_int_equal(sends_of(l, end, bytes, RS_OP_READ_RESPONSE_FIRST, 16, true),
			 (RS_TX_BATCH + 14) / 15);
	assert_true(sends_of(l, end, bytes, RS_OP_READ_RESPONSE_FIRST, 16, false) > 2 * 16);
	rs_tx_fini(l);
	rs_paths_fini(&l->paths);
	free(l);
}

/* ---- Opening fails: at each descriptor that it takes, and at its thread ---- */

static unsigned open_files(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static unsigned mappings(const char *of)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned n = 0;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		n += strstr(line, of) != NULL;
	fclose(maps);
	return n;
}

static bool opens(const struct rs_live_device *d)
{
	struct rs_error e = {0};
	struct rs_live *l;

	if (rs_live_open(d, &l, &e)) {
		assert_true(e.what[0]);
		return false;
	}
	rs_live_close(l);
	return true;
}

static void nothing_is_left(unsigned files)
{
	struct rs_registry_peeked slots[RS_SLOTS];

	assert_int_equal(open_files(), files);
	assert_int_equal(mappings("ripstop-"), 0);
	assert_int_equal(rs_registry_peek(slots), -ENOENT);
	for (unsigned i = 0; i < RS_SLOTS; i++)
		assert_false(slots[i].leased);
}

static void test_open_that_fails_leaves_nothing(void **state)
{
	struct rs_live_device d;
	struct rs_error e = {0};
	struct rlimit all, few;
	unsigned files, refused = 0;
	pthread_attr_t usual, huge;

	assert_int_equal(rs_live_device_parse("d=lo", &d, &e), 0);
	if (!opens(&d))
		skip();
	files = open_files();
	getrlimit(RLIMIT_NOFILE, &all);
	for (unsigned more = 0;; more++) {
		bool opened;

		few = (struct rlimit){more, all.rlim_max};
		setrlimit(RLIMIT_NOFILE, &few);
		opened = opens(&d);
		setrlimit(RLIMIT_NOFILE, &all);
		nothing_is_left(files);
		if (opened)
			break;
		refused++;
	}
	assert_true(refused >= 4); /* the registry, two sockets, the eventfd of its thread */
	/* no address space for a stack: pthread_create() says EAGAIN */
	pthread_getattr_default_np(&usual);
	pthread_attr_init(&huge);
	assert_int_equal(pthread_attr_setstacksize(&huge, (size_t)1 << 50), 0);
	assert_int_equal(pthread_setattr_default_np(&huge), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_false(opens(&d));
	pthread_setattr_default_np(&usual);
	nothing_is_left(files);
	assert_true(opens(&d));
	nothing_is_left(files);
}

/* ---- Who waits minds the device ---- */

struct minder {
	struct rs_live *l;
	struct pollfd own;
	_Atomic bool done;
};

/* Until its own descriptor can be read. */
static void *mind_until_told(void *arg)
{
	struct minder *m = arg;

	while (poll(&m->own, 1, 0) == 0)
		if (rs_live_mind(m->l, &m->own, 1, 10 * INT64_C(1000000000)))
			break;
	atomic_store(&m->done, true);
	return NULL;
}

static bool becomes(const _Atomic bool *what)
{
	for (unsigned ms = 0; ms < 10000 && !atomic_load(what); ms++)
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	return atomic_load(what);
}

/* The thread stands aside, deeper with time, and is back when nobody minds any more. */
static void test_a_minder_has_the_device_to_itself(void **state)
{
	struct rs_live_device d;
	struct minder m = {0};
	struct rs_error e;
	int told[2];
	pthread_t t;

	assert_int_equal(rs_live_device_parse("d=lo", &d, &e), 0);
	assert_int_equal(rs_live_open(&d, &m.l, &e), 0);
	assert_int_equal(pipe(told), 0);
	m.own = (struct pollfd){.fd = told[0], .events = POLLIN};
	assert_int_equal(rs_live_mind(m.l, NULL, 0, 1000), 0);
	assert_false(atomic_load(&m.l->minded));
	assert_int_equal(pthread_create(&t, NULL, mind_until_told, &m), 0);
	assert_true(becomes(&m.l->deep));
	/* a second one sleeps on its own descriptors alone */
	assert_int_equal(rs_live_mind(m.l, &m.own, 1, 1000), 0);
	assert_true(atomic_load(&m.l->minded));
	assert_false(atomic_load(&m.done));
	assert_int_equal(write(told[1], "", 1), 1);
	assert_true(becomes(&m.done));
	assert_int_equal(pthread_join(t, NULL), 0);
	assert_false(atomic_load(&m.l->minded));
	assert_true(becomes(&m.l->sleeps));
	assert_false(atomic_load(&m.l->deep));
	rs_live_close(m.l);
	close(told[0]);
	close(told[1]);
}

enum { STEPPERS = 4, STEPS = 20000 };

static void *step(void *at)
{
	for (unsigned i = 0; i < STEPS; i++) {
		uint64_t was = 0;
		bool done = false;

		while (!done)
			assert_true(rs_guard_swap(at, &was, was + 1, &done));
	}
	return NULL;
}

/* Lanes execute atomics on the same words at once; a word that cannot be touched ends the request.
 */
static void test_atomics_of_several_lanes_are_one_step(void **state)
{
	pthread_t t[STEPPERS];
	uint64_t word = 0, was = 7;
	bool done = true;

	rs_guard_open();
	for (unsigned i = 0; i < STEPPERS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, step, &word), 0);
	for (unsigned i = 0; i < STEPPERS; i++)
		assert_int_equal(pthread_join(t[i], NULL), 0);
	assert_int_equal(word, STEPPERS * STEPS);
	assert_true(rs_guard_swap(&word, &was, 9, &done));
	assert_false(done);
	assert_int_equal(was, STEPPERS * STEPS);
}

static void test_how_many_sockets_are_asked_for(void **state)
{
	static const struct {
		const char *wish, *rate;
		int err;
		unsigned lanes;
	} rows[] = {{NULL, NULL, 0, 1},      {"", NULL, 0, 1},         {"1", "1G", 0, 1},
		    {"8", NULL, 0, 8},       {"8", "", 0, 8},          {"0", NULL, -EINVAL, 0},
		    {"9", NULL, -EINVAL, 0}, {"2x", NULL, -EINVAL, 0}, {"2", "1G", -EINVAL, 0}};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rs_error e = {0};
		unsigned lanes = 0;

		rows[i].wish ? setenv("RIPSTOP_SOCKETS", rows[i].wish, 1)
			     : unsetenv("RIPSTOP_SOCKETS");
		rows[i].rate ? setenv("RIPSTOP_RATE", rows[i].rate, 1) : unsetenv("RIPSTOP_RATE");
		assert_int_equal(rs_live_lanes(&lanes, &e), rows[i].err);
		assert_int_equal(lanes, rows[i].lanes);
		assert_int_equal(e.code != 0, rows[i].err != 0);
	}
	unsetenv("RIPSTOP_SOCKETS");
	unsetenv("RIPSTOP_RATE");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path_mtu_leaves_room_for_headers),
		cmocka_unit_test(test_device_names_are_checked),
		cmocka_unit_test(
			test_icrc_is_right_for_every_identification_and_wrong_for_a_flipped_bit),
		cmocka_unit_test(test_paths_are_counted_and_forgotten),
		cmocka_unit_test(test_encoded_bytes_are_those_of_wire_wherever_payloads_lie),
		cmocka_unit_test(test_filled_packets_go_with_their_messages_first),
		cmocka_unit_test(test_strangers_paths_are_bounded),
		cmocka_unit_test(test_open_that_fails_leaves_nothing),
		cmocka_unit_test(test_a_forked_child_keeps_nothing_locked),
		cmocka_unit_test(test_atomics_of_several_lanes_are_one_step),
		cmocka_unit_test(test_how_many_sockets_are_asked_for),
		cmocka_unit_test(test_a_minder_has_the_device_to_itself),
		cmocka_unit_test(test_leases_differ_keep_the_groups_order_and_survive_a_crash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

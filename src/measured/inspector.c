/* Lines of NCCL's Inspector as records. */
#include "measured/inspector.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "text/document.h"

enum { HEAD_BYTES = 4096 };

const char *const rs_inspected_ops[RS_INSPECTED_OPS] = {
	"all_reduce", "all_gather", "reduce_scatter", "broadcast",
	"reduce",     "alltoall",   "send",           "recv",
};

/* ncclFuncToString(). */
static uint8_t op_of(const char *name)
{
	static const struct {
		const char *name;
		enum rs_inspected_op op;
	} ops[] = {
		{"AllReduce", RS_INSPECTED_ALL_REDUCE},
		{"AllGather", RS_INSPECTED_ALL_GATHER},
		{"ReduceScatter", RS_INSPECTED_REDUCE_SCATTER},
		{"Broadcast", RS_INSPECTED_BROADCAST},
		{"Reduce", RS_INSPECTED_REDUCE},
		{"AlltoAll", RS_INSPECTED_ALL_TO_ALL},
		{"Send", RS_INSPECTED_SEND},
		{"Recv", RS_INSPECTED_RECV},
	};

	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (!strcmp(name, ops[i].name))
			return (uint8_t)ops[i].op;
	return RS_INSPECTED_OTHER;
}

uint64_t rs_inspected_bytes(const struct rs_inspected *r)
{
	bool share = r->op == RS_INSPECTED_ALL_GATHER || r->op == RS_INSPECTED_REDUCE_SCATTER ||
		     r->op == RS_INSPECTED_ALL_TO_ALL;

	return share ? r->bytes * r->n_ranks : r->bytes;
}

bool rs_inspector_is(const char *text, size_t n)
{
	static const char *const marks[] = {"\"coll_perf\"", "\"p2p_perf\""};
	size_t head = n < HEAD_BYTES ? n : HEAD_BYTES, at = 0;

	while (at < head && strchr(" \t\r\n", text[at]))
		at++;
	if (at == head || text[at] != '{')
		return false;
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		if (memmem(text, head, marks[i], strlen(marks[i])))
			return true;
	return false;
}

void rs_inspector_free(struct rs_inspector *x)
{
	free(x->record);
	free(x->process);
	*x = (struct rs_inspector){0};
}

/* ---- One record ---- */

struct line {
	struct rs_inspector *x;
	struct rs_arena *a;
	struct rs_error *e;
	struct rs_where at;
};

static int bad(struct line *l, const char *expected)
{
	rs_error_at(l->e, -EINVAL, l->at, "expected a record of NCCL's Inspector with %s",
		    expected);
	rs_error_hint(l->e, "NCCL_INSPECTOR_ENABLE=1 writes HOST-pidPID.log, a JSON object a line");
	return l->e->code;
}

static bool number(struct rs_value *of, const char *key, uint64_t max, uint64_t *out)
{
	char text[32], *end;

	if (!rs_document_text(rs_document_member(of, key), text, sizeof(text)) || *text == '-')
		return false;
	errno = 0;
	*out = strtoull(text, &end, 0);
	return !errno && end != text && !*end && *out <= max;
}

static int process_of(struct line *l, const char *host, uint64_t pid, uint32_t *out)
{
	struct rs_inspector *x = l->x;
	uint32_t i = x->n_processes;

	while (i-- > 0) /* a file has one, which came last */
		if (x->process[i].pid == pid && !strcmp(x->process[i].host, host)) {
			*out = i;
			return 0;
		}
	if (x->n_processes == x->room_processes) {
		uint32_t room = x->room_processes ? 2 * x->room_processes : 16;
		void *m = realloc(x->process, room * sizeof(*x->process));

		if (!m)
			return rs_error_set(l->e, -ENOMEM, "out of memory");
		x->process = m;
		x->room_processes = room;
	}
	host = rs_arena_strdup(l->a, host);
	if (!host)
		return rs_error_set(l->e, -ENOMEM, "out of memory");
	x->process[x->n_processes] = (struct rs_inspected_process){host, pid};
	*out = x->n_processes++;
	return 0;
}

/* The first channel's begin and the last one's end. */
static void times_of(struct rs_value *perf, struct rs_inspected *r)
{
	struct rs_value *list =
		rs_document_member(rs_document_member(perf, "event_trace_ts"), "kernel_events");
	void *i = NULL;

	for (struct rs_value *v; rs_value_is_list(list) && (v = rs_value_each(list, &i));) {
		uint64_t start, stop;

		if (!number(v, "kernel_start_ts", UINT64_MAX / 2, &start) || !start ||
		    !number(v, "kernel_stop_ts", UINT64_MAX / 2, &stop) || stop < start)
			continue;
		if (!r->start_us || start < r->start_us)
			r->start_us = start;
		if (stop > r->stop_us)
			r->stop_us = stop;
	}
}

static bool perf_of(struct rs_value *perf, bool p2p, struct rs_inspected *r)
{
	char name[32], clock[32];
	uint64_t peer = 0;

	if (!rs_document_text(rs_document_member(perf, p2p ? "p2p" : "coll"), name, sizeof(name)) ||
	    !number(perf, p2p ? "p2p_sn" : "coll_sn", UINT64_MAX, &r->sn) ||
	    !number(perf, p2p ? "p2p_msg_size_bytes" : "coll_msg_size_bytes", (uint64_t)1 << 44,
		    &r->bytes) ||
	    !number(perf, p2p ? "p2p_exec_time_us" : "coll_exec_time_us", (uint64_t)1 << 40,
		    &r->us) ||
	    (p2p && !number(perf, "p2p_peer", r->n_ranks - 1, &peer)))
		return false;
	r->op = op_of(name);
	r->peer = (uint32_t)peer;
	/* formats before 2.29 do not tell; they had what the GPU's clock says where it is known */
	r->gpu_clock = !rs_document_text(rs_document_member(perf, p2p ? "p2p_timing_source"
								      : "coll_timing_source"),
					 clock, sizeof(clock)) ||
		       !strcmp(clock, "kernel_gpu");
	times_of(perf, r);
	return true;
}

static int take(struct line *l, struct rs_value *root, struct rs_inspected *r)
{
	struct rs_value *head = rs_document_member(root, "header"),
			*meta = rs_document_member(root, "metadata"),
			*coll = rs_document_member(root, "coll_perf"),
			*p2p = rs_document_member(root, "p2p_perf");
	uint64_t rank, n_ranks, nodes, pid;
	char host[256];

	if (!coll && !p2p)
		return bad(l, "coll_perf or p2p_perf");
	if (!number(head, "id", UINT64_MAX, &r->comm) ||
	    !number(head, "n_ranks", 1 << 20, &n_ranks) || !n_ranks ||
	    !number(head, "rank", n_ranks - 1, &rank) || !number(head, "nnodes", n_ranks, &nodes) ||
	    !nodes)
		return bad(l, "a header: id, rank, n_ranks, nnodes");
	r->rank = (uint32_t)rank;
	r->n_ranks = (uint32_t)n_ranks;
	r->n_hosts = (uint32_t)nodes;
	if (!rs_document_text(rs_document_member(meta, "hostname"), host, sizeof(host)) ||
	    !number(meta, "pid", UINT64_MAX, &pid))
		return bad(l, "metadata: hostname, pid");
	if (!perf_of(coll ? coll : p2p, !coll, r))
		return bad(l, coll ? "coll, coll_sn, coll_msg_size_bytes, coll_exec_time_us"
				   : "p2p, p2p_sn, p2p_peer, p2p_msg_size_bytes, p2p_exec_time_us");
	return process_of(l, host, pid, &r->process);
}

static int keep(struct line *l, const struct rs_inspected *r)
{
	struct rs_inspector *x = l->x;

	if (x->n == RS_INSPECTED_MAX)
		return rs_error_at(l->e, -E2BIG, l->at, "more than %d records", RS_INSPECTED_MAX);
	if (x->n == x->room) {
		uint32_t room = x->room ? 2 * x->room : 256;
		void *m = realloc(x->record, room * sizeof(*x->record));

		if (!m)
			return rs_error_set(l->e, -ENOMEM, "out of memory");
		x->record = m;
		x->room = room;
	}
	x->record[x->n++] = *r;
	return 0;
}

static bool blank(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strchr(" \t\r", text[i]) || !text[i])
			return false;
	return true;
}

static int one(struct line *l, const char *text, size_t n, bool last)
{
	struct rs_inspected r = {.line = l->at.line};
	struct rs_document *d;
	int err;

	if (n > RS_INSPECTOR_LINE_MAX)
		return rs_error_at(l->e, -E2BIG, l->at, "a line of more than %d bytes",
				   RS_INSPECTOR_LINE_MAX);
	d = rs_document_parse(text, n);
	if (!d || !rs_value_is_map(rs_document_root(d)))
		err = last ? 0 : bad(l, "a JSON object in this line");
	else if (!(err = take(l, rs_document_root(d), &r)))
		err = keep(l, &r);
	rs_document_destroy(d);
	return err;
}

int rs_inspector_read(struct rs_inspector *x, const char *text, size_t n, const char *name,
		      struct rs_arena *a, struct rs_error *e)
{
	struct line l = {.x = x, .a = a, .e = e, .at = {name, 0, 1}};
	const char *end = text + n;
	int err = 0;

	while (text < end && !err) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t bytes = stop ? (size_t)(stop - text) : (size_t)(end - text);

		l.at.line++;
		if (!blank(text, bytes))
			err = one(&l, text, bytes, !stop);
		text += bytes + (stop ? 1 : 0);
	}
	return err;
}

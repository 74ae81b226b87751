/*
 * Chakra execution traces: messages of protobuf, each behind its length as a varint; the first is
 * the metadata, the others are nodes. Field numbers: MLCommons Chakra,
 * schema/protobuf/et_def.proto. Wire types: protobuf's encoding guide.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "import/trace_state.h"

enum { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_32 = 5 };

enum {
	NODE_ID = 1,
	NODE_TYPE = 3,
	NODE_CTRL_DEPS = 4,
	NODE_DATA_DEPS = 5,
	NODE_DURATION = 7,
	NODE_INPUTS = 8,
	NODE_ATTR = 10
};
enum { IO_VALUES = 1 };
enum {
	ATTR_NAME = 1,
	ATTR_DOUBLE = 3,
	ATTR_FLOAT = 5,
	ATTR_SINT32 = 15,
	ATTR_SINT64 = 17,
	ATTR_BOOLS = 28,
	ATTR_STRING = 29
};

/* ---- Protobuf ---- */

struct span {
	const uint8_t *p, *end;
};

struct field {
	uint32_t number;
	unsigned wire;
	uint64_t value; /* of all but WIRE_BYTES */
	struct span bytes;
};

static bool varint(struct span *s, uint64_t *out)
{
	*out = 0;
	for (unsigned shift = 0; shift < 64 && s->p < s->end; shift += 7) {
		uint8_t b = *s->p++;

		*out |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return true;
	}
	return false;
}

static bool fixed(struct span *s, unsigned n, uint64_t *out)
{
	*out = 0;
	if ((size_t)(s->end - s->p) < n)
		return false;
	for (unsigned i = 0; i < n; i++)
		*out |= (uint64_t)*s->p++ << 8 * i;
	return true;
}

/* The next field; false at the end, or where *ok says so at what is none. */
static bool next(struct span *s, struct field *f, bool *ok)
{
	uint64_t key, n;

	*ok = true;
	if (s->p == s->end)
		return false;
	*ok = varint(s, &key) && key >> 3 && key >> 3 < 1u << 29;
	if (!*ok)
		return false;
	f->number = (uint32_t)(key >> 3);
	f->wire = key & 7;
	if (f->wire == WIRE_VARINT) {
		*ok = varint(s, &f->value);
	} else if (f->wire == WIRE_64 || f->wire == WIRE_32) {
		*ok = fixed(s, f->wire == WIRE_64 ? 8 : 4, &f->value);
	} else if (f->wire == WIRE_BYTES) {
		*ok = varint(s, &n) && n <= (uint64_t)(s->end - s->p);
		if (*ok)
			f->bytes = (struct span){s->p, s->p + n};
		s->p += *ok ? n : 0;
	} else {
		*ok = false;
	}
	return *ok;
}

/* ---- Nodes ---- */

static bool add_dep(struct trace *t, struct chakra_node *k, uint64_t on)
{
	if (!trace_grow(t, (void **)&k->dep, k->n_deps, &k->room_deps, sizeof(*k->dep)))
		return false;
	k->dep[k->n_deps++] = on;
	return true;
}

/* Packed or one by one: both are proto3's. */
static bool deps(struct trace *t, struct chakra_node *k, const struct field *f)
{
	struct span s = f->bytes;
	uint64_t on;

	if (f->wire == WIRE_VARINT)
		return add_dep(t, k, f->value);
	if (f->wire != WIRE_BYTES)
		return false;
	while (s.p < s.end)
		if (!varint(&s, &on) || !add_dep(t, k, on))
			return false;
	return true;
}

struct attr {
	char name[32], text[64];
	uint64_t number;
	bool some_off; /* a list of bools has a false one */
};

static uint64_t zigzag(uint64_t v)
{
	return v >> 1 ^ (0 - (v & 1));
}

static uint64_t number_of(const struct field *f)
{
	double d = 0;
	float x;

	if (f->number == ATTR_SINT32 || f->number == ATTR_SINT64)
		return zigzag(f->value);
	if (f->number == ATTR_DOUBLE && f->wire == WIRE_64) {
		memcpy(&d, &f->value, sizeof(d));
	} else if (f->number == ATTR_FLOAT && f->wire == WIRE_32) {
		uint32_t v = (uint32_t)f->value;

		memcpy(&x, &v, sizeof(x));
		d = (double)x;
	} else {
		return f->value;
	}
	return d >= 0 && d < 0x1p63 ? (uint64_t)d : 0;
}

static void text_of(const struct span *s, char *out, size_t size)
{
	size_t n = (size_t)(s->end - s->p) < size - 1 ? (size_t)(s->end - s->p) : size - 1;

	memcpy(out, s->p, n);
	out[n] = '\0';
}

static bool bools(struct span s, struct attr *a)
{
	struct field f;
	uint64_t v;
	bool ok;

	while (next(&s, &f, &ok)) {
		if (f.wire == WIRE_VARINT)
			a->some_off |= !f.value;
		while (f.wire == WIRE_BYTES && f.bytes.p < f.bytes.end) {
			if (!varint(&f.bytes, &v))
				return false;
			a->some_off |= !v;
		}
	}
	return ok;
}

static bool read_attr(struct span s, struct attr *a)
{
	struct field f;
	bool ok;

	while (next(&s, &f, &ok)) {
		if (f.number == ATTR_NAME && f.wire == WIRE_BYTES)
			text_of(&f.bytes, a->name, sizeof(a->name));
		else if (f.number == ATTR_STRING && f.wire == WIRE_BYTES)
			text_of(&f.bytes, a->text, sizeof(a->text));
		else if (f.number == ATTR_BOOLS && f.wire == WIRE_BYTES && !bools(f.bytes, a))
			return false;
		else if (f.number >= ATTR_DOUBLE && f.wire != WIRE_BYTES)
			a->number = number_of(&f);
	}
	return ok;
}

static void keep_attr(struct chakra_node *k, const struct attr *a)
{
	const struct {
		const char *name;
		uint64_t *out;
		bool *has;
	} numbers[] = {{"comm_type", &k->comm, &k->has_comm},
		       {"comm_size", &k->size, NULL},
		       {"comm_tag", &k->tag, NULL},
		       {"num_ops", &k->ops, NULL},
		       {"ripstop_ps", &k->ps, NULL}};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (!strcmp(a->name, numbers[i].name)) {
			*numbers[i].out = a->number;
			if (numbers[i].has)
				*numbers[i].has = true;
		}
	if (!strcmp(a->name, "comm_src")) {
		k->src = (uint32_t)a->number;
		k->has_src = true;
	} else if (!strcmp(a->name, "comm_dst")) {
		k->dst = (uint32_t)a->number;
		k->has_dst = true;
	} else if (!strcmp(a->name, "is_cpu_op")) {
		k->cpu = a->number;
	} else if (!strcmp(a->name, "pg_name")) {
		memcpy(k->group, a->text, sizeof(k->group));
	} else if (!strcmp(a->name, "involved_dim")) {
		k->some_dims_off = a->some_off;
	}
}

/* What metadata were given: PyTorch's list of process groups is one of these. */
static bool inputs(struct chakra_node *k, struct span s)
{
	struct field f;
	bool ok;

	while (next(&s, &f, &ok))
		if (f.number == IO_VALUES && f.wire == WIRE_BYTES && k->type == CHAKRA_METADATA) {
			free(k->about);
			k->about =
				strndup((const char *)f.bytes.p, (size_t)(f.bytes.end - f.bytes.p));
		}
	return ok;
}

static bool read_node(struct trace *t, struct span s, struct chakra_node *k)
{
	struct field f;
	bool ok;

	while (next(&s, &f, &ok)) {
		struct attr a = {0};

		if (f.number == NODE_ID && f.wire == WIRE_VARINT) {
			k->id = f.value;
		} else if (f.number == NODE_TYPE && f.wire == WIRE_VARINT) {
			k->type = f.value;
		} else if (f.number == NODE_DURATION && f.wire == WIRE_VARINT) {
			k->micros = f.value;
		} else if (f.number == NODE_CTRL_DEPS || f.number == NODE_DATA_DEPS) {
			if (!deps(t, k, &f))
				return false;
		} else if (f.number == NODE_INPUTS && f.wire == WIRE_BYTES) {
			if (!inputs(k, f.bytes))
				return false;
		} else if (f.number == NODE_ATTR && f.wire == WIRE_BYTES) {
			if (!read_attr(f.bytes, &a))
				return false;
			keep_attr(k, &a);
		}
	}
	return ok;
}

/* ---- The file ---- */

/* A message's length: 1, 0 at the end of the file, -1 for none. */
static int read_length(FILE *in, uint64_t *n)
{
	int c = 0;

	*n = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		c = getc_unlocked(in);
		if (c == EOF)
			return shift ? -1 : 0;
		*n |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80))
			return 1;
	}
	return -1;
}

static void one_message(struct trace *t, const uint8_t *buf, size_t n, uint32_t number)
{
	struct rs_where at = {t->name, 0, 0};
	struct chakra_node k = {0};

	if (!read_node(t, (struct span){buf, buf + n}, &k))
		rs_load_fail(
			t->l, -EINVAL, at,
			"message %u is no node of a Chakra trace; expected a Chakra ET, a GOAL "
			"schedule or a workload of SimAI",
			number);
	else
		chakra_node(t, &k, at);
	free(k.about);
	free(k.dep);
}

void trace_chakra(struct trace *t, FILE *in)
{
	struct rs_where at = {t->name, 0, 0};
	uint8_t *buf = NULL;
	uint64_t n = 0, room = 0;
	int got = 1;

	for (uint32_t number = 0; !t->l->err && (got = read_length(in, &n)) > 0; number++) {
		if (n > RS_TRACE_MESSAGE_MAX) {
			rs_load_fail(t->l, -EINVAL, at,
				     "message %u has %llu bytes, at most %d; expected a Chakra ET, "
				     "a GOAL schedule or a workload of SimAI",
				     number, (unsigned long long)n, RS_TRACE_MESSAGE_MAX);
			break;
		}
		if (n > room) {
			free(buf);
			room = n;
			buf = malloc(room);
		}
		if (n && !buf) {
			rs_load_fail(t->l, -ENOMEM, at, "out of memory");
			break;
		}
		if (n && fread(buf, 1, n, in) != n) {
			got = -1;
			break;
		}
		if (number) /* the first is the metadata */
			one_message(t, buf, n, number);
	}
	if (!t->l->err && got < 0)
		rs_load_fail(t->l, -EINVAL, at, "the trace ends inside a message");
	free(buf);
	trace_close_rank(t, false, at);
}

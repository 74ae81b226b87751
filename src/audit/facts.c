/* The store of facts: interned strings, one array that is sorted once and searched by halving. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "audit/facts.h"
#include "base/arena.h"

/* Strings come again and again (hosts, subjects, names, files): each is kept once. */
struct strings {
	const char **slot;
	uint32_t size, used; /* size: a power of two */
};

struct rs_facts {
	struct rs_arena *arena;
	struct strings strings;
	struct rs_fact *fact;
	uint32_t n, room;
	const char **host;
	uint32_t n_hosts;
	bool sealed;
};

struct rs_facts *rs_facts_create(void)
{
	struct rs_facts *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->arena = rs_arena_create(0);
	if (!s->arena) {
		free(s);
		return NULL;
	}
	return s;
}

void rs_facts_destroy(struct rs_facts *s)
{
	if (!s)
		return;
	rs_arena_destroy(s->arena);
	free(s->strings.slot);
	free(s->fact);
	free(s->host);
	free(s);
}

/* FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/ */
static uint64_t hash(const char *p, size_t n)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	while (n--)
		h = (h ^ (uint8_t)*p++) * UINT64_C(0x100000001b3);
	return h;
}

static int strings_grow(struct strings *t)
{
	uint32_t size = t->size ? 2 * t->size : 1024;
	const char **slot = calloc(size, sizeof(*slot));

	if (!slot)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->size; i++) {
		uint64_t h;

		if (!t->slot[i])
			continue;
		h = hash(t->slot[i], strlen(t->slot[i]));
		while (slot[h & (size - 1)])
			h++;
		slot[h & (size - 1)] = t->slot[i];
	}
	free(t->slot);
	t->slot = slot;
	t->size = size;
	return 0;
}

/* Control bytes of a stranger's file drive no terminal and break no line. */
static bool has_controls(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 127)
			return true;
	return false;
}

static const char *intern(struct rs_facts *s, const char *text, size_t n);

static const char *intern_shown(struct rs_facts *s, const char *text, size_t n)
{
	char *copy = malloc(n + 1);
	const char *kept;

	if (!copy)
		return NULL;
	for (size_t i = 0; i < n; i++)
		copy[i] = text[i] == '\t'                                  ? ' '
			  : (unsigned char)text[i] < ' ' || text[i] == 127 ? '?'
									   : text[i];
	copy[n] = '\0';
	kept = intern(s, copy, n);
	free(copy);
	return kept;
}

static const char *intern(struct rs_facts *s, const char *text, size_t n)
{
	struct strings *t = &s->strings;
	uint64_t h;
	char *copy;

	if (has_controls(text, n))
		return intern_shown(s, text, n);
	h = hash(text, n);
	if (2 * (t->used + 1) > t->size && strings_grow(t))
		return NULL;
	for (; t->slot[h & (t->size - 1)]; h++) {
		const char *have = t->slot[h & (t->size - 1)];

		if (!strncmp(have, text, n) && !have[n])
			return have;
	}
	copy = rs_arena_alloc(s->arena, n + 1, 1);
	if (!copy)
		return NULL;
	memcpy(copy, text, n);
	t->used++;
	return t->slot[h & (t->size - 1)] = copy;
}

static const char *intern_trimmed(struct rs_facts *s, const char *text)
{
	size_t n;

	while (isspace((unsigned char)*text))
		text++;
	n = strnlen(text, RS_FACT_BYTES);
	while (n && isspace((unsigned char)text[n - 1]))
		n--;
	return intern(s, text, n);
}

static void find_number(struct rs_fact *f)
{
	const char *p = f->value;
	char *end;

	errno = 0;
	f->numeric = false;
	f->number = 0;
	if (!isdigit((unsigned char)p[*p == '-']))
		return;
	/* not octal: sysfs pads with zeros */
	f->number = strtoll(p, &end, p[0] == '0' && (p[1] == 'x' || p[1] == 'X') ? 16 : 10);
	f->numeric = !errno && !*end;
}

int rs_facts_add(struct rs_facts *s, const struct rs_fact *f)
{
	struct rs_fact *to;

	rs_assert(!s->sealed);
	if (s->n == RS_FACTS_MAX)
		return -E2BIG;
	if (s->n == s->room) {
		uint32_t room = s->room ? 2 * s->room : 256;

		to = realloc(s->fact, room * sizeof(*to));
		if (!to)
			return -ENOMEM;
		s->fact = to;
		s->room = room;
	}
	to = &s->fact[s->n];
	*to = *f;
	to->host = intern(s, f->host, strlen(f->host));
	to->subject = intern(s, f->subject, strnlen(f->subject, RS_FACT_BYTES));
	to->name = intern(s, f->name, strnlen(f->name, RS_FACT_BYTES));
	to->value = intern_trimmed(s, f->value);
	to->file = f->file ? intern(s, f->file, strlen(f->file)) : NULL;
	to->at = f->at ? intern(s, f->at, strnlen(f->at, RS_FACT_BYTES)) : NULL;
	if (!to->host || !to->subject || !to->name || !to->value || (f->file && !to->file) ||
	    (f->at && !to->at))
		return -ENOMEM;
	find_number(to);
	s->n++;
	return 0;
}

uint32_t rs_facts_count(const struct rs_facts *s)
{
	return s->n;
}

/* ---- Order ---- */

int rs_facts_compare(const char *a, const char *b)
{
	while (*a && *b) {
		if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
			const char *x = a, *y = b;
			size_t n, m;

			while (*x == '0')
				x++;
			while (*y == '0')
				y++;
			for (n = 0; isdigit((unsigned char)x[n]);)
				n++;
			for (m = 0; isdigit((unsigned char)y[m]);)
				m++;
			if (n != m)
				return n < m ? -1 : 1;
			for (; n && *x == *y; n--, x++, y++)
				;
			if (n)
				return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
			a = x;
			b = y;
			continue;
		}
		if (*a != *b)
			return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
		a++;
		b++;
	}
	return *a ? 1 : *b ? -1 : 0;
}

/* "eth02" and "eth2" are equal to the natural order: then the bytes decide. */
static int compare(const char *a, const char *b)
{
	int c;

	if (a == b)
		return 0;
	c = rs_facts_compare(a, b);
	return c ? c : strcmp(a, b);
}

static int by_key(const struct rs_fact *a, const struct rs_fact *b)
{
	int c;

	if ((c = compare(a->host, b->host)))
		return c;
	if (a->age != b->age)
		return a->age < b->age ? -1 : 1;
	if ((c = compare(a->subject, b->subject)))
		return c;
	return compare(a->name, b->name);
}

static int order(const void *x, const void *y)
{
	const struct rs_fact *a = x, *b = y;
	int c = by_key(a, b);

	if (c)
		return c;
	if (a->trust != b->trust)
		return a->trust > b->trust ? -1 : 1;
	/* the order of adding is kept in `number` of facts being sorted: see rs_facts_seal() */
	return a->number < b->number ? -1 : a->number > b->number;
}

void rs_facts_seal(struct rs_facts *s)
{
	if (s->sealed)
		return;
	s->sealed = true;
	for (uint32_t i = 0; i < s->n; i++)
		s->fact[i].number = i;
	if (s->n)
		qsort(s->fact, s->n, sizeof(*s->fact), order);
	s->host = calloc(s->n + 1u, sizeof(*s->host));
	for (uint32_t i = 0; i < s->n; i++) {
		find_number(&s->fact[i]);
		if (s->host && (!i || s->fact[i].host != s->fact[i - 1].host))
			s->host[s->n_hosts++] = s->fact[i].host;
	}
}

/* The first fact not less than the key. */
static uint32_t lower(const struct rs_facts *s, const struct rs_fact *key)
{
	uint32_t lo = 0, hi = s->n;

	rs_assert(s->sealed);
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (by_key(&s->fact[mid], key) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static const struct rs_fact *get(const struct rs_facts *s, const char *host, const char *subject,
				 const char *name, uint8_t age)
{
	struct rs_fact key = {.host = host, .subject = subject, .name = name, .age = age};
	uint32_t i = lower(s, &key);

	return i < s->n && !by_key(&s->fact[i], &key) ? &s->fact[i] : NULL;
}

const struct rs_fact *rs_facts_get(const struct rs_facts *s, const char *host, const char *subject,
				   const char *name)
{
	return get(s, host, subject, name, 0);
}

const struct rs_fact *rs_facts_get_old(const struct rs_facts *s, const char *host,
				       const char *subject, const char *name)
{
	return get(s, host, subject, name, 1);
}

bool rs_facts_number(const struct rs_facts *s, const char *host, const char *subject,
		     const char *name, int64_t *out)
{
	const struct rs_fact *f = rs_facts_get(s, host, subject, name);

	if (!f || !f->numeric)
		return false;
	*out = f->number;
	return true;
}

const char *rs_facts_value(const struct rs_facts *s, const char *host, const char *subject,
			   const char *name)
{
	const struct rs_fact *f = rs_facts_get(s, host, subject, name);

	return f ? f->value : NULL;
}

static bool begins(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

const struct rs_fact *rs_facts_next(const struct rs_facts *s, uint32_t *at, const char *host,
				    const char *subject, const char *name)
{
	uint32_t i = *at;

	if (!i) {
		struct rs_fact key = {.host = host, .subject = "", .name = ""};

		i = lower(s, &key);
	}
	for (; i < s->n && !compare(s->fact[i].host, host) && !s->fact[i].age; i++) {
		if (!begins(s->fact[i].subject, subject) || !begins(s->fact[i].name, name))
			continue;
		*at = i + 1;
		return &s->fact[i];
	}
	*at = s->n + 1;
	return NULL;
}

uint32_t rs_facts_seek(const struct rs_facts *s, const char *host, const char *subject)
{
	struct rs_fact key = {.host = host, .subject = subject, .name = ""};

	return lower(s, &key);
}

const char *rs_facts_subject(const struct rs_facts *s, uint32_t *at, const char *host,
			     const char *prefix)
{
	const struct rs_fact *f;
	/* *at is one past the fact whose subject was given last */
	const char *last = *at && *at <= s->n ? s->fact[*at - 1].subject : NULL;

	while ((f = rs_facts_next(s, at, host, prefix, "")))
		if (f->subject != last)
			return f->subject;
	return NULL;
}

uint32_t rs_facts_hosts(const struct rs_facts *s)
{
	return s->n_hosts;
}

const char *rs_facts_host(const struct rs_facts *s, uint32_t i)
{
	return s->host[i];
}

bool rs_facts_is_switch(const struct rs_facts *s, const char *host)
{
	const char *role = rs_facts_value(s, host, "host", "role");

	return role && !strcmp(role, "switch");
}

/* The store of facts: interned strings, one array that is sorted once and searched by halving. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "audit/facts/facts.h"
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
	/* found when sealed: hosts with their first facts (and one past the last), and for each
	 * fact the next one of another subject */
	const char **host;
	uint32_t *first, *next;
	/* numbers from 1 by the interned strings: a fact by subject, name and age (the most
	 * trusted), a host by its name. Each host has a stretch of by_name of its own: a rule asks
	 * a host much before it goes on to the next, and what it asks lies together */
	uint32_t *by_name, *by_host;
	struct names {
		uint64_t at;
		uint32_t size; /* a power of two */
	} * names;
	uint32_t hosts; /* the size of by_host: a power of two */
	uint32_t n_hosts;
	/* what known() found last for a text at an address: callers ask for the same again and
	 * again */
	const char **memo;
	const struct rs_fact **last; /* what the last look-up found */
	bool sealed;
};

enum { MEMO = 4096 };

struct rs_facts *rs_facts_create(void)
{
	struct rs_facts *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->arena = rs_arena_create(0);
	s->memo = calloc(MEMO, sizeof(*s->memo));
	s->last = calloc(1, sizeof(*s->last));
	if (!s->arena || !s->memo || !s->last) {
		rs_facts_destroy(s);
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
	free(s->first);
	free(s->next);
	free(s->names);
	free(s->by_name);
	free(s->by_host);
	free(s->memo);
	free(s->last);
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
	/* the rank is kept in `number` of facts being sorted: see rank() */
	return a->number < b->number ? -1 : a->number > b->number;
}

/* Interned strings are told apart by where they are. */
static uint64_t mix(uint64_t h, const void *p)
{
	h = (h ^ (uint64_t)(uintptr_t)p) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 32;
}

static uint64_t name_hash(const struct rs_fact *f)
{
	return mix(mix(f->age, f->subject), f->name);
}

static bool same_name(const struct rs_fact *a, const struct rs_fact *b)
{
	return a->name == b->name && a->subject == b->subject && a->age == b->age;
}

/* Facts are in order: of one name the first is the most trusted. */
static void index_names(struct rs_facts *s, uint32_t host)
{
	uint32_t *by_name = s->by_name + s->names[host].at, mask = s->names[host].size - 1;

	for (uint32_t i = s->first[host]; i < s->first[host + 1]; i++) {
		uint64_t h = name_hash(&s->fact[i]);

		if (i > s->first[host] && same_name(&s->fact[i], &s->fact[i - 1]))
			continue;
		while (by_name[h & mask])
			h++;
		by_name[h & mask] = i + 1;
	}
}

static void index_all_names(struct rs_facts *s)
{
	uint64_t room = 0;

	s->names = calloc(s->n_hosts + 1u, sizeof(*s->names));
	if (!s->names)
		return;
	for (uint32_t i = 0; i < s->n_hosts; i++) {
		uint32_t size = 16;

		while (size < 2 * (uint64_t)(s->first[i + 1] - s->first[i]))
			size *= 2;
		s->names[i] = (struct names){.at = room, .size = size};
		room += size;
	}
	s->by_name = calloc(room + 1, sizeof(*s->by_name));
	for (uint32_t i = 0; s->by_name && i < s->n_hosts; i++)
		index_names(s, i);
}

static void index_hosts(struct rs_facts *s)
{
	while (s->hosts < 2 * (uint64_t)s->n_hosts)
		s->hosts *= 2;
	s->by_host = calloc(s->hosts, sizeof(*s->by_host));
	if (!s->by_host) {
		s->n_hosts = 0;
		return;
	}
	for (uint32_t i = 0; i < s->n_hosts; i++) {
		uint64_t h = mix(0, s->host[i]);

		while (s->by_host[h & (s->hosts - 1)])
			h++;
		s->by_host[h & (s->hosts - 1)] = i + 1;
	}
}

/* Without memory for it the store is as if it were empty: callers find nothing, and add no more. */
static void index_facts(struct rs_facts *s)
{
	s->hosts = 16;
	s->host = calloc(s->n + 1u, sizeof(*s->host));
	s->first = calloc(s->n + 1u, sizeof(*s->first));
	s->next = calloc(s->n + 1u, sizeof(*s->next));
	if (!s->host || !s->first || !s->next) {
		s->n = 0;
		return;
	}
	for (uint32_t i = 0; i < s->n; i++)
		if (!i || s->fact[i].host != s->fact[i - 1].host) {
			s->first[s->n_hosts] = i;
			s->host[s->n_hosts++] = s->fact[i].host;
		}
	s->first[s->n_hosts] = s->n;
	for (uint32_t i = s->n; i--;) {
		const struct rs_fact *f = &s->fact[i];
		bool same = i + 1 < s->n && f[1].subject == f->subject && f[1].host == f->host &&
			    f[1].age == f->age;

		s->next[i] = same ? s->next[i + 1] : i + 1;
	}
	index_all_names(s);
	if (!s->by_name)
		s->n = s->n_hosts = 0;
	index_hosts(s);
}

/*
 * Which of two facts of one name and trust counts: of two files the first; of one file the line
 * that comes later, as a variable is set again and a port comes up. Of events (messages) what was
 * added first counts, as it is nearest to the cause. So it is of things without a name, which may
 * be several, and of switches' ports: the readers of configurations add what outranks the rest
 * first.
 */
static bool first_counts(const struct rs_fact *f)
{
	return !strcmp(f->subject, "message") || !strcmp(f->subject, "message_device") ||
	       !strcmp(f->subject, "said") || !strcmp(f->subject, "nccl") ||
	       !strncmp(f->subject, "port/", 5) || strstr(f->subject, "/unnamed");
}

static int64_t rank(const struct rs_fact *f, uint32_t file, uint32_t nth)
{
	enum { LINES = 1 << 24, NTHS = 1 << 14 };
	uint32_t before = 0;

	if (!first_counts(f))
		before = f->line < LINES ? LINES - 1 - f->line : 0;
	else if (!strncmp(f->subject, "port/", 5))
		before = LINES - 1 - (f->moment & ((1u << RS_MOMENT_SHIFT) - 1));
	return (int64_t)((uint64_t)file << 38 | (uint64_t)before << 14 |
			 (nth < NTHS ? nth : NTHS - 1));
}

void rs_facts_seal(struct rs_facts *s)
{
	if (s->sealed)
		return;
	s->sealed = true;
	for (uint32_t i = 0, first = 0; i < s->n; i++) {
		if (s->fact[i].file != s->fact[first].file)
			first = i;
		s->fact[i].number = rank(&s->fact[i], first, i - first);
	}
	if (s->n)
		qsort(s->fact, s->n, sizeof(*s->fact), order);
	for (uint32_t i = 0; i < s->n; i++)
		find_number(&s->fact[i]);
	index_facts(s);
}

/* The interned string; NULL: no fact has it. */
static const char *known(const struct rs_facts *s, const char *text)
{
	const char **memo = &s->memo[mix(0, text) & (MEMO - 1)];
	const struct strings *t = &s->strings;
	uint64_t h;

	/* at the same address another text may stand by now, but not where strings are kept */
	if (*memo && (*memo == text || !strcmp(*memo, text)))
		return *memo;
	h = hash(text, strlen(text));
	for (; t->size && t->slot[h & (t->size - 1)]; h++)
		if (!strcmp(t->slot[h & (t->size - 1)], text))
			return *memo = t->slot[h & (t->size - 1)];
	return NULL;
}

/* Which of the hosts it is; n_hosts: none. */
static uint32_t find_host(const struct rs_facts *s, const char *host)
{
	const char *name = known(s, host);

	rs_assert(s->sealed);
	if (!name || !s->n_hosts)
		return s->n_hosts;
	for (uint64_t h = mix(0, name); s->by_host[h & (s->hosts - 1)]; h++) {
		uint32_t i = s->by_host[h & (s->hosts - 1)] - 1;

		if (s->host[i] == name)
			return i;
	}
	return s->n_hosts;
}

/* The first fact of a host that is not less than the key, whose host does not matter. */
static uint32_t lower(const struct rs_facts *s, uint32_t h, struct rs_fact key)
{
	uint32_t lo = s->first[h], hi = s->first[h + 1];

	key.host = s->host[h];
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (by_key(&s->fact[mid], &key) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static const struct rs_fact *get(const struct rs_facts *s, const char *host, const char *subject,
				 const char *name, uint8_t age)
{
	struct rs_fact key = {.age = age};
	uint32_t in = find_host(s, host), mask;
	const uint32_t *by_name;

	if (in == s->n_hosts || !(key.subject = known(s, subject)) || !(key.name = known(s, name)))
		return NULL;
	by_name = s->by_name + s->names[in].at;
	mask = s->names[in].size - 1;
	for (uint64_t h = name_hash(&key); by_name[h & mask]; h++) {
		const struct rs_fact *f = &s->fact[by_name[h & mask] - 1];

		if (same_name(f, &key))
			return f;
	}
	return NULL;
}

const struct rs_fact *rs_facts_last(const struct rs_facts *s)
{
	return *s->last;
}

void rs_facts_met(const struct rs_facts *s, const struct rs_fact *f)
{
	*s->last = f;
}

const struct rs_fact *rs_facts_get(const struct rs_facts *s, const char *host, const char *subject,
				   const char *name)
{
	const struct rs_fact *f = get(s, host, subject, name, 0);

	if (f)
		*s->last = f;
	return f;
}

const struct rs_fact *rs_facts_get_old(const struct rs_facts *s, const char *host,
				       const char *subject, const char *name)
{
	return get(s, host, subject, name, 1);
}

/* Is f another reading of what `than` is of, at the same place of the same text? */
static bool reading_of(const struct rs_facts *s, const struct rs_fact *f,
		       const struct rs_fact *than)
{
	return f >= s->fact && f < s->fact + s->n && same_name(f, than) && f->host == than->host &&
	       f->trust == than->trust && f->file == than->file;
}

static bool same_place(const struct rs_fact *f, const struct rs_fact *than)
{
	return f->moment && f->moment >> RS_MOMENT_SHIFT == than->moment >> RS_MOMENT_SHIFT;
}

/* Facts of one name stand together, the later reading first, or the earlier (first_counts()). */
const struct rs_fact *rs_facts_before(const struct rs_facts *s, const struct rs_fact **now)
{
	const struct rs_fact *before = NULL, *last = *now, *f = *now;
	int way = 1;

	while (reading_of(s, f + 1, *now)) {
		f++;
		if (same_place(f, *now) && f->moment > last->moment) {
			last = f;
			way = -1;
		}
	}
	*now = last;
	for (f = last + way; reading_of(s, f, *now); f += way) {
		if (!same_place(f, *now) || f->moment >= last->moment)
			continue;
		if (!f->numeric || f->number > last->number)
			break;
		before = last = f;
	}
	return before;
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
	uint32_t h = find_host(s, host), i, end;

	if (h == s->n_hosts) {
		*at = s->n + 1;
		return NULL;
	}
	i = *at ? *at : s->first[h];
	end = s->first[h + 1];
	while (i < end && !s->fact[i].age) {
		if (!begins(s->fact[i].subject, subject)) {
			i = s->next[i];
			continue;
		}
		if (begins(s->fact[i].name, name)) {
			*at = i + 1;
			*s->last = &s->fact[i];
			return &s->fact[i];
		}
		i++;
	}
	*at = s->n + 1;
	return NULL;
}

uint32_t rs_facts_seek(const struct rs_facts *s, const char *host, const char *subject)
{
	struct rs_fact key = {.subject = subject, .name = ""};
	uint32_t h = find_host(s, host);

	return h == s->n_hosts ? s->n + 1 : lower(s, h, key);
}

const char *rs_facts_subject(const struct rs_facts *s, uint32_t *at, const char *host,
			     const char *prefix)
{
	const struct rs_fact *f;

	/* *at is one past the fact whose subject was given last */
	if (*at && *at <= s->n)
		*at = s->next[*at - 1];
	f = rs_facts_next(s, at, host, prefix, "");
	return f ? f->subject : NULL;
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

/* Keys, values and columns of outputs, judged by the words of states_table.c. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/level.h"
#include "audit/facts/word_list.h"
#include "audit/read/place.h"
#include "audit/read/readers.h"
#include "audit/read/grid.h"
#include "audit/read/states.h"

enum {
	DEPTH = 6,     /* parents of a key */
	CELLS = 24,    /* of a table's row */
	PATH = 320,    /* bytes of a path */
	VALUE = 200,   /* bytes of a value that are looked at */
	SIBLINGS = 32, /* values that wait for their largest */
	BOUNDS = 48,   /* values and limits of a segment */
	NAME = 64,
};

struct parent {
	unsigned indent;
	char text[NAME];
};

/* A value that has another beside it: the current one and the largest, what there is and what may
 * be used. */
struct sibling {
	char key[PATH]; /* without the word that tells which of both it is */
	double number;
	char text[NAME];
	bool largest;
};

/* A measured value, or a limit that the tool prints beside it. */
struct bound {
	char key[PATH]; /* without the words that tell which it is, and without a lane's number */
	int limit;      /* 0: a value; -1, 1: what it may not be below, above */
	double number;
};

struct at {
	struct rs_audit *a;
	const struct rs_input *in;
	struct rs_line *l;
	char command[NAME * 2];
	struct parent parent[DEPTH];
	unsigned depth;
	char before[NAME];  /* the line before, if it may be a heading with a rule below */
	unsigned rules;     /* of the lines so far the rules, the last one's in bit 0 */
	unsigned parts;     /* hosts that a heading names; 0: none did */
	char section[NAME]; /* that heading: keys below it need not be further right */
	char head[CELLS][NAME];
	unsigned at[CELLS], n_head; /* columns: where each begins */
	char word[CELLS][NAME];     /* the same heading parted at single blanks */
	unsigned n_words;
	bool commas; /* the heading's columns are parted by commas */
	char entry[NAME];
	bool shown;   /* the ports' states are told already */
	unsigned nth; /* line of the segment, from 1 */
	struct sibling sibling[SIBLINGS];
	unsigned n_siblings;
	struct bound bound[BOUNDS];
	unsigned n_bounds;
	struct rs_odds odds;
	unsigned gids, gids_local; /* of Ethernet, in the files of a GID table */
	size_t json; /* where a document begins in the segment, and on which of its lines */
	uint32_t line_at;
	size_t counted;    /* bytes of the document up to line_at */
	unsigned broken;   /* documents that were not whole */
	unsigned leaves;   /* values of documents */
	unsigned alerts;   /* texts of alerts */
	const char *about; /* why the object at hand is as it is, it says; NULL */
};

/* ---- Words ---- */

/* Small letters and figures, all else blanks, one between two. */
static void plain(const char *text, char *out, size_t size)
{
	size_t n = 0;

	char before = ' ';

	for (; *text && n + 2 < size; before = *text++) {
		bool word = isalnum((unsigned char)*text) || (unsigned char)*text >= 0x80;

		/* "GpuXidError" is three words */
		if (isupper((unsigned char)*text) && islower((unsigned char)before) && n &&
		    out[n - 1] != ' ')
			out[n++] = ' ';
		if (word)
			out[n++] = (char)tolower((unsigned char)*text);
		else if (n && out[n - 1] != ' ')
			out[n++] = ' ';
	}
	out[n] = '\0';
}

/* The same of a value, whose words stay as they are: "CrashLoopBackOff". */
static void flat(const char *text, char *out, size_t size)
{
	char low[VALUE];

	rs_word_lower(text, low, sizeof(low));
	plain(low, out, size);
}

/* Is the word (n bytes; '-' a blank) at some word's beginning? '$' at its end: and to its end. */
static bool has_word(const char *path, const char *word, size_t n)
{
	bool whole = n && word[n - 1] == '$';

	n -= whole;
	for (const char *p = path; *p; p += strcspn(p, " "), p += *p == ' ') {
		size_t i = 0;

		while (i < n && (p[i] == word[i] || (word[i] == '-' && p[i] == ' ')))
			i++;
		if (i == n && (!whole || p[i] == ' ' || !p[i]))
			return true;
	}
	return false;
}

static bool has_one(const char *path, const char *words, size_t size)
{
	for (size_t i = 0; i < size;) {
		size_t n = strcspn(words + i, "| ");

		if (has_word(path, words + i, n))
			return true;
		i += n + 1;
	}
	return false;
}

/* All groups of a key. */
static bool has_all(const char *path, const char *key)
{
	while (*key) {
		size_t n = strcspn(key, " ");

		if (!has_one(path, key, n))
			return false;
		key += n + (key[n] == ' ');
	}
	return true;
}

static bool number_in(const char *text, double *out)
{
	char copy[32];
	size_t n = 0;
	const char *p = text + strcspn(text, "0123456789");

	if (!*p)
		return false;
	if (p > text && p[-1] == '-')
		p--;
	for (; *p && n < sizeof(copy) - 1 && (isdigit((unsigned char)*p) || strchr(".,-", *p)); p++)
		if (*p != ',')
			copy[n++] = *p;
		else if (!isdigit((unsigned char)p[1]))
			break;
	/* "1.8834e+07" */
	if ((*p == 'e' || *p == 'E') && n + 5 < sizeof(copy) && strchr("+-", p[1]) &&
	    isdigit((unsigned char)p[2]))
		for (unsigned i = 0; i < 4 && *p && (i < 2 || isdigit((unsigned char)*p)); i++)
			copy[n++] = *p++;
	copy[n] = '\0';
	*out = strtod(copy, NULL);
	return true;
}

/* "1.2,-40,1.1 [-9.5..5]" */
static bool outside(const char *value)
{
	const char *open = strchr(value, '['), *dots = open ? strstr(open, "..") : NULL;
	double low, high, x;
	char *end;

	/* of "-10..75" the number is not "-10." */
	if (!dots || sscanf(open, "[%lf", &low) != 1 || sscanf(dots, "..%lf]", &high) != 1)
		return false;
	for (const char *p = value; p < open; p = end + (*end == ',' || *end == ' ')) {
		x = strtod(p, &end);
		if (end == p)
			return false;
		if (x < low || x > high)
			return true;
	}
	return false;
}

/* "8X (16X)", "8G-Gen 3 (16G-Gen 4)", "126 / 128" */
static bool below(const char *value)
{
	const char *open = strchr(value, '(');
	double now, can;
	int end = 0;

	if (!open && sscanf(value, "%lf / %lf%n", &now, &can, &end) == 2 && !value[end])
		return now < can;

	return open && isdigit((unsigned char)*value) && isdigit((unsigned char)open[1]) &&
	       number_in(value, &now) && number_in(open, &can) && now < can;
}

/* The value's first words, whole; "/" within a value parts two: "disable/down". */
static bool is_one(const char *value, const char *words)
{
	char low[VALUE];
	size_t size = strlen(words);

	flat(value, low, sizeof(low));
	for (size_t i = 0; i < size;) {
		size_t n = strcspn(words + i, "|");

		if (!strncmp(low, words + i, n) && (!low[n] || low[n] == ' '))
			return true;
		i += n + 1;
	}
	return false;
}

/* ---- Judging a pair ---- */

/* "State : Active", or "State": "Active", above the line at hand: mlxlink's link is up. */
static bool link_is_up(const struct at *s)
{
	struct rs_line *l = calloc(1, sizeof(*l));
	bool up = false;

	while (l && rs_line_next(s->in, l) && l->number < s->l->number) {
		const char *t = l->text + strspn(l->text, " \t\"");
		const char *value = t + strcspn(t, ":");

		if (strncasecmp(t, "state", 5) || !strchr("\" \t:", t[5]) || !*value)
			continue;
		value += 1 + strspn(value + 1, " \t\"");
		up = !strncasecmp(value, "active", 6);
	}
	free(l);
	return up;
}

static void say(struct at *s, const char *key)
{
	if (!strcmp(key, "link-advice") && link_is_up(s))
		key = "link-advice-up";
	rs_input_tell(s->a, s->in, s->l->number, s->l->text, key, s->entry);
}

static bool fits(const struct rs_state_row *r, const char *value)
{
	double x;

	switch (r->when) {
	case RS_STATE_IS:
		return is_one(value, r->values);
	case RS_STATE_OVER:
		return (isdigit((unsigned char)*value)) && number_in(value, &x) && x > r->than;
	case RS_STATE_OUTSIDE:
		return outside(value);
	case RS_STATE_BELOW:
		return below(value);
	case RS_STATE_OTHER:
		return !is_one(value, r->values);
	case RS_STATE_HAS: {
		char low[VALUE];

		flat(value, low, sizeof(low));
		return rs_word_list_has(low, r->values, false);
	}
	case RS_STATE_BITS:
		return !strncmp(value, "0x", 2) &&
		       (strtoull(value, NULL, 16) & (unsigned long long)r->than);
	}
	return false;
}

/* Cuts a word out of a path; false: it is not there. */
static bool cut(char *path, const char *word)
{
	size_t n = strlen(word);
	char padded[PATH + 2];
	char *p;

	snprintf(padded, sizeof(padded), " %s ", path);
	if (!(p = strstr(padded, word)) || p[-1] != ' ' || p[n] != ' ')
		return false;
	memmove(p, p + n + 1, strlen(p + n + 1) + 1);
	snprintf(path, PATH, "%s", padded + 1);
	return true;
}

/* Says where the other of both is known already; keeps this one where it is not. */
static void meet(struct at *s, const struct sibling *mine, double times, const char *message)
{
	for (unsigned k = 0; k < s->n_siblings; k++) {
		const struct sibling *o = &s->sibling[k];
		double now = mine->largest ? o->number : mine->number;
		double most = mine->largest ? mine->number : o->number;

		if (o->largest == mine->largest || strcmp(o->key, mine->key))
			continue;
		if (times > 0 ? now * times < most : strcmp(o->text, mine->text))
			say(s, message);
		s->sibling[k] = s->sibling[--s->n_siblings];
		return;
	}
	if (s->n_siblings < SIBLINGS)
		s->sibling[s->n_siblings++] = *mine;
}

/* Values that have another beside them. */
static const struct {
	const char *now, *most, *about, *but, *message;
	double times; /* by how much the larger one is larger at least; 0: they differ */
} both[] = {
	{"current", "max", "pcie|pci|link width", "gen|speed", "slot-narrow", 1},
	{"current link width", "max link width", "current|max", NULL, "slot-narrow", 1},
	/* of memory and processors the system keeps some: a node's own name may have "gpu" */
	{"allocatable", "capacity", "gpu|rdma|hca|nic|vf|sriov|efa|mlnx",
	 "memory|cpu|storage|ephemeral|hugepages|pods|attachable|kib|ki", "resource-short", 1},
	{"current hardware settings", "pre set maximums", "combined", NULL, "channels-few", 8},
	{"running", "stored", "fw", "psid|mgmt|undi|bundle", "firmware-pending", 0},
};

/* Both halves of "link width current 8, max 16" and of "capacity nvidia.com/gpu 8, allocatable 7":
 * the smaller one is told where the larger one is known. */
static void compare(struct at *s, const char *path, const char *value)
{
	double x = 0;

	if (!isdigit((unsigned char)*value) || !number_in(value, &x))
		return;
	for (unsigned i = 0; i < sizeof(both) / sizeof(*both); i++) {
		struct sibling mine = {.number = x};

		if (!has_one(path, both[i].about, strlen(both[i].about)) ||
		    (both[i].but && has_one(path, both[i].but, strlen(both[i].but))))
			continue;
		snprintf(mine.key, sizeof(mine.key), "%u %.300s", i, path);
		snprintf(mine.text, sizeof(mine.text), "%.63s", value);
		mine.largest = cut(mine.key, both[i].most);
		if (!mine.largest && !cut(mine.key, both[i].now))
			continue;
		meet(s, &mine, both[i].times, both[i].message);
		return;
	}
}

/* "rx power 0" and "rx power high thres" are of one key: "rx power". */
static void bound_key(const char *path, char *out)
{
	static const char words[] = "high$|low$|thres|alarm|max$|min$|current|value";
	size_t n = 0;

	for (const char *p = path; *p;) {
		size_t w = strcspn(p, " ");
		size_t letters = w;

		while (letters && isdigit((unsigned char)p[letters - 1]))
			letters--;
		if (letters && n + letters + 2 < PATH) {
			char word[PATH];

			snprintf(word, sizeof(word), "%.*s", (int)letters, p);
			if (!has_one(word, words, strlen(words)))
				n += (size_t)snprintf(out + n, PATH - n, "%s ", word);
		}
		p += w + (p[w] == ' ');
	}
	out[n] = '\0';
}

/* A temperature, a voltage or a light beside the limits that the same output names for it. */
static void hold_against(struct at *s, const char *path, const char *value)
{
	static const char measured[] = "temperature|temp|power|voltage|vcc|bias",
			  limits[] = "thres",
			  other[] = "warn|warning|slope|offset|cap|draw|max$|min$|hyst";
	struct bound mine = {0};

	if (s->n_bounds == BOUNDS || !has_one(path, measured, strlen(measured)) ||
	    has_one(path, other, strlen(other)) || !number_in(value, &mine.number))
		return;
	if (has_one(path, limits, strlen(limits)))
		mine.limit = has_one(path, "high$", 5) ? 1 : has_one(path, "low$", 4) ? -1 : 2;
	if (mine.limit == 2)
		return;
	bound_key(path, mine.key);
	for (unsigned i = 0; i < s->n_bounds; i++) {
		const struct bound *o = &s->bound[i];
		const struct bound *v = mine.limit ? o : &mine, *l = mine.limit ? &mine : o;

		if (!v->limit && l->limit && !strcmp(o->key, mine.key) &&
		    (v->number - l->number) * l->limit > 0) {
			say(s, "optics-alarm");
			return;
		}
	}
	s->bound[s->n_bounds++] = mine;
}

/* What parts of one kind have in common. */
static const char alike[] = "speed|rate|width|mtu|firmware|fw|vbios|link-layer|fec|gen$|generation";
static const char unlike[] =
	"ber|error|errors|symbol|raw|max|min|supported|advertised|enabled|partner|threshold|limit|"
	"requested|default|packet|packets|msg|average|peak|clock|clocks|fan|refresh|sampling|"
	"throughput|date|lo|docker|virbr|cni|veth|bond|br|tun|flannel|sample|learning|rates|tx|rx|"
	"bytes|sweep|rates|frame|transfer|util|utilization";

static void gather(struct at *s, const char *path, const char *value)
{
	if (has_one(path, alike, strlen(alike)) && !has_one(path, unlike, strlen(unlike)))
		rs_odd_add(&s->odds, path, value, s->l->number, s->l->text,
			   s->parts ? s->parts : 1);
}

/* "Ulimits": [{"Name": "memlock", "Soft": 65536}]: the limit of a container's processes, in
 * bytes. */
static void limit(struct at *s, const char *path, const char *value)
{
	bool none = *value == '-';

	if ((!has_all(path, "ulimits memlock soft$") && !has_all(path, "ulimits memlock$")) ||
	    (!none && !isdigit((unsigned char)*value)))
		return;
	rs_input_add(s->a, s->in, s->l->number, NULL, "host", "memlock", "%s",
		     none ? "unlimited" : value);
	rs_input_add(s->a, s->in, s->l->number, NULL, "host", "memlock_job", "docker");
}

/* Of an object that is unhealthy its own reason tells what it is; NULL: that it has only begun. */
static const char *because(const struct at *s, const char *message)
{
	bool state = !strncmp(message, "state-", 6);
	char why[PATH];

	if (!s->about || !*s->about || (!state && strcmp(message, "node-condition") != 0))
		return message;
	plain(s->about, why, sizeof(why));
	/* a kubelet's first seconds */
	if (rs_word_list_has(why,
			     "~not yet initialized|~ has yet to be |~may not have completed yet",
			     false))
		return NULL;
	for (const struct rs_state_why *w = rs_state_whys; state && w->words; w++)
		if (has_all(why, w->words))
			return w->message;
	return message;
}

static void judge(struct at *s, const char *raw, const char *value)
{
	char path[PATH];

	value += strspn(value, " \t.\"");
	if (!*value || *value == '$' || *value == '<')
		return;
	plain(raw, path, sizeof(path));
	limit(s, path, value);
	for (const struct rs_state_row *r = rs_state_rows; r->key; r++)
		if (has_all(path, r->key) && (!r->but || !has_one(path, r->but, strlen(r->but))) &&
		    fits(r, value)) {
			const char *message = because(s, r->message);

			if (message && (!s->shown || strncmp(message, "port-", 5) != 0))
				say(s, message);
			break;
		}
	compare(s, path, value);
	hold_against(s, path, value);
	gather(s, path, value);
}

/* ---- Trees of keys ---- */

static void pair(struct at *s, const char *key, const char *value)
{
	char raw[PATH];
	size_t n = (size_t)snprintf(raw, sizeof(raw), "%s %s ", s->command, s->section);

	/* a setting of a job tells of no state */
	if (!strncmp(key, "NCCL_", 5) || !strncmp(key, "UCX_", 4) || !strncmp(key, "export ", 7))
		return;
	for (unsigned i = 0; i < s->depth && n < sizeof(raw); i++)
		n += (size_t)snprintf(raw + n, sizeof(raw) - n, "%s ", s->parent[i].text);
	if (n < sizeof(raw))
		snprintf(raw + n, sizeof(raw) - n, "%s", key);
	judge(s, raw, value);
}

static void leave(struct at *s, unsigned indent)
{
	while (s->depth && s->parent[s->depth - 1].indent >= indent)
		s->depth--;
}

static void enter(struct at *s, unsigned indent, const char *text, size_t n)
{
	leave(s, indent);
	if (s->depth == DEPTH)
		return;
	s->parent[s->depth].indent = indent;
	snprintf(s->parent[s->depth++].text, NAME, "%.*s", (int)n, text);
}

/* "local_ack_timeout_err:8812", "/run/cxi/cxi0/nacks:3": a name or a file's path, a colon, and
 * figures alone. */
static bool is_named_number(const char *t, size_t n)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_",
			  path[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
				   "0123456789/.-";
	const char *value = t + n + 1;

	return n > 3 && t[n] == ':' && strspn(t, *t == '/' ? path : letters) == n && *value &&
	       strspn(value, "0123456789") == strlen(value);
}

/* "rdma.c: 496:start: *ERROR*: QP#0: bad state: 192": a log's line, whose colons part no key. */
static bool has_place(const char *text)
{
	static const char *const ends[] = {".c:", ".cc:", ".cpp:", ".cu:", ".py:", ".go:", ".rs:"};

	for (unsigned i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		const char *p = strstr(text, ends[i]);

		if (p && isdigit((unsigned char)p[strlen(ends[i]) + (p[strlen(ends[i])] == ' ')]))
			return true;
	}
	return false;
}

/* A key whose value is a device's name. */
static bool names_device(const char *key)
{
	static const char *const keys[] = {"device", "hca", "nic", "npu", "aip"};

	for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (!strcasecmp(key, keys[i]))
			return true;
	return false;
}

/* "Key : value", "Key:....value", "key = value"; a line that is a key alone is a parent. */
static bool tree(struct at *s)
{
	char *t = s->l->text;
	size_t n = strcspn(t, ":=");
	char *value = t + n;
	char key[96];

	if (has_place(t) || (rs_level_of(t) && (!strncmp(t, "- ", 2) || strstr(t, "level="))))
		return false;
	/* the colons of a PCI address, a clock or a MAC address part no key; a name's do:
	 * "packet_seq_err:12" */
	while (!is_named_number(t, n) && *value == ':' && value[1] && !strchr(" \t.", value[1]) &&
	       value != t) {
		n += 1 + strcspn(value + 1, ":=");
		value = t + n;
	}
	if (!*value || !n || n >= sizeof(key)) {
		size_t words = strcspn(t, "\r\n");

		/* "Clocks Event Reasons" above what is further right */
		if (words && words < 48 && isalpha((unsigned char)*t) && !strpbrk(t, "|,;()<>")) {
			enter(s, s->l->indent, t, words);
			return true;
		}
		return false;
	}
	value += strspn(value, ":= \t.");
	/* "GPU[1] : XGMI Error count: 3": the key has two parts */
	for (char *more = strstr(value, ": "); more && more - value < 40 && more - t < 90;
	     more = NULL) {
		n = (size_t)(more - t);
		value = more + 2;
	}
	snprintf(key, sizeof(key), "%.*s", (int)n, t);
	leave(s, s->l->indent);
	if (!*value) {
		enter(s, s->l->indent, key, n);
		return true;
	}
	pair(s, key, value);
	/* "Device: cxi0" above what is further right */
	if (strlen(value) < NAME / 2 && names_device(key) && !strchr(value, ' ')) {
		snprintf(key, sizeof(key), "%.*s %.32s", (int)n, t, value);
		enter(s, s->l->indent, key, strlen(key));
	}
	return true;
}

/* ---- Tables ---- */

static unsigned cells_of(char *text, bool commas, char **cell, unsigned *at)
{
	unsigned n = 0;

	for (char *p = text; *p && n < CELLS;) {
		char *end;

		p += strspn(p, " \t");
		if (!*p)
			break;
		at[n] = (unsigned)(p - text);
		cell[n++] = p;
		end = p;
		if (commas)
			end += strcspn(p, ",");
		else
			while (*end && *end != '\t' &&
			       !(end[0] == ' ' && (end[1] == ' ' || !end[1])))
				end++;
		p = *end ? end + 1 : end;
		*end = '\0';
	}
	return n;
}

/* A row of columns' names: letters first, in each. */
static bool heading(struct at *s)
{
	char copy[sizeof(s->l->text)], *cell[CELLS];
	unsigned at[CELLS], n;
	bool commas = false;

	for (int by = 0; by < 2; by++) {
		unsigned names = 0;

		snprintf(copy, sizeof(copy), "%s", s->l->text);
		commas = by == 0;
		n = cells_of(copy, commas, cell, at);
		for (unsigned i = 0; i < n; i++)
			names += isalpha((unsigned char)*cell[i]) && strlen(cell[i]) < NAME &&
				 !strpbrk(cell[i], "=") && cell[i][strlen(cell[i]) - 1] != ':' &&
				 !strstr(cell[i], ": ");
		if (n < 2 || names < n || (commas && n < 2))
			continue;
		for (unsigned i = 0; i < n; i++) {
			snprintf(s->head[i], NAME, "%s", cell[i]);
			s->at[i] = at[i];
		}
		s->n_head = n;
		s->commas = commas;
		s->n_words = 0;
		snprintf(copy, sizeof(copy), "%s", s->l->text);
		for (char *save, *w = strtok_r(copy, " \t", &save); w && s->n_words < CELLS;
		     w = strtok_r(NULL, " \t", &save))
			snprintf(s->word[s->n_words++], NAME, "%.63s", w);
		return true;
	}
	return false;
}

/* The columns that a query names, where its output has no heading: nvidia-smi, with noheader. */
static void asked_columns(struct at *s)
{
	const char *p = s->in->command ? strstr(s->in->command, "--query-gpu=") : NULL;

	if (!p || !strstr(s->in->command, "noheader"))
		return;
	p += 12;
	s->commas = true;
	while (s->n_head < CELLS && *p && *p != ' ') {
		size_t n = strcspn(p, ", ");

		snprintf(s->head[s->n_head++], NAME, "%.*s", (int)n, p);
		p += n + (p[n] == ',');
	}
}

static void row(struct at *s, char **cell, const unsigned *at, unsigned n)
{
	char raw[PATH];
	unsigned column = 0;

	snprintf(s->entry, sizeof(s->entry), "%.63s", s->commas ? "" : cell[0]);
	for (unsigned i = 0; i < n; i++) {
		if (n == s->n_head)
			column = i;
		else
			while (column + 1 < s->n_head && s->at[column + 1] <= at[i])
				column++;
		snprintf(raw, sizeof(raw), "%s %s %s", s->command, i ? cell[0] : "",
			 s->head[column]);
		judge(s, raw, cell[i]);
	}
	*s->entry = '\0';
}

/* Columns that are one blank apart: by their order, where there are as many as names. */
static bool narrow(struct at *s)
{
	char copy[sizeof(s->l->text)], *cell[CELLS], raw[PATH];
	unsigned n = 0;

	snprintf(copy, sizeof(copy), "%s", s->l->text);
	for (char *save, *w = strtok_r(copy, " \t", &save); w && n < CELLS;
	     w = strtok_r(NULL, " \t", &save))
		cell[n++] = w;
	/* a last column's words may be many */
	if (s->n_words < 3 || n < s->n_words)
		return false;
	snprintf(s->entry, sizeof(s->entry), "%.63s", cell[0]);
	for (unsigned i = 1; i < s->n_words; i++) {
		snprintf(raw, sizeof(raw), "%s %s %s", s->command, cell[0], s->word[i]);
		judge(s, raw, cell[i]);
	}
	*s->entry = '\0';
	return true;
}

static bool table(struct at *s)
{
	char copy[sizeof(s->l->text)], *cell[CELLS];
	unsigned at[CELLS], n;

	if (!s->n_head)
		return false;
	snprintf(copy, sizeof(copy), "%s", s->l->text);
	n = cells_of(copy, s->commas, cell, at);
	if (n >= 2 && n == s->n_head) {
		row(s, cell, at, n);
		return true;
	}
	if (s->commas)
		return false;
	/* columns that stand apart are by their places, though one of them is empty */
	if (n >= 2 && n + 2 >= s->n_head && s->n_head >= 4 && s->n_head * 4 >= s->n_words * 3) {
		row(s, cell, at, n);
		return true;
	}
	if (narrow(s))
		return true;
	if (n < 2 || n + 2 < s->n_head)
		return false;
	row(s, cell, at, n);
	return true;
}

/* "GPU0 Temp | 97 degrees C | cr", and the row of a box: "|  ERR!  |". */
static bool bars(struct at *s)
{
	char copy[sizeof(s->l->text)], *p = copy, *cell[CELLS];
	unsigned n = 0;

	snprintf(copy, sizeof(copy), "%s", s->l->text);
	while (n < CELLS && (p = strtok_r(n ? NULL : copy, "|", &cell[CELLS - 1]))) {
		p += strspn(p, " \t");
		cell[n++] = p;
	}
	if (n < 2)
		return false;
	for (unsigned i = 1; i < n; i++) {
		size_t m = strlen(cell[i]);

		while (m && strchr(" \t", cell[i][m - 1]))
			cell[i][--m] = '\0';
		pair(s, *cell[0] ? cell[0] : "box", cell[i]);
	}
	return true;
}

/* ---- A segment ---- */

/* The one place below /sys or /proc/sys that a command names, within a loop or a glob too; NULL:
 * none, or several. */
static const char *one_place(const char *command, size_t *n)
{
	const char *p = strstr(command, "/sys/"), *more;

	if (!p || strstr(command, "grep"))
		return NULL;
	if (p > command + 5 && !strncmp(p - 5, "/proc", 5))
		p -= 5;
	*n = strcspn(p, " \t;|\"')");
	more = strstr(p + *n, "/sys/");
	return more ? NULL : p;
}

/* "fe80:0000:0000:0000:bace:f6ff:fe11:2233": an entry of a GID table. One of InfiniBand is made of
 * a GUID and may be link-local; one of Ethernet is made of a MAC address (RFC 4291, appendix A). */
static bool gid_entry(struct at *s)
{
	unsigned g[8];
	char more;

	if (!strstr(s->in->command, "/gids/") ||
	    sscanf(s->l->text, "%4x:%4x:%4x:%4x:%4x:%4x:%4x:%4x%c", &g[0], &g[1], &g[2], &g[3],
		   &g[4], &g[5], &g[6], &g[7], &more) != 8)
		return false;
	if (g[0] == 0xfe80 && (g[5] & 0xff) == 0xff && g[6] >> 8 == 0xfe)
		s->gids_local++;
	else if (g[0] || g[5] || g[6] || g[7])
		s->gids++;
	return true;
}

/* The nth of the places that a shell makes of words: "/run/a/{x,y} /run/b" are three. false: it has
 * fewer, or one is too long. */
static bool nth_place(const char *words, unsigned nth, char *out)
{
	for (const char *p = words; *p && nth;) {
		size_t n, head, list;

		p += strspn(p, " \t");
		n = strcspn(p, " \t");
		head = strcspn(p, "{ \t");
		list = p[head] == '{' ? strcspn(p + head, "} \t") : 0;
		if (list && p[head + list] != '}')
			return false;
		for (const char *item = p + head + (list > 0); nth; item++) {
			size_t m = list ? strcspn(item, ",}") : 0;

			if (!--nth)
				return snprintf(out, PATH, "%.*s%.*s%.*s", (int)head, p, (int)m,
						item, (int)(n - head - list - (list > 0)),
						p + head + list + (list > 0)) < PATH;
			item += m;
			if (!list || *item == '}')
				break;
		}
		p += n;
	}
	return false;
}

/* What `cat PATH...` prints, a line a path: the value of that path. */
static bool printed(struct at *s)
{
	const char *p = s->in->command, *only;
	char path[PATH];
	size_t n = 0;

	if (!p || !strstr(p, "cat /"))
		return false;
	if (strchr(s->l->text, ':'))
		return gid_entry(s);
	if (!strchr(p, '{') && (only = one_place(p, &n))) {
		snprintf(path, sizeof(path), "%.*s", (int)n, only);
		judge(s, path, s->l->text);
		return true;
	}
	if ((strncmp(p, "cat /sys/", 9) && strncmp(p, "cat /run/", 9)) || strpbrk(p, "*|;[$") ||
	    !nth_place(p + 4, s->nth, path))
		return false;
	judge(s, path, s->l->text);
	return true;
}

static void measured(void *context, const char *path, const char *value)
{
	judge(context, path, value);
}

/* A monitor's line. */
static bool metric(struct at *s)
{
	*s->entry = '\0';
	return rs_states_metric(s->l->text, measured, s);
}

/* "91283 segments retransmitted": a number and what it counts. */
static bool number_first(struct at *s)
{
	char number[32];
	int end = 0;

	if (sscanf(s->l->text, "%31[0-9] %n", number, &end) != 1 || !end ||
	    !isalpha((unsigned char)s->l->text[end]) || strpbrk(s->l->text + end, "0123456789:=|,"))
		return false;
	pair(s, s->l->text + end, number);
	return true;
}

/* A number alone is the value of what the command names, or the heading of a loop. */
static bool lone(struct at *s)
{
	const char *t = s->l->text;
	char path[PATH];

	if ((!*s->command && !*s->section) || !isdigit((unsigned char)*t) ||
	    strspn(t, "0123456789.") != strlen(t))
		return false;
	snprintf(path, sizeof(path), "%s %s", s->command, s->section);
	judge(s, path, t);
	return true;
}

/* "=== ./link_downed ===", as loops print a file's name above what is in it. */
static bool named_above(struct at *s)
{
	const char *t = s->l->text, *name = t + strspn(t, "=-*#> "), *end = t + strlen(t);

	while (end > name && strchr("=-*#< ", end[-1]))
		end--;
	if (name - t < 3 || end <= name || !*end || end - name >= NAME ||
	    memchr(name, ' ', (size_t)(end - name)))
		return false;
	s->depth = 0;
	snprintf(s->section, sizeof(s->section), "%.*s", (int)(end - name), name);
	return true;
}

/* "TcpRetransSegs  91823  0.0": a name and its number, without a sign between. */
static bool counted(struct at *s)
{
	char name[NAME], number[32], more[32];
	int end = 0, all = 0;

	if (sscanf(s->l->text, "%63s %31[0-9]%n %31[0-9.]%n", name, number, &end, more, &all) < 2)
		return false;
	end = all ? all : end;
	if (s->l->text[end] || !isalpha((unsigned char)*name) || strpbrk(name, ":=,;|()"))
		return false;
	pair(s, name, number);
	return true;
}

/* "03:11:22 AM     IFACE": sar's clock before a row. */
static void unclock(char *text)
{
	unsigned h, m, sec;
	int n = 0;

	if (sscanf(text, "%2u:%2u:%2u%n", &h, &m, &sec, &n) != 3 || n != 8 || text[8] != ' ')
		return;
	text[0] = ' ';
	n += (int)strspn(text + n, " ");
	if (!strncmp(text + n, "AM ", 3) || !strncmp(text + n, "PM ", 3))
		n += 3;
	n += (int)strspn(text + n, " ");
	memmove(text, text + n, strlen(text + n) + 1);
}

/* A heading ends. Between two rules it names hosts (dshbak), which are no part of a path. */
static void headed(struct at *s, bool folded)
{
	s->depth = 0;
	s->parts = folded ? rs_odd_hosts(s->before) : 1;
	snprintf(s->section, sizeof(s->section), "%s", folded ? "" : s->before);
}

static void take(struct at *s)
{
	const char *t = s->l->text;

	unclock(s->l->text);
	size_t rule = strspn(t, "-= +");

	if (!*t) {
		s->n_head = 0;
		*s->before = '\0';
		return;
	}
	/* a rule below a heading: what follows is the heading's */
	if (rule > 3 && !t[rule]) {
		if (*s->before && !s->n_head)
			headed(s, (s->rules & 3) == 2);
		s->rules = s->rules << 1 | 1;
		return;
	}
	s->rules <<= 1;
	if (named_above(s) || printed(s))
		return;
	if (strchr(t, '|') && bars(s))
		return;
	if (metric(s) || lone(s) || table(s) || counted(s) || number_first(s))
		return;
	if (heading(s))
		return;
	tree(s);
	snprintf(s->before, sizeof(s->before), "%.63s", t);
}

/* ---- JSON ---- */

static bool of_place(struct at *s, const char *path, const char *value)
{
	const char *place = strstr(path, "/sys/");
	char file[PATH];

	if (!place)
		place = strstr(path, "/proc/");
	if (!place)
		return false;
	snprintf(file, sizeof(file), "%.*s", (int)strcspn(place, " "), place);
	return rs_place_add(s->a, s->in, s->line_at, file, value) > 0;
}

/* The text of an alert that is raised states what it names. */
static bool of_alert(struct at *s, const char *path, const char *value)
{
	static const char *const texts[] = {" summary ", " description ",    " message ",
					    " title ",   " newstatereason ", NULL};
	enum { ALERTS = 32 };
	size_t n = strlen(path);
	char name[32], low[NAME];

	if (!strstr(path, RS_STATES_RAISED) || s->alerts == ALERTS || !strchr(value, ' '))
		return false;
	for (unsigned i = 0; texts[i]; i++) {
		size_t m = strlen(texts[i]);

		if (n < m)
			continue;
		snprintf(low, sizeof(low), "%.40s", path + n - m);
		if (strcasecmp(low, texts[i]) != 0)
			continue;
		snprintf(name, sizeof(name), "failure/alert-%u", ++s->alerts);
		rs_input_add(s->a, s->in, s->line_at, NULL, "said", name, "alert: %.280s", value);
		return true;
	}
	return false;
}

static void leaf(void *context, const char *path, const char *value, const char *about, size_t at)
{
	enum {
		LEAVES = 20000 /* of a segment: a tool's output has fewer, a trace of a program more
				*/
	};
	struct at *s = context;
	char raw[PATH];

	if (s->leaves++ >= LEAVES)
		return;

	/* values come in their order */
	for (; s->counted < at; s->counted++)
		s->line_at += s->in->data[s->json + s->counted] == '\n';
	s->l->number = s->line_at;
	snprintf(s->l->text, sizeof(s->l->text), "%s: %s%s%s%s", path, value, *about ? " (" : "",
		 about, *about ? ")" : "");
	/* a collector's map of files: "/sys/...": "4: ACTIVE" */
	if (of_place(s, path, value) || of_alert(s, path, value))
		return;
	snprintf(raw, sizeof(raw), "%s %s", s->command, path);
	s->about = about;
	judge(s, raw, value);
	s->about = NULL;
}

/* A document that begins on this line, whose lines are then behind it. */
static bool document(struct at *s, size_t from)
{
	enum { BYTES = 1 << 20, BROKEN = 8 };
	const char *data = s->in->data, *p = data + from;
	uint32_t line = s->l->number;
	size_t n;

	p += strspn(p, " \t");
	if ((*p != '{' && *p != '[') || s->broken == BROKEN)
		return false;
	s->json = (size_t)(p - data);
	s->line_at = line;
	s->counted = 0;
	n = s->in->size - s->json;
	n = rs_states_json(p, n < BYTES ? n : BYTES, leaf, s);
	s->broken += !n;
	if (!n)
		return false;
	s->l->number = line;
	for (const char *q = p; q < p + n; q++)
		s->l->number += *q == '\n';
	s->l->next = s->json + n + strcspn(p + n, "\n");
	s->l->next += data[s->l->next] == '\n';
	return true;
}

/* A command's words, without the lists that it asks for. */
static void context(const char *command, char *out, size_t size)
{
	const char *loop = NULL;
	size_t n = 0;

	*out = '\0';
	/* of "for i in 0 1; do COMMAND; done" the command */
	if (!strncmp(command, "for ", 4) || !strncmp(command, "while ", 6))
		loop = strstr(command, "do ");
	if (loop)
		command = loop + 3;
	for (const char *p = command; *p;) {
		size_t w = strcspn(p, " \t|;>");

		if (w && !memchr(p, ',', w) && n + w + 2 < size)
			n += (size_t)snprintf(out + n, size - n, "%.*s ", (int)w, p);
		p += w + strspn(p + w, " \t");
		/* what a pipe leaves is of the command before it; ';' begins another */
		if (*p == '|' || *p == '>')
			p += strcspn(p, ";");
		p += strspn(p, "; \t");
	}
}

static bool of_switch(const char *command)
{
	return command && (rs_grid_tool(command) || !strncmp(command, "show ", 5) ||
			   !strncmp(command, "display ", 8) || !strncmp(command, "nv show", 7) ||
			   !strncmp(command, "info ", 5));
}

/* The rate or width of an RDMA device's port. */
static bool is_rate(const char *kind)
{
	static const char rate[] = "rate|speed|width",
			  rdma[] = "infiniband|ibstat|ca|roce|hca|rdma|cxi|hsn|hccn-tool|nicctl";

	return has_one(kind, rate, strlen(rate)) && has_one(kind, rdma, strlen(rdma));
}

/* Parts that differ from those like them. */
static void stand_out(struct at *s)
{
	for (unsigned i = 0; i < s->odds.n; i++) {
		const struct rs_odd_value *v = rs_odd_out(&s->odds.group[i]);

		if (!v)
			continue;
		s->l->number = v->line;
		snprintf(s->l->text, sizeof(s->l->text), "%s", v->line_text);
		say(s, v->n == 1 && is_rate(s->odds.group[i].kind) ? "odd-rate"
		       : v->n == 1 && has_one(s->odds.group[i].kind, "fec$", 4) &&
				       strcasestr(v->line_text, "fec")
			       ? "odd-fec"
			       : "odd-one-out");
	}
}

uint32_t rs_states_read(struct rs_audit *a, const struct rs_input *in, bool shown)
{
	struct rs_line *l = calloc(1, sizeof(*l));
	struct at s = {.a = a, .in = in, .l = l, .shown = shown};
	uint32_t before = rs_facts_count(a->facts);

	if (!l) {
		a->err = -ENOMEM;
		return 0;
	}
	/* a switch's outputs are grid.h's */
	if (of_switch(in->command)) {
		free(l);
		return 0;
	}
	if (in->command)
		context(in->command, s.command, sizeof(s.command));
	asked_columns(&s);
	for (size_t from = 0; rs_line_next(in, l) && !a->err; from = l->next) {
		l->text[512] = '\0';
		s.nth++;
		if (!document(&s, from))
			take(&s);
	}
	stand_out(&s);
	if (s.gids_local && !s.gids) {
		snprintf(l->text, sizeof(l->text), "%u GIDs, all link-local", s.gids_local);
		say(&s, "gids-none");
	}
	free(l);
	return rs_facts_count(a->facts) - before;
}

bool rs_state_tells(const char *key)
{
	for (const struct rs_state_row *r = rs_state_rows; r->key; r++)
		if (!strcmp(r->message, key))
			return true;
	for (unsigned i = 0; i < sizeof(both) / sizeof(*both); i++)
		if (!strcmp(both[i].message, key))
			return true;
	return !strcmp(key, "link-advice-up") || !strcmp(key, "odd-one-out") ||
	       !strcmp(key, "odd-rate") || !strcmp(key, "odd-fec");
}

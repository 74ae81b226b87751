/* Lines of outputs, taken by the rows of shown_table.c. */
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/look.h"
#include "audit/facts/message.h"
#include "audit/read/readers.h"
#include "audit/read/shown.h"

enum {
	STEPS = 20000, /* of one template on one line: what a hostile line may cost */
	NAME = 80,
	TEXT = 1024, /* bytes of a line that are looked at */
	SIGNS = 1024,
};

/* ---- Templates ---- */

struct kept {
	char name[NAME];
	double number;
	bool numbered, named;
	unsigned steps;
};

/* "1,234", "-12.5", "812K": its length; 0: none. */
static size_t number_at(const char *t, char behind, double *out)
{
	char plain[40];
	size_t n = *t == '-' || *t == '+', k = n;
	unsigned shift = 0;

	plain[0] = *t;
	if (!isdigit((unsigned char)t[n]))
		return 0;
	for (; isdigit((unsigned char)t[n]) || t[n] == '.' || t[n] == ','; n++) {
		if ((t[n] == '.' || t[n] == ',') && !isdigit((unsigned char)t[n + 1]))
			break;
		if (t[n] != ',' && k < sizeof(plain) - 1)
			plain[k++] = t[n];
	}
	plain[k] = '\0';
	*out = strtod(plain, NULL);
	if (strchr("KMG", t[n]) && t[n] && !isalnum((unsigned char)t[n + 1]))
		shift = t[n] == 'K' ? 1 : t[n] == 'M' ? 2 : 3;
	for (unsigned i = 0; i < shift; i++)
		*out *= 1000;
	n += shift > 0;
	/* "12ab" is a word, unless the template says what follows */
	return !isalpha((unsigned char)behind) && (isalnum((unsigned char)t[n]) || t[n] == '_') ? 0
												: n;
}

static size_t word_at(const char *t)
{
	size_t n = strcspn(t, " \t,|");

	return n && t[n - 1] == ':' && n > 1 ? n - 1 : n;
}

static bool fits(const char *p, const char *t, struct kept *k, char before)
{
	for (; *p; before = *p++) {
		size_t n;

		if (!k->steps || !k->steps--)
			return false;
		switch (*p) {
		case '$':
			return !t[strspn(t, " \t|")];
		case ' ':
			n = strspn(t, " \t|");
			if (!n && *t)
				return false;
			t += n;
			break;
		case '~':
			n = strspn(t, " \t|:=.");
			if (!n)
				return false;
			t += n;
			break;
		case '#':
			n = number_at(t, p[1], &k->number);
			if (!n)
				return false;
			k->numbered = true;
			t += n;
			break;
		case '@':
		case '%':
			n = word_at(t);
			if (!n)
				return false;
			if (*p == '@') {
				snprintf(k->name, sizeof(k->name), "%.*s", (int)n, t);
				k->named = true;
			}
			t += n;
			break;
		case '*':
			for (; *t; t++) {
				if (fits(p + 1, t, k, '*'))
					return true;
				if (!k->steps)
					return false;
			}
			return fits(p + 1, t, k, '*');
		case '\\':
			p += p[1] != '\0';
			/* fall through */
		default:
			if (tolower((unsigned char)*t) != tolower((unsigned char)*p))
				return false;
			t++;
		}
	}
	/* a word of the template ends where the line's does */
	return !isalnum((unsigned char)before) || !isalnum((unsigned char)*t);
}

static bool find(const char *like, const char *line, struct kept *k)
{
	const char *t = line + strspn(line, " \t|");

	*k = (struct kept){.steps = STEPS};
	if (*like == '^')
		return fits(like + 1, t, k, ' ');
	for (; *t; t++) {
		char before = t > line ? t[-1] : ' ';

		/* a sign stands before its number, and is none of a word's end */
		if (isalnum((unsigned char)before) || before == '_')
			continue;
		if (fits(like, t, k, ' '))
			return true;
		if (!k->steps)
			return false;
	}
	return false;
}

bool rs_shown_fits(const char *like, const char *line, double *number, char *name, size_t size)
{
	struct kept k;

	if (!find(like, line, &k))
		return false;
	*number = k.number;
	snprintf(name, size, "%s", k.name);
	return true;
}

/* ---- Blocks ---- */

/* Signs by the first letter of the lines that they fit; a word or a number may begin with any. */
static struct {
	pthread_once_t once;
	uint16_t first[256], next[SIGNS];
	struct {
		const char *like;
		const struct rs_shown *block;
	} sign[SIGNS];
	unsigned n;
} signs = {.once = PTHREAD_ONCE_INIT};

static void sign_add(const struct rs_shown *b, const char *like)
{
	unsigned char c = (unsigned char)tolower((unsigned char)*(like + (*like == '^')));

	if (signs.n + 1 >= SIGNS)
		return;
	if (strchr("#@%*~ ", c))
		c = 0;
	signs.sign[++signs.n].like = like;
	signs.sign[signs.n].block = b;
	signs.next[signs.n] = signs.first[c];
	signs.first[c] = (uint16_t)signs.n;
}

static void build(void)
{
	for (const struct rs_shown *b = rs_shown_blocks; b->name; b++)
		for (unsigned i = 0; i < RS_SHOWN_SIGNS && b->begins[i]; i++)
			sign_add(b, b->begins[i]);
}

/* Signs stand at a line's beginning. */
static const struct rs_shown *begun_at(const char *line)
{
	const char *t = line + strspn(line, " \t|");
	unsigned char of[2] = {(unsigned char)tolower((unsigned char)*t), 0};
	struct kept k;

	for (unsigned i = 0; *t && i < 2; i++)
		for (unsigned s = signs.first[of[i]]; s; s = signs.next[s]) {
			const char *like = signs.sign[s].like;

			k = (struct kept){.steps = STEPS};
			if (fits(like + (*like == '^'), t, &k, ' '))
				return signs.sign[s].block;
		}
	return NULL;
}

static const struct rs_shown *of_command(const char *command)
{
	const char *loop = command ? strstr(command, "; do ") : NULL;
	char like[128], bare[256];
	struct kept k;

	command = loop ? loop + 5 : command;
	if (command && !strncmp(command, "sudo ", 5))
		command += 5;
	/* what a pipe leaves of an output is that output's */
	snprintf(bare, sizeof(bare), "%s", command ? command : "");
	bare[strcspn(bare, "|;")] = '\0';
	for (size_t n = strlen(bare); n && bare[n - 1] == ' ';)
		bare[--n] = '\0';
	for (const struct rs_shown *b = rs_shown_blocks; command && b->name; b++)
		for (const char *p = b->command; p && *p;) {
			size_t n = strcspn(p, "|");

			snprintf(like, sizeof(like), "%.*s", (int)n, p);
			k = (struct kept){.steps = STEPS};
			if (fits(like, bare, &k, ' '))
				return b;
			p += n + (p[n] == '|');
		}
	return NULL;
}

/* "show interfaces Ethernet1/1 counters", "display interface 100GE 1/0/1", "ethtool -S ens1np0":
 * the interface that a command asks for; "": all. */
static void asked(const char *command, char *out, size_t size)
{
	char copy[256], *w[24];
	unsigned n;

	*out = '\0';
	/* what stands behind these are hosts */
	if (!command || !strncmp(command, "clush ", 6) || !strncmp(command, "pdsh ", 5))
		return;
	snprintf(copy, sizeof(copy), "%s", command);
	copy[strcspn(copy, "|;&>")] = '\0';
	n = rs_line_words(copy, w, 24);
	for (unsigned i = 1; i < n; i++) {
		bool digit = strpbrk(w[i], "0123456789") != NULL;

		if (!digit || *w[i] == '-' || strchr(w[i], '*') || strchr(w[i], '='))
			continue;
		if (isalpha((unsigned char)*w[i]) || (strchr(w[i], ':') && strchr(w[i], '.')))
			snprintf(out, size, "%s", w[i]);
		else if (!isdigit((unsigned char)*w[i]) || !strchr(w[i], '/'))
			continue;
		else if (strpbrk(w[i], "GE") || !strncmp(w[i - 1], "int", 3))
			snprintf(out, size, "%s", w[i]); /* "400GE1/0/1", "1/1/7" */
		else if (isalpha((unsigned char)*w[i - 1]) || strstr(w[i - 1], "GE"))
			snprintf(out, size, "%s%s", w[i - 1], w[i]);
		else
			continue;
		return;
	}
}

struct at {
	struct rs_audit *a;
	const struct rs_input *in;
	const struct rs_shown *block;
	char entry[NAME]; /* whose lines follow; "": nobody said */
	bool ports;       /* the state of one was told */
};

static bool holds(const struct rs_shown_row *r, const struct kept *k)
{
	switch (r->when) {
	case RS_SHOWN_ALWAYS:
		return true;
	case RS_SHOWN_SOME:
		return k->numbered && k->number > 0;
	case RS_SHOWN_ZERO:
		return k->numbered && k->number == 0;
	case RS_SHOWN_OVER:
		return k->numbered && k->number > r->than;
	case RS_SHOWN_UNDER:
		return k->numbered && k->number < r->than;
	}
	return false;
}

/* The text names RoCE or a lossless class: what a port has by default is a fault there. */
static bool names_lossless(const struct rs_input *in)
{
	static const char *const words[] = {"roce", "rdma", "no-loss", "noloss", "lossless"};

	for (size_t i = 0; i + 4 <= in->size; i++)
		for (unsigned k = 0; k < sizeof(words) / sizeof(*words); k++)
			if (in->size - i >= strlen(words[k]) &&
			    !strncasecmp(in->data + i, words[k], strlen(words[k])))
				return true;
	return false;
}

static void say(struct at *s, const struct rs_line *l, const struct rs_shown_row *r,
		const struct kept *k)
{
	const char *told = r->message;
	const struct rs_input *in = s->in;
	char subject[NAME + 16];
	const struct rs_message *m = r->message ? rs_message_find(r->message) : NULL;

	if (r->fact && (!s->block->entry || *s->entry)) {
		snprintf(subject, sizeof(subject), "%s%s",
			 s->block->entry ? s->block->entry : "host",
			 s->block->entry ? s->entry : "");
		if (r->value)
			rs_input_add(s->a, in, l->number, NULL, subject, r->fact, "%s", r->value);
		else
			rs_input_add(s->a, in, l->number, NULL, subject, r->fact, "%.15g",
				     k->number);
	}
	if (!m || rs_message_but(m, l->text))
		return;
	/* no RDMA crosses a port for management: its classes and drops say nothing of it */
	if (m->check && rs_look_management(s->entry) && strcmp(m->check, "S17"))
		return;
	if (!strcmp(told, "pfc-port-default") && names_lossless(in))
		told = "pfc-port-off";
	if (rs_input_tell(s->a, in, l->number, l->text, told, s->entry))
		s->ports |= !strncmp(told, "port-", 5);
}

static void take(struct at *s, const struct rs_line *l)
{
	struct kept k;

	for (const struct rs_shown_row *r = s->block->row; r->like; r++) {
		if (!find(r->like, l->text, &k))
			continue;
		if (k.named)
			snprintf(s->entry, sizeof(s->entry), "%s", k.name);
		if (holds(r, &k))
			say(s, l, r, &k);
	}
}

static void begin(struct at *s, const struct rs_shown *block)
{
	s->block = block;
	/* a host's own program prints a module's registers as a switch's does */
	if (!block->os || (s->in->command && !strncmp(s->in->command, "ethtool", 7)))
		return;
	rs_input_add(s->a, s->in, 0, NULL, "host", "role", "switch");
	rs_input_add(s->a, s->in, 0, NULL, "host", "os", "%s", block->os);
}

/* "# Eth1/1  ON  On(8)": an output that was pasted into a script's remarks. */
static void uncomment(char *text)
{
	/* a box around it, as a terminal draws it (U+2502) */
	if (!strncmp(text, "\xe2\x94\x82", 3)) {
		size_t n = 3 + strspn(text + 3, " \t");

		memmove(text, text + n, strlen(text + n) + 1);
	}
	if (text[0] == '#' && text[1] == ' ' && text[2] != ' ' && !strchr(text, ':'))
		memmove(text, text + 2, strlen(text + 2) + 1);
}

uint32_t rs_shown_read(struct rs_audit *a, const struct rs_input *in, bool *ports)
{
	struct at s = {.a = a, .in = in};
	uint32_t before = rs_facts_count(a->facts);
	const struct rs_shown *b;
	struct rs_line *l = calloc(1, sizeof(*l));

	pthread_once(&signs.once, build);
	*ports = false;
	if (!l) {
		a->err = -ENOMEM;
		return 0;
	}
	if ((b = of_command(in->command))) {
		asked(in->command, s.entry, sizeof(s.entry));
		begin(&s, b);
	}
	while (rs_line_next(in, l) && !a->err) {
		l->text[TEXT] = '\0';
		uncomment(l->text);
		if ((b = begun_at(l->text)) && b != s.block)
			begin(&s, b);
		if (s.block && *l->text)
			take(&s, l);
	}
	free(l);
	*ports = s.ports;
	return rs_facts_count(a->facts) - before;
}

const struct rs_reader rs_reader_shown = {
	.name = "shown",
	.what = "states in lines of outputs, by a table: switches (SONiC, EOS, NX-OS, OS10, Junos, "
		"Cumulus, Onyx, IOS XR, Huawei, H3C, FRR), NICs' tools, firewalls, Slurm",
	.trust = RS_TRUST_TOOL,
};

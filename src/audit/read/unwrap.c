/* Broken lines: which widths a text keeps to, and which of its lines go on in the next. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/prompt.h"
#include "audit/read/unwrap.h"

enum {
	NARROWEST = 60,    /* columns: what is narrower is not looked at */
	MAIL_WIDEST = 82,  /* mailers break between 65 and 80 */
	TERMINAL = 80,     /* columns: there one broken line is enough */
	CUTS = 3,          /* lines that end in one column, where it is no usual terminal's */
	BREAK_FROM = 20,   /* columns: a blank behind them is where a line may be broken */
	SENTENCE_WORDS = 5 /* of a line of prose */
};

/* A line without its end and without "> ". */
struct row {
	const char *text;
	uint32_t n, columns;
	uint8_t depth; /* of quotes */
	bool blank, drawn;
};

/* ---- Records ---- */

/* '@': a name; '#': digits; ' ': blanks, or none; all else is itself. Where it ends; NULL. */
static const char *like(const char *pattern, const char *p, const char *end)
{
	for (; *pattern; pattern++) {
		const char *from = p;

		if (*pattern == ' ') {
			while (p < end && *p == ' ')
				p++;
		} else if (*pattern == '#') {
			while (p < end && isdigit((unsigned char)*p))
				p++;
			if (p == from)
				return NULL;
		} else if (*pattern == '@') {
			while (p < end && (isalnum((unsigned char)*p) || strchr("_.-/", *p)))
				p++;
			if (p == from)
				return NULL;
		} else if (p >= end || *p++ != *pattern) {
			return NULL;
		}
	}
	return p;
}

enum rs_record rs_record_of(const char *text, size_t n)
{
	static const struct {
		const char *pattern;
		enum rs_record is;
	} begins[] = {
		{"@:#:# [#]", RS_RECORD_NCCL},     {"[#.#] [@:#", RS_RECORD_UCX},
		{"[ #.#]", RS_RECORD_KERNEL},      {"[@ @ # #:#:# #]", RS_RECORD_KERNEL},
		{"@ # #:#:# @", RS_RECORD_KERNEL}, {"#-#-#", RS_RECORD_OTHER},
		{"[#-#-#", RS_RECORD_OTHER},       {"@ #:#:#.#", RS_RECORD_OTHER},
		{"@ #-# #:#", RS_RECORD_OTHER},    {"[@]:", RS_RECORD_OTHER},
		{"[#,#]<", RS_RECORD_OTHER},       {"[@:#", RS_RECORD_OTHER},
		{"(@ pid=", RS_RECORD_OTHER},      {"libfabric:#:", RS_RECORD_OTHER},
		{"@:#: ", RS_RECORD_OTHER},        {"@:@:#", RS_RECORD_OTHER},
		{"@:#] ", RS_RECORD_OTHER},
	};
	const char *end = text + n;

	for (unsigned i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (like(begins[i].pattern, text, end))
			return begins[i].is;
	return RS_RECORD_NONE;
}

/* ---- Rows ---- */

static bool draws(const struct row *r)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (isalnum((unsigned char)r->text[i]) || (unsigned char)r->text[i] > 127)
			return false;
	return true;
}

/* A prompt, behind a clock, too, a fence, a heading: where something else begins. */
static bool frames(const struct row *r)
{
	static const struct rs_prefix_habits none;
	struct rs_prompt prompt;
	struct rs_prefix prefix;
	char text[256];

	if (!r->n || r->n >= sizeof(text))
		return false;
	memcpy(text, r->text, r->n);
	text[r->n] = '\0';
	if (rs_fence(text) || rs_prompt_find(text, &prompt))
		return true;
	rs_prefix_find(&none, RS_GANG_NONE, text, &prefix);
	return prefix.strip && rs_prompt_find(text + prefix.strip, &prompt);
}

static struct row row_of(const char *from, size_t n)
{
	struct row r = {0};

	while (n && *from == '>') {
		r.depth++;
		from++;
		n--;
		if (n && *from == ' ') {
			from++;
			n--;
		}
	}
	if (n && from[n - 1] == '\r')
		n--;
	r.text = from;
	r.n = (uint32_t)n;
	for (size_t i = 0; i < n; i++)
		r.columns += ((unsigned char)from[i] & 0xc0) != 0x80;
	r.blank = strspn(from, " \t\r\n") >= n;
	r.drawn = draws(&r);
	return r;
}

static struct row *rows_new(const char *data, size_t size, uint32_t lines)
{
	struct row *row = calloc(lines + 1u, sizeof(*row));
	const char *p = data, *end = data + size;

	/* what is behind the last line is empty */
	for (uint32_t i = 0; row && i <= lines; i++)
		row[i] = row_of("", 0);
	for (uint32_t i = 0; row && i < lines && p < end; i++) {
		const char *next = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((next ? next : end) - p);

		row[i] = row_of(p, n);
		p += n + 1;
	}
	return row;
}

static bool is_record(const struct row *r)
{
	return rs_record_of(r->text, r->n) != RS_RECORD_NONE;
}

/* May r be the rest of a line? */
static bool may_follow(const struct row *r)
{
	return !r->blank && !r->drawn && !is_record(r) && !frames(r);
}

/* Lines of one table or list begin alike: digits are as digits, letters as letters. */
static bool alike(const struct row *a, const struct row *b)
{
	enum { LOOKED_AT = 6 };
	bool plain = true;

	for (uint32_t i = 0; i < LOOKED_AT; i++) {
		unsigned char x = i < a->n ? (unsigned char)a->text[i] : ' ';
		unsigned char y = i < b->n ? (unsigned char)b->text[i] : ' ';

		x = isdigit(x) ? '0' : isalpha(x) ? 'a' : x;
		y = isdigit(y) ? '0' : isalpha(y) ? 'a' : y;
		if (x != y)
			return false;
		plain &= x == 'a';
	}
	return !plain;
}

static uint32_t first_word(const struct row *r)
{
	uint32_t n = 0;

	while (n < r->n && !isspace((unsigned char)r->text[n]))
		n++;
	return n;
}

/* A line of words, one blank between each: no table, no setting. */
static bool is_prose(const struct row *r)
{
	uint32_t words = 1;

	for (uint32_t i = 0; i + 1 < r->n; i++) {
		if (r->text[i] == '\t' || r->text[i] == '=' ||
		    (r->text[i] == ' ' && r->text[i + 1] == ' '))
			return false;
		words += r->text[i] == ' ';
	}
	return words >= SENTENCE_WORDS && r->n && !strchr(".:;!?,{", r->text[r->n - 1]);
}

/* A shell's or Python's own: no comment goes on with it. */
static bool is_statement(const struct row *r)
{
	static const char *const begin[] = {
		"export ",   "ulimit ", "os.environ", "import ",   "from ", "srun ",  "mpirun ",
		"torchrun ", "python",  "module ",    "source ",   "set ",  "unset ", "sudo ",
		"if ",       "for ",    "cd ",        "modprobe ", "echo "};

	for (unsigned i = 0; i < sizeof(begin) / sizeof(*begin); i++) {
		uint32_t n = (uint32_t)strlen(begin[i]);

		if (r->n > n && !memcmp(r->text, begin[i], n))
			return true;
	}
	return memchr(r->text, '=', first_word(r)) != NULL;
}

/* ---- Widths ---- */

/* Lines of one depth of quotes: 0, or any. */
struct width {
	uint32_t cut;  /* columns at which a terminal cut; 0: it did not */
	uint32_t mail; /* columns beyond which a mailer broke; 0: it did not */
};

static bool is_usual(uint32_t columns)
{
	static const uint32_t usual[] = {TERMINAL, 100, 120, 132};

	for (unsigned i = 0; i < sizeof(usual) / sizeof(*usual); i++)
		if (columns == usual[i])
			return true;
	return false;
}

static bool has_tab(const struct row *r)
{
	return memchr(r->text, '\t', r->n) != NULL;
}

static bool has_columns(const struct row *r)
{
	return memmem(r->text, r->n, "   ", 3) != NULL;
}

/* The same first letters: two lines of one list. */
static bool listed(const struct row *a, const struct row *b)
{
	enum { LETTERS = 6 };

	return a->n >= LETTERS && b->n >= LETTERS && !memcmp(a->text, b->text, LETTERS);
}

/* A line that ends at the last column, and what follows it. */
static bool cut_pair(const struct row *a, const struct row *b, uint32_t columns)
{
	if (*a->text == '#' && is_prose(a) && is_statement(b))
		return false;
	if (a->columns != columns || b->columns > columns || a->drawn || a->depth != b->depth ||
	    has_tab(a) || has_tab(b) || listed(a, b) || alike(a, b))
		return false;
	/* rows of a table that fills the width */
	if (b->columns == columns && has_columns(a) && has_columns(b))
		return false;
	return may_follow(b) && !frames(a);
}

/* Within a word: letters or digits on both sides of the end. */
static bool cuts_word(const struct row *a, const struct row *b)
{
	return isalnum((unsigned char)a->text[a->n - 1]) && isalnum((unsigned char)*b->text);
}

static bool is_same(const struct row *a, const struct row *b)
{
	return a && a->n == b->n && !memcmp(a->text, b->text, a->n);
}

static uint32_t cut_width(const struct row *row, uint32_t lines, bool quoted)
{
	uint32_t widest = 0, full = 0, pairs = 0, within = 0;
	const struct row *before = NULL;
	bool table = false;

	for (uint32_t i = 0; i < lines; i++)
		if ((row[i].depth > 0) == quoted && row[i].columns > widest)
			widest = row[i].columns;
	if (widest < NARROWEST)
		return 0;
	for (uint32_t i = 0; i < lines; i++) {
		const struct row *a = &row[i], *b = &row[i + 1];

		if ((a->depth > 0) != quoted || a->columns != widest || a->drawn ||
		    is_same(before, a))
			continue;
		before = a;
		full++;
		if (i + 1 == lines || !cut_pair(a, b, widest))
			continue;
		pairs++;
		table |= has_columns(b);
		within += cuts_word(a, b);
	}
	if (!within || 3 * pairs < 2 * full)
		return 0;
	if (pairs == 1)
		return widest == TERMINAL && !table ? widest : 0;
	return is_usual(widest) || pairs >= CUTS ? widest : 0;
}

/* The widest line that a mailer could have broken; 0: it broke none. */
static uint32_t mail_width(const struct row *row, uint32_t lines, bool quoted)
{
	uint32_t widest = 0;

	for (uint32_t i = 0; i < lines; i++) {
		const struct row *r = &row[i];
		bool breaks = false;

		if ((r->depth > 0) != quoted || r->n <= BREAK_FROM)
			continue;
		breaks = memchr(r->text + BREAK_FROM, ' ', r->n - BREAK_FROM) != NULL;
		if (breaks && r->columns > widest)
			widest = r->columns;
	}
	return widest >= NARROWEST && widest <= MAIL_WIDEST ? widest : 0;
}

/* A list's lines and a program's begin small, and so does what goes on. A title's may not. */
static bool begins_sentence(const struct row *r)
{
	return r->n > 1 &&
	       ((isupper((unsigned char)*r->text) && !isupper((unsigned char)r->text[1])) ||
		(*r->text == '#' && r->text[1] == ' '));
}

/* "-x", "--flag", "NCCL_DEBUG=INFO": a command's. */
static bool is_argument(const struct row *r)
{
	uint32_t n = 0;

	while (n < r->n && (isupper((unsigned char)r->text[n]) || r->text[n] == '_'))
		n++;
	return (n > 2 && n < r->n && r->text[n] == '=') ||
	       (r->n > 1 && *r->text == '-' &&
		isalpha((unsigned char)r->text[1 + (r->text[1] == '-')]));
}

static bool ends_sentence(const struct row *a, const struct row *b)
{
	return strchr(".!?", a->text[a->n - 1]) && isupper((unsigned char)*b->text);
}

/* "mlx5: ": a program's line of its own. */
static bool names_speaker(const struct row *r)
{
	uint32_t n = first_word(r);

	return n > 1 && r->text[n - 1] == ':';
}

/* head: the first line of what a goes on. */
static bool mail_pair(const struct row *head, const struct row *a, const struct row *b,
		      uint32_t columns)
{
	if (a->depth != b->depth || a->blank || a->drawn || b->blank ||
	    isspace((unsigned char)*b->text) || a->columns + 1 + first_word(b) <= columns)
		return false;
	if (ends_sentence(a, b) || listed(a, b) || listed(head, b))
		return false;
	if (frames(head))
		return is_argument(b) && !names_speaker(b);
	if (*head->text == '#' && is_statement(b))
		return false;
	if (!is_record(head) && !(begins_sentence(head) && is_prose(head) && is_prose(a) &&
				  islower((unsigned char)*b->text) && !names_speaker(b) &&
				  !memmem(b->text, b->n, "  ", 2)))
		return false;
	return may_follow(b);
}

bool rs_unwrap_find(const char *data, size_t size, uint8_t *how, uint32_t lines)
{
	struct row *row = rows_new(data, size, lines);
	struct width width[2] = {{0}};
	uint32_t head = 0;
	bool any = false;

	if (!row)
		return false;
	for (unsigned quoted = 0; quoted < 2; quoted++) {
		width[quoted].cut = cut_width(row, lines, quoted);
		if (!width[quoted].cut)
			width[quoted].mail = mail_width(row, lines, quoted);
	}
	for (uint32_t i = 0;
	     (width[0].cut || width[0].mail || width[1].cut || width[1].mail) && i + 1 < lines;
	     i++) {
		const struct row *a = &row[i], *b = &row[i + 1];
		const struct width *w = &width[a->depth > 0];

		how[i + 1] = RS_JOIN_NOT;
		if (w->cut && cut_pair(a, b, w->cut) && !alike(&row[head], b))
			how[i + 1] = RS_JOIN_CUT;
		else if (w->mail && mail_pair(&row[head], a, b, w->mail))
			how[i + 1] = RS_JOIN_WORD;
		head = how[i + 1] ? head : i + 1;
		any |= how[i + 1] != RS_JOIN_NOT;
	}
	free(row);
	return any;
}

char *rs_unwrap_join(const char *data, size_t size, const uint8_t *how, size_t *out_size)
{
	char *out = malloc(2 * size + 2);
	const char *p = data, *end = data + size;
	uint32_t behind = 0; /* lines that went into the one before: they are empty */
	size_t n = 0;

	if (!out)
		return NULL;
	for (uint32_t i = 0; p < end; i++) {
		const char *next = memchr(p, '\n', (size_t)(end - p));
		size_t length = (size_t)((next ? next : end) - p);
		struct row r = row_of(p, length);

		if (i && how[i]) {
			n -= out[n - 1] == '\r';
			if (how[i] == RS_JOIN_WORD)
				out[n++] = ' ';
			memcpy(out + n, r.text, r.n);
			n += r.n;
			behind++;
		} else {
			memset(out + n, '\n', i ? behind + 1 : 0);
			n += i ? behind + 1 : 0;
			memcpy(out + n, p, length);
			n += length;
			behind = 0;
		}
		p += length + 1;
	}
	memset(out + n, '\n', behind + 1);
	n += behind + 1;
	out[n] = '\0';
	*out_size = n;
	return out;
}

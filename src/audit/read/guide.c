/* Guides, manuals and notes (guide.h). */
#include <ctype.h>
#include <string.h>
#include "audit/facts/word_list.h"
#include "audit/read/guide.h"
#include "audit/read/prose.h"

enum {
	SENTENCES = 12, /* at least */
	SHARE = 6,      /* of the lines one in so many */
	OWN = 8,        /* of the sentences, fewer than one in so many */
	WORDS = 12,     /* of UTF-8's three bytes each, in a sentence without blanks */
};

/* Chinese, Japanese and Korean sentences have no blanks: letters of three bytes. */
static unsigned wide(const char *text)
{
	unsigned n = 0;

	for (; *text; text++)
		n += (unsigned char)*text >= 0xe3 && (unsigned char)*text <= 0xed;
	return n;
}

static bool is_own(const char *text)
{
	static const char *const wide_own[] = {"\xe6\x88\x91", /* I, we */
					       "\xe8\xaf\xb7\xe9\x97\xae" /* may I ask */};
	char low[512];

	rs_word_lower(text, low, sizeof(low));
	for (unsigned i = 0; i < sizeof(wide_own) / sizeof(*wide_own); i++)
		if (strstr(text, wide_own[i]))
			return true;
	/* a tutorial says "we will see" */
	return rs_word_list_has(low,
				"i|my|our|me|i'm|i've|i'd|we're|we've|~we are |~we have |~we see "
				"|~we get |~we got |~we observe|~we notice|~we use |~we run |~we "
				"tried|~we found|~we hit |~we were |~we had ",
				false);
}

void rs_guide_line(struct rs_guide_lines *d, const char *text)
{
	/* a point of a list, a comment of a script, a heading */
	text += strspn(text, " \t#>*-");
	if (!*text)
		return;
	d->lines++;
	if (!rs_prose(text) && wide(text) < WORDS)
		return;
	d->sentences++;
	d->own += is_own(text);
}

bool rs_guide_is(const struct rs_guide_lines *d)
{
	return d->sentences >= SENTENCES && d->sentences * SHARE >= d->lines &&
	       d->own * OWN < d->sentences;
}

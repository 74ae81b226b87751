/* Prose and source code: lines that no command printed (prose.h). */
#include <ctype.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/word_list.h"
#include "audit/read/prose.h"

/* Words that sentences have and commands, settings and tables have not. */
static bool is_small(const char *p, size_t n)
{
	static const char *const small[] = {
		"the",   "a",     "an",   "is",   "are",  "was",  "were", "we",   "i",
		"it",    "this",  "that", "have", "has",  "but",  "when", "my",   "our",
		"can",   "there", "you",  "they", "with", "does", "did",  "been", "any",
		"which", "what",  "how",  "and",  "then", "so",   "seen", "here", "if",
		"me",    "it's",  "i'm",  "its",  NULL};
	char low[8];

	while (n && strchr(".,?!:;()", p[n - 1]))
		n--;
	if (!n || n >= sizeof(low))
		return false;
	for (size_t i = 0; i < n; i++)
		low[i] = (char)tolower((unsigned char)p[i]);
	return rs_word_in(small, low, n);
}

bool rs_prose(const char *text)
{
	unsigned words = 0, plain = 0, little = 0;
	size_t n = strlen(text);
	const char *p = text;

	if (n < 16 || !isalpha((unsigned char)*text) || strchr(text, '=') || strchr(text, '{') ||
	    strchr(text, ';'))
		return false;
	while (*p) {
		size_t w = strcspn(p, " \t"), letters = 0;

		for (size_t i = 0; i < w; i++)
			letters += isalpha((unsigned char)p[i]) || strchr("'.,?!:()-", p[i]);
		words++;
		/* after the first, words of a sentence are small */
		plain += letters == w && (words == 1 || islower((unsigned char)*p));
		little += is_small(p, w);
		p += w;
		p += strspn(p, " \t");
	}
	return words >= 4 && little && 10 * plain >= 6 * words &&
	       (strchr(".?!:", text[n - 1]) || words >= 8 || little >= 2);
}

/* ---- Code ---- */

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !strcmp(text + n - m, end);
}

bool rs_code(const char *text)
{
	static const char *const starts[] = {"#include",
					     "#!/",
					     "#define ",
					     "#ifdef",
					     "#ifndef",
					     "#endif",
					     "typedef ",
					     "extern ",
					     "def ",
					     "if [",
					     "elif ",
					     "while ",
					     "namespace ",
					     "using namespace",
					     "static const ",
					     "static int ",
					     "static void ",
					     "static bool ",
					     "static struct ",
					     "static char ",
					     "static unsigned ",
					     "static size_t ",
					     "static inline ",
					     "static uint",
					     "if (",
					     "for (",
					     "int main(",
					     "void ",
					     "return ",
					     "} else",
					     "except",
					     "try:",
					     "} while",
					     "assert_",
					     "switch (",
					     "case ",
					     "break;",
					     "const char *",
					     "struct rs_",
					     "\tif ("};
	static const char *const whole[] = {"fi", "done", "esac",  "else",
					    "};", "})",   "else:", "EOF"};
	static const char *const ends[] = {"; then", "; do", "):", ") {", "\\n\"", "\","};

	for (unsigned i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (!strncmp(text, starts[i], strlen(starts[i])))
			return true;
	for (unsigned i = 0; i < sizeof(whole) / sizeof(*whole); i++)
		if (!strcmp(text, whole[i]))
			return true;
	for (unsigned i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (ends_with(text, ends[i]))
			return true;
	/* "class RDMA" alone is a switch's */
	if (!strncmp(text, "class ", 6) && strchr("{:);", text[strlen(text) - 1]))
		return true;
	if (!strncmp(text, "import ", 7) ||
	    (!strncmp(text, "from ", 5) && strstr(text, " import ")))
		return !ends_with(text, ";");
	return false;
}

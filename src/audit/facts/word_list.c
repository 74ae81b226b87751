/* Words of a list in a text. */
#include <ctype.h>
#include <string.h>
#include "audit/facts/word_list.h"

void rs_word_lower(const char *text, char *low, size_t size)
{
	size_t n = 0;

	for (; text[n] && n < size - 1; n++)
		low[n] = (char)tolower((unsigned char)text[n]);
	low[n] = '\0';
}

static bool ends(const char *word, size_t n, unsigned char next, bool numbered)
{
	if (!numbered)
		return !isalnum(next);
	return !isalpha(next) || !isalpha((unsigned char)word[n - 1]);
}

static bool stands(const char *low, const char *word, size_t n, bool numbered)
{
	for (const char *at = low; (at = memmem(at, strlen(at), word, n)); at++)
		if ((at == low || !isalnum((unsigned char)at[-1])) &&
		    ends(word, n, (unsigned char)at[n], numbered))
			return true;
	return false;
}

bool rs_word_list_has(const char *low, const char *words, bool numbered)
{
	while (words && *words) {
		size_t n = strcspn(words, "|");
		bool within = *words == '~';

		if (n > within && (within ? memmem(low, strlen(low), words + 1, n - 1) != NULL
					  : stands(low, words, n, numbered)))
			return true;
		words += n + (words[n] == '|');
	}
	return false;
}

bool rs_word_in(const char *const *list, const char *word, size_t n)
{
	for (unsigned i = 0; list[i]; i++)
		if (strlen(list[i]) == n && !strncmp(list[i], word, n))
			return true;
	return false;
}

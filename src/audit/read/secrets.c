/* Secrets by the names that programs give them, and RFC 3986 3.2.1 (userinfo of a URL). */
#include "audit/read/secrets.h"
#include <string.h>

bool rs_secrets_name(const char *name, size_t n)
{
	static const char *const known[] = {
		"password", "passwd",     "passphrase", "secret",     "token",
		"apikey",   "api_key",    "private",    "credential", "authkey",
		"auth_key", "access_key", "luks.key",   "community",  "bearer",
	};
	char lower[128];

	if (n >= sizeof(lower))
		return true;
	for (size_t i = 0; i < n; i++)
		lower[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] | 0x20) : name[i];
	lower[n] = '\0';
	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strstr(lower, known[i]))
			return true;
	return false;
}

/* "http://user:password@host/": what stands before the @. */
static void hide_userinfo(char *word, size_t n)
{
	char *p = memmem(word, n, "://", 3), *end = word + n, *at;

	if (!p)
		return;
	p += 3;
	at = memchr(p, '@', (size_t)(end - p));
	if (at && !memchr(p, '/', (size_t)(at - p)))
		memset(p, '*', (size_t)(at - p));
}

void rs_secrets_hide(char *text)
{
	static const char blank[] = " \t\n\"'";

	for (char *w = text; *w;) {
		size_t n = strcspn(w, blank), key;

		key = strcspn(w, "=");
		if (key < n && rs_secrets_name(w, key))
			memset(w + key + 1, '*', n - key - 1);
		else
			hide_userinfo(w, n);
		w += n;
		w += strspn(w, blank);
	}
}

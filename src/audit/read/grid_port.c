/* Names in what switches show: ports and addresses. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/look.h"
#include "audit/read/grid_state.h"
#include "audit/read/place.h"

size_t rs_grid_digits(const char *p)
{
	return strspn(p, "0123456789");
}

bool rs_grid_port(const char *word, bool bare)
{
	static const char *const named[] = {"Ethernet", "Eth", "Et", "swp", "ethernet"};
	size_t n = strlen(word), slashes = 0, p = 0;
	const char *slash = strchr(word, '/');

	if (!n || n >= 40)
		return false;
	if (!slash) {
		for (unsigned i = 0; i < sizeof(named) / sizeof(*named); i++) {
			size_t k = strlen(named[i]), d;

			if (strncmp(word, named[i], k) || !(d = rs_grid_digits(word + k)))
				continue;
			p = k + d;
			return !word[p] || (word[p] == 's' && rs_grid_digits(word + p + 1) &&
					    !word[p + 1 + rs_grid_digits(word + p + 1)]);
		}
		return rs_bundle_name(word) == n;
	}
	/* "400GE1/0/1", "et-0/0/1", "HundredGigE0/0/0/1", "1/1/1" */
	while (&word[p] < slash && (isalnum((unsigned char)word[p]) || word[p] == '-'))
		p++;
	if (&word[p] != slash || !p || !isdigit((unsigned char)slash[-1]))
		return false;
	for (p = (size_t)(slash - word); word[p]; p++) {
		if (word[p] == '/') {
			slashes++;
			if (!rs_grid_digits(&word[p + 1]) || rs_grid_digits(&word[p + 1]) > 3)
				return false;
		} else if (!isdigit((unsigned char)word[p]) && word[p] != ':' && word[p] != '.') {
			return false;
		}
	}
	if (isdigit((unsigned char)*word) && !strpbrk(word, "GE"))
		return bare && slashes == 2;
	return isalpha((unsigned char)*word) || strpbrk(word, "GE");
}

bool rs_grid_address(const char *w)
{
	unsigned parts = 0;

	if (strchr(w, ':') && strlen(w) > 2 && strspn(w, "0123456789abcdefABCDEF:") == strlen(w))
		return true;
	for (; isdigit((unsigned char)*w); w += *w == '.') {
		w += rs_grid_digits(w);
		parts++;
		if (*w && *w != '.')
			return false;
	}
	return !*w && parts == 4;
}

/* "Ethernet 1/1/7", "Eth 1/1/1", "FourHundredGigabitEthernet 0/1": how many words the port at the
 * text's start is; 0: none. Its name goes to out without the blank. */
size_t rs_grid_port_at(const char *text, bool bare, char *out, size_t size)
{
	size_t n = strcspn(text, " \t,|("), m;
	char word[RS_GRID_NAME];

	while (n && strchr(":;", text[n - 1]))
		n--;
	snprintf(word, sizeof(word), "%.*s", (int)(n < RS_GRID_NAME ? n : RS_GRID_NAME - 1), text);
	if (rs_grid_port(word, bare)) {
		snprintf(out, size, "%s", word);
		return n;
	}
	if (text[n] != ' ' || !isdigit((unsigned char)text[n + 1]) || n > 30 ||
	    !strncasecmp(word, "port", 5) || !(strcasestr(word, "eth") || strcasestr(word, "gig")))
		return 0;
	m = strcspn(text + n + 1, " \t,|(");
	/* "Eth 1/ 7" */
	if (m > 1 && text[n + m] == '/' && text[n + 1 + m] == ' ' &&
	    rs_grid_digits(text + n + 2 + m)) {
		size_t d = rs_grid_digits(text + n + 2 + m);

		snprintf(word + n, sizeof(word) - n, "%.*s%.*s", (int)(m < 20 ? m : 20),
			 text + n + 1, (int)(d < 4 ? d : 4), text + n + 2 + m);
		if (!rs_grid_port(word, false))
			return 0;
		snprintf(out, size, "%s", word);
		return n + 2 + m + d;
	}
	while (m && strchr(":;", text[n + m]))
		m--;
	snprintf(word + n, sizeof(word) - n, "%.*s", (int)(m < 40 ? m : 40), text + n + 1);
	if (!strchr(word, '/') || !rs_grid_port(word, false))
		return 0;
	snprintf(out, size, "%s", word);
	return n + 1 + m;
}

bool rs_grid_aside(const char *port)
{
	static const char *const names[] = {"mgmt", "Management", "Ma",   "eth0", "lo",
					    "Lo",   "Vlan",       "vlan", "Null", "nve",
					    "fc",   "Aux",        "MEth", "NULL"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(port, names[i], strlen(names[i])))
			return true;
	return rs_look_management(port);
}

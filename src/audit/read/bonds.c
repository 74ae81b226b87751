/* Bonds as configurations and tools have them: ip -d link, netplan, ifcfg, /etc/network/interfaces,
 * NetworkManager's keyfiles and nmcli. /proc/net/bonding is ipj.c's. Modes: bonding.rst of Linux.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/bonds.h"

enum { NAME = 64, PORTS = 256 };

struct bonds {
	struct rs_audit *a;
	const struct rs_input *in;
	/* the entry at hand: of one command, file or stanza */
	char name[NAME], mode[NAME], hash[NAME], master[NAME], ports[PORTS];
	uint32_t mode_line, line;
	size_t indent; /* of netplan's "bonds:", plus 1; 0: not within */
	size_t below;  /* of the bond's name, plus 1 */
	bool list;     /* "interfaces:", whose ports follow as a list */
};

/* "0" is balance-rr: the module's numbers and names. */
static const char *mode_of(const char *word)
{
	static const char *const modes[] = {"balance-rr", "active-backup", "balance-xor",
					    "broadcast",  "802.3ad",       "balance-tlb",
					    "balance-alb"};

	if (isdigit((unsigned char)word[0]) && !word[1])
		return word[0] < '7' ? modes[word[0] - '0'] : NULL;
	for (unsigned i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (!strcmp(word, modes[i]))
			return modes[i];
	return NULL;
}

/* The word behind a key and its sign: "mode=0 miimon=100", "mode: balance-xor", "bond mode
 * 802.3ad". */
static bool word_of(const char *text, const char *key, char *out, size_t size)
{
	const char *p = strstr(text, key);
	size_t n;

	if (!p)
		return false;
	p += strlen(key);
	p += strspn(p, " \t=:\"'");
	n = strcspn(p, " \t,;\"'");
	if (!n || n >= size)
		return false;
	snprintf(out, size, "%.*s", (int)n, p);
	return true;
}

static void __attribute__((format(printf, 5, 6)))
say(struct bonds *b, uint32_t line, const char *bond, const char *name, const char *fmt, ...)
{
	char subject[NAME + 8], value[PORTS];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	snprintf(subject, sizeof(subject), "bond/%s", bond);
	rs_input_add(b->a, b->in, line, NULL, subject, name, "%s", value);
}

/* A port of a bond. */
static void port(struct bonds *b, const char *bond, const char *name)
{
	char fact[NAME + 8];

	if (!*bond || !*name || strlen(name) >= NAME)
		return;
	snprintf(fact, sizeof(fact), "slave/%s", name);
	say(b, b->line, bond, fact, "1");
}

/* Ends the entry at hand. */
static void flush(struct bonds *b)
{
	char list[PORTS], *save = NULL;

	if (*b->name && *b->mode)
		say(b, b->mode_line, b->name, "mode", "%s", b->mode);
	if (*b->name && *b->mode && *b->hash)
		say(b, b->mode_line, b->name, "xmit_hash_policy", "%s", b->hash);
	snprintf(list, sizeof(list), "%s", b->ports);
	for (char *w = strtok_r(list, " ,[]\"'", &save); w && *b->name;
	     w = strtok_r(NULL, " ,[]\"'", &save))
		port(b, b->name, w);
	port(b, b->master, b->name);
	*b->name = *b->mode = *b->hash = *b->master = *b->ports = '\0';
}

static void take_mode(struct bonds *b, const char *text, const char *key)
{
	char word[NAME];
	const char *mode = word_of(text, key, word, sizeof(word)) ? mode_of(word) : NULL;

	if (!mode)
		return;
	snprintf(b->mode, sizeof(b->mode), "%s", mode);
	b->mode_line = b->line;
}

/* "12: bond2: <BROADCAST,...> mtu 9000 ... master bond0": an interface begins. */
static bool ip_link(struct bonds *b, const char *text)
{
	char name[NAME];
	int index;

	if (sscanf(text, "%d: %63[^:@ ]%*[^<]<", &index, name) < 2 || !strchr(text, '<'))
		return false;
	flush(b);
	snprintf(b->name, sizeof(b->name), "%s", name);
	word_of(text, " master ", b->master, sizeof(b->master));
	return true;
}

/* Lines of netplan below "bonds:". */
static bool netplan(struct bonds *b, const char *raw)
{
	size_t at = strspn(raw, " ");
	const char *t = raw + at;
	size_t n = strcspn(t, ":");

	if (!strcmp(t, "bonds:")) {
		flush(b);
		b->indent = at + 1;
		b->below = 0;
		return true;
	}
	if (!b->indent || !*t || *t == '#')
		return b->indent && *t == '#';
	if (at + 1 <= b->indent) {
		flush(b);
		b->indent = 0;
		return false;
	}
	if ((!b->below || at + 1 <= b->below) && t[n] == ':' && !t[n + 1] && n < NAME) {
		flush(b);
		snprintf(b->name, sizeof(b->name), "%.*s", (int)n, t);
		b->below = at + 1;
		b->list = false;
		return true;
	}
	if (!strncmp(t, "interfaces:", 11)) {
		snprintf(b->ports, sizeof(b->ports), "%s", t + 11);
		b->list = !t[11];
	} else if (b->list && !strncmp(t, "- ", 2)) {
		snprintf(b->ports + strlen(b->ports), sizeof(b->ports) - strlen(b->ports), " %s",
			 t + 2);
	} else {
		b->list = false;
		if (!strncmp(t, "mode:", 5))
			take_mode(b, t, "mode:");
		if (!strncmp(t, "transmit-hash-policy:", 21))
			word_of(t, "transmit-hash-policy:", b->hash, sizeof(b->hash));
	}
	return true;
}

/* Keys of ifcfg, /etc/network/interfaces, keyfiles and nmcli. */
static void key_line(struct bonds *b, const char *t)
{
	static const struct {
		const char *key;
		bool begins; /* another entry */
	} names[] = {{"DEVICE=", true},
		     {"iface ", true},
		     {"interface-name=", false},
		     {"connection.interface-name:", false},
		     {"GENERAL.DEVICES:", false}};
	static const char *const masters[] = {
		"MASTER=",     "bond-master ",       "master=",
		"controller=", "connection.master:", "connection.controller:"};
	static const char *const modes[] = {"BONDING_OPTS=", "bond-mode ",
					    "bond.options:", "bond.options ", "mode="};

	if (!strncmp(t, "[connection]", 12) || strstr(t, "nmcli "))
		flush(b);
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		/* a terminal may have put an output's first line behind its command */
		const char *at = strchr(names[i].key, ':') ? strstr(t, names[i].key) : t;

		if (!at || strncmp(at, names[i].key, strlen(names[i].key)))
			continue;
		if (names[i].begins)
			flush(b);
		word_of(at, names[i].key, b->name, sizeof(b->name));
	}
	for (unsigned i = 0; i < sizeof(masters) / sizeof(*masters); i++)
		if (!strncmp(t, masters[i], strlen(masters[i])))
			word_of(t, masters[i], b->master, sizeof(b->master));
	for (unsigned i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (!strncmp(t, modes[i], strlen(modes[i])))
			take_mode(b, t, i == 1 ? "bond-mode " : "mode=");
	if (!strncmp(t, "bond-slaves ", 12) && strncmp(t + 12, "none", 4))
		snprintf(b->ports, sizeof(b->ports), "%s", t + 12);
	if (!strncmp(t, "bond-xmit-hash-policy ", 22))
		word_of(t, "bond-xmit-hash-policy ", b->hash, sizeof(b->hash));
	if (*b->mode && strstr(t, "xmit_hash_policy"))
		word_of(t, "xmit_hash_policy", b->hash, sizeof(b->hash));
	/* "nmcli con add type bond ifname bond0 bond.options "mode=802.3ad"", "ip link add bond0
	 * type bond mode 802.3ad" */
	if (strstr(t, "type bond") && (strstr(t, "nmcli ") || strstr(t, "ip link add "))) {
		if (!word_of(t, " ifname ", b->name, sizeof(b->name)))
			word_of(t, strstr(t, " add dev ") ? " add dev " : " add ", b->name,
				sizeof(b->name));
		take_mode(b, t, strstr(t, "mode=") ? "mode=" : " mode ");
		flush(b);
	}
}

uint32_t rs_bonds_read(struct rs_audit *a, const struct rs_input *in)
{
	struct bonds b = {.a = a, .in = in};
	uint32_t before = rs_facts_count(a->facts);
	struct rs_line *l;

	/* a word that each of them has */
	if (!rs_input_has(in, "bond") && !rs_input_has(in, "BONDING") &&
	    !rs_input_has(in, "MASTER="))
		return 0;
	l = calloc(1, sizeof(*l));
	for (size_t from = 0; l && rs_line_next(in, l) && !a->err; from = l->next) {
		char raw[160];
		size_t n = l->next - from < sizeof(raw) - 1 ? l->next - from : sizeof(raw) - 1;
		const char *bond;

		b.line = l->number;
		/* with its indentation, which rs_line_next() takes away */
		snprintf(raw, sizeof(raw), "%.*s", (int)n, in->data + from);
		raw[strcspn(raw, "\r\n")] = '\0';
		if (netplan(&b, raw) || ip_link(&b, l->text))
			continue;
		if ((bond = strstr(l->text, "bond mode ")))
			take_mode(&b, bond, "bond mode ");
		key_line(&b, l->text);
	}
	flush(&b);
	free(l);
	return rs_facts_count(a->facts) - before;
}

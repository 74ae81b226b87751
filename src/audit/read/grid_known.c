/* What a text says of itself: the command whose heads it bears, and the legends of its letters. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "audit/read/grid_state.h"

/* Heads that name their command: `mark` is a word of them, so that most texts are passed over. */
static const struct {
	const char *mark, *words, *command;
} heads[] = {
	{"eighbor", "neighbor& as &up down|neighbor&msgrcvd|neighbor&state& as ",
	 "show bgp summary"},
	{"Peer", "peer& as &up down|peer& as &last up dwn|peer& as &state", "show bgp summary"},
	{"BGP", "bgp router id|bgp router identifier|bgp summary information", "show bgp summary"},
	{"BGP neighbor is", "bgp neighbor is", "show bgp neighbors"},
	{"BGP Peer is", "bgp peer is", "show bgp neighbors"},
	{"Down peers:", "groups&peers&down peers", "show bgp summary"},
	{"ystem I", "system id&state&holdtime|system id&state&hold time|system id&state&circuit",
	 "show isis neighbors"},
	{"Dead", "neighbor id&state&dead time|address&interface&state& id & pri & dead ",
	 "show ip ospf neighbor"},
	{"BFD", "bfd& ouraddr|ouraddr&neighaddr", "show bfd neighbors"},
	{"OurAddr", "ouraddr&neighaddr", "show bfd neighbors"},
	{"det time", "dest addr&det time", "show bfd session"},
	{"ErrDisable Reason", "errdisable reason&timer", "show errdisable recovery"},
	{"vPC", "vpc domain id|vpc keep alive status|vpc peer link status", "show vpc"},
	{"MLAG", "mlag configuration|mlag status|mlag ports", "show mlag"},
	{"mlag", "mlag configuration|mlag status", "show mlag"},
	{"VLT", "vlt domain id|vlt peer|vlti link", "show vlt"},
	{"egister", "slot&type&online&register", "display device"},
	{"Standby/Backup", "active primary&standby backup", "show redundancy summary"},
	{"Measurement", "class &item&status&measurement", "show chassis environment"},
	{"Trunk", "port&link&state&speed&trunk", "show interfaces brief"},
	{"Lag-id", "lag id& adm & opr ", "show lag"},
	{"Controller State", "controller state ", "show controllers optics"},
	{"LOF", " los & lof ", "show controllers"},
	{"Config", "node &type&state&config state", "show platform"},
	{"link status", "control link status|fabric link status",
	 "show chassis cluster interfaces"},
	{"odule", "mod &ports&module type&model|mod &ports&module type&status|mod &ports&card type",
	 "show module"},
	{"upply", "supply&model&status|power&supply&status&watts", "show environment power"},
	{"PSU", " psu &model&status| psu &status& led ", "show environment power"},
	{"Fan", " fan&model&status| fan&speed&status|fan&direction&status", "show environment fan"},
	{"FAN", " fan& speed &status| fan&speed&direction", "show environment fan"},
	{"Sensor", "sensor&status&thresh|sensor&current&thresh|slot&sensor&state",
	 "show environment temperature"},
	{"eachability", " name & address &reachability", "show chassis modules midplane"},
	{"Mux State", "receive state&transmit state&mux state", "show lacp interfaces"},
	{"roup", "group&port channel&ports|group&port channel&protocol",
	 "show port-channel summary"},
};

/* The command whose head this line is; NULL: of none. */
static const char *of_head(const char *line, size_t n)
{
	char text[RS_TERM_NAME], plain[RS_TERM_NAME + 2];

	if (n >= sizeof(text))
		return NULL;
	memcpy(text, line, n);
	text[n] = '\0';
	/* a head has no sentence and no value */
	if (strstr(text, ". ") || strchr(text, '"'))
		return NULL;
	rs_term_plain(text, plain, sizeof(plain));
	for (unsigned i = 0; i < sizeof(heads) / sizeof(*heads); i++)
		if (strstr(text, heads[i].mark) && rs_term_in(heads[i].words, plain))
			return heads[i].command;
	return NULL;
}

const char *rs_grid_known(const struct rs_input *in)
{
	const char *p = in->data, *end = in->data + in->size;
	bool any = false;

	for (unsigned i = 0; i < sizeof(heads) / sizeof(*heads) && !any; i++)
		any = memmem(p, in->size, heads[i].mark, strlen(heads[i].mark)) != NULL;
	while (any && p < end) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		size_t n = eol ? (size_t)(eol - p) : (size_t)(end - p);
		const char *command = of_head(p, n);

		if (command)
			return command;
		p += n + 1;
	}
	return NULL;
}

/* ---- Legends ---- */

/* "Link State: A-Active, R-Ready", "Port Status: S -- Selected": its title; not of flags, which
 * stand in brackets. */
static bool title_of(const char *text, char *out, size_t size)
{
	size_t n = strcspn(text, ":");
	char title[RS_GRID_NAME];

	if (!text[n] || n < 4 || n >= 32 || !strchr(text + n, '-') || !strchr(text + n, ','))
		return false;
	snprintf(title, sizeof(title), "%.*s", (int)n, text);
	rs_term_plain(title, out, size);
	return rs_term_in("state|status", out);
}

void rs_grid_legends(struct rs_grid *g)
{
	const char *p = g->in->data, *end = g->in->data + g->in->size;

	while (p < end && g->legends < RS_GRID_LEGENDS) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		size_t n = eol ? (size_t)(eol - p) : (size_t)(end - p);
		struct rs_grid_legend *l = &g->legend[g->legends];

		snprintf(l->text, sizeof(l->text), "%.*s", (int)(n < 2000 ? n : 2000),
			 p + strspn(p, " \t"));
		l->text[strcspn(l->text, "\r\n")] = '\0';
		g->legends += title_of(l->text, l->title, sizeof(l->title));
		p += n + 1;
	}
}

/* The word behind "R-", "R - " or "R -- " in a legend. */
static bool word_of(const char *legend, const char *sign, char *out, size_t size)
{
	size_t n = strlen(sign);

	for (const char *p = strchr(legend, ':'); p; p = strchr(p, ',')) {
		p += 1 + strspn(p + 1, " ");
		if (strncmp(p, sign, n) || !strchr(" -", p[n]) || !p[n])
			continue;
		p += n + strspn(p + n, " -");
		snprintf(out, size, "%.*s", (int)strcspn(p, ","), p);
		return true;
	}
	return false;
}

bool rs_grid_legend_word(const struct rs_grid *g, const char *name, const char *sign, char *out,
			 size_t size)
{
	if (strlen(sign) > 2 || !isalpha((unsigned char)*sign))
		return false;
	for (unsigned i = 0; i < g->legends; i++)
		if (strstr(name, g->legend[i].title) && word_of(g->legend[i].text, sign, out, size))
			return true;
	return false;
}

/* Records of switches' logs and lists of alarms. A fault waits until the log tells its end. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "audit/read/grid_state.h"

/* ---- Logs ---- */

/* What a record is of: a port, an address, or its first number. */
static void thing(const char *text, char *out, size_t size)
{
	char copy[RS_GRID_TEXT], *w[RS_GRID_COLUMNS * 2], port[RS_GRID_NAME];
	const char *number = "";
	unsigned n;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *p = copy; *p; p++)
		if (strchr("(),=;", *p) || (*p == ':' && (!p[1] || p[1] == ' ')))
			*p = ' ';
	n = rs_line_words(copy, w, RS_GRID_COLUMNS * 2);
	*out = '\0';
	for (unsigned i = 0; i < n; i++) {
		size_t k = strlen(w[i]);

		if (k && w[i][k - 1] == '.')
			w[i][k - 1] = '\0';
		if (rs_grid_port(w[i], false))
			snprintf(port, sizeof(port), "%s", w[i]);
		else if (!rs_grid_address(w[i])) {
			if (!*number && rs_grid_digits(w[i]) &&
			    rs_grid_digits(w[i]) == strlen(w[i]))
				number = w[i];
			continue;
		}
		snprintf(out, size, "%s", w[i]);
		return;
	}
	snprintf(out, size, "%s", number);
}

/* Keeps a fault until it is known whether the log tells its end. */
static bool wait_for_end(struct rs_grid *g, const char *key)
{
	struct rs_grid_fault *w = g->waits < RS_GRID_WAITS ? &g->fault[g->waits] : NULL;

	if (!w || !rs_event_over(key))
		return false;
	w->key = key;
	w->line = g->line.number;
	w->over = false;
	snprintf(w->text, sizeof(w->text), "%s", g->line.text);
	thing(g->line.text, w->of, sizeof(w->of));
	g->waits++;
	return true;
}

static void end_alarms(struct rs_grid *g, const struct rs_event *e)
{
	char of[RS_GRID_NAME];

	thing(g->line.text, of, sizeof(of));
	for (unsigned i = 0; i < g->waits; i++)
		if (!strcmp(g->fault[i].of, of) && rs_event_ends(e, g->fault[i].key))
			g->fault[i].over = true;
}

/* A fault that came once and ended is told as that; one that comes again is a fault. */
void rs_grid_tell_faults(struct rs_grid *g)
{
	for (unsigned i = 0; i < g->waits; i++) {
		const struct rs_grid_fault *w = &g->fault[i];
		unsigned times = 0;

		for (unsigned k = 0; k < g->waits; k++)
			times += !strcmp(g->fault[k].key, w->key) && !strcmp(g->fault[k].of, w->of);
		rs_grid_keep(g, w->line, w->text,
			     w->over && times == 1 ? rs_event_over(w->key) : w->key, NULL);
	}
}

/* The level that a word of this text names; -1: none. */
static int level_of(const char *plain)
{
	static const struct {
		const char *word;
		int level;
	} levels[] = {{" fatal ", 2},
		      {" critical ", 2},
		      {" major ", 3},
		      {" minor ", 4},
		      {" warning ", 4}};

	for (unsigned i = 0; i < sizeof(levels) / sizeof(*levels); i++)
		if (strstr(plain, levels[i].word))
			return levels[i].level;
	return -1;
}

const char *rs_grid_alarm(const char *text)
{
	struct rs_event e;
	const char *key;

	e = (struct rs_event){.level = -1};
	rs_term_words(text, e.plain, sizeof(e.plain));
	e.level = level_of(e.plain);
	/* heads and sums name levels, too */
	if (e.level < 0 ||
	    rs_term_in(" severity | class description |active alarms| total |cleared", e.plain))
		return NULL;
	key = rs_event_key(&e);
	return key && strcmp(key, "switch-event") ? key : e.level < 4 ? "switch-alarm" : NULL;
}

/* Levels of lists of alarms. Programs write theirs in capitals. */
static const char *const alarm_levels[] = {"Major  ", "Minor  ", "Critical  "};

bool rs_grid_alarm_maybe(const char *data, size_t size)
{
	for (unsigned i = 0; i < sizeof(alarm_levels) / sizeof(*alarm_levels); i++)
		if (memmem(data, size, alarm_levels[i], strlen(alarm_levels[i])))
			return true;
	return false;
}

/* "2026-11-02 10:14:09 UTC  Major  FPC 0 PEM 1 Not Powered": a row of a list of alarms, by itself,
 * whose stamp may have been taken off. */
static bool dated_alarm(const char *text)
{
	const char *p = text + strspn(text, "0123456789-:. ");
	size_t zone = strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

	if (zone > 2 && zone < 6 && p[zone] == ' ')
		p += zone + strspn(p + zone, " ");
	for (unsigned i = 0; i < sizeof(alarm_levels) / sizeof(*alarm_levels); i++)
		if (!strncmp(p, alarm_levels[i], strlen(alarm_levels[i]))) {
			p += strlen(alarm_levels[i]);
			return isalpha((unsigned char)p[strspn(p, " ")]);
		}
	return false;
}

void rs_grid_logged(struct rs_grid *g)
{
	struct rs_event e = g->begun;
	const char *key;

	if (e.more && *g->line.text == '"') {
		rs_event_join(&e, g->line.text);
	} else if (!rs_event_parse(g->line.text, &e)) {
		if (!g->shown && dated_alarm(g->line.text))
			rs_grid_keep(g, g->line.number, g->line.text, rs_grid_alarm(g->line.text),
				     NULL);
		return;
	}
	g->begun = e;
	if (e.more)
		return;
	key = rs_event_key(&e);
	if (!key)
		end_alarms(g, &e);
	else if (!wait_for_end(g, key))
		rs_grid_keep(g, g->line.number, g->line.text, key, NULL);
}

/* "Severity : Major" and, below it, "Description : ...": an alarm in several lines. */
static const char *alarm_told(struct rs_grid *g)
{
	struct rs_event e = {.level = g->alarm_level};

	rs_term_words(g->line.text, e.plain, sizeof(e.plain));
	if (strstr(e.plain, " severity ") && level_of(e.plain) >= 0) {
		g->alarm_level = level_of(e.plain);
		return NULL;
	}
	if (strncmp(e.plain, " description ", 13) || e.level < 0)
		return NULL;
	g->alarm_level = -1;
	return rs_event_key(&e);
}

/* A row of a list of alarms is a record: its words tell what it is about. */
bool rs_grid_alarm_row(struct rs_grid *g)
{
	const char *key;

	if (!g->shown || !rs_term_in("alarm|health event|system health|log event", g->command) ||
	    rs_term_in("history|cleared|statist|transceiv|optic|profile|setting", g->command))
		return false;
	key = rs_grid_alarm(g->line.text);
	if (!key)
		key = alarm_told(g);
	rs_grid_tell(g, key);
	return key != NULL;
}

/* `ripstop switch FILE`: one switch of a description, by the code that makes the simulator's, and
 * the interfaces that its ports are plugged into. */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/text.h"
#include "base/units.h"
#include "cli/switch.h"
#include "describe/describe.h"

enum { NAMES_SHOWN = 8 };

bool switch_is_description(const char *operand)
{
	static const char *const ends[] = {".yaml", ".yml", ".json"};
	size_t n = strlen(operand);
	struct stat st;

	if (if_nametoindex(operand))
		return false;
	for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (n > strlen(ends[i]) && !strcmp(operand + n - strlen(ends[i]), ends[i]))
			return true;
	return strchr(operand, '/') || (!stat(operand, &st) && S_ISREG(st.st_mode));
}

/* ---- Which switch ---- */

static int no_such(const struct rs_fabric *f, const char *what, const char *name,
		   struct rs_error *e)
{
	const char **names = calloc(f->n_switches + 1u, sizeof(*names));
	const char *near = NULL;
	char list[300] = "";

	for (uint32_t i = 0; names && i < f->n_switches; i++) {
		names[i] = f->switches[i].name;
		if (i < NAMES_SHOWN)
			snprintf(list + strlen(list), sizeof(list) - strlen(list), " %.32s",
				 names[i]);
	}
	if (names && name)
		near = rs_text_nearest(name, names);
	if (name)
		rs_error_set(e, -EINVAL, "%s: no switch of '%s' is called '%.60s'%s%s%s", what,
			     f->name, name, near ? "; did you mean '" : "", near ? near : "",
			     near ? "'?" : "");
	else
		rs_error_set(e, -EINVAL, "'%s' has %u switches: say by --as which this one is",
			     f->name, f->n_switches);
	rs_error_hint(e, "there are:%s%s", list, f->n_switches > NAMES_SHOWN ? " ..." : "");
	free(names);
	return -EINVAL;
}

static int find_switch(const struct rs_fabric *f, const char *what, const char *name, size_t n,
		       uint32_t *out, struct rs_error *e)
{
	char copy[64];

	for (*out = 0; *out < f->n_switches; ++*out)
		if (strlen(f->switches[*out].name) == n && !memcmp(f->switches[*out].name, name, n))
			return 0;
	snprintf(copy, sizeof(copy), "%.*s", (int)n, name);
	return no_such(f, what, copy, e);
}

static int choose(struct switch_settings *s, struct rs_error *e)
{
	if (s->as)
		return find_switch(s->f, "--as", s->as, strlen(s->as), &s->sw, e);
	s->sw = 0;
	return s->f->n_switches == 1 ? 0 : no_such(s->f, "--as", NULL, e);
}

/* ---- --port ---- */

/* Of another switch: looked at and left, so that all switches may be given the same options. */
static int take_port(struct switch_settings *s, const char *spec, struct rs_error *e)
{
	const char *equals = strchr(spec, '='), *colon = NULL;
	struct switch_interface i;
	uint32_t sw = s->sw;
	char number[16];
	int64_t port;
	int err;

	for (const char *c = spec; equals && c < equals; c++)
		colon = *c == ':' ? c : colon;
	if (!equals || equals - (colon ? colon + 1 : spec) >= (int)sizeof(number))
		return rs_error_set(e, -EINVAL,
				    "--port: expected [SWITCH:]PORT=INTERFACE[=RATE] such as "
				    "leaf0:3=veth3, found '%.80s'",
				    spec);
	if (colon && (err = find_switch(s->f, "--port", spec, (size_t)(colon - spec), &sw, e)))
		return err;
	spec = colon ? colon + 1 : spec;
	snprintf(number, sizeof(number), "%.*s", (int)(equals - spec), spec);
	err = rs_parse_int(number, 0, s->f->switches[sw].n_ports - 1, &port, e);
	if (!err)
		err = switch_interface_parse(equals + 1, &i, e);
	if (err)
		rs_error_place(e, (struct rs_where){"--port", 0, 0});
	if (err || sw != s->sw)
		return err;
	if (port >= RS_BRIDGE_PORTS_MAX)
		return 0; /* such a switch is refused as a whole */
	if (s->interface[port].name[0])
		return rs_error_set(e, -EINVAL, "--port: port %lld of %s is named twice",
				    (long long)port, s->f->switches[sw].name);
	s->interface[port] = i;
	return 0;
}

static bool has_port(const struct rs_link_end *end, uint32_t sw)
{
	return end->is_switch && end->id == sw;
}

/* Options' rates are links' rates: all that goes by a rate follows. */
static void set_rates(struct switch_settings *s)
{
	for (uint32_t i = 0; i < s->f->n_links; i++) {
		struct rs_fabric_link *l = &s->f->links[i];
		bool at_a = has_port(&l->a, s->sw), ours = at_a || has_port(&l->b, s->sw);
		uint16_t port = at_a ? l->a.port : l->b.port;

		if (ours && s->rate)
			l->rate = s->rate;
		if (ours && port < RS_BRIDGE_PORTS_MAX && s->interface[port].rate)
			l->rate = s->interface[port].rate;
	}
}

int switch_describe(struct switch_settings *s, const char *file, struct rs_error *e)
{
	struct rs_plant *plant;
	int err = rs_fabric_load(file, s->sets.set, s->sets.n, &s->f, e);

	if (!err)
		err = choose(s, e);
	for (unsigned i = 0; !err && i < s->n_ports; i++)
		err = take_port(s, s->port[i], e);
	if (err)
		return err;
	set_rates(s);
	s->arena = rs_arena_create(0);
	if (!s->arena)
		return rs_error_set(e, -ENOMEM, "out of memory");
	err = rs_plant_create(s->f, NULL, (uint64_t)s->seed, s->arena, &plant, e);
	return err ? err : rs_bridge_describe(plant, s->sw, &s->c, e);
}

/* ---- Interfaces ---- */

const char *switch_leads_to(const struct switch_settings *s, unsigned port,
			    char name[SWITCH_PORT_NAME])
{
	const struct rs_bridge_port_config *p = &s->c.port[port];

	name[0] = '\0';
	if (s->f && p->to_switch)
		snprintf(name, SWITCH_PORT_NAME, "%.40s port %u", s->f->switches[p->peer].name,
			 p->peer_port);
	else if (s->f)
		snprintf(name, SWITCH_PORT_NAME, "%.60s", s->f->endpoints[p->peer].name);
	return name;
}

static bool is_down(const struct switch_settings *s, unsigned port)
{
	for (uint32_t i = 0; i < s->f->n_links; i++) {
		const struct rs_fabric_link *l = &s->f->links[i];

		if ((has_port(&l->a, s->sw) && l->a.port == port) ||
		    (has_port(&l->b, s->sw) && l->b.port == port))
			return l->down;
	}
	return true;
}

/* What would be the interface of a port that no option names. */
static void default_name(const struct switch_settings *s, unsigned port, char out[16])
{
	char name[80];
	int n = snprintf(name, sizeof(name), "%.60s-p%u", s->f->switches[s->sw].name, port);

	out[0] = '\0';
	if (n < 16 && if_nametoindex(name))
		memcpy(out, name, (size_t)n + 1);
}

/* Routes go over links between switches; a host may be absent. */
static int absent(const struct switch_settings *s, unsigned port, struct rs_error *e)
{
	const char *me = s->f->switches[s->sw].name;
	char to[SWITCH_PORT_NAME];

	if (!s->c.port[port].to_switch || s->show)
		return 0;
	rs_error_set(e, -EINVAL, "port %u of %s, to %s, has no interface, and routes go over it",
		     port, me, switch_leads_to(s, port, to));
	rs_error_hint(e,
		      "name it by --port %u=INTERFACE, call one %s-p%u, or take the link down in "
		      "the description (ripstop-fabric(5), change)",
		      port, me, port);
	return -EINVAL;
}

int switch_plug(struct switch_settings *s, struct rs_error *e)
{
	unsigned n = 0;
	int err = 0;

	for (unsigned i = 0; i < s->c.sw.n_ports && !err; i++) {
		char *name = s->interface[i].name;

		if (is_down(s, i)) {
			name[0] = '\0';
			continue;
		}
		if (!name[0])
			default_name(s, i, name);
		n += name[0] != '\0';
		err = name[0] ? 0 : absent(s, i, e);
	}
	if (err || n || s->show)
		return err;
	rs_error_set(e, -EINVAL, "no port of %s has an interface", s->f->switches[s->sw].name);
	rs_error_hint(e, "name them by --port PORT=INTERFACE, or call them %s-p0, %s-p1, ...",
		      s->f->switches[s->sw].name, s->f->switches[s->sw].name);
	return -EINVAL;
}

void switch_cable(void *settings, unsigned port, enum rs_bridge_cable what, uint32_t sw,
		  uint16_t sw_port)
{
	struct switch_settings *s = settings;
	const char *name = s->c.port[port].name;
	char to[SWITCH_PORT_NAME];

	if (what == RS_CABLE_FOREIGN)
		fprintf(stderr, "ripstop switch: %s: the switch there runs another description\n",
			name);
	else if (what == RS_CABLE_WRONG)
		fprintf(stderr,
			"ripstop switch: %s leads to %s port %u; described is port %u of %s to "
			"%s\n",
			name, sw < s->f->n_switches ? s->f->switches[sw].name : "?", sw_port, port,
			s->f->switches[s->sw].name, switch_leads_to(s, port, to));
	else if (s->told[port])
		fprintf(stderr, "ripstop switch: %s is now as described\n", name);
	s->told[port] = true;
	s->cable[port] = what;
}

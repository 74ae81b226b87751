/* Who is plugged in where, of a whole fabric: ibnetdiscover (InfiniBand) and NetQ's topology graph.
 * A subject a cable's end at a host: "cable/gpu01/mlx5_0". */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/config.h"
#include "audit/read/readers.h"

static void cable(struct rs_audit *a, const struct rs_input *in, uint32_t line, const char *node,
		  const char *dev, const char *peer, const char *port, const char *rate)
{
	char subject[256];

	snprintf(subject, sizeof(subject), "cable/%.100s/%.60s", node, dev);
	rs_input_add(a, in, line, NULL, subject, "neighbour", "%s", peer);
	rs_input_add(a, in, line, NULL, subject, "neighbour_port", "%s", port);
	if (*rate)
		rs_input_add(a, in, line, NULL, subject, "rate", "%s", rate);
}

/* ---- ibnetdiscover ---- */

static int score_ib(const struct rs_input *in)
{
	return rs_input_has(in, "\nSwitch\t") || rs_input_has(in, "\nSwitch  ") ||
			       rs_input_has(in, "\nCa\t") || rs_input_has(in, "\nCa ")
		       ? (rs_input_has(in, "vendid=") && rs_input_has(in, "devid=") ? 86 : 0)
		       : 0;
}

/* What stands between the nth pair of quotation marks (0: the first); false: no such pair. */
static bool quoted(const char *text, unsigned nth, char *out, size_t size)
{
	for (const char *p = strchr(text, '"'); p; p = strchr(p + 1, '"')) {
		const char *end = strchr(p + 1, '"');

		if (!end)
			return false;
		if (!nth--) {
			snprintf(out, size, "%.*s", (int)(end - p - 1), p + 1);
			return true;
		}
		p = end;
	}
	return false;
}

/* "gpu01 mlx5_0" or "gpu01 HCA-1"; a name that the driver gave to all ("MT4129 ConnectX7
 * Mellanox Technologies") names nobody. */
static bool node_and_device(char *text, char **dev)
{
	char *blank = strrchr(text, ' ');

	if (!blank || strstr(text, "Mellanox Technologies"))
		return false;
	*dev = blank + 1;
	while (blank > text && blank[-1] == ' ')
		blank--;
	*blank = '\0';
	return *text && (!strncmp(*dev, "mlx", 3) || !strncmp(*dev, "HCA", 3) ||
			 !strncmp(*dev, "ib", 2) || !strncmp(*dev, "roce", 4));
}

/* [1](guid) "S-guid"[17]  # lid 657 lmc 0 "MF0;leaf:MQM9701/U1" lid 73 4xNDR */
static void host_port(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l,
		      const char *node, const char *dev)
{
	char id[80], name[128], port[16] = "", *p, *semicolon;
	const char *rate = strrchr(l->text, ' ');
	unsigned number;

	if (!quoted(l->text, 0, id, sizeof(id)) || !quoted(l->text, 1, name, sizeof(name)) ||
	    id[0] != 'S')
		return;
	p = strchr(strchr(l->text, '"') + 1, '"');
	if (p && sscanf(p + 1, "[%u]", &number) == 1)
		snprintf(port, sizeof(port), "%u", number);
	/* "MF0;A09-LEAF-04:MQM9701/U1": the switch's own name stands in between */
	semicolon = strchr(name, ';');
	p = semicolon ? semicolon + 1 : name;
	p[strcspn(p, ":")] = '\0';
	cable(a, in, l->number, node, dev, *p ? p : id, port,
	      rate && strchr(rate, 'x') ? rate + 1 : "");
}

static int read_ib(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_line l = {.number = 0};
	char text[128], node[128] = "", *dev = NULL;

	while (rs_line_next(in, &l)) {
		if (!strncmp(l.text, "Ca", 2) && isspace((unsigned char)l.text[2])) {
			*node = '\0';
			if (quoted(l.text, 1, text, sizeof(text)) && node_and_device(text, &dev))
				snprintf(node, sizeof(node), "%s", text);
		} else if (!strncmp(l.text, "Switch", 6)) {
			*node = '\0';
		} else if (l.text[0] == '[' && *node) {
			host_port(a, in, &l, node, dev);
		}
	}
	return a->err;
}

const struct rs_reader rs_reader_ibnetdiscover = {
	.name = "ibnetdiscover",
	.what = "ibnetdiscover: which switch and port each HCA is plugged into",
	.trust = RS_TRUST_TOOL,
	.score = score_ib,
	.read = read_ib,
	.begins = (const char *const[]){"vendid=0x", NULL},
};

/* ---- NetQ ---- */

static int score_netq(const struct rs_input *in)
{
	return rs_input_has(in, "\"compounded_links\"") ? 88 : 0;
}

static bool is_switch_port(const char *name)
{
	return !strncmp(name, "swp", 3) && isdigit((unsigned char)name[3]);
}

/* Both ends stand side by side: interface and node, twice a link. */
static int read_netq(struct rs_audit *a, const struct rs_input *in)
{
	const char *name[2] = {NULL}, *node[2] = {NULL};
	const char *got[RS_CONFIG_CAPTURES];
	struct rs_config c;
	unsigned n = 0, m = 0;

	if (rs_config_create(&c))
		return -ENOMEM;
	rs_config_tree(&c, in);
	for (uint32_t i = 0; i < c.n; i++) {
		const struct rs_statement *s = &c.at[i];

		if (rs_config_match(s, "links compounded_links id ?", got)) {
			n = m = 0;
		} else if (rs_config_match(s, "links compounded_links interfaces interface ?",
					   got)) {
			if (n < 2)
				name[n++] = got[0];
		} else if (rs_config_match(s, "links compounded_links interfaces node ?", got)) {
			if (m < 2)
				node[m++] = got[0];
		} else {
			continue;
		}
		if (n != 2 || m != 2 || is_switch_port(name[0]) == is_switch_port(name[1]))
			continue;
		m = is_switch_port(name[0]) ? 1 : 0; /* the host's end */
		cable(a, in, s->line, node[m], name[m], node[!m], name[!m], "");
		n = m = 0;
	}
	rs_config_destroy(&c);
	return a->err;
}

const struct rs_reader rs_reader_netq = {
	.name = "netq",
	.what = "NetQ's topology graph: which switch and port each host interface is plugged into",
	.trust = RS_TRUST_TOOL,
	.score = score_netq,
	.read = read_netq,
};

/* What iproute2's rdma and infiniband-diags' ibstat print: links, resources, statistics. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/place.h"
#include "audit/read/readers.h"
#include "text/document.h"

/* ---- rdma link, rdma dev, rdma statistic, rdma system; as text ---- */

/* "packet_seq_err 2164": what grep left of a link's counters, whose name the command has. */
static bool is_counter(const char *text, char *name, size_t size, const char **value)
{
	size_t n = strcspn(text, " \t");

	*value = text + n + strspn(text + n, " \t");
	if (!n || n >= size || strspn(text, "abcdefghijklmnopqrstuvwxyz_0123456789") != n ||
	    !strchr(text, '_') || !isdigit((unsigned char)**value) ||
	    strspn(*value, "0123456789") != strlen(*value))
		return false;
	snprintf(name, size, "%.*s", (int)n, text);
	return true;
}

/* "rdma statistic show link mlx5_0/1 | grep ...": its device. */
static bool link_asked(const struct rs_input *in, char *dev, size_t size)
{
	const char *p = in->command ? strstr(in->command, "rdma stat") : NULL;
	size_t n;

	if (!p || !(p = strstr(p, " link ")))
		return false;
	p += 6 + strspn(p + 6, " ");
	n = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
	if (!n || n >= size || p[n] != '/')
		return false;
	snprintf(dev, size, "%.*s", (int)n, p);
	return true;
}

static int score_rdma(const struct rs_input *in)
{
	struct rs_line l = {0};
	char dev[64], name[96];
	bool asked = link_asked(in, dev, sizeof(dev));
	const char *value;
	unsigned port;

	while (rs_line_next(in, &l) && l.number < 30) {
		int used = 0;

		if (sscanf(l.text, "link %63[A-Za-z0-9_-]/%u%n", dev, &port, &used) == 2 &&
		    (l.text[used] == ' ' || !l.text[used]))
			return 88;
		if (asked && is_counter(l.text, name, sizeof(name), &value))
			return 85;
		if (!strncmp(l.text, "netns exclusive", 15) || !strncmp(l.text, "netns shared", 12))
			return 80;
		if (sscanf(l.text, "%*u: %63[A-Za-z0-9_-]: node_type ", dev) == 1 &&
		    strstr(l.text, "node_type"))
			return 88;
	}
	return 0;
}

/* "key value key value ..." from p on: counters are numbers, attributes words. */
static void pairs(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l,
		  const char *subject, char *p)
{
	static const struct {
		const char *key, *fact;
	} known[] = {
		{"state", "port_state"},    {"physical_state", "phys_state"},
		{"netdev", "netdev"},       {"fw", "firmware"},
		{"node_guid", "node_guid"}, {"sys_image_guid", "sys_image_guid"},
	};
	char *save = NULL, name[160];

	for (char *key = strtok_r(p, " ", &save), *value; key; key = strtok_r(NULL, " ", &save)) {
		bool word = false;

		value = strtok_r(NULL, " ", &save);
		if (!value)
			return;
		for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
			if (!strcmp(key, known[i].key)) {
				bool screaming = !strcmp(known[i].fact, "phys_state") &&
						 !strcmp(value, "LINK_UP");

				word = true;
				rs_input_add(a, in, l->number, NULL, subject, known[i].fact, "%s",
					     screaming ? "LinkUp" : value);
			}
		if (!word && isdigit((unsigned char)*value) &&
		    strspn(value, "0123456789") == strlen(value)) {
			snprintf(name, sizeof(name), "counter/%.120s", key);
			rs_input_add(a, in, l->number, NULL, subject, name, "%s", value);
		}
	}
}

/* A row of `rdma resource`: a queue pair's state is no port's. */
static bool is_resource(const char *text)
{
	static const char *const names[] = {" lqpn ",   " pdn ",  " cqn ", " mrn ",
					    " cm-idn ", " srqn ", " ctxn "};

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strstr(text, names[i]))
			return true;
	return false;
}

static int read_rdma(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_line l = {0};
	char dev[64], link[64], subject[80] = "", counter[96], name[112];
	bool open = false, asked = link_asked(in, link, sizeof(link));
	const char *value;

	while (rs_line_next(in, &l)) {
		unsigned port;
		int used = 0;

		/* `rdma -p`: what belongs to a link stands on indented lines below it */
		if (open && l.indent) {
			pairs(a, in, &l, subject, l.text);
			continue;
		}
		open = false;
		if (asked && is_counter(l.text, counter, sizeof(counter), &value)) {
			snprintf(subject, sizeof(subject), "nic/%s", link);
			snprintf(name, sizeof(name), "counter/%s", counter);
			rs_input_add(a, in, l.number, NULL, subject, name, "%s", value);
		} else if (!strncmp(l.text, "netns ", 6)) {
			rs_input_add(a, in, l.number, NULL, "host", "rdma_netns", "%.*s",
				     (int)strcspn(l.text + 6, " "), l.text + 6);
		} else if (sscanf(l.text, "link %63[A-Za-z0-9_-]/%u%n", dev, &port, &used) == 2 &&
			   (l.text[used] == ' ' || !l.text[used])) {
			snprintf(subject, sizeof(subject), "nic/%s", dev);
			rs_port_seen(a, in, l.number, subject, port);
			open = true;
			if (is_resource(l.text))
				rs_input_add(a, in, l.number, NULL, subject, "resource", "listed");
			else
				pairs(a, in, &l, subject, l.text + used);
		} else if (sscanf(l.text, "%*u: %63[A-Za-z0-9_-]:%n", dev, &used) == 1 && used &&
			   l.text[used] == ' ' && strstr(l.text, "node_type")) {
			snprintf(subject, sizeof(subject), "nic/%s", dev);
			pairs(a, in, &l, subject, l.text + used + 1);
		}
	}
	return a->err;
}

const struct rs_reader rs_reader_rdma = {
	.name = "rdma",
	.what = "rdma link, dev, statistic, system: ports, firmware, counters, namespaces",
	.trust = RS_TRUST_TOOL,
	.score = score_rdma,
	.read = read_rdma,
	.begins = (const char *const[]){"link %/# state ", "#: %: node_type ", NULL},
};

/* ---- rdma -j ---- */

static int score_rdma_json(const struct rs_input *in)
{
	return (*in->data == '[' || *in->data == '{') && rs_input_has(in, "\"ifname\"") &&
			       (rs_input_has(in, "\"physical_state\"") ||
				rs_input_has(in, "\"node_guid\"") ||
				(rs_input_has(in, "\"port\"") &&
				 (rs_input_has(in, "local_ack_timeout_err") ||
				  rs_input_has(in, "out_of_sequence") ||
				  rs_input_has(in, "rx_write_requests"))))
		       ? 90
	       : (*in->data == '[' || *in->data == '{') && rs_input_has(in, "\"netns\"") &&
			       rs_input_has(in, "\"copy-on-fork\"")
		       ? 90
		       : 0;
}

static void object(struct rs_audit *a, const struct rs_input *in, struct rs_value *n)
{
	static const struct {
		const char *key, *fact;
	} known[] = {
		{"state", "port_state"},    {"physical_state", "phys_state"},
		{"netdev", "netdev"},       {"fw", "firmware"},
		{"node_guid", "node_guid"}, {"sys_image_guid", "sys_image_guid"},
	};
	struct rs_pair *p;
	void *iter = NULL;
	char subject[96], name[160], key[128], value[256];
	struct rs_value *netns = rs_document_member(n, "netns");
	const char *text = rs_document_text(netns, value, sizeof(value));

	if (text)
		rs_input_add(a, in, rs_document_line(netns), NULL, "host", "rdma_netns", "%s",
			     text);
	text = rs_document_text(rs_document_member(n, "ifname"), value, sizeof(value));
	if (!text)
		return;
	snprintf(subject, sizeof(subject), "nic/%.80s", text);
	while ((p = rs_value_each_pair(n, &iter))) {
		struct rs_value *v = rs_pair_value(p);
		bool word = false;

		if (!rs_document_text(rs_pair_key(p), key, sizeof(key)) ||
		    !rs_document_text(v, value, sizeof(value)))
			continue;
		for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
			if (!strcmp(key, known[i].key)) {
				bool up = !strcmp(known[i].fact, "phys_state") &&
					  !strcmp(value, "LINK_UP");

				word = true;
				rs_input_add(a, in, rs_document_line(v), NULL, subject,
					     known[i].fact, "%s", up ? "LinkUp" : value);
			}
		if (word || strspn(value, "0123456789") != strlen(value) || !strcmp(key, "port") ||
		    !strcmp(key, "ifindex"))
			continue;
		snprintf(name, sizeof(name), "counter/%s", key);
		rs_input_add(a, in, rs_document_line(v), NULL, subject, name, "%s", value);
	}
}

static int read_rdma_json(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_document *d = rs_document_parse(in->data, in->size);
	struct rs_value *root = d ? rs_document_root(d) : NULL, *n;
	void *iter = NULL;

	if (root && rs_value_is_list(root))
		while ((n = rs_value_each(root, &iter)))
			object(a, in, n);
	else if (root)
		object(a, in, root);
	rs_document_destroy(d);
	return a->err;
}

const struct rs_reader rs_reader_rdma_json = {
	.name = "rdma-json",
	.what = "rdma -j link, dev, statistic, system",
	.trust = RS_TRUST_TOOL,
	.score = score_rdma_json,
	.read = read_rdma_json,
};

/* ---- ibstat ---- */

/* "ibstat mlx5_0 | grep Rate": the command alone says of which device a line is. */
static bool asked_of(const struct rs_input *in, char dev[64])
{
	return in->command && sscanf(in->command, "ibstat %63s", dev) == 1 && rs_is_rdma_name(dev);
}

static int score_ibstat(const struct rs_input *in)
{
	char dev[64];

	if (rs_input_has(in, "CA '"))
		return rs_input_has(in, "CA type") ? 92 : 0;
	return asked_of(in, dev) ? 80 : 0;
}

static int read_ibstat(struct rs_audit *a, const struct rs_input *in)
{
	static const struct {
		const char *key, *fact;
	} known[] = {
		{"CA type", "hca_type"},      {"Firmware version", "firmware"},
		{"Node GUID", "node_guid"},   {"System image GUID", "sys_image_guid"},
		{"State", "port_state"},      {"Physical state", "phys_state"},
		{"Link layer", "link_layer"}, {"Rate", "rate_gbps"},
	};
	char subject[96] = "", dev[64];
	unsigned port = 0, chosen = 0;
	struct rs_line l = {0};

	if (asked_of(in, dev))
		snprintf(subject, sizeof(subject), "nic/%s", dev);
	while (rs_line_next(in, &l)) {
		char *key, *value;

		if (sscanf(l.text, "CA '%63[^']'", dev) == 1) {
			snprintf(subject, sizeof(subject), "nic/%s", dev);
			chosen = rs_port_chosen(in, &l, "CA '");
			port = 0;
			continue;
		}
		if (*subject && sscanf(l.text, "Port %u:", &port) == 1)
			rs_port_seen(a, in, l.number, subject, port);
		if (chosen && port && port != chosen)
			continue;
		if (!*subject || !rs_line_pair(l.text, ':', &key, &value) || !*value)
			continue;
		for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++) {
			if (strcmp(key, known[i].key))
				continue;
			/* a port that is down still prints a rate: not the cable's */
			if (!strcmp(key, "State"))
				for (char *p = value; *p; p++)
					*p = (char)toupper((unsigned char)*p);
			rs_input_add(a, in, l.number, NULL, subject, known[i].fact, "%s", value);
		}
	}
	return a->err;
}

const struct rs_reader rs_reader_ibstat = {
	.name = "ibstat",
	.what = "ibstat: each device's ports, rate, firmware",
	.trust = RS_TRUST_TOOL,
	.score = score_ibstat,
	.read = read_ibstat,
	.begins = (const char *const[]){"CA '%'", NULL},
};

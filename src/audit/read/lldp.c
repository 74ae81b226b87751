/* Neighbours by LLDP (IEEE 802.1AB): lldpctl as text, keyvalue, JSON (both forms) and XML. The
 * largest frame is IEEE 802.3's (clause 79.3.4); PFC is IEEE 802.1Qaz' TLV, which lldpd gives raw.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/read/config.h"
#include "audit/read/readers.h"
#include "text/xml.h"

struct lldp {
	struct rs_audit *a;
	const struct rs_input *in;
	char subject[128];
	bool tlv_8021, tlv_pfc; /* the unknown TLV being read is 802.1Qaz' PFC configuration */
};

/* On a switch the same program speaks of its ports. */
static void interface(struct lldp *x, const char *name)
{
	bool port = !strncmp(name, "swp", 3) || !strncmp(name, "Ethernet", 8);

	snprintf(x->subject, sizeof(x->subject), "%s/%.100s", port ? "port" : "netdev", name);
	x->tlv_8021 = x->tlv_pfc = false;
}

static void say(struct lldp *x, uint32_t line, const char *name, const char *value)
{
	if (*x->subject && *value)
		rs_input_add(x->a, x->in, line, NULL, x->subject, name, "%s", value);
}

/* "08,08": willing and number of classes, then a bit for each priority (802.1Q annex D.2.11). */
static void tlv_value(struct lldp *x, uint32_t line, const char *value)
{
	unsigned flags, mask;
	char text[16];

	if (!x->tlv_8021 || !x->tlv_pfc || sscanf(value, "%x,%x", &flags, &mask) != 2)
		return;
	snprintf(text, sizeof(text), "0x%02x", mask & 255);
	say(x, line, "neighbour_pfc", text);
}

/* One value and where it stands, as lldpd's own names have it, from the interface down. */
static void value(struct lldp *x, uint32_t line, const char *group, const char *key, const char *v)
{
	static const struct {
		const char *group, *key, *fact;
	} known[] = {
		{"chassis", "name", "neighbour"},         {"port", "ifname", "neighbour_port"},
		{"port", "local", "neighbour_port"},      {"port", "mac", "neighbour_port_mac"},
		{"port", "mfs", "neighbour_mfs"},         {"port", "descr", "neighbour_port_descr"},
		{"chassis", "descr", "neighbour_system"},
	};

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(group, known[i].group) && !strcmp(key, known[i].key))
			say(x, line, known[i].fact, v);
	if (!strcmp(key, "oui")) {
		x->tlv_8021 = !strcasecmp(v, "00,80,C2");
		x->tlv_pfc = false;
	} else if (!strcmp(key, "subtype")) {
		x->tlv_pfc = !strcmp(v, "11");
	} else if (!strcmp(group, "unknown-tlv") && !strcmp(key, "value")) {
		tlv_value(x, line, v);
	}
}

/* ---- JSON: lldp > interface > NAME > chassis > SYSTEM > ..., or each level a list (json0) ---- */

static int score_json(const struct rs_input *in)
{
	return in->data[0] == '{' && rs_input_has(in, "\"lldp\"") ? 86 : 0;
}

static bool is(const struct rs_statement *s, unsigned i, const char *word)
{
	return i < s->n && !strcmp(s->word[i], word);
}

/* json0: names are members called name, scalars members called value. */
static void verbose(struct lldp *x, const struct rs_statement *s, char *id_type, size_t size)
{
	const char *last = s->word[s->n - 1];

	if (s->n == 4 && is(s, 2, "name"))
		interface(x, last);
	else if (is(s, 2, "unknown-tlvs") && s->n == 6)
		value(x, s->line, s->word[3], s->word[4], last);
	else if (is(s, 2, "chassis") && is(s, 3, "name") && is(s, 4, "value"))
		value(x, s->line, "chassis", "name", last);
	else if (is(s, 2, "port") && is(s, 3, "id") && is(s, 4, "type"))
		snprintf(id_type, size, "%s", last);
	else if (is(s, 2, "port") && is(s, 3, "id") && is(s, 4, "value"))
		value(x, s->line, "port", id_type, last);
	else if (s->n == 6 && is(s, 4, "value"))
		value(x, s->line, s->word[2], s->word[3], last);
}

static void plain(struct lldp *x, const struct rs_statement *s, char *id_type, size_t size)
{
	const char *last = s->word[s->n - 1], *group = s->n > 4 ? s->word[3] : "";

	if (!strcmp(group, "chassis") && s->n > 6 && (is(s, 5, "id") || is(s, 5, "descr"))) {
		if (is(s, 6, "type"))
			value(x, s->line, "chassis", "name", s->word[4]);
		if (s->n == 7)
			value(x, s->line, "chassis", s->word[5], last);
	} else if (!strcmp(group, "port") && is(s, 4, "id") && is(s, 5, "type")) {
		snprintf(id_type, size, "%s", last);
	} else if (!strcmp(group, "port") && is(s, 4, "id") && is(s, 5, "value")) {
		value(x, s->line, "port", id_type, last);
	} else if (s->n == 6) {
		value(x, s->line, group, s->word[4], last);
	} else if (!strcmp(group, "unknown-tlvs") && s->n == 7) {
		value(x, s->line, s->word[4], s->word[5], last);
	}
}

static int read_json(struct rs_audit *a, const struct rs_input *in)
{
	struct lldp x = {.a = a, .in = in};
	char id_type[32] = "", name[128] = "";
	struct rs_config c;

	if (rs_config_create(&c))
		return -ENOMEM;
	rs_config_tree(&c, in);
	for (uint32_t i = 0; i < c.n; i++) {
		const struct rs_statement *s = &c.at[i];

		if (s->n < 4 || strcmp(s->word[0], "lldp") || strcmp(s->word[1], "interface"))
			continue;
		/* in json0 the word behind "interface" is a member, else the interface's name */
		if (is(s, 2, "name") || is(s, 2, "chassis") || is(s, 2, "port") ||
		    is(s, 2, "unknown-tlvs")) {
			verbose(&x, s, id_type, sizeof(id_type));
			continue;
		}
		if (strncmp(name, s->word[2], sizeof(name) - 1)) {
			snprintf(name, sizeof(name), "%s", s->word[2]);
			interface(&x, name);
		}
		plain(&x, s, id_type, sizeof(id_type));
	}
	rs_config_destroy(&c);
	return a->err;
}

const struct rs_reader rs_reader_lldp_json = {
	.name = "lldp-json",
	.what = "lldpctl -f json or json0: neighbours, their ports, frame size and PFC",
	.trust = RS_TRUST_TOOL,
	.score = score_json,
	.read = read_json,
};

/* ---- keyvalue: lldp.eth0.chassis.name=leaf1 ---- */

static int score_keys(const struct rs_input *in)
{
	return !strncmp(in->data, "lldp.", 5) || rs_input_has(in, "\nlldp.") ? 84 : 0;
}

static int read_keys(struct rs_audit *a, const struct rs_input *in)
{
	static const char *const groups[] = {".chassis.", ".port.", ".unknown-tlvs."};
	struct lldp x = {.a = a, .in = in};
	struct rs_line l = {.number = 0};
	char last[128] = "";

	while (rs_line_next(in, &l)) {
		char *key, *v;

		if (strncmp(l.text, "lldp.", 5) || !rs_line_pair(l.text, '=', &key, &v))
			continue;
		for (unsigned g = 0; g < 3; g++) {
			char *at = strstr(key + 5, groups[g]), *tail;

			if (!at)
				continue;
			*at = '\0';
			if (strncmp(last, key + 5, sizeof(last) - 1)) {
				snprintf(last, sizeof(last), "%s", key + 5);
				interface(&x, last);
			}
			tail = at + strlen(groups[g]);
			value(&x, l.number,
			      g == 0   ? "chassis"
			      : g == 1 ? "port"
				       : "unknown-tlv",
			      g == 2 && strchr(tail, '.') ? strrchr(tail, '.') + 1 : tail, v);
			break;
		}
	}
	return a->err;
}

const struct rs_reader rs_reader_lldp_keys = {
	.name = "lldp-keyvalue",
	.what = "lldpctl -f keyvalue: the same",
	.trust = RS_TRUST_TOOL,
	.score = score_keys,
	.read = read_keys,
};

/* ---- Text ---- */

static int score_text(const struct rs_input *in)
{
	return rs_input_has(in, "Interface:") && rs_input_has(in, "via: LLDP") ? 84 : 0;
}

static void text_port_id(struct lldp *x, uint32_t line, char *v)
{
	char *blank = strchr(v, ' ');

	if (!blank)
		return;
	*blank = '\0';
	value(x, line, "port", v, blank + 1);
}

static int read_text(struct rs_audit *a, const struct rs_input *in)
{
	struct lldp x = {.a = a, .in = in};
	struct rs_line l = {.number = 0};

	while (rs_line_next(in, &l)) {
		char *key, *v, *oui, *subtype, *bytes;

		/* "TLV:  OUI: 00,80,C2, SubType: 11, Len: 2 08,08" */
		if ((oui = strstr(l.text, "OUI: ")) && (subtype = strstr(oui, "SubType: ")) &&
		    (bytes = strstr(subtype, "Len: "))) {
			x.tlv_8021 = !strncasecmp(oui + 5, "00,80,C2", 8);
			x.tlv_pfc = atoi(subtype + 9) == 11;
			bytes = strchr(bytes + 5, ' ');
			if (bytes)
				tlv_value(&x, l.number, bytes + 1);
			continue;
		}
		if (!rs_line_pair(l.text, ':', &key, &v))
			continue;
		if (!strcmp(key, "Interface")) {
			v[strcspn(v, ",")] = '\0';
			interface(&x, v);
		} else if (!strcmp(key, "SysName")) {
			value(&x, l.number, "chassis", "name", v);
		} else if (!strcmp(key, "SysDescr")) {
			value(&x, l.number, "chassis", "descr", v);
		} else if (!strcmp(key, "PortID")) {
			text_port_id(&x, l.number, v);
		} else if (!strcmp(key, "PortDescr")) {
			value(&x, l.number, "port", "descr", v);
		} else if (!strcmp(key, "MFS")) {
			value(&x, l.number, "port", "mfs", v);
		}
	}
	return a->err;
}

const struct rs_reader rs_reader_lldp_text = {
	.name = "lldp",
	.what = "lldpctl: the same, as text",
	.trust = RS_TRUST_TOOL,
	.score = score_text,
	.read = read_text,
	.begins = (const char *const[]){"LLDP neighbors:", NULL},
};

/* ---- XML ---- */

static int score_xml(const struct rs_input *in)
{
	return rs_input_has(in, "<lldp") && in->data[0] == '<' ? 86 : 0;
}

static void xml_value(struct lldp *x, xmlNode *n, const char *group)
{
	xmlChar *text = xmlNodeGetContent(n), *type = xmlGetProp(n, BAD_CAST "type");
	const char *key = (const char *)n->name;

	if (text) {
		if (!strcmp(key, "id") && type)
			key = (const char *)type;
		value(x, (uint32_t)xmlGetLineNo(n), group, key, (const char *)text);
	}
	xmlFree(type);
	xmlFree(text);
}

static void xml_unknown(struct lldp *x, xmlNode *n)
{
	static const char *const keys[] = {"oui", "subtype"};
	xmlChar *text = xmlNodeGetContent(n);

	for (unsigned i = 0; i < 2; i++) {
		xmlChar *v = xmlGetProp(n, BAD_CAST keys[i]);

		if (v)
			value(x, (uint32_t)xmlGetLineNo(n), "unknown-tlv", keys[i],
			      (const char *)v);
		xmlFree(v);
	}
	if (text)
		tlv_value(x, (uint32_t)xmlGetLineNo(n), (const char *)text);
	xmlFree(text);
}

static void xml_interface(struct lldp *x, xmlNode *n)
{
	xmlChar *name = xmlGetProp(n, BAD_CAST "name");

	if (!name)
		return;
	interface(x, (const char *)name);
	xmlFree(name);
	for (xmlNode *g = n->children; g; g = g->next) {
		bool unknown = g->type == XML_ELEMENT_NODE &&
			       !strcmp((const char *)g->name, "unknown-tlvs");

		for (xmlNode *c = g->children; c && g->type == XML_ELEMENT_NODE; c = c->next)
			if (c->type == XML_ELEMENT_NODE && unknown)
				xml_unknown(x, c);
			else if (c->type == XML_ELEMENT_NODE)
				xml_value(x, c, (const char *)g->name);
	}
}

static int read_xml(struct rs_audit *a, const struct rs_input *in)
{
	struct lldp x = {.a = a, .in = in};
	xmlDoc *doc = rs_xml_parse(in->data, in->size);
	xmlNode *root = doc ? xmlDocGetRootElement(doc) : NULL;

	for (xmlNode *c = root ? root->children : NULL; c; c = c->next)
		if (c->type == XML_ELEMENT_NODE && !strcmp((const char *)c->name, "interface"))
			xml_interface(&x, c);
	xmlFreeDoc(doc);
	return a->err;
}

const struct rs_reader rs_reader_lldp_xml = {
	.name = "lldp-xml",
	.what = "lldpctl -f xml: the same",
	.trust = RS_TRUST_TOOL,
	.score = score_xml,
	.read = read_xml,
};

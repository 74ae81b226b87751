/* Mellanox firmware tools: mlxconfig or mstconfig -q, mlxlink (text), mlxreg's ROCE_ACCL. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/place.h"
#include "audit/read/readers.h"
#include "text/document.h"

/* What a device's name stands for: a PCI address, an RDMA device, or MST's own name. */
static void subject_of(const char *device, char *out, size_t size)
{
	const char *base = strrchr(device, '/');
	char full[32];

	base = base ? base + 1 : device;
	if (rs_pci_address(device, full, sizeof(full)))
		snprintf(out, size, "pci/%s", full);
	else if (rs_is_rdma_name(base))
		snprintf(out, size, "nic/%s", base);
	else
		snprintf(out, size, "mst/%.64s", base);
}

/* The command's own "-d 3b:00.0", or what its name tells. */
static void device_of(const struct rs_input *in, char *out, size_t size)
{
	const char *d = in->command ? strstr(in->command, " -d ") : NULL;

	if (d)
		snprintf(out, size, "%.*s", (int)strcspn(d + 4, " "), d + 4);
	else
		rs_input_device(in, out, size);
}

/* ---- mlxconfig ---- */

/* "True(1)", "_256KB(1)", "255", "ECN(0)" -> the number; "Array[0..7]" stays. */
static void setting(const char *value, char *out, size_t size)
{
	const char *p = strrchr(value, '(');

	if (p && isdigit((unsigned char)p[1]))
		snprintf(out, size, "%.*s", (int)strspn(p + 1, "0123456789"), p + 1);
	else
		snprintf(out, size, "%s", value);
}

/* The columns' names, in order: "config_default", "config_current", "config". */
static unsigned columns(const char *header, const char **column)
{
	static const struct {
		const char *title, *fact;
	} known[] = {{"Default", "config_default"}, {"Current", "config_current"}};
	unsigned n = 0;

	for (unsigned i = 0; i < 2; i++)
		if (strstr(header, known[i].title))
			column[n++] = known[i].fact;
	column[n++] = "config";
	return n;
}

static bool is_parameter(const char *w)
{
	size_t n = strspn(w, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	/* "PF_SD_GROUP", "LINK_TYPE_P1"; arrays: "ESWITCH_TBL[0]" */
	return n > 2 && (!w[n] || w[n] == '[') && isupper((unsigned char)*w);
}

/* Rows alone, as grep leaves them: "SRIOV_EN   False(0)". Not what a tool tells of itself in such
 * a form: of the rows some has the number of a named value. */
static bool is_fragment(const struct rs_input *in)
{
	unsigned rows = 0, named = 0;
	struct rs_line l = {0};

	while (rs_line_next(in, &l)) {
		char *w[6];
		unsigned n, first;
		const char *last;

		if (!(n = rs_line_words(l.text, w, 6)))
			continue;
		first = !strcmp(w[0], "*") || !strcmp(w[0], "RO") ? 1 : 0;
		if (n < first + 2 || n > first + 4 || !is_parameter(w[first]) ||
		    !strchr(w[first], '_') || l.number > 64)
			return false;
		last = strchr(w[n - 1], '(');
		named += last && isdigit((unsigned char)last[1]) &&
			 isalpha((unsigned char)*w[n - 1]);
		rows++;
	}
	return rows && named;
}

static int score_config(const struct rs_input *in)
{
	if (rs_input_has(in, "Configurations:") &&
	    (rs_input_has(in, "Next Boot") || rs_input_has(in, "Next boot")))
		return 92;
	return is_fragment(in) ? 70 : 0;
}

static const char *after_colon(const char *text)
{
	const char *p = strchr(text, ':') + 1;

	return p + strspn(p, " \t");
}

/* The address of the device that begins at this line; l is a copy. */
static void device_ahead(const struct rs_input *in, struct rs_line l, char *out, size_t size)
{
	for (int i = 0; i < 8 && rs_line_next(in, &l); i++)
		if (!strncmp(l.text, "Device:", 7) || !strncmp(l.text, "PCI device:", 11)) {
			subject_of(after_colon(l.text), out, size);
			return;
		}
}

static int read_config(struct rs_audit *a, const struct rs_input *in)
{
	const char *column[3] = {"config"};
	char subject[96], device[128];
	unsigned n_columns = 0;
	struct rs_line l = {0};

	device_of(in, device, sizeof(device));
	subject_of(device, subject, sizeof(subject));
	n_columns = is_fragment(in);
	while (rs_line_next(in, &l)) {
		char *w[6], name[96], value[128];
		unsigned n, first;

		/* "Device #1:" begins one; what it is comes before its address */
		if (!strncmp(l.text, "Device #", 8))
			device_ahead(in, l, subject, sizeof(subject));
		else if (!strncmp(l.text, "Device:", 7))
			subject_of(after_colon(l.text), subject, sizeof(subject));
		else if (!strncmp(l.text, "Name:", 5))
			rs_input_add(a, in, l.number, NULL, subject, "part_number", "%s",
				     after_colon(l.text));
		else if (!strncmp(l.text, "Device type:", 12))
			rs_input_add(a, in, l.number, NULL, subject, "device_type", "%s",
				     after_colon(l.text));
		if (!strncmp(l.text, "Configurations:", 15)) {
			n_columns = columns(l.text, column);
			continue;
		}
		n = rs_line_words(l.text, w, 6);
		/* "*" marks what differs from the default; RO what cannot be set */
		first = n && (!strcmp(w[0], "*") || !strcmp(w[0], "RO")) ? 1 : 0;
		if (!n_columns || n < first + 2 || !is_parameter(w[first]))
			continue;
		for (unsigned i = 0; i < n_columns && first + 1 + i < n; i++) {
			/* one value alone is the next boot's, whatever the heading */
			const char *fact = n - first - 1 == 1 ? "config" : column[i];

			snprintf(name, sizeof(name), "%s/%.64s", fact, w[first]);
			setting(w[first + 1 + i], value, sizeof(value));
			rs_input_add(a, in, l.number, NULL, subject, name, "%s", value);
		}
	}
	return a->err;
}

const struct rs_reader rs_reader_mlxconfig = {
	.name = "mlxconfig",
	.what = "mlxconfig or mstconfig -q: firmware parameters, default, current and next boot",
	.trust = RS_TRUST_TOOL,
	.score = score_config,
	.read = read_config,
	.begins = (const char *const[]){"Device %:", "Device type: ", "SRIOV_EN @(#)",
					"NUM_OF_VFS #", "LINK_TYPE_P# @(#)", NULL},
};

/* ---- mlxlink ---- */

static int score_link(const struct rs_input *in)
{
	return rs_input_has(in, "Operational Info") &&
			       (rs_input_has(in, "Physical state") || rs_input_has(in, "FEC"))
		       ? 92
		       : 0;
}

/* What mlxlink prints, as text and as JSON, and the facts that it is. */
static const struct {
	const char *key, *fact;
} link_facts[] = {
	{"State", "link/state"},
	{"Physical state", "link/phys_state"},
	{"Speed", "link/speed"},
	{"Width", "link/width"},
	{"FEC", "link/fec"},
	{"Loopback Mode", "link/loopback"},
	{"Auto Negotiation", "link/autoneg"},
	{"Recommendation", "link/recommendation"},
	{"Raw Physical BER", "link/raw_ber"},
	{"Effective Physical BER", "link/effective_ber"},
	{"Symbol BER", "link/symbol_ber"},
	{"Raw Physical Errors Per Lane", "link/raw_errors"},
	{"Effective Physical Errors", "counter/effective_errors"},
	{"Symbol Errors", "counter/symbol_errors"},
	{"Link Down Counter", "counter/link_down_events_phy"},
	{"Link Error Recovery Counter", "counter/link_error_recovery"},
	{"Temperature [C]", "module/temperature"},
	{"Voltage [mV]", "module/voltage"},
	{"Rx Power Current [dBm]", "module/rx_power"},
	{"Tx Power Current [dBm]", "module/tx_power"},
	{"Vendor Name", "module/vendor"},
	{"Vendor Part Number", "module/part"},
	{"Vendor Serial Number", "module/serial"},
	{"FW Version", "module/firmware"},
	{"Cable Type", "module/type"},
	{"Cable/Module Length [m]", "module/length"},
	{"Time Since Last Clear [Min]", "link/minutes_since_clear"},
};

/* Gb/s of "400G_4X"; of InfiniBand's names those of a lane. 0: no speed. */
static unsigned speed_named(const char *name, size_t n)
{
	static const struct {
		const char *name;
		unsigned gbps;
	} lanes[] = {{"XDR", 200}, {"NDR", 100}, {"HDR", 50},
		     {"EDR", 25},  {"FDR", 14},  {"QDR", 10}};

	for (unsigned i = 0; i < sizeof(lanes) / sizeof(*lanes); i++)
		if (n == 3 && !memcmp(name, lanes[i].name, 3))
			return lanes[i].gbps;
	return n < 16 && isdigit((unsigned char)*name) && memchr(name, 'G', n)
		       ? (unsigned)atoi(name)
		       : 0;
}

/* The fastest of "0x000000f1 (NDR,HDR,EDR)". */
static unsigned fastest_named(const char *value)
{
	const char *p = strchr(value, '(');
	unsigned best = 0;

	while (p && *p && *p != ')') {
		size_t n = strcspn(++p, ",)");
		unsigned gbps = speed_named(p, n);

		best = gbps > best ? gbps : best;
		p += n;
	}
	return best;
}

/* What both the port's setting and its cable allow, beside the speed in use. */
static void able(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l,
		 const char *subject, const char *key, const char *value, unsigned both[2])
{
	bool cable = !strncmp(key, "Supported Cable Speed", 21);

	if (!cable && strncmp(key, "Enabled Link Speed", 18))
		return;
	both[cable] = fastest_named(value);
	if (both[0] && both[1])
		rs_input_add(a, in, l->number, NULL, subject, "link/able", "%u",
			     both[0] < both[1] ? both[0] : both[1]);
}

/* "NDR", "400G", "NDR4x": what it says, as it says it; BERs as numbers of their own. */
static int read_link(struct rs_audit *a, const struct rs_input *in)
{
	char subject[96], device[128];
	struct rs_line l = {0};
	unsigned both[2] = {0, 0};

	device_of(in, device, sizeof(device));
	subject_of(device, subject, sizeof(subject));
	if (!strncmp(subject, "mst/", 4) && strncmp(device, "unnamed", 7))
		snprintf(subject, sizeof(subject), "netdev/%.64s", device);
	while (rs_line_next(in, &l)) {
		char *key, *value;

		if (!rs_line_pair(l.text, ':', &key, &value) || !*value || !strcmp(value, "N/A"))
			continue;
		able(a, in, &l, subject, key, value, both);
		for (unsigned i = 0; i < sizeof(link_facts) / sizeof(*link_facts); i++)
			if (!strcmp(key, link_facts[i].key))
				rs_input_add(a, in, l.number, NULL, subject, link_facts[i].fact,
					     "%s", value);
		if (!strcmp(key, "State") && !strncmp(subject, "nic/", 4))
			rs_input_add(a, in, l.number, NULL, subject, "port_state", "%s",
				     !strncmp(value, "Active", 6) ? "ACTIVE" : value);
	}
	return a->err;
}

const struct rs_reader rs_reader_mlxlink = {
	.name = "mlxlink",
	.what = "mlxlink [-m] [-c] [--show_fec]: link, FEC, bit error rates, module",
	.trust = RS_TRUST_TOOL,
	.score = score_link,
	.read = read_link,
	.begins = (const char *const[]){"Operational Info", NULL},
};

/* ---- mlxlink --json ---- */

static int score_link_json(const struct rs_input *in)
{
	const char *p = in->data + strspn(in->data, " \t\r\n");

	return *p == '{' && rs_input_has(in, "\"Operational Info\"") ? 93 : 0;
}

/* Members anywhere below whose names the table knows; lists per lane are joined as the text is. */
static void members(struct rs_audit *a, const struct rs_input *in, const char *subject,
		    struct rs_value *n, unsigned depth)
{
	enum { DEPTH_MAX = 16 };
	struct rs_pair *p;
	void *iter = NULL;

	if (!n || depth > DEPTH_MAX || !rs_value_is_map(n))
		return;
	while ((p = rs_value_each_pair(n, &iter))) {
		struct rs_value *v = rs_pair_value(p), *list, *item;
		char key[128], value[512] = "", lane[64];
		void *each = NULL;

		if (!v || !rs_document_text(rs_pair_key(p), key, sizeof(key)))
			continue;
		list = rs_value_is_list(v) ? v : rs_document_member(v, "values");
		if (list && rs_value_is_list(list))
			while ((item = rs_value_each(list, &each)))
				if (rs_document_text(item, lane, sizeof(lane)))
					snprintf(value + strlen(value),
						 sizeof(value) - strlen(value), "%s%s",
						 *value ? "," : "", lane);
		if (!*value && !rs_document_text(v, value, sizeof(value))) {
			members(a, in, subject, v, depth + 1);
			continue;
		}
		if (!*value || !strcmp(value, "N/A"))
			continue;
		for (unsigned i = 0; i < sizeof(link_facts) / sizeof(*link_facts); i++)
			if (!strcmp(key, link_facts[i].key))
				rs_input_add(a, in, rs_document_line(v), NULL, subject,
					     link_facts[i].fact, "%s", value);
	}
}

static int read_link_json(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_document *d = rs_document_parse(in->data, in->size);
	char subject[96], device[128];

	device_of(in, device, sizeof(device));
	subject_of(device, subject, sizeof(subject));
	if (!strncmp(subject, "mst/", 4) && strncmp(device, "unnamed", 7))
		snprintf(subject, sizeof(subject), "netdev/%.64s", device);
	if (d)
		members(a, in, subject, rs_document_root(d), 0);
	rs_document_destroy(d);
	return a->err;
}

const struct rs_reader rs_reader_mlxlink_json = {
	.name = "mlxlink-json",
	.what = "mlxlink --json",
	.trust = RS_TRUST_TOOL,
	.score = score_link_json,
	.read = read_link_json,
};

/* ---- mlxreg ROCE_ACCL ---- */

static int score_accl(const struct rs_input *in)
{
	return rs_input_has(in, "roce_adp_retrans_en") || rs_input_has(in, "roce_slow_restart_en")
		       ? 88
		       : 0;
}

/* "roce_adp_retrans_en                  | 0x00000001" */
static int read_accl(struct rs_audit *a, const struct rs_input *in)
{
	char subject[96], device[128], name[96];
	struct rs_line l = {0};

	device_of(in, device, sizeof(device));
	subject_of(device, subject, sizeof(subject));
	while (rs_line_next(in, &l)) {
		char *key, *value;

		if (!rs_line_pair(l.text, '|', &key, &value) ||
		    strspn(key, "abcdefghijklmnopqrstuvwxyz_0123456789") != strlen(key) ||
		    strncmp(value, "0x", 2))
			continue;
		snprintf(name, sizeof(name), "roce_accl/%.64s", key);
		rs_input_add(a, in, l.number, NULL, subject, name, "%s", value);
	}
	return a->err;
}

const struct rs_reader rs_reader_mlxreg = {
	.name = "mlxreg",
	.what = "mlxreg --reg_name ROCE_ACCL --get: recovery from loss",
	.trust = RS_TRUST_TOOL,
	.score = score_accl,
	.read = read_accl,
};

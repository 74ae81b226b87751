/*
 * What network libraries say that they can use: ucx_info -d and -v, fi_info. Transports and
 * providers become facts of the subjects "ucx" and "libfabric"; a library that was built without
 * verbs is one.
 */
#include <stdio.h>
#include <string.h>
#include "audit/read/readers.h"

/* ---- ucx_info ---- */

static int score_ucx(const struct rs_input *in)
{
	struct rs_line l = {0};

	while (rs_line_next(in, &l) && l.number < 400)
		if (!strncmp(l.text, "# Memory domain:", 16) ||
		    !strncmp(l.text, "# Transport:", 12) ||
		    !strncmp(l.text, "#      Transport:", 17) ||
		    !strncmp(l.text, "# Library version:", 18))
			return 88;
	return 0;
}

/* "#   Transport: rc_mlx5", "#      Transport: tcp": the word behind the key of a comment line */
static bool field(const char *text, const char *key, char *value, size_t size)
{
	size_t n = strlen(key);

	if (*text++ != '#')
		return false;
	text += strspn(text, " \t");
	if (strncmp(text, key, n))
		return false;
	text += n + strspn(text + n, " \t");
	snprintf(value, size, "%.*s", (int)strcspn(text, " \t\r"), text);
	return *value != '\0';
}

static int read_ucx(struct rs_audit *a, const struct rs_input *in)
{
	char transport[64] = "", value[128], name[96];
	struct rs_line l = {0};

	while (rs_line_next(in, &l)) {
		if (field(l.text, "Memory domain:", value, sizeof(value))) {
			snprintf(name, sizeof(name), "domain/%.60s", value);
			rs_input_add(a, in, l.number, NULL, "ucx", name, "1");
		} else if (field(l.text, "Transport:", value, sizeof(value))) {
			snprintf(transport, sizeof(transport), "%.60s", value);
			snprintf(name, sizeof(name), "transport/%s", transport);
			rs_input_add(a, in, l.number, NULL, "ucx", name, "1");
		} else if (*transport && field(l.text, "Device:", value, sizeof(value))) {
			snprintf(name, sizeof(name), "device/%s", transport);
			rs_input_add(a, in, l.number, NULL, "ucx", name, "%s", value);
		} else if (field(l.text, "Library version:", value, sizeof(value))) {
			rs_input_add(a, in, l.number, NULL, "ucx", "version", "%s", value);
		} else if (strstr(l.text, "Configured with:")) {
			rs_input_add(a, in, l.number, NULL, "ucx", "configured", "%.900s",
				     strstr(l.text, "Configured with:") + 16);
		}
	}
	return a->err;
}

const struct rs_reader rs_reader_ucx_info = {
	.name = "ucx_info",
	.what = "ucx_info -d, -v: UCX's transports and devices, how it was built",
	.trust = RS_TRUST_TOOL,
	.score = score_ucx,
	.read = read_ucx,
	.begins = (const char *const[]){"# Memory domain: %", "# Library version: #.", NULL},
};

/* ---- fi_info ---- */

static int score_fi(const struct rs_input *in)
{
	struct rs_line l = {0};

	while (rs_line_next(in, &l) && l.number < 200)
		if (!strncmp(l.text, "provider: ", 10))
			return 88;
	return 0;
}

static int read_fi(struct rs_audit *a, const struct rs_input *in)
{
	char provider[64], name[96];
	struct rs_line l = {0};

	while (rs_line_next(in, &l)) {
		if (sscanf(l.text, "provider: %60[A-Za-z0-9_;]", provider) != 1)
			continue;
		snprintf(name, sizeof(name), "provider/%s", provider);
		rs_input_add(a, in, l.number, NULL, "libfabric", name, "1");
	}
	return a->err;
}

const struct rs_reader rs_reader_fi_info = {
	.name = "fi_info",
	.what = "fi_info: libfabric's providers",
	.trust = RS_TRUST_TOOL,
	.score = score_fi,
	.read = read_fi,
	.begins = (const char *const[]){"provider: %", NULL},
};

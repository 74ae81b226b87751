/* Two configurations of switches as a diff (unified, `diff`'s own, Junos' `show | compare`): the
 * lines that differ and name what RoCE needs. Nothing tells which side is right. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "audit/read/grid.h"
#include "audit/read/terms.h"

#define ROCE_NEEDS                                                                                \
	"pfc|priority flow|no drop|no loss|lossless|pause| ecn|congestion notification|explicit " \
	"congestion|congestion control|wred|random detect| trust |dscp|traffic class|watchdog|"   \
	" mtu |mtu | fec |error correction|roce|headroom|xoff|service policy|load sharing|hash|"  \
	"adaptive routing|buffer"

/* "3c3", "17,18d16" */
static bool is_place(const char *text)
{
	size_t n = strspn(text, "0123456789,");

	return n && isdigit((unsigned char)*text) && text[n] && strchr("acd", text[n]) &&
	       isdigit((unsigned char)text[n + 1]) &&
	       strspn(text + n + 1, "0123456789,") == strlen(text + n + 1);
}

/* What begins a part of a diff. */
static bool begins(const char *text)
{
	return is_place(text) || !strncmp(text, "@@ -", 4) || !strncmp(text, "[edit", 5);
}

/* A statement of a program or a patch of one is no line of a configuration. */
static bool is_statement(const char *text)
{
	return strpbrk(text, "()=*&") || strstr(text, "->") || strstr(text, "//") ||
	       !strncmp(text, "++", 2) || !strncmp(text, "--", 2);
}

uint32_t rs_config_diff_read(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_line l = {.number = 0};
	char plain[RS_TERM_NAME];
	uint32_t facts = 0;
	bool within = false;

	while (rs_line_next(in, &l) && !a->err) {
		within |= begins(l.text);
		if (!within || !strchr("+-<>", *l.text) || !*l.text || is_statement(l.text + 1))
			continue;
		rs_term_plain(l.text + 1, plain, sizeof(plain));
		if (rs_term_in(ROCE_NEEDS, plain) && !rs_term_in("descr|remark", plain))
			facts += rs_input_tell(a, in, l.number, l.text, "config-differs", NULL);
	}
	return facts;
}

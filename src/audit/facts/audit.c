/* An audit begins and ends; its strings. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/facts/audit.h"

int rs_audit_create(struct rs_audit **out)
{
	struct rs_audit *a = calloc(1, sizeof(*a));

	*out = NULL;
	if (!a)
		return -ENOMEM;
	a->arena = rs_arena_create(0);
	a->facts = rs_facts_create();
	if (!a->arena || !a->facts) {
		rs_audit_destroy(a);
		return -ENOMEM;
	}
	/* defaults of docs/audit.md; each may be set by a profile */
	a->set = (struct rs_audit_settings){
		.pause_note = 0.001,
		.pause_fail = 0.01,
		.cable_m = 30,
		.p2p_rtt_us = 0.8,
		.fec_warn_ber = 1e-5,
		.fec_warn_bin = 12,
		.flaps_per_day = 1,
		.idle_us = 10,
		.lossless = true,
	};
	*out = a;
	return 0;
}

void rs_audit_destroy(struct rs_audit *a)
{
	if (!a)
		return;
	rs_facts_destroy(a->facts);
	rs_arena_destroy(a->arena);
	free(a->findings);
	free(a->files);
	free(a->nearest);
	free(a);
}

bool rs_audit_is_guide(const struct rs_audit *a, const char *file)
{
	for (const struct rs_text_use *u = a->texts; u && file; u = u->next)
		if (u->guide && u->path && !strcmp(u->path, file))
			return true;
	return false;
}

const char *rs_audit_called(const struct rs_audit *a, const char *host)
{
	const char *called = NULL;

	for (const struct rs_text_use *u = a->texts; u; u = u->next) {
		if (!u->called || strcmp(u->host, host))
			continue;
		if (called && strcmp(called, u->called))
			return host;
		called = u->called;
	}
	return called ? called : host;
}

const char *rs_audit_vtext(struct rs_audit *a, const char *fmt, va_list ap)
{
	va_list again;
	char *text;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	text = n < 0 ? NULL : rs_arena_alloc(a->arena, (size_t)n + 1, 1);
	if (!text) {
		a->err = -ENOMEM;
		return "";
	}
	vsnprintf(text, (size_t)n + 1, fmt, ap);
	return text;
}

const char *rs_audit_text(struct rs_audit *a, const char *fmt, ...)
{
	const char *text;
	va_list ap;

	va_start(ap, fmt);
	text = rs_audit_vtext(a, fmt, ap);
	va_end(ap);
	return text;
}

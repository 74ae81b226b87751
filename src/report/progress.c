/*
 * The progress line: on a terminal only, so that logs and pipes never see it.
 */
#include "report/progress.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "report/report.h"
#include "report/text.h"

#define CLEAR_LINE "\r\033[K"
#define BAR        20

struct rs_progress {
	FILE *err;
	struct rs_progress_pace pace;
	bool shown, drawn;
};

void rs_progress_begin(struct rs_progress_pace *p, int64_t now_ns)
{
	p->next_ns = now_ns + RS_PROGRESS_QUIET_NS;
}

bool rs_progress_due(struct rs_progress_pace *p, int64_t now_ns)
{
	if (now_ns < p->next_ns)
		return false;
	p->next_ns = now_ns + RS_PROGRESS_GAP_NS;
	return true;
}

/* Cut to a number of characters, never inside one. */
static void cut(char *s, size_t columns)
{
	size_t at = 0;

	while (s[at] && columns) {
		at += rs_report_utf8(s + at);
		columns--;
	}
	s[at] = '\0';
}

void rs_progress_line(char *buf, size_t size, unsigned columns, double share, const char *text)
{
	char bar[BAR + 1];

	if (share >= 0) {
		share = share < 1 ? share : 1;
		rs_bar(bar, sizeof(bar), share, BAR);
		snprintf(buf, size, "[%s] %3d%%  %s", bar, (int)(share * 100), text);
	} else {
		snprintf(buf, size, "%s", text);
	}
	rs_report_clean(buf);
	cut(buf, columns ? columns - 1 : 0);
}

struct rs_progress *rs_progress_create(FILE *err, bool quiet)
{
	struct rs_progress *p = calloc(1, sizeof(*p));
	int fd = fileno(err);

	if (!p)
		return NULL;
	p->err = err;
	p->shown = !quiet && fd >= 0 && isatty(fd);
	rs_progress_begin(&p->pace, rs_clock_ns());
	return p;
}

void rs_progress_update(struct rs_progress *p, double share, const char *fmt, ...)
{
	char text[256], line[320];
	va_list ap;

	if (!p || !p->shown || !rs_progress_due(&p->pace, rs_clock_ns()))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	rs_progress_line(line, sizeof(line), rs_report_columns(p->err), share, text);
	fprintf(p->err, CLEAR_LINE "%s", line);
	fflush(p->err);
	p->drawn = true;
}

void rs_progress_destroy(struct rs_progress *p)
{
	if (!p)
		return;
	if (p->drawn) {
		fputs(CLEAR_LINE, p->err);
		fflush(p->err);
	}
	free(p);
}

/* Texts for a terminal: made harmless, measured, and filled into paragraphs and bars. */
#include "report/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "report/report.h"

/* Terminals obey C1 controls (U+0080..U+009F) as they obey ESC. */
static bool control(const unsigned char *b)
{
	return b[0] < 0x20 || b[0] == 0x7f || (b[0] == 0xc2 && b[1] < 0xa0);
}

void rs_report_clean(char *s)
{
	unsigned n;

	for (; *s; s += n) {
		n = rs_report_utf8(s);
		if (n && !control((unsigned char *)s))
			continue;
		n = n ? n : 1;
		memset(s, '?', n);
	}
}

size_t rs_report_width(const char *s, size_t len)
{
	size_t columns = 0;

	for (size_t i = 0; i < len; i++)
		columns += ((unsigned char)s[i] & 0xc0) != 0x80;
	return columns;
}

unsigned rs_report_columns(FILE *out)
{
	int fd = fileno(out);
	struct winsize w;

	if (fd < 0 || !isatty(fd) || ioctl(fd, TIOCGWINSZ, &w) < 0 || w.ws_col == 0)
		return RS_REPORT_COLUMNS;
	return w.ws_col < RS_REPORT_COLUMNS ? w.ws_col : RS_REPORT_COLUMNS;
}

/* One line of the source text, its words filled into lines of the page. */
static void fill(FILE *out, unsigned margin, char *line)
{
	size_t column = 0, columns = rs_report_columns(out);
	char *save;

	for (char *word = strtok_r(line, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
		size_t width;

		rs_report_clean(word);
		width = rs_report_width(word, strlen(word));
		if (column && column + 1 + width > columns) {
			fputc('\n', out);
			column = 0;
		}
		if (column)
			fprintf(out, " %s", word);
		else
			fprintf(out, "%*s%s", (int)margin, "", word);
		column += (column ? 1 : margin) + width;
	}
	fputc('\n', out);
}

void rs_paragraph(FILE *out, unsigned margin, const char *fmt, ...)
{
	char *text, *rest, *line;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	for (rest = text; (line = strsep(&rest, "\n"));)
		if (rest || *line)
			fill(out, margin, line);
	free(text);
}

/* A share above nothing shows at least one mark, so that a small loss is not read as none. */
void rs_bar(char *buf, size_t size, double share, unsigned width)
{
	unsigned marks;

	if (!size)
		return;
	if (width > size - 1)
		width = (unsigned)(size - 1);
	if (!(share > 0))
		marks = 0;
	else if (share >= 1)
		marks = width;
	else
		marks = (unsigned)(share * width + 0.5);
	if (share > 0 && !marks && width)
		marks = 1;
	memset(buf, '#', marks);
	memset(buf + marks, '.', width - marks);
	buf[width] = '\0';
}

/* A list within a sentence, which needs no terminal. */
#include <stdarg.h>
#include <stdio.h>
#include "report/report.h"

void rs_enumerate(struct rs_enumeration *l, const char *between, const char *fmt, ...)
{
	char entry[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	vsnprintf(entry, sizeof(entry), fmt, ap);
	va_end(ap);
	n = snprintf(l->text + l->bytes, sizeof(l->text) - l->bytes, "%s%s",
		     l->bytes ? between : "", entry);
	l->n++;
	if (n > 0 && (size_t)n < sizeof(l->text) - l->bytes)
		l->bytes += (size_t)n;
	else
		l->text[l->bytes] = '\0';
}

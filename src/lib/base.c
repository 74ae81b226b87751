/* What all parts of libripstop share: errors, and structures of other sizes than ours. */
#include "lib/lib.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ripstop_error {
	struct rs_error e;
	bool kept; /* there was no memory for an error: this one is constant */
	char text[1800];
};

static const struct ripstop_error no_memory = {
	.e = {.code = -ENOMEM, .what = "out of memory"}, .kept = true, .text = "out of memory"};

const char *ripstop_version(void)
{
	return RS_VERSION;
}

int ripstop_has(const char *part)
{
	static const char *const parts[] = {
#ifdef RS_HAVE_YAML
		"yaml",
#endif
#ifdef RS_HAVE_XML
		"xml",
#endif
#ifdef RS_HAVE_SIM
		"sim",
#endif
#ifdef RS_HAVE_AUDIT
		"audit",
#endif
#ifndef RS_NO_THREADS
		"threads",
#endif
		NULL};

	for (unsigned i = 0; parts[i]; i++)
		if (!strcmp(parts[i], part))
			return 1;
	return 0;
}

int lib_error(struct ripstop_error **out, const struct rs_error *e, int code)
{
	struct ripstop_error *n;

	if (!out)
		return code;
	n = malloc(sizeof(*n));
	*out = n ? n : (struct ripstop_error *)(uintptr_t)&no_memory;
	if (!n)
		return code;
	n->e = *e;
	n->e.code = code;
	n->kept = false;
	if (!*n->e.what)
		snprintf(n->e.what, sizeof(n->e.what), "%s", strerror(-code));
	rs_error_text(&n->e, n->text, sizeof(n->text));
	return code;
}

int lib_fail(struct ripstop_error **out, int code, const char *fmt, ...)
{
	struct rs_error e = {.code = code};
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e.what, sizeof(e.what), fmt, ap);
	va_end(ap);
	return lib_error(out, &e, code);
}

int ripstop_error_code(const struct ripstop_error *e)
{
	return e->e.code;
}

const char *ripstop_error_message(const struct ripstop_error *e)
{
	return e->e.what;
}

const char *ripstop_error_hint(const struct ripstop_error *e)
{
	return e->e.hint;
}

const char *ripstop_error_file(const struct ripstop_error *e)
{
	return e->e.file;
}

int ripstop_error_line(const struct ripstop_error *e)
{
	return e->e.line;
}

int ripstop_error_column(const struct ripstop_error *e)
{
	return e->e.column;
}

const char *ripstop_error_text(const struct ripstop_error *e)
{
	return e->text;
}

void ripstop_error_free(struct ripstop_error *e)
{
	if (e && !e->kept)
		free(e);
}

void ripstop_free(void *text)
{
	free(text);
}

int lib_take(void *ours, size_t our_size, const void *theirs, const char *what,
	     struct ripstop_error **e)
{
	size_t size;

	memset(ours, 0, our_size);
	if (!theirs)
		return 0;
	memcpy(&size, theirs, sizeof(size));
	if (size < sizeof(size) || size > 1 << 16)
		return lib_fail(e, -EINVAL,
				"%s: its size is %zu; begin with RIPSTOP_INIT(struct %s)", what,
				size, what);
	for (size_t i = our_size; i < size; i++)
		if (((const unsigned char *)theirs)[i])
			return lib_fail(e, -EINVAL,
					"%s: a field is set that version " RS_VERSION
					" of the library does not have",
					what);
	memcpy(ours, theirs, size < our_size ? size : our_size);
	memcpy(ours, &our_size, sizeof(our_size));
	return 0;
}

void lib_give(void *theirs, const void *ours, size_t our_size)
{
	size_t size, n;

	memcpy(&size, theirs, sizeof(size));
	n = size < our_size ? size : our_size;
	if (n > sizeof(size))
		memcpy((char *)theirs + sizeof(size), (const char *)ours + sizeof(size),
		       n - sizeof(size));
	if (size > our_size)
		memset((char *)theirs + our_size, 0, size - our_size);
}

size_t lib_give_array(void *theirs, size_t each, size_t n, const void *ours, size_t our_size)
{
	for (size_t i = 0; i < n; i++) {
		char *to = (char *)theirs + i * each;

		memcpy(to, (const char *)ours + i * our_size, each < our_size ? each : our_size);
		if (each > our_size)
			memset(to + our_size, 0, each - our_size);
	}
	return n;
}

int lib_json(char **text, int (*write)(const void *of, FILE *out), const void *of,
	     struct ripstop_error **e)
{
	size_t n;
	FILE *out;
	int err;

	*text = NULL;
	out = open_memstream(text, &n);
	err = out ? write(of, out) : -ENOMEM;
	if (out && fclose(out) && !err)
		err = -ENOMEM;
	if (!err)
		return 0;
	free(*text);
	*text = NULL;
	return lib_fail(e, err, "no JSON: %s", strerror(-err));
}

/* The first error sticks; memory comes from the arena; files are regular ones of a limited size. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/load.h"

int rs_load_fail(struct rs_load *l, int code, struct rs_where at, const char *fmt, ...)
{
	char text[480];
	va_list ap;

	if (l->err)
		return l->err;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	l->err = code;
	return rs_error_at(l->e, code, at, "%s", text);
}

void *rs_load_take(struct rs_load *l, size_t n, size_t size)
{
	void *p = l->err ? NULL : rs_arena_alloc(l->arena, n, size);

	if (!p && !l->err)
		rs_load_fail(l, -ENOMEM, (struct rs_where){0}, "out of memory");
	return p;
}

char *rs_load_string(struct rs_load *l, const char *s)
{
	size_t n = strlen(s) + 1;
	char *p = rs_load_take(l, n, 1);

	return p ? memcpy(p, s, n) : NULL;
}

/* A regular file, opened without waiting for a writer; its size. -1 after an error. */
static int open_regular(struct rs_load *l, const char *path, size_t max, struct rs_where at,
			size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st = {0};

	if (fd < 0 || fstat(fd, &st))
		rs_load_fail(l, -errno, at, "cannot read '%s': %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		rs_load_fail(l, -EINVAL, at, "'%s' is not a regular file", path);
	else if ((uint64_t)st.st_size > max)
		rs_load_fail(l, -E2BIG, at, "'%s' is larger than %zu MiB", path, max >> 20);
	if (l->err && fd >= 0)
		close(fd);
	*size = (size_t)st.st_size;
	return l->err ? -1 : fd;
}

char *rs_load_file(struct rs_load *l, const char *path, size_t max, struct rs_where at, size_t *n)
{
	size_t size = 0;
	int fd = l->err ? -1 : open_regular(l, path, max, at, &size);
	char *buf = fd < 0 ? NULL : malloc(size + 1);
	ssize_t got = 1;

	*n = 0;
	if (fd < 0)
		return NULL;
	while (buf && *n < size && got > 0) {
		got = read(fd, buf + *n, size - *n);
		if (got > 0)
			*n += (size_t)got;
	}
	if (!buf)
		rs_load_fail(l, -ENOMEM, at, "out of memory");
	else if (got < 0)
		rs_load_fail(l, -EIO, at, "cannot read '%s': %s", path, strerror(errno));
	close(fd);
	if (!buf || got < 0) {
		free(buf);
		return NULL;
	}
	buf[*n] = '\0';
	return buf;
}

const char *rs_load_beside(struct rs_load *l, const char *path)
{
	const char *p = path;

	if (*path != '/' && l->base_dir && *l->base_dir)
		p = rs_arena_printf(l->arena, "%s/%s", l->base_dir, path);
	if (!p)
		rs_load_fail(l, -ENOMEM, (struct rs_where){0}, "out of memory");
	return p;
}

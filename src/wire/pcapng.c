/* Writes pcapng: section header, interface and enhanced packet blocks, in host byte order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "wire/pcapng.h"

enum { INTERFACES_MAX = 1 << 20, NAME_MAX_BYTES = 255 };

struct rs_pcapng_writer {
	FILE *f;
	char path[512];
	int interfaces, failed;
};

static int put(struct rs_pcapng_writer *w, const void *bytes, size_t n)
{
	if (!w->failed && n && fwrite(bytes, n, 1, w->f) != 1)
		w->failed = errno ? -errno : -EIO;
	return w->failed;
}

static int put_padded(struct rs_pcapng_writer *w, const void *bytes, size_t n)
{
	put(w, bytes, n);
	return put(w, "\0\0", (0u - n) & 3);
}

static int put_words(struct rs_pcapng_writer *w, const uint32_t *words, size_t n)
{
	return put(w, words, n * sizeof(*words));
}

int rs_pcapng_create(const char *path, struct rs_pcapng_writer **out, struct rs_error *e)
{
	/* type, length, byte-order magic, version 1.0, section length unknown, length */
	static const uint32_t section[] = {0x0a0d0d0a, 28,         0x1a2b3c4d, 1,
					   UINT32_MAX, UINT32_MAX, 28};
	struct rs_pcapng_writer *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return rs_error_set(e, -ENOMEM, "out of memory");
	w->f = fopen(path, "wbe");
	if (!w->f) {
		err = -errno;
		free(w);
		return rs_error_set(e, err, "%s: cannot be written: %s", path, strerror(-err));
	}
	snprintf(w->path, sizeof(w->path), "%s", path);
	put_words(w, section, 7);
	*out = w;
	return 0;
}

int rs_pcapng_add_interface(struct rs_pcapng_writer *w, const char *name)
{
	static const uint16_t resolution[] = {9, 1}; /* if_tsresol, one byte */
	static const uint8_t nanoseconds[4] = {9};
	size_t n = strnlen(name, NAME_MAX_BYTES);
	uint32_t length = (uint32_t)(20 + 4 + ((n + 3) & ~(size_t)3) + 8 + 4);
	uint32_t head[] = {1, length, 0, 0}, end[] = {0, length};
	uint16_t ethernet[] = {1, 0}, if_name[] = {2, (uint16_t)n};

	if (w->interfaces == INTERFACES_MAX)
		return -ENOSPC;
	memcpy(&head[2], ethernet, 4);
	put_words(w, head, 4);
	put(w, if_name, 4);
	put_padded(w, name, n);
	put(w, resolution, 4);
	put(w, nanoseconds, 4);
	if (put_words(w, end, 2))
		return w->failed;
	return w->interfaces++;
}

int rs_pcapng_write(struct rs_pcapng_writer *w, int interface, rs_time t, const uint8_t *frame,
		    size_t n)
{
	uint64_t ns = (uint64_t)(t / RS_NS);
	uint32_t length = (uint32_t)(32 + ((n + 3) & ~(size_t)3));
	uint32_t head[] = {
		6,           length,     (uint32_t)interface, (uint32_t)(ns >> 32), (uint32_t)ns,
		(uint32_t)n, (uint32_t)n};

	if (interface < 0 || interface >= w->interfaces || n > UINT16_MAX || t < 0)
		return -EINVAL;
	put_words(w, head, 7);
	put_padded(w, frame, n);
	return put_words(w, &length, 1);
}

int rs_pcapng_close(struct rs_pcapng_writer *w, struct rs_error *e)
{
	int err = w->failed;

	if (fclose(w->f) && !err)
		err = errno ? -errno : -EIO;
	if (err)
		rs_error_set(e, err, "%s: writing failed: %s", w->path, strerror(-err));
	free(w);
	return err;
}

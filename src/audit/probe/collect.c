/* A snapshot of this host as an archive (libarchive): the very files that an audit of this host
 * reads, below a directory of the host's name, so that several unpack side by side. */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "audit/probe/mask.h"
#include "audit/probe/probe.h"
#include "audit/read/snapshot.h"
#include "audit/probe/collect.h"

enum { SHORT_MAX = 512 };

struct collection {
	struct archive *ar;
	const char *dir;
	const struct rs_mask *mask; /* NULL: as it is */
	time_t now;
	struct rs_collected *count;
	char *files; /* the short ones */
	size_t n, room;
};

static int put(struct collection *c, const char *path, const char *data, size_t size)
{
	struct archive_entry *en = archive_entry_new();
	char full[4096];
	int err = 0;

	if (!en)
		return -ENOMEM;
	snprintf(full, sizeof(full), "%s/%s", c->dir, path);
	archive_entry_set_pathname(en, full);
	archive_entry_set_size(en, (la_int64_t)size);
	archive_entry_set_filetype(en, AE_IFREG);
	archive_entry_set_perm(en, 0644);
	archive_entry_set_mtime(en, c->now, 0);
	if (archive_write_header(c->ar, en) != ARCHIVE_OK ||
	    archive_write_data(c->ar, data, size) != (la_ssize_t)size)
		err = archive_errno(c->ar) > 0 ? -archive_errno(c->ar) : -EIO;
	archive_entry_free(en);
	c->count->files++;
	c->count->bytes += size;
	return err;
}

/* A file of one short line whose place says what it is: kept among others. */
static bool is_short(const char *path, const char *data, size_t size)
{
	size_t line = strcspn(data, "\n");

	return size <= SHORT_MAX && line + 1 >= size && !memchr(data, '\t', size) &&
	       !memchr(data, '\r', size) &&
	       (!strncmp(path, "sys/", 4) || !strncmp(path, "proc/sys/", 9));
}

static int keep(struct collection *c, const char *path, const char *data)
{
	size_t n = strlen(path) + SHORT_MAX + 64;

	if (c->n + n > c->room) {
		size_t room = 2 * (c->n + n);
		char *more = realloc(c->files, room);

		if (!more)
			return -ENOMEM;
		c->files = more;
		c->room = room;
	}
	c->n += (size_t)snprintf(c->files + c->n, c->room - c->n, "%s%s\t%.*s\n",
				 c->n ? "" : RS_SNAPSHOT_FILES "\n", path, (int)strcspn(data, "\n"),
				 data);
	c->count->files++;
	return 0;
}

static int file(void *arg, const char *path, const char *data, size_t size)
{
	struct collection *c = arg;
	char *masked = NULL;
	int err;

	if (c->mask) {
		masked = rs_mask_text(c->mask, data, size, &size);
		if (!masked)
			return -ENOMEM;
		data = masked;
	}
	err = is_short(path, data, size) ? keep(c, path, data) : put(c, path, data, size);
	free(masked);
	return err;
}

/* What makes it known as a snapshot, first in the archive. */
static int mark(struct collection *c)
{
	char text[512];
	int n = snprintf(text, sizeof(text),
			 "# ripstop facts 1\n# a snapshot by `ripstop audit "
			 "--collect`%s\nhost collected_from = %s\n",
			 c->mask ? ", masked" : "", c->dir);

	return put(c, RS_SNAPSHOT_MARK, text, (size_t)n);
}

static int fill(struct archive *ar, const char *path, const char *tmp, struct collection *c,
		struct rs_error *e)
{
	struct rs_probe p = {.file = file, .arg = c, .root = ""};
	int err;

	if (archive_write_set_format_filter_by_ext(ar, path) != ARCHIVE_OK) {
		rs_error_set(e, -EINVAL, "%s: the name's end says which archive, and is none",
			     path);
		rs_error_hint(e, "expected .tar.gz, .tgz, .tar.xz, .tar.bz2, .tar or .zip");
		return -EINVAL;
	}
	if (archive_write_open_filename(ar, tmp) != ARCHIVE_OK) {
		err = archive_errno(ar) > 0 ? -archive_errno(ar) : -EIO;
		return rs_error_set(e, err, "%s: %s", path, strerror(-err));
	}
	err = mark(c);
	if (!err)
		err = rs_probe_all(&p);
	if (!err && c->n)
		err = put(c, "ripstop/files", c->files, c->n);
	if (archive_write_close(ar) != ARCHIVE_OK && !err)
		err = archive_errno(ar) > 0 ? -archive_errno(ar) : -EIO;
	return err ? rs_error_set(e, err, "%s: %s", path, strerror(-err)) : 0;
}

int rs_audit_collect(const char *path, bool anonymise, const char *key, struct rs_collected *count,
		     struct rs_error *e)
{
	struct collection c = {.now = time(NULL), .count = count};
	char host[256] = "host", tmp[4096];
	struct rs_mask mask;
	int err;

	gethostname(host, sizeof(host) - 1);
	*count = (struct rs_collected){0};
	if (anonymise) {
		err = rs_mask_create(&mask, key, host);
		if (err)
			return rs_error_set(e, err, "no random key to mask with");
		c.mask = &mask;
	}
	c.dir = anonymise ? mask.masked : host;
	snprintf(count->host, sizeof(count->host), "%s", c.dir);
	if ((size_t)snprintf(tmp, sizeof(tmp), "%s.tmp.%d", path, (int)getpid()) >= sizeof(tmp))
		return rs_error_set(e, -ENAMETOOLONG, "%s: too long a name", path);
	c.ar = archive_write_new();
	if (!c.ar)
		return rs_error_set(e, -ENOMEM, "out of memory");
	err = fill(c.ar, path, tmp, &c, e);
	archive_write_free(c.ar);
	free(c.files);
	if (!err && rename(tmp, path))
		err = rs_error_set(e, -errno, "%s: %s", path, strerror(errno));
	if (err)
		unlink(tmp);
	return err;
}

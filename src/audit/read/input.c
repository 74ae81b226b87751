/* What the user names: files, directories, archives (libarchive), gone through within limits. Links
 * are not followed out of what was named; a path in an archive names nothing on this machine. */
#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "audit/read/read.h"
#include "audit/read/reader.h"
#include "audit/read/place.h"
#include "audit/read/plain.h"
#include "audit/read/segment.h"
#include "audit/read/snapshot.h"
#include "audit/read/ttar.h"

enum {
	DEPTH_MAX = 24,
	FILES_MAX = 8000000,
	ENTRIES_MAX = 400000, /* of one archive */
	RATIO_MAX = 400,      /* of unpacked to packed, once that is much: gzip ends at 1032 */
	RATIO_FROM = 64 << 20,
	LOOK_BYTES = 1 << 20,      /* of a file, to find its reader */
	NESTED_MAX = 3,            /* archives in archives */
	NAMES_MAX = 4096,          /* files of a directory that are asked for a name of their own */
	NAME_BYTES = 1 << 16,      /* of each, to find it */
	FILE_BYTES_MAX = 64 << 20, /* of one file; a log longer than this is read so far */
};
#define TOTAL_BYTES_MAX ((uint64_t)4 << 30) /* unpacked */

struct walk {
	struct rs_audit *a;
	struct rs_error *e;
	const char *host; /* forced; NULL: found */
	uint8_t age;
	uint32_t files;
	uint64_t bytes;
	int top;       /* the directory that was named; -1: a file was */
	size_t prefix; /* of paths shown: how long what was named is */
	unsigned nested;
	bool split; /* the directory's files are of several machines, by their own names */
};

static int recognise(struct walk *w, const char *host, const char *path, const char *inner,
		     char *data, size_t size);

/* ---- Files ---- */

/* As it may be shown. */
static const char *shown_text(struct rs_audit *a, const char *text)
{
	char *copy = rs_arena_strdup(a->arena, text);

	for (char *p = copy; p && *p; p++)
		if ((unsigned char)*p < ' ' || *p == 127)
			*p = '?';
	return copy;
}

int rs_input_remember(struct rs_audit *a, const char *host, const char *path, const char *reader,
		      uint32_t facts)
{
	if (a->n_files == a->files_room) {
		uint32_t room = a->files_room ? 2 * a->files_room : 64;
		struct rs_input_file *list = realloc(a->files, room * sizeof(*list));

		if (!list)
			return -ENOMEM;
		a->files = list;
		a->files_room = room;
	}
	a->files[a->n_files++] = (struct rs_input_file){
		.host = shown_text(a, host),
		.path = shown_text(a, path),
		.reader = reader,
		.facts = facts,
	};
	return 0;
}

/* Readers by their score, the highest first; among equals the first listed. */
static unsigned by_score(const struct rs_input *in, const struct rs_reader **out, unsigned most)
{
	int score[16];
	unsigned n = 0;

	rs_assert(most <= 16);
	for (unsigned i = 0; rs_readers[i]; i++) {
		int is = rs_readers[i]->score ? rs_readers[i]->score(in) : 0;
		unsigned at = n < most ? n : most;

		if (is <= 0)
			continue;
		while (at && is > score[at - 1])
			at--;
		if (at == most)
			continue;
		n += n < most;
		for (unsigned k = n - 1; k > at; k--) {
			out[k] = out[k - 1];
			score[k] = score[k - 1];
		}
		out[at] = rs_readers[i];
		score[at] = is;
		if (is == 100)
			break; /* certainly: a mark of its own */
	}
	return n;
}

/* What a file is, its beginning tells: each reader looks at that, however long the file is. */
unsigned rs_input_readers(const struct rs_input *in, const struct rs_reader **out, unsigned most)
{
	struct rs_input begin = *in;
	char *copy;
	unsigned n;

	if (in->size <= LOOK_BYTES)
		return by_score(in, out, most);
	copy = malloc(LOOK_BYTES + 1);
	if (!copy)
		return by_score(in, out, most);
	memcpy(copy, in->data, LOOK_BYTES);
	copy[LOOK_BYTES] = '\0';
	begin.data = copy;
	begin.size = LOOK_BYTES;
	n = by_score(&begin, out, most);
	free(copy);
	return n;
}

static const struct rs_reader *best(const struct rs_input *in)
{
	const struct rs_reader *reader;

	return rs_input_readers(in, &reader, 1) ? reader : NULL;
}

/* As a whole; 1: some reader knows it. */
static int read_whole(struct rs_audit *a, const struct rs_input *in, const struct rs_reader *reader)
{
	uint32_t before = rs_facts_count(a->facts);
	struct rs_input own = *in;
	int err;

	if (!reader)
		return 0;
	own.trust = in->live && reader->trust == RS_TRUST_DUMP ? RS_TRUST_LIVE : reader->trust;
	err = reader->read(a, &own);
	if (!err)
		err = rs_input_remember(a, in->host, in->path, reader->name,
					rs_facts_count(a->facts) - before);
	if (err && !a->err)
		a->err = err;
	return 1;
}

/* A copy of the kernel's own files, and what this program keeps beside them. */
static bool is_placed(const struct rs_input *in)
{
	static const char *const places[] = {"sys/", "proc/", "ripstop/", "dev/", "etc/"};

	for (unsigned i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (!strncmp(in->inner, places[i], strlen(places[i])))
			return true;
	return rs_place_known(in->path);
}

enum { BINARY_BYTES = 4096 };

static bool is_binary(const struct rs_input *in)
{
	return memchr(in->data, '\0', in->size < BINARY_BYTES ? in->size : BINARY_BYTES) != NULL;
}

/* JSON or XML from its first byte; "[root@gpu01 ~]# " is none. */
static bool is_document(const struct rs_input *in)
{
	const char *p = in->data + strspn(in->data, " \t\r\n");

	if (*p == '[')
		p += 1 + strspn(p + 1, " \t\r\n");
	return *p == '{' || *p == '<' || (p > in->data && p[-1] == '[' && (*p == '"' || *p == ']'));
}

/* As a text, without the bytes that say nothing. */
static int read_text(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_input plain = *in;
	char *copy = rs_plain_text(in->data, in->size, &plain.size);
	int knew;

	if (copy)
		plain.data = copy;
	knew = rs_text_read(a, &plain);
	free(copy);
	return knew;
}

/* A text of Windows: UTF-16, or UTF-8 with a mark. *copy: to be freed. */
static struct rs_input without_mark(const struct rs_input *in, char **copy)
{
	struct rs_input own = *in;

	*copy = rs_plain_utf8(in->data, in->size, &own.size);
	if (*copy) {
		own.data = *copy;
	} else if (in->size >= 3 && !memcmp(in->data, "\xef\xbb\xbf", 3)) {
		own.data += 3;
		own.size -= 3;
	}
	return own;
}

static int read_marked(struct rs_audit *a, const struct rs_input *in)
{
	const struct rs_reader *reader;
	uint32_t before = rs_facts_count(a->facts);

	if (is_binary(in))
		return read_whole(a, in, best(in)) ||
		       (rs_plain_despite_nuls(in->data, in->size) && read_text(a, in));
	reader = is_document(in) ? best(in) : NULL;
	if (reader && read_whole(a, in, reader) && (a->err || rs_facts_count(a->facts) > before))
		return 1;
	if (!strncmp(in->data, "# ripstop ",
		     10)) /* what this program wrote: never text of someone else */
		return read_whole(a, in, best(in));
	return read_text(a, in) || reader;
}

int rs_read_input(struct rs_audit *a, const struct rs_input *in)
{
	struct rs_input own;
	char *copy;
	int knew;

	if (in->live || is_placed(in))
		return read_whole(a, in, best(in));
	own = without_mark(in, &copy);
	knew = read_marked(a, &own);
	free(copy);
	return knew;
}

static int over(struct walk *w, const char *path, const char *what)
{
	rs_error_set(w->e, -E2BIG, "%s: %s", path, what);
	rs_error_hint(w->e, "name the directory or the files that matter");
	return -E2BIG;
}

static int count(struct walk *w, const char *path, uint64_t bytes)
{
	w->bytes += bytes;
	if (++w->files > FILES_MAX)
		return over(w, path, "more than 8,000,000 files");
	return w->bytes > TOTAL_BYTES_MAX ? over(w, path, "more than 4 GiB unpacked") : 0;
}

/* Grows as it is read: a size that is announced is not believed. Data ends with a NUL. */
struct content {
	char *data;
	size_t size, room;
};

static int content_add(struct content *c, const void *data, size_t n)
{
	if (c->size + n + 1 > c->room) {
		size_t room = 2 * (c->size + n) + 4096;
		char *more = realloc(c->data, room);

		if (!more)
			return -ENOMEM;
		c->data = more;
		c->room = room;
	}
	memcpy(c->data + c->size, data, n);
	c->size += n;
	c->data[c->size] = '\0';
	return 0;
}

static int file_read(int fd, struct content *c)
{
	char buf[65536];
	ssize_t n;
	int err = content_add(c, "", 0);

	while (!err && c->size < FILE_BYTES_MAX && (n = read(fd, buf, sizeof(buf))) > 0)
		err = content_add(c, buf, (size_t)n);
	return err;
}

/* A link may lead to another file below what was named, and not out of it: a snapshot from
 * elsewhere would show files of this machine. */
static int open_below(const struct walk *w, int dir, const char *name, const char *path)
{
	struct open_how how = {.flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC,
			       .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
	long fd;

	if (w->top < 0)
		return openat(dir, name, (int)how.flags);
	fd = syscall(SYS_openat2, w->top, path + w->prefix, &how, sizeof(how));
	/* kernels before 5.6, and sandboxes that do not know the call: no link at all */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		return openat(dir, name, (int)how.flags | O_NOFOLLOW);
	return (int)fd;
}

static int file(struct walk *w, int dir, const char *name, const char *host, const char *path,
		const char *inner)
{
	int fd = open_below(w, dir, name, path), err;
	struct content c = {0};
	struct stat st;

	if (fd < 0 && (errno == EXDEV || errno == ELOOP))
		return rs_input_remember(w->a, host, path, NULL, 0);
	/* a file of sysfs may refuse to be read: then its fact is not known */
	if (fd < 0)
		return 0;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return 0;
	}
	err = file_read(fd, &c);
	close(fd);
	if (!err)
		err = count(w, path, c.size);
	if (!err)
		err = recognise(w, host, path, inner, c.data, c.size);
	free(c.data);
	return err == -ENOMEM ? rs_error_set(w->e, err, "%s: out of memory", path) : err;
}

/* ---- Archives ---- */

static bool is_archive(const char *data, size_t size)
{
	static const struct {
		const char *magic;
		size_t n, at;
	} known[] = {
		{"\x1f\x8b", 2, 0},   {"BZh", 3, 0},     {"\xfd\x37zXZ", 5, 0},
		{"PK\x03\x04", 4, 0}, {"ustar", 5, 257}, {"\x28\xb5\x2f\xfd", 4, 0},
	};

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (size >= known[i].at + known[i].n &&
		    !memcmp(data + known[i].at, known[i].magic, known[i].n))
			return true;
	return false;
}

/* Absolute, or climbing out: an archive of a host has neither. */
static bool path_hostile(const char *p)
{
	while (*p == '/')
		p++;
	for (; *p; p += strcspn(p, "/"), p += *p == '/')
		if (!strncmp(p, "..", 2) && (p[2] == '/' || !p[2]))
			return true;
	return false;
}

/* One archive's own: what it was packed into, what came out of it so far. */
struct unpacked {
	size_t packed;
	uint64_t bytes;
	uint32_t entries;
};

/* Reads an entry to its end, though no more than FILE_BYTES_MAX is kept: what an entry holds is
 * counted before the next is looked for, which would unpack it unseen. */
static int entry_read(struct walk *w, struct archive *ar, struct content *c, struct unpacked *u,
		      const char *path)
{
	char buf[65536];
	la_ssize_t n;
	int err = content_add(c, "", 0);

	while (!err && (n = archive_read_data(ar, buf, sizeof(buf))) > 0) {
		u->bytes += (uint64_t)n;
		w->bytes += (uint64_t)n;
		if (w->bytes > TOTAL_BYTES_MAX)
			return over(w, path, "more than 4 GiB unpacked");
		if (u->bytes > RATIO_FROM && u->bytes / RATIO_MAX > u->packed)
			return over(w, path, "unpacks to more than 400 times its size");
		if (c->size < FILE_BYTES_MAX)
			err = content_add(c, buf, (size_t)n);
	}
	return err;
}

/* Whose the entries of an archive are: a directory marked as a snapshot is a host of its own. */
struct owner {
	const char *host; /* of what is not below a marked directory */
	char marked[256];
	bool forced;
};

/* "gpu01/ripstop-snapshot" marks gpu01. */
static void find_mark(struct owner *o, const char *name)
{
	const char *slash = strrchr(name, '/'), *from = slash;

	if (o->forced || !slash || slash == name || strcmp(slash + 1, RS_SNAPSHOT_MARK))
		return;
	while (from > name && from[-1] != '/')
		from--;
	snprintf(o->marked, sizeof(o->marked), "%.*s", (int)(slash - from), from);
}

/* The host of an entry; inner becomes its path below the host's directory. */
static const char *owner_of(const struct owner *o, const char **inner)
{
	size_t n = strlen(o->marked);
	const char *at = n ? strstr(*inner, o->marked) : NULL;

	if (!at || at[n] != '/' || (at > *inner && at[-1] != '/'))
		return o->host;
	*inner = at + n + 1;
	return o->marked;
}

static int refuse_path(struct walk *w, const char *path, const char *name)
{
	rs_error_set(w->e, -EINVAL, "%s: holds the path '%s', which climbs out of it", path, name);
	rs_error_hint(w->e, "nothing was written; do not unpack it elsewhere either");
	return -EINVAL;
}

/* A file out of an archive. */
static int member(struct walk *w, struct owner *o, const char *path, const char *name, char *data,
		  size_t size)
{
	const char *inner = name, *host;
	char full[4096];
	int err;

	find_mark(o, name);
	host = owner_of(o, &inner);
	snprintf(full, sizeof(full), "%s:%s", path, name);
	err = count(w, full, 0);
	return err ? err : recognise(w, host, full, inner, data, size);
}

static int entry(struct walk *w, struct archive *ar, struct archive_entry *en, struct owner *o,
		 struct unpacked *u, const char *path)
{
	const char *name = archive_entry_pathname(en);
	struct content c = {0};
	int err;

	if (++u->entries > ENTRIES_MAX)
		return over(w, path, "more than 400,000 entries");
	if (!name || archive_entry_filetype(en) == AE_IFDIR)
		return 0;
	if (path_hostile(name))
		return refuse_path(w, path, name);
	if (archive_entry_filetype(en) != AE_IFREG)
		return 0;
	err = entry_read(w, ar, &c, u, path);
	if (!err)
		err = member(w, o, path, name, c.data, c.size);
	free(c.data);
	return err;
}

/* An archive as text: no larger than what it is in. */
static int ttar_walk(struct walk *w, const char *host, const char *path, const char *data,
		     size_t size)
{
	struct owner o = {.host = host, .forced = w->host != NULL};
	struct rs_ttar t = {.data = data, .size = size};
	int err = 0, r = 0;

	for (uint32_t n = 0; !err && (r = rs_ttar_next(&t)) > 0;) {
		if (++n > ENTRIES_MAX)
			err = over(w, path, "more than 400,000 entries");
		else if (path_hostile(t.path))
			err = refuse_path(w, path, t.path);
		else
			err = member(w, &o, path, t.path, t.file, t.n);
	}
	rs_ttar_end(&t);
	if (!err && r == -EINVAL)
		return rs_error_set(w->e, r, "%s:%u: %s", path, t.line, t.why);
	return err ? err : r;
}

static int archive_walk(struct walk *w, const char *host, const char *path, const char *data,
			size_t size)
{
	struct owner o = {.host = host, .forced = w->host != NULL};
	struct unpacked u = {.packed = size};
	struct archive *ar = archive_read_new();
	struct archive_entry *en;
	int r = ARCHIVE_FATAL, err = 0;

	if (!ar)
		return -ENOMEM;
	archive_read_support_filter_all(ar);
	/* not all of libarchive's: a compressed log may look like an mtree, whose errors it then
	 * has */
	archive_read_support_format_tar(ar);
	archive_read_support_format_zip(ar);
	archive_read_support_format_raw(ar); /* a single compressed file */
	if (!archive_read_open_memory(ar, data, size))
		while (!err && (r = archive_read_next_header(ar, &en)) >= ARCHIVE_WARN &&
		       r != ARCHIVE_EOF)
			err = entry(w, ar, en, &o, &u, path);
	if (!err && r < ARCHIVE_WARN)
		err = rs_error_set(w->e, -EINVAL, "%s: %s", path,
				   archive_error_string(ar) ? archive_error_string(ar)
							    : "a broken archive");
	archive_read_free(ar);
	return err;
}

static bool own_name(const struct rs_input *in, char *out, size_t size)
{
	const struct rs_reader *reader = best(in);

	return reader && reader->own_name && reader->own_name(in, out, size);
}

static int recognise(struct walk *w, const char *host, const char *path, const char *inner,
		     char *data, size_t size)
{
	char own[128];
	struct rs_input in = {
		.host = host,
		.path = path,
		.inner = inner,
		.data = data,
		.size = size,
		.age = w->age,
		.forced = w->host != NULL,
	};
	int err;

	if (is_archive(data, size)) {
		if (w->nested == NESTED_MAX)
			return over(w, path, "archives within archives within archives");
		w->nested++;
		err = archive_walk(w, host, path, data, size);
		w->nested--;
		return err;
	}
	if (rs_ttar_is(data, size)) {
		if (w->nested == NESTED_MAX)
			return over(w, path, "archives within archives within archives");
		w->nested++;
		err = ttar_walk(w, host, path, data, size);
		w->nested--;
		return err;
	}
	if (w->split && !strchr(inner, '/') && own_name(&in, own, sizeof(own)))
		in.host = host = own;
	if (!rs_read_input(w->a, &in) && rs_input_remember(w->a, host, path, NULL, 0))
		return -ENOMEM;
	return w->a->err;
}

/* ---- Directories ---- */

static int by_name(const void *a, const void *b)
{
	return rs_facts_compare(*(char *const *)a, *(char *const *)b);
}

static void names_free(char **name, size_t n)
{
	while (n)
		free(name[--n]);
	free(name);
}

/* Sorted, so that what is found does not depend on the file system. */
static int names_read(int fd, char ***out, size_t *n_out)
{
	int copy = dup(fd);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	char **name = NULL;
	size_t n = 0, room = 0;
	struct dirent *de;

	if (d)
		rewinddir(d); /* the place in a directory is shared with what it was copied from */
	while (d && (de = readdir(d))) {
		if (!strcmp(de->d_name, ".") || !strcmp(de->d_name, ".."))
			continue;
		if (n == room) {
			char **more = realloc(name, (room = 2 * room + 64) * sizeof(*name));

			if (!more)
				break;
			name = more;
		}
		if (!(name[n] = strdup(de->d_name)))
			break;
		n++;
	}
	if (d)
		closedir(d);
	else if (copy >= 0)
		close(copy);
	if (n)
		qsort(name, n, sizeof(*name), by_name);
	*out = name;
	*n_out = n;
	return 0;
}

static bool is_directory(int dir, const char *name)
{
	struct stat st;

	/* links are facts of a tree, not ways through it: sysfs is full of them, in circles */
	return !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISDIR(st.st_mode);
}

static int directory(struct walk *w, int fd, const char *host, const char *path, const char *inner,
		     unsigned depth)
{
	char **name;
	size_t n;
	int err = names_read(fd, &name, &n);

	for (size_t i = 0; i < n && !err; i++) {
		char full[4096], in[4096];
		int sub;

		snprintf(full, sizeof(full), "%s/%s", path, name[i]);
		snprintf(in, sizeof(in), "%s%s%s", inner, *inner ? "/" : "", name[i]);
		if (!is_directory(fd, name[i])) {
			err = file(w, fd, name[i], host, full, in);
			continue;
		}
		if (depth == DEPTH_MAX) {
			err = over(w, full, "directories more than 24 deep");
			continue;
		}
		sub = openat(fd, name[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (sub < 0)
			continue;
		err = directory(w, sub, host, full, in, depth + 1);
		close(sub);
	}
	names_free(name, n);
	return err;
}

/* Parts of a host's own tree: a directory with one of these in it is a host, whatever else it has.
 */
static bool of_a_host(const char *name)
{
	static const char *const known[] = {
		"sys",         "proc",  "etc", "var",     "run",
		"dev",         "boot",  "opt", "usr",     "root",
		"home",        "class", "bus", "devices", "commands_txt_output",
		"sos_commands"};

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(name, known[i]))
			return true;
	return !strncmp(name, "sys-class-", 10);
}

/* Two directories or more, and no part of a host's tree among them: a directory a host. */
static bool holds_hosts(int fd, char **name, size_t n)
{
	unsigned dirs = 0;

	for (size_t i = 0; i < n; i++) {
		if (!is_directory(fd, name[i]))
			continue;
		if (of_a_host(name[i]))
			return false;
		dirs++;
	}
	return dirs >= 2;
}

static void base_name(const char *path, char *out, size_t size)
{
	const char *end = path + strlen(path), *p;

	while (end > path + 1 && end[-1] == '/')
		end--;
	for (p = end; p > path && p[-1] != '/'; p--)
		;
	snprintf(out, size, "%.*s", (int)(end - p), p);
	if (!strcmp(out, ".") || !strcmp(out, "..") || !*out)
		snprintf(out, size, "host");
}

/* "hosts", "switches": directories of a kind of machine, each with a directory in it. */
static bool is_kind(const char *name)
{
	static const char *const kinds[] = {"host",    "hosts",    "node",     "nodes",  "server",
					    "servers", "compute",  "computes", "gpus",   "machines",
					    "switch",  "switches", "network",  "fabric", "leafs",
					    "leaves",  "leaf",     "spines",   "spine",  "tors"};

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcasecmp(name, kinds[i]))
			return true;
	return false;
}

enum { KINDS_DEEP = 4 };

/* Does this directory hold directories of machines and no file beside them? */
static bool only_directories(int fd, char **name, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!is_directory(fd, name[i]) || of_a_host(name[i]))
			return false;
	return n > 0;
}

static int hosts(struct walk *w, int fd, const char *path, char **name, size_t n, unsigned deep);

/* One entry of a directory of machines: a machine, or a kind of them. */
static int machine(struct walk *w, int fd, const char *name, const char *path, unsigned deep)
{
	char **inside;
	size_t n;
	int err = names_read(fd, &inside, &n);

	if (!err && deep < KINDS_DEEP && is_kind(name) && only_directories(fd, inside, n))
		err = hosts(w, fd, path, inside, n, deep + 1);
	else if (!err)
		err = directory(w, fd, name, path, "", 1);
	names_free(inside, n);
	return err;
}

static int hosts(struct walk *w, int fd, const char *path, char **name, size_t n, unsigned deep)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		char full[4096];
		int sub;

		snprintf(full, sizeof(full), "%s/%s", path, name[i]);
		if (!is_directory(fd, name[i])) {
			/* beside the hosts: of the cluster, named after the directory */
			char cluster[256];

			base_name(path, cluster, sizeof(cluster));
			err = file(w, fd, name[i], cluster, full, name[i]);
			continue;
		}
		sub = openat(fd, name[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (sub < 0)
			continue;
		err = machine(w, sub, name[i], full, deep);
		close(sub);
	}
	return err;
}

/* The name that a file's beginning gives its machine; false: none. */
static bool names_itself(int dir, const char *name, char *out, size_t size)
{
	int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	struct rs_input in = {.host = "", .path = name, .inner = name};
	bool found = false;
	struct stat st;
	char *begin;
	ssize_t n;

	if (fd < 0)
		return false;
	begin = !fstat(fd, &st) && S_ISREG(st.st_mode) ? malloc(NAME_BYTES + 1) : NULL;
	if (begin && (n = read(fd, begin, NAME_BYTES)) > 0) {
		begin[n] = '\0';
		in.data = begin;
		in.size = (size_t)n;
		found = own_name(&in, out, size);
	}
	free(begin);
	close(fd);
	return found;
}

/* Configurations of two machines side by side: each is read as the machine that it names. */
static bool several_machines(int fd, char **name, size_t n)
{
	char first[128] = "", next[128];

	for (size_t i = 0; i < n && i < NAMES_MAX; i++) {
		if (!names_itself(fd, name[i], next, sizeof(next)))
			continue;
		if (*first && strcmp(first, next))
			return true;
		snprintf(first, sizeof(first), "%s", next);
	}
	return false;
}

static int top_directory(struct walk *w, int fd, const char *path, unsigned deep)
{
	char base[256], full[4096], **name;
	size_t n;
	int err = names_read(fd, &name, &n), sub = -1;

	base_name(path, base, sizeof(base));
	/* a directory that holds one directory alone, or one kind of machines, is no machine */
	if (!err && !w->host && n == 1 && deep < KINDS_DEEP && only_directories(fd, name, n))
		sub = openat(fd, name[0], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (sub >= 0) {
		snprintf(full, sizeof(full), "%s/%s", path, name[0]);
		err = top_directory(w, sub, full, deep + 1);
		close(sub);
	} else if (!err && !w->host &&
		   (holds_hosts(fd, name, n) || (is_kind(base) && only_directories(fd, name, n)))) {
		err = hosts(w, fd, path, name, n, deep);
	} else if (!err) {
		w->split = !w->host && several_machines(fd, name, n);
		err = directory(w, fd, w->host ? w->host : base, path, "", 0);
	}
	names_free(name, n);
	return err;
}

/* "gpu01.tar.gz" is the host gpu01. */
static void host_of_file(const char *path, char *out, size_t size)
{
	static const char *const endings[] = {".gz",   ".bz2", ".xz",   ".zst",  ".tar",
					      ".ttar", ".tgz", ".tbz2", ".zip",  ".txt",
					      ".json", ".xml", ".log",  ".conf", ".cfg"};
	bool cut = true;

	base_name(path, out, size);
	while (cut) {
		cut = false;
		for (unsigned i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
			size_t n = strlen(out), m = strlen(endings[i]);

			if (n > m && !strcmp(out + n - m, endings[i])) {
				out[n - m] = '\0';
				cut = true;
			}
		}
	}
}

int rs_audit_read(struct rs_audit *a, const char *path, const char *host, uint8_t age,
		  struct rs_error *e)
{
	struct walk w = {.a = a, .e = e, .host = host, .age = age, .top = -1};
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), err;
	char found[256], shown[4096];
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return rs_error_set(e, err, "%s: %s", path, strerror(-err));
	}
	snprintf(shown, sizeof(shown), "%s", path);
	for (size_t n = strlen(shown); n > 1 && shown[n - 1] == '/';)
		shown[--n] = '\0';
	if (S_ISDIR(st.st_mode)) {
		w.top = fd;
		w.prefix = strlen(shown) + 1;
		err = top_directory(&w, fd, shown, 0);
	} else if (S_ISREG(st.st_mode)) {
		host_of_file(path, found, sizeof(found));
		err = file(&w, AT_FDCWD, path, host ? host : found, shown, found);
	} else {
		err = rs_error_set(e, -EINVAL, "%s: neither a file nor a directory", path);
	}
	close(fd);
	return err;
}

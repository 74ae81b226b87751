/*
 * Files that are whole or absent: written beside their place and renamed there. Devices and pipes
 * cannot be replaced, so they are written directly.
 */
#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(const struct rs_outfile *o, int err, const char *doing, struct rs_error *e)
{
	struct rs_where at = {.file = o->path};

	return rs_error_at(e, -err, at, "cannot %s: %s", doing, strerror(err));
}

/* Through a symbolic link the file that it names is replaced, not the link. */
static bool resolve(struct rs_outfile *o, const char *path)
{
	char real[PATH_MAX];
	const char *target = realpath(path, real) ? real : path;

	if (strlen(target) >= sizeof(o->path))
		return false;
	strcpy(o->path, target);
	return true;
}

static int create_beside(struct rs_outfile *o)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
	int fd;

	snprintf(o->tmp, sizeof(o->tmp), "%s.tmp.%ld", o->path, (long)getpid());
	fd = open(o->tmp, flags, 0666);
	if (fd >= 0 || errno != EEXIST)
		return fd;
	/* Left by a killed process that had our number. */
	unlink(o->tmp);
	return open(o->tmp, flags, 0666);
}

int rs_outfile_open(struct rs_outfile *o, const char *path, struct rs_error *e)
{
	struct stat st;
	int fd, err;

	memset(o, 0, sizeof(*o));
	if (!strcmp(path, "-")) {
		strcpy(o->path, "-");
		o->f = stdout;
		return 0;
	}
	if (!resolve(o, path))
		return rs_error_set(e, -ENAMETOOLONG, "the name of an output file is too long");
	if (stat(o->path, &st) == 0 && !S_ISREG(st.st_mode))
		fd = open(o->path, O_WRONLY | O_CLOEXEC);
	else
		fd = create_beside(o);
	o->f = fd < 0 ? NULL : fdopen(fd, "w");
	if (o->f)
		return 0;
	err = errno;
	if (fd >= 0) {
		close(fd);
		if (o->tmp[0])
			unlink(o->tmp);
	}
	return fail(o, err, "write here", e);
}

/* errno of the first thing that went wrong, or 0. */
static int settle(struct rs_outfile *o)
{
	int err = 0;

	errno = 0;
	if (fflush(o->f) || ferror(o->f))
		err = errno ? errno : EIO;
	/* On disk before the name is: else a crash could leave a name without its contents. */
	if (!err && o->tmp[0] && fsync(fileno(o->f)))
		err = errno;
	if (o->f != stdout && fclose(o->f) && !err)
		err = errno;
	o->f = NULL;
	return err;
}

int rs_outfile_commit(struct rs_outfile *o, struct rs_error *e)
{
	int err;

	rs_assert(o->f);
	err = settle(o);
	if (!err && o->tmp[0] && rename(o->tmp, o->path))
		err = errno;
	if (!err)
		return 0;
	if (o->tmp[0])
		unlink(o->tmp);
	return fail(o, err, "finish writing", e);
}

void rs_outfile_abort(struct rs_outfile *o)
{
	if (!o->f)
		return;
	if (o->f != stdout)
		fclose(o->f);
	o->f = NULL;
	if (o->tmp[0])
		unlink(o->tmp);
}

/* Sockets between processes: see local.h. */
#include "live/local.h"

#include <errno.h>
#include <linux/filter.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include "base/bytes.h"

enum { WORDS = RS_LOCAL_KEY / 4, OPEN_TRIES = 4 };

int rs_live_random(void *out, size_t n)
{
	uint8_t *at = out;

	while (n) {
		ssize_t got = getrandom(at, n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EIO;
		at += got;
		n -= (size_t)got;
	}
	return 0;
}

/* The kernel compares, in the sender's time, and drops what differs without a word. */
static int demand_key(int fd, const uint8_t key[RS_LOCAL_KEY])
{
	struct sock_filter code[2 * WORDS + 2];
	struct sock_fprog program = {.filter = code};
	unsigned n = 0;

	for (unsigned i = 0; i < WORDS; i++) {
		uint8_t to_end = (uint8_t)(2 * (WORDS - i) - 1);

		code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4 * i);
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							 rs_get32(key + 4 * i), 0, to_end);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, UINT32_MAX);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
	program.len = (unsigned short)n;
	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) ? -errno : 0;
}

void rs_local_file(const struct rs_local_address *a, char *out, size_t size)
{
	int n = snprintf(out, size, "ripstop-");

	for (unsigned i = 0; i < RS_LOCAL_NAME && (size_t)n < size; i++)
		n += snprintf(out + n, size - (size_t)n, "%02x", a->name[i]);
}

socklen_t rs_local_name(const struct rs_local_address *a, struct sockaddr_un *out)
{
	memset(out, 0, sizeof(*out));
	out->sun_family = AF_UNIX;
	rs_local_file(a, out->sun_path + 1, sizeof(out->sun_path) - 1);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(out->sun_path + 1));
}

static socklen_t name_in(const struct rs_local_address *a, const char *folder,
			 struct sockaddr_un *out)
{
	char file[64];

	rs_local_file(a, file, sizeof(file));
	memset(out, 0, sizeof(*out));
	out->sun_family = AF_UNIX;
	if ((size_t)snprintf(out->sun_path, sizeof(out->sun_path), "%s/%s", folder, file) >=
	    sizeof(out->sun_path))
		return 0;
	return sizeof(*out);
}

/* The filter stands before the name does, so that nothing without the key ever comes in. */
static int open_once(struct rs_local_address *a, const char *folder, struct sockaddr_un *out)
{
	struct sockaddr_un name;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1, err;
	socklen_t n;

	if (fd < 0)
		return -errno;
	err = rs_live_random(a, sizeof(*a));
	n = folder ? name_in(a, folder, &name) : rs_local_name(a, &name);
	if (!err && !n)
		err = -ENAMETOOLONG;
	if (!err && setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)))
		err = -errno;
	if (!err)
		err = demand_key(fd, a->key);
	if (!err && bind(fd, (struct sockaddr *)&name, n))
		err = -errno;
	if (out)
		*out = name;
	if (!err)
		return fd;
	close(fd);
	return err;
}

int rs_local_open(struct rs_local_address *a)
{
	int fd = -EADDRINUSE;

	for (unsigned i = 0; fd == -EADDRINUSE && i < OPEN_TRIES; i++)
		fd = open_once(a, NULL, NULL);
	return fd;
}

int rs_local_open_in(struct rs_local_address *a, const char *folder, char *path, size_t size)
{
	struct sockaddr_un name;
	int fd = open_once(a, folder, &name);

	if (fd >= 0)
		snprintf(path, size, "%s", name.sun_path);
	return fd;
}

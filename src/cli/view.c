/* The view of /sys and /dev that programs under ripstop exec have: the files of the kernel's RDMA
 * devices (its Documentation/ABI/stable/sysfs-class-infiniband) on file systems in memory. */
#include "cli/view.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "live/rate.h"

enum { DIR_MODE = 0755, FILE_MODE = 0444, ENTRIES_MAX = 4096 };

#define SYS_CLASS "/sys/class"
#define IB        SYS_CLASS "/infiniband"
#define UVERBS    SYS_CLASS "/infiniband_verbs"
#define DEV_IB    "/dev/infiniband"

/* ---- The namespaces ---- */

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));
	int err = n < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return err;
}

/* One's own user and group under their own numbers: the program sees no change. */
static int map_ids(uid_t uid, gid_t gid)
{
	char text[64];
	int err;

	snprintf(text, sizeof(text), "%u %u 1", uid, uid);
	err = write_text("/proc/self/uid_map", text);
	if (!err)
		err = write_text("/proc/self/setgroups", "deny");
	snprintf(text, sizeof(text), "%u %u 1", gid, gid);
	return err ? err : write_text("/proc/self/gid_map", text);
}

/* What is mounted here stays here. In a chroot "/" is no mount point: then what will be covered
 * must lie on mounts of its own, as /sys and /dev do where they were mounted there. */
static int detach(void)
{
	static const char *const covered[] = {"/sys", "/dev"};

	if (!mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL))
		return 0;
	if (errno != EINVAL)
		return -errno;
	for (unsigned i = 0; i < sizeof(covered) / sizeof(*covered); i++)
		if (mount("none", covered[i], NULL, MS_REC | MS_SLAVE, NULL))
			return errno == EINVAL ? -ENOTBLK : -errno;
	return 0;
}

static int enter(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int err = 0;

	if (unshare(CLONE_NEWNS)) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
			return -errno;
		err = map_ids(uid, gid);
	}
	return err ? err : detach();
}

/* ---- File systems in memory over folders ---- */

static int mount_empty(const char *path)
{
	return mount("ripstop", path, "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=755,size=4m") ? -errno
											  : 0;
}

/* Bring one entry of a covered folder, open as fd, back to where it was. */
static int bring_back(int fd, const char *folder, const struct dirent *d)
{
	char from[PATH_MAX], to[PATH_MAX], target[PATH_MAX];
	struct stat st;
	ssize_t n;
	int made;

	if (fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW))
		return 0; /* gone meanwhile */
	snprintf(from, sizeof(from), "/proc/self/fd/%d/%s", fd, d->d_name);
	snprintf(to, sizeof(to), "%s/%s", folder, d->d_name);
	if (S_ISLNK(st.st_mode)) {
		n = readlinkat(fd, d->d_name, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		return n > 0 && symlink(target, to) ? -errno : 0;
	}
	if (S_ISDIR(st.st_mode))
		return mkdir(to, DIR_MODE) || mount(from, to, NULL, MS_BIND | MS_REC, NULL) ? -errno
											    : 0;
	made = open(to, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, FILE_MODE);
	if (made < 0)
		return -errno;
	close(made);
	return mount(from, to, NULL, MS_BIND, NULL) ? -errno : 0;
}

/* The folder stays as it is, but can be added to. */
static int cover(const char *folder)
{
	DIR *old = opendir(folder);
	const struct dirent *d;
	int err = old ? mount_empty(folder) : -errno;

	for (unsigned n = 0; !err && n < ENTRIES_MAX && (d = readdir(old)); n++)
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			err = bring_back(dirfd(old), folder, d);
	if (old)
		closedir(old);
	return err;
}

/* An empty folder at this path, whose parent is covered once where it has none. */
static int make_folder(const char *path, const char *parent, bool *covered)
{
	int err = 0;

	if (access(path, F_OK) == 0)
		return mount_empty(path);
	if (!*covered)
		err = cover(parent);
	*covered = true;
	return err ? err : mkdir(path, DIR_MODE) ? -errno : 0;
}

/* ---- The files ---- */

/* A place under a device's folder, and the first error met there. */
struct place {
	char at[PATH_MAX];
	int err;
};

static void folder(struct place *p, const char *name)
{
	char path[PATH_MAX + NAME_MAX];

	snprintf(path, sizeof(path), "%s/%s", p->at, name);
	if (!p->err && mkdir(path, DIR_MODE))
		p->err = -errno;
}

static void file(struct place *p, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void file(struct place *p, const char *name, const char *fmt, ...)
{
	char path[PATH_MAX + NAME_MAX];
	va_list ap;
	FILE *f;

	if (p->err)
		return;
	snprintf(path, sizeof(path), "%s/%s", p->at, name);
	f = fopen(path, "wxe");
	if (!f) {
		p->err = -errno;
		return;
	}
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	if (fputc('\n', f) == EOF || fchmod(fileno(f), FILE_MODE))
		p->err = -EIO;
	if (fclose(f) && !p->err)
		p->err = -errno;
}

/* Eight groups of four digits, none left out: how the kernel writes a GID. */
static void gid_file(struct place *p, unsigned i, const uint8_t g[16])
{
	char name[32];

	snprintf(name, sizeof(name), "ports/1/gids/%u", i);
	file(p, name, "%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x",
	     g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7], g[8], g[9], g[10], g[11], g[12], g[13],
	     g[14], g[15]);
}

static void port_files(struct place *p, const struct rs_netdev *net)
{
	static const char *const folders[] = {"ports",
					      "ports/1",
					      "ports/1/gids",
					      "ports/1/pkeys",
					      "ports/1/gid_attrs",
					      "ports/1/gid_attrs/types",
					      "ports/1/gid_attrs/ndevs"};
	char name[64];

	for (unsigned i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		folder(p, folders[i]);
	file(p, "ports/1/state", "4: ACTIVE");
	file(p, "ports/1/phys_state", "5: LinkUp");
	file(p, "ports/1/link_layer", "Ethernet");
	file(p, "ports/1/cap_mask", "0x%08x", (unsigned)RS_LIVE_PORT_CAPS);
	file(p, "ports/1/rate", "%s", rs_port_rate(net->name, getenv("RIPSTOP_RATE"))->text);
	file(p, "ports/1/lid", "0x0");
	file(p, "ports/1/lid_mask_count", "0");
	file(p, "ports/1/sm_lid", "0x0");
	file(p, "ports/1/sm_sl", "0");
	file(p, "ports/1/pkeys/0", "0xffff");
	for (unsigned i = 0; i < net->n_gids; i++) {
		gid_file(p, i, net->gid[i]);
		snprintf(name, sizeof(name), "ports/1/gid_attrs/types/%u", i);
		file(p, name, "RoCE v2");
		snprintf(name, sizeof(name), "ports/1/gid_attrs/ndevs/%u", i);
		file(p, name, "%s", net->name);
	}
}

/* A virtio device is a function's only child, and the function has the place on PCIe: NCCL and
 * others look no further up. */
static void above_virtio(char *path)
{
	char *last = strrchr(path, '/');

	if (last && last != path && !strncmp(last, "/virtio", strlen("/virtio")))
		*last = '\0';
}

/* The interface's own hardware where it has one: its place on PCIe, its NUMA node. */
static void hardware(struct place *p, const struct rs_netdev *net)
{
	char of[64], real[PATH_MAX], link[PATH_MAX + 16], name[64];

	if (rs_port_hardware(net->name, of, sizeof(of)) && realpath(of, real)) {
		above_virtio(real);
		snprintf(link, sizeof(link), "%s/device", p->at);
		if (!p->err && symlink(real, link))
			p->err = -errno;
		return;
	}
	folder(p, "device");
	folder(p, "device/net");
	snprintf(name, sizeof(name), "device/net/%s", net->name);
	folder(p, name);
	file(p, "device/numa_node", "-1");
}

static int device_files(const struct rs_live_device *d)
{
	struct place p = {0};
	uint8_t g[8];

	snprintf(p.at, sizeof(p.at), "%s", IB);
	folder(&p, d->name);
	snprintf(p.at, sizeof(p.at), "%s/%s", IB, d->name);
	rs_netdev_guid(&d->net, g);
	file(&p, "node_type", "1: CA");
	file(&p, "node_guid", "%02x%02x:%02x%02x:%02x%02x:%02x%02x", g[0], g[1], g[2], g[3], g[4],
	     g[5], g[6], g[7]);
	file(&p, "sys_image_guid", "%02x%02x:%02x%02x:%02x%02x:%02x%02x", g[0], g[1], g[2], g[3],
	     g[4], g[5], g[6], g[7]);
	file(&p, "node_desc", "Ripstop on %s", d->net.name);
	file(&p, "fw_ver", "0.1.0");
	file(&p, "hca_type", "Ripstop");
	file(&p, "hw_rev", "0x0");
	file(&p, "board_id", "RIPSTOP");
	port_files(&p, &d->net);
	hardware(&p, &d->net);
	return p.err;
}

/* The character device of user space's verbs: programs look whether there is one and whether they
 * may use it, the library never opens it. A user namespace allows no mknod(), so it is another's.
 */
static int uverbs_files(unsigned i, const struct rs_live_device *d)
{
	struct place p = {.at = UVERBS}, dev = {.at = DEV_IB};
	char name[32], path[PATH_MAX];

	snprintf(name, sizeof(name), "uverbs%u", i);
	folder(&p, name);
	snprintf(p.at, sizeof(p.at), "%s/%s", UVERBS, name);
	file(&p, "ibdev", "%s", d->name);
	file(&p, "abi_version", "1");
	file(&dev, name, "%s", "");
	if (p.err || dev.err)
		return p.err ? p.err : dev.err;
	snprintf(path, sizeof(path), "%s/%s", DEV_IB, name);
	return mount("/dev/null", path, NULL, MS_BIND, NULL) ? -errno : 0;
}

static int fill(const struct rs_live_device *d, unsigned n)
{
	struct place p = {.at = UVERBS};
	bool sys_covered = false, dev_covered = false;
	int err = make_folder(IB, SYS_CLASS, &sys_covered);

	if (!err)
		err = make_folder(UVERBS, SYS_CLASS, &sys_covered);
	if (!err)
		err = make_folder(DEV_IB, "/dev", &dev_covered);
	if (!err) {
		file(&p, "abi_version", "6");
		err = p.err;
	}
	for (unsigned i = 0; i < n && !err; i++) {
		err = device_files(&d[i]);
		if (!err)
			err = uverbs_files(i, &d[i]);
	}
	return err;
}

/* Some systems allow a user namespace and then nothing within it: a child finds out, so that this
 * process enters none in vain. */
static int may_enter(void)
{
	pid_t child = fork();
	int status = 0;

	if (child < 0)
		return -errno;
	if (!child)
		_exit(-enter() & 0xff);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EPERM;
}

int rs_cli_view_enter(const struct rs_live_device *d, unsigned n, struct rs_error *e)
{
	char cwd[PATH_MAX];
	int err = may_enter();

	if (!err)
		err = enter();
	if (!err)
		err = fill(d, n);
	/* the folder that one stands in may have been covered */
	if (!err && getcwd(cwd, sizeof(cwd)) && chdir(cwd))
		err = -errno;
	if (err == -ENOTBLK)
		return rs_error_set(
			e, err,
			"no private view of /sys and /dev: in this chroot they are plain "
			"folders: mount them first (mount --rbind /sys ROOT/sys, and /dev)");
	return err ? rs_error_set(e, err, "no private view of /sys and /dev: %s", strerror(-err))
		   : 0;
}

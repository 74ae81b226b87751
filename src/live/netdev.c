/* Network interfaces as ports: which are usable, their addresses as GIDs (IBTA annex A17.4), MTU.
 */
#include <errno.h>
#include <ifaddrs.h>
#include <linux/if_addr.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "base/socket.h"
#include "live/state.h"

/* What Linux keeps for IP, UDP, BTH, extended headers and ICRC when it names an IB MTU. */
enum { HEADER_ROOM = 96, PATH_MTU_MIN = 256, PATH_MTU_LEAST = 1024 };

/* Linux looks for another holder of an address for 1 s, after up to 1 s (RFC 4862 §5.4), where it
 * is set to ask once. */
enum { SETTLE_MS = 5000, SETTLE_STEP_MS = 10 };

uint16_t rs_netdev_path_mtu(const struct rs_netdev *n)
{
	uint16_t mtu = RS_MAX_PAYLOAD;

	while (mtu >= PATH_MTU_MIN && mtu + HEADER_ROOM > (int64_t)n->mtu)
		mtu /= 2;
	return mtu >= PATH_MTU_MIN ? mtu : 0;
}

/* packet(7): a line a socket; the protocol in hexadecimal, interface 0 where it is bound to none.
 */
bool rs_netdev_captured(unsigned index)
{
	enum { EVERY_PROTOCOL = 3, LOOPBACK = 1 }; /* ETH_P_ALL */
	FILE *f = fopen("/proc/thread-self/net/packet", "re");
	unsigned protocol, at;
	bool found = false;
	char line[200];

	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%*s %*s %*s %x %u", &protocol, &at) == 2 &&
			protocol == EVERY_PROTOCOL && (at == index || at <= LOOPBACK);
	if (f)
		fclose(f);
	return found;
}

/* An EUI-64 of the MAC address (IBTA §10.2.3), locally administered where it has none. */
void rs_netdev_guid(const struct rs_netdev *n, uint8_t guid[8])
{
	static const uint8_t none[6];

	memcpy(guid, n->mac, 3);
	guid[0] ^= 2;
	guid[3] = 0xff;
	guid[4] = 0xfe;
	memcpy(guid + 5, n->mac + 3, 3);
	if (!memcmp(n->mac, none, sizeof(none)))
		guid[7] = (uint8_t)n->index;
}

static bool has_gid(const struct rs_netdev *n, const uint8_t gid[16])
{
	for (unsigned i = 0; i < n->n_gids; i++)
		if (!memcmp(n->gid[i], gid, 16))
			return true;
	return false;
}

static void add_gid(struct rs_netdev *n, const uint8_t gid[16])
{
	if (n->n_gids < RS_LIVE_GIDS && !has_gid(n, gid))
		memcpy(n->gid[n->n_gids++], gid, 16);
}

/* IFA_F_* of an IPv6 address: a line each, in hexadecimal: address, interface, length of its
 * prefix, scope, flags, name. 0: none that matter here, or it cannot be read. */
static unsigned flags_of(const struct rs_netdev *n, const uint8_t gid[16])
{
	FILE *f = fopen("/proc/thread-self/net/if_inet6", "re");
	char line[128], address[33], wanted[33];
	unsigned index, flags, found = 0;

	for (int i = 0; i < 16; i++)
		snprintf(wanted + 2 * i, 3, "%02x", gid[i]);
	while (f && !found && fgets(line, sizeof(line), f))
		if (sscanf(line, "%32s %x %*x %*x %x", address, &index, &flags) == 3 &&
		    index == n->index && !strcmp(address, wanted))
			found = flags;
	if (f)
		fclose(f);
	return found;
}

/* Another host has it: it never comes into force. */
static bool is_duplicate(const struct rs_netdev *n, const uint8_t gid[16])
{
	return flags_of(n, gid) & IFA_F_DADFAILED;
}

static bool is_tentative(const struct rs_netdev *n, const uint8_t gid[16])
{
	return (flags_of(n, gid) & (IFA_F_TENTATIVE | IFA_F_OPTIMISTIC | IFA_F_DADFAILED)) ==
	       IFA_F_TENTATIVE;
}

static bool is_link_local(const uint8_t gid[16])
{
	return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
}

/* A link-local address beside others, which every interface gets by itself, is not waited for. */
static bool unsettled(const struct rs_netdev *n)
{
	bool link_local = false, ready = false;

	for (unsigned i = 0; i < n->n_gids; i++) {
		if (rs_gid_is_ipv4(n->gid[i]) || !is_tentative(n, n->gid[i]))
			ready = true;
		else if (is_link_local(n->gid[i]))
			link_local = true;
		else
			return true;
	}
	return link_local && !ready;
}

static void add_address(struct rs_netdev *n, const struct ifaddrs *a, int family)
{
	uint8_t gid[16] = {[10] = 0xff, [11] = 0xff};

	if (!a->ifa_addr || a->ifa_addr->sa_family != family || strcmp(a->ifa_name, n->name) != 0)
		return;
	if (family == AF_INET)
		memcpy(gid + 12, &((const struct sockaddr_in *)(const void *)a->ifa_addr)->sin_addr,
		       4);
	else
		memcpy(gid, &((const struct sockaddr_in6 *)(const void *)a->ifa_addr)->sin6_addr,
		       16);
	if (family == AF_INET6 && is_duplicate(n, gid))
		return;
	add_gid(n, gid);
}

static int read_link(struct rs_netdev *n)
{
	int fd = rs_socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq r = {0};
	int err = -ENODEV;

	if (fd < 0)
		return -errno;
	memcpy(r.ifr_name, n->name, sizeof(n->name));
	if (ioctl(fd, SIOCGIFFLAGS, &r) == 0) {
		n->up = r.ifr_flags & IFF_UP;
		n->carrier = r.ifr_flags & IFF_RUNNING;
		n->loopback = r.ifr_flags & IFF_LOOPBACK;
		err = ioctl(fd, SIOCGIFMTU, &r) ? -ENODEV : 0;
		n->mtu = err ? 0 : (uint32_t)r.ifr_mtu;
	}
	if (!err && ioctl(fd, SIOCGIFHWADDR, &r) == 0)
		memcpy(n->mac, r.ifr_hwaddr.sa_data, sizeof(n->mac));
	close(fd);
	return err;
}

static int read_with(const char *name, const struct ifaddrs *all, struct rs_netdev *n,
		     struct rs_error *e)
{
	int err;

	memset(n, 0, sizeof(*n));
	n->index = strlen(name) < sizeof(n->name) ? if_nametoindex(name) : 0;
	if (!n->index)
		return rs_error_set(e, -ENODEV, "there is no network interface '%s'", name);
	memcpy(n->name, name, strlen(name));
	err = read_link(n);
	if (err)
		return rs_error_set(e, err, "cannot read network interface '%s'", name);
	for (const struct ifaddrs *a = all; a; a = a->ifa_next)
		add_address(n, a, AF_INET);
	for (const struct ifaddrs *a = all; a; a = a->ifa_next)
		add_address(n, a, AF_INET6);
	return 0;
}

int rs_netdev_read(const char *name, struct rs_netdev *out, struct rs_error *e)
{
	struct ifaddrs *all;
	int err;

	if (getifaddrs(&all))
		return rs_error_set(e, -errno, "cannot list the network interfaces' addresses");
	err = read_with(name, all, out, e);
	freeifaddrs(all);
	return err;
}

void rs_netdev_settle(const struct rs_netdev *n)
{
	const struct timespec step = {.tv_nsec = SETTLE_STEP_MS * 1000 * 1000};
	struct rs_netdev now = *n;

	for (int ms = 0; ms < SETTLE_MS && !read_link(&now) && now.carrier && unsettled(n);
	     ms += SETTLE_STEP_MS)
		nanosleep(&step, NULL);
}

/* Why an interface cannot be a RoCEv2 port; NULL: it can. */
static const char *unusable(const struct rs_netdev *n)
{
	if (!n->up)
		return "is down";
	if (!n->n_gids)
		return "has no IP address";
	if (rs_netdev_path_mtu(n) < PATH_MTU_LEAST)
		return "has an MTU too small for a path MTU of 1024 (1120 is needed)";
	return NULL;
}

/* A device's name goes into paths and environment variables. */
static bool name_valid(const char *name)
{
	static const char good[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
	size_t n = strlen(name);

	return n && n < RS_LIVE_NAME && name[0] != '.' && strspn(name, good) == n;
}

/* IPv4 addresses come first among the GIDs. */
static bool has_ipv4(const struct rs_netdev *n)
{
	return n->n_gids && n->gid[0][10] == 0xff;
}

/* The first that is not the loopback, rather one with an IPv4 address. */
static int default_netdev(struct rs_netdev *n, struct rs_error *e)
{
	struct rs_live_device all[RS_LIVE_DEVICES];
	struct if_nameindex *list = if_nameindex();
	int found = 0;

	for (struct if_nameindex *i = list; i && i->if_index && found < RS_LIVE_DEVICES; i++)
		if (!rs_netdev_read(i->if_name, &all[found].net, NULL) &&
		    !unusable(&all[found].net))
			found++;
	if_freenameindex(list);
	if (!found)
		return rs_error_set(e, -ENODEV, "no network interface is usable");
	*n = all[0].net;
	for (int i = found - 1; i >= 0; i--)
		if (!all[i].net.loopback && (n->loopback || has_ipv4(&all[i].net) || !has_ipv4(n)))
			*n = all[i].net;
	return 0;
}

int rs_live_device_parse(const char *spec, struct rs_live_device *out, struct rs_error *e)
{
	const char *equals = strchr(spec, '=');
	size_t n = equals ? (size_t)(equals - spec) : strlen(spec);
	const char *why;
	int err;

	memset(out, 0, sizeof(*out));
	if (n < sizeof(out->name))
		memcpy(out->name, spec, n);
	if (!name_valid(out->name))
		return rs_error_set(e, -EINVAL,
				    "expected a device as NAME or NAME=INTERFACE, found '%s'",
				    spec);
	err = equals ? rs_netdev_read(equals + 1, &out->net, e) : default_netdev(&out->net, e);
	if (err)
		return err;
	why = unusable(&out->net);
	if (!why)
		return 0;
	rs_error_set(e, -EINVAL, "network interface '%s' %s", out->net.name, why);
	rs_error_hint(e, "ip link set %s up mtu 1500; ip address add A.B.C.D/24 dev %s",
		      out->net.name, out->net.name);
	return -EINVAL;
}

static int devices_of(const char *list, struct rs_live_device *out, unsigned max,
		      struct rs_error *e)
{
	char *copy = strdup(list), *rest = NULL;
	unsigned n = 0;
	int err = copy ? 0 : -ENOMEM;

	for (char *s = copy ? strtok_r(copy, ",", &rest) : NULL; s && !err && n < max;
	     s = strtok_r(NULL, ",", &rest)) {
		err = rs_live_device_parse(s, &out[n], e);
		for (unsigned i = 0; !err && i < n; i++)
			if (!strcmp(out[i].name, out[n].name))
				err = rs_error_set(e, -EINVAL, "device '%s' is named twice",
						   out[n].name);
		n++;
	}
	free(copy);
	return err ? err : (int)n;
}

int rs_live_devices(struct rs_live_device *out, unsigned max, struct rs_error *e)
{
	const char *list = getenv("RIPSTOP_DEVICES");
	struct if_nameindex *all;
	struct ifaddrs *addresses;
	unsigned n = 0;

	if (list && *list)
		return devices_of(list, out, max, e);
	all = if_nameindex();
	if (!all || getifaddrs(&addresses)) {
		if_freenameindex(all);
		return rs_error_set(e, -ENODEV, "cannot list the network interfaces");
	}
	/* the loopback last: programs that name no device take the first, and libfabric looks no
	 * further */
	for (int loopback = 0; loopback < 2; loopback++)
		for (struct if_nameindex *i = all; i->if_index && n < max; i++) {
			struct rs_live_device *d = &out[n];

			memset(d, 0, sizeof(*d));
			if (read_with(i->if_name, addresses, &d->net, NULL) || unusable(&d->net) ||
			    d->net.loopback != loopback)
				continue;
			snprintf(d->name, sizeof(d->name), "rs_%s", d->net.name);
			n++;
		}
	freeifaddrs(addresses);
	if_freenameindex(all);
	return (int)n;
}

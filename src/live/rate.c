/* The rates of ports: see rate.h. */
#include "live/rate.h"

#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/socket.h"
#include "base/units.h"
#include "live/congestion.h"

enum { X1 = 1, X4 = 2, X8 = 4 };
enum { SDR = 1, DDR = 2, FDR10 = 8, EDR = 32, HDR = 64, NDR = 128 };

/* As the kernel's ib_core maps Ethernet's, and on. */
static const struct rs_port_rate rates[] = {
	{2500 * RS_MBPS, X1, SDR, "2.5 Gb/sec (1X SDR)"},
	{10 * RS_GBPS, X1, FDR10, "10 Gb/sec (1X FDR10)"},
	{20 * RS_GBPS, X4, DDR, "20 Gb/sec (4X DDR)"},
	{25 * RS_GBPS, X1, EDR, "25 Gb/sec (1X EDR)"},
	{40 * RS_GBPS, X4, FDR10, "40 Gb/sec (4X FDR10)"},
	{50 * RS_GBPS, X1, HDR, "50 Gb/sec (1X HDR)"},
	{100 * RS_GBPS, X4, EDR, "100 Gb/sec (4X EDR)"},
	{200 * RS_GBPS, X4, HDR, "200 Gb/sec (4X HDR)"},
	{400 * RS_GBPS, X4, NDR, "400 Gb/sec (4X NDR)"},
	{800 * RS_GBPS, X8, NDR, "800 Gb/sec (8X NDR)"},
};
enum { RATES = sizeof(rates) / sizeof(rates[0]) };

/* A line of what sysfs has of the interface. */
static bool shown(const char *netdev, const char *what, char *line, int size)
{
	char path[64];
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), "/sys/class/net/%s/%s", netdev, what);
	f = fopen(path, "re");
	if (!f)
		return false;
	ok = fgets(line, size, f) != NULL;
	fclose(f);
	return ok;
}

/* A mount of sysfs keeps the network namespace that it was made in. */
static bool is_ours(const char *netdev)
{
	struct ifreq r = {0};
	const uint8_t *m = (const uint8_t *)r.ifr_hwaddr.sa_data;
	int fd = rs_socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char line[64], mac[24];
	int err;

	if (fd < 0)
		return true; /* not to be told */
	strncpy(r.ifr_name, netdev, sizeof(r.ifr_name) - 1);
	err = ioctl(fd, SIOCGIFHWADDR, &r);
	close(fd);
	if (err)
		return true;
	snprintf(mac, sizeof(mac), "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4],
		 m[5]);
	if (shown(netdev, "address", line, sizeof(line)) && strncmp(line, mac, strlen(mac)))
		return false;
	return !shown(netdev, "ifindex", line, sizeof(line)) ||
	       strtoul(line, NULL, 10) == if_nametoindex(netdev);
}

bool rs_port_hardware(const char *netdev, char *path, size_t size)
{
	snprintf(path, size, "/sys/class/net/%s/device", netdev);
	return !access(path, F_OK) && is_ours(netdev);
}

static int64_t of_hardware(const char *netdev)
{
	char path[64];

	return rs_port_hardware(netdev, path, sizeof(path)) ? rs_congestion_speed(netdev) : 0;
}

const struct rs_port_rate *rs_port_rate(const char *netdev, const char *wish)
{
	int64_t bps = 0;
	unsigned i = 0;

	if (!wish || !*wish || rs_parse_rate(wish, &bps, NULL) || bps <= 0)
		bps = of_hardware(netdev);
	if (!bps)
		bps = 100 * RS_GBPS;
	while (i < RATES - 1 && rates[i].bps < bps)
		i++;
	return &rates[i];
}

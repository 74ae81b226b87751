/* Multicast groups, and what a datagram's receiver sees of its addresses (IBTA annex A17.4.5.2). */
#include <errno.h>
#include <string.h>
#include "live/state.h"
#include "base/bytes.h"

enum { PROTOCOL_UDP = 17, HOPS = 64, IPV4_AT = RS_GRH_BYTES - RS_IPV4_BYTES };

static bool is_multicast(const uint8_t gid[16])
{
	return rs_gid_is_ipv4(gid) ? gid[12] >> 4 == 0xe : gid[0] == 0xff;
}

static struct rs_group *find(const struct rs_live *l, const uint8_t gid[16])
{
	for (unsigned i = 0; i < RS_LIVE_MAX_GROUPS; i++)
		if (l->group[i].refs && !memcmp(l->group[i].gid, gid, 16))
			return (struct rs_group *)&l->group[i];
	return NULL;
}

uint32_t rs_group_of(const struct rs_live *l, const uint8_t gid[16])
{
	const struct rs_group *g = find(l, gid);

	return g ? g->endpoint : UINT32_MAX;
}

static int membership(struct rs_live *l, const uint8_t gid[16], bool join)
{
	struct ipv6_mreq v6 = {.ipv6mr_interface = l->device.net.index};
	struct ip_mreqn v4 = {.imr_ifindex = (int)l->device.net.index};
	int err;

	if (rs_gid_is_ipv4(gid)) {
		memcpy(&v4.imr_multiaddr, gid + 12, 4);
		err = setsockopt(l->udp, IPPROTO_IP, join ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP,
				 &v4, sizeof(v4));
	} else {
		memcpy(&v6.ipv6mr_multiaddr, gid, 16);
		err = setsockopt(l->udp, IPPROTO_IPV6, join ? IPV6_JOIN_GROUP : IPV6_LEAVE_GROUP,
				 &v6, sizeof(v6));
	}
	return err ? -errno : 0;
}

/* The own address of the group's family: which it is does not matter for receiving. */
static int own_index(const struct rs_live *l, const uint8_t gid[16])
{
	for (unsigned i = 0; i < l->device.net.n_gids; i++)
		if (rs_gid_is_ipv4(l->device.net.gid[i]) == rs_gid_is_ipv4(gid))
			return (int)i;
	return -EINVAL;
}

int rs_live_group_join(struct rs_live *l, const uint8_t gid[16], uint32_t *group)
{
	struct rs_group *g = find(l, gid);
	int index = own_index(l, gid), err;

	if (g) {
		g->refs++;
		*group = g->endpoint;
		return 0;
	}
	if (!is_multicast(gid) || index < 0)
		return -EINVAL;
	for (g = l->group; g < l->group + RS_LIVE_MAX_GROUPS && g->refs; g++)
		;
	if (g == l->group + RS_LIVE_MAX_GROUPS)
		return -ENOSPC;
	err = rs_live_path_get(l, (unsigned)index, gid, &g->endpoint);
	if (err)
		return err;
	err = membership(l, gid, true);
	if (err && err != -EADDRINUSE) {
		rs_live_path_put(l, g->endpoint);
		return err;
	}
	memcpy(g->gid, gid, 16);
	g->refs = 1;
	*group = g->endpoint;
	return 0;
}

int rs_live_group_find(struct rs_live *l, const uint8_t gid[16], uint32_t *group)
{
	*group = rs_group_of(l, gid);
	return *group == UINT32_MAX ? -EINVAL : 0;
}

void rs_live_group_leave(struct rs_live *l, uint32_t group)
{
	for (unsigned i = 0; i < RS_LIVE_MAX_GROUPS; i++) {
		struct rs_group *g = &l->group[i];

		if (!g->refs || g->endpoint != group || --g->refs)
			continue;
		membership(l, g->gid, false);
		rs_live_path_put(l, group);
	}
}

void rs_group_grh(void *live, const struct rs_packet *p, uint8_t out[RS_GRH_BYTES])
{
	const struct rs_live *l = live;
	const struct rs_path *k = &l->paths.path[p->src];
	const uint8_t *to = p->dest_qp == RS_MULTICAST_QPN ? l->paths.path[p->dst].peer : k->own;
	uint32_t udp = p->frame_bytes - RS_ETH_BYTES - RS_FCS_BYTES -
		       (k->ipv6 ? RS_IPV6_BYTES : RS_IPV4_BYTES);
	uint8_t *b = out + IPV4_AT;

	memset(out, 0, RS_GRH_BYTES);
	if (k->ipv6) {
		rs_put32(out, UINT32_C(6) << 28 | (uint32_t)p->tos << 20);
		rs_put16(out + 4, udp);
		out[6] = PROTOCOL_UDP;
		out[7] = HOPS;
		memcpy(out + 8, k->peer, 16);
		memcpy(out + 24, to, 16);
		return;
	}
	b[0] = 0x45;
	b[1] = p->tos;
	rs_put16(b + 2, udp + RS_IPV4_BYTES);
	rs_put16(b + 6, 0x4000);
	b[8] = HOPS;
	b[9] = PROTOCOL_UDP;
	memcpy(b + 12, k->peer + 12, 4);
	memcpy(b + 16, to + 12, 4);
	rs_put16(b + 10, rs_internet_checksum(b, RS_IPV4_BYTES));
}

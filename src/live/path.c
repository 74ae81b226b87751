/* Pairs of an own and a peer's address, numbered: the endpoint numbers of a live device. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "live/state.h"

enum { BUCKETS = 1 << 14 };
#define NONE UINT32_MAX

static uint32_t hash(const uint8_t own[16], const uint8_t peer[16])
{
	uint64_t h = 0x9e3779b97f4a7c15;

	for (unsigned i = 0; i < 16; i += 8) {
		uint64_t a, b;

		memcpy(&a, own + i, 8);
		memcpy(&b, peer + i, 8);
		h = (h ^ a) * 0xff51afd7ed558ccd;
		h = (h ^ (h >> 32) ^ b) * 0xc4ceb9fe1a85ec53;
	}
	return (uint32_t)(h >> 40) & (BUCKETS - 1);
}

int rs_paths_init(struct rs_paths *p)
{
	p->path = calloc(RS_LIVE_PATHS, sizeof(*p->path));
	p->bucket = malloc(BUCKETS * sizeof(*p->bucket));
	if (!p->path || !p->bucket) {
		rs_paths_fini(p);
		return -ENOMEM;
	}
	memset(p->bucket, 0xff, BUCKETS * sizeof(*p->bucket));
	memset(p->temporary, 0xff, sizeof(p->temporary));
	p->free = NONE;
	return 0;
}

void rs_paths_fini(struct rs_paths *p)
{
	free(p->path);
	free(p->bucket);
	p->path = NULL;
	p->bucket = NULL;
}

uint32_t rs_paths_find(const struct rs_paths *p, const uint8_t own[16], const uint8_t peer[16])
{
	uint32_t i = p->bucket[hash(own, peer)];

	while (i != NONE && (memcmp(p->path[i].peer, peer, 16) || memcmp(p->path[i].own, own, 16)))
		i = p->path[i].next;
	return i;
}

static void forget(struct rs_paths *p, uint32_t i)
{
	uint32_t *at = &p->bucket[hash(p->path[i].own, p->path[i].peer)];

	while (*at != i)
		at = &p->path[*at].next;
	*at = p->path[i].next;
	p->path[i].used = false;
	p->path[i].next = p->free;
	p->free = i;
}

static uint32_t add(struct rs_live *l, const uint8_t own[16], const uint8_t peer[16])
{
	struct rs_paths *p = &l->paths;
	uint32_t i = p->free, *bucket = &p->bucket[hash(own, peer)];
	uint16_t generation;
	struct rs_path *k;

	if (i != NONE)
		p->free = p->path[i].next;
	else if (p->fresh < RS_LIVE_PATHS)
		i = p->fresh++;
	else
		return NONE;
	k = &p->path[i];
	generation = k->generation;
	memset(k, 0, sizeof(*k));
	k->generation = (uint16_t)(generation + 1);
	memcpy(k->own, own, 16);
	memcpy(k->peer, peer, 16);
	k->ipv6 = !rs_gid_is_ipv4(peer);
	k->used = true;
	k->to.sin6_family = AF_INET6;
	k->to.sin6_port = htons(RS_UDP_PORT);
	memcpy(&k->to.sin6_addr, peer, 16);
	if (IN6_IS_ADDR_LINKLOCAL(&k->to.sin6_addr) || IN6_IS_ADDR_MULTICAST(&k->to.sin6_addr))
		k->to.sin6_scope_id = l->device.net.index;
	k->next = *bucket;
	*bucket = i;
	return i;
}

uint32_t rs_paths_temporary(struct rs_live *l, const uint8_t own[16], const uint8_t peer[16])
{
	struct rs_paths *p = &l->paths;
	uint32_t i = rs_paths_find(p, own, peer), *place;

	if (i != NONE)
		return i;
	place = &p->temporary[p->temporary_next++ % RS_TEMPORARY_PATHS];
	if (*place != NONE && --p->path[*place].refs == 0)
		forget(p, *place);
	*place = i = add(l, own, peer);
	if (i != NONE)
		p->path[i].refs++;
	return i;
}

int rs_live_path_get(struct rs_live *l, unsigned sgid, const uint8_t dgid[16], uint32_t *endpoint)
{
	const uint8_t *own = l->device.net.gid[sgid < RS_LIVE_GIDS ? sgid : 0];
	uint32_t i;

	if (sgid >= l->device.net.n_gids || rs_gid_is_ipv4(own) != rs_gid_is_ipv4(dgid))
		return -EINVAL;
	i = rs_paths_find(&l->paths, own, dgid);
	if (i == NONE)
		i = add(l, own, dgid);
	if (i == NONE)
		return -ENOSPC;
	l->paths.path[i].refs++;
	*endpoint = i;
	return 0;
}

void rs_live_path_put(struct rs_live *l, uint32_t endpoint)
{
	struct rs_path *k = &l->paths.path[endpoint];

	rs_assert(endpoint < l->paths.fresh && k->used && k->refs);
	rs_tx_flush_acks(l);
	if (--k->refs == 0)
		forget(&l->paths, endpoint);
}

bool rs_live_path_gids(struct rs_live *l, uint32_t endpoint, uint8_t own[16], uint8_t peer[16])
{
	const struct rs_path *k = &l->paths.path[endpoint < l->paths.fresh ? endpoint : 0];

	if (endpoint >= l->paths.fresh || !k->used)
		return false;
	memcpy(own, k->own, 16);
	memcpy(peer, k->peer, 16);
	return true;
}

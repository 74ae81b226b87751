/* Addresses in a hash table without chains. */
#include "bridge/macs.h"

#include <string.h>
#include "base/bytes.h"
#include "base/random.h"

enum { MAC_PROBES = 16 };

#define MAC_AGE (300 * RS_S) /* 802.1Q-2022 table 8-6 */

static uint32_t hash_mac(const uint8_t *m)
{
	return (uint32_t)rs_mix64((uint64_t)rs_get16(m) << 32 | rs_get32(m + 2)) %
	       (RS_BRIDGE_MACS - MAC_PROBES);
}

bool bridge_mac_lives(const struct bridge_mac *m, rs_time now)
{
	return m->used && now - m->seen < MAC_AGE;
}

struct bridge_mac *bridge_mac_find(struct bridge_macs *t, const uint8_t *address, rs_time now)
{
	struct bridge_mac *m = &t->at[hash_mac(address)];

	for (const struct bridge_mac *end = m + MAC_PROBES; m < end; m++)
		if (m->used && !memcmp(m->address, address, MAC_BYTES))
			return bridge_mac_lives(m, now) ? m : NULL;
	return NULL;
}

struct bridge_mac *bridge_mac_place(struct bridge_macs *t, const uint8_t *address, rs_time now)
{
	struct bridge_mac *m = &t->at[hash_mac(address)], *place = m;

	for (const struct bridge_mac *end = m + MAC_PROBES; m < end; m++) {
		if (m->used && !memcmp(m->address, address, MAC_BYTES)) {
			if (!bridge_mac_lives(m, now))
				m->own = false, m->stamp = 0;
			m->seen = now;
			return m;
		}
		if (place->used && (!m->used || m->seen < place->seen))
			place = m;
	}
	t->used += !place->used;
	*place = (struct bridge_mac){.used = true, .endpoint = UINT32_MAX, .seen = now};
	memcpy(place->address, address, MAC_BYTES);
	return place;
}

void bridge_macs_rebase(struct bridge_macs *t, rs_time by)
{
	for (unsigned i = 0; i < RS_BRIDGE_MACS; i++)
		t->at[i].seen = rs_time_max(t->at[i].seen - by, -MAC_AGE);
}

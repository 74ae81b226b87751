/* Whose packets were lost where (losses.h). */
#include <stdlib.h>
#include "base/error.h"
#include "base/random.h"
#include "switch/losses.h"

struct rs_losses {
	uint32_t sets; /* a power of two */
	struct rs_loss at[];
};

struct rs_losses *rs_losses_create(uint32_t entries)
{
	struct rs_losses *t;
	uint32_t sets = 1;

	rs_assert(entries <= UINT32_C(1) << 31);
	while (sets * RS_LOSSES_WAYS < entries)
		sets *= 2;
	t = calloc(1, sizeof(*t) + (size_t)sets * RS_LOSSES_WAYS * sizeof(t->at[0]));
	if (t)
		t->sets = sets;
	return t;
}

void rs_losses_destroy(struct rs_losses *t)
{
	free(t);
}

/* A pair's entries are all of one set. */
static uint32_t set_of(const struct rs_losses *t, uint32_t src, uint32_t dst)
{
	return (uint32_t)rs_mix64((uint64_t)src << 32 | dst) & (t->sets - 1);
}

void rs_losses_add(struct rs_losses *t, uint32_t src, uint32_t dst, uint16_t port, uint16_t why)
{
	struct rs_loss *set = &t->at[set_of(t, src, dst) * RS_LOSSES_WAYS], *least = set;

	for (unsigned i = 0; i < RS_LOSSES_WAYS; i++) {
		struct rs_loss *l = &set[i];

		if (l->packets && l->src == src && l->dst == dst && l->port == port &&
		    l->why == why) {
			l->packets += l->packets != UINT32_MAX;
			return;
		}
		if (l->packets < least->packets)
			least = l;
	}
	*least = (struct rs_loss){src, dst, port, why,
				  least->packets + (least->packets != UINT32_MAX)};
}

bool rs_losses_most(const struct rs_losses *t, uint32_t src, uint32_t dst, struct rs_loss *out)
{
	const struct rs_loss *set = &t->at[set_of(t, src, dst) * RS_LOSSES_WAYS];
	bool any = false;

	for (unsigned i = 0; i < RS_LOSSES_WAYS; i++)
		if (set[i].packets && set[i].src == src && set[i].dst == dst &&
		    (!any || set[i].packets > out->packets)) {
			*out = set[i];
			any = true;
		}
	return any;
}

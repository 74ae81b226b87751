/* Private to describe/: how changes and events name links and switches. */
#ifndef RS_DESCRIBE_CHANGE_H
#define RS_DESCRIBE_CHANGE_H

#include "describe/load.h"

struct changes {
	struct rs_load *l;
	struct rs_fabric *f;
	struct rs_names names; /* a switch with bit 31 set, or an endpoint */
};

void change_names(struct changes *c);
/* The key `link`: [leaf0, spine3], or a NIC alone, which has one link: *b is UINT32_MAX then. */
bool change_ends(struct changes *c, const struct rs_node *n, uint32_t *a, uint32_t *b);
/* The key `nic`: its endpoint. */
bool change_nic(struct changes *c, const struct rs_node *n, uint32_t *a);
bool change_joins(const struct rs_fabric_link *k, uint32_t a, uint32_t b);
/* How many links join them, none an error; *index: the key `index`, -1 without. */
uint32_t change_index(struct changes *c, const struct rs_node *n, uint32_t a, uint32_t b,
		      int64_t *index);
/* The key `switch`: its number. */
uint32_t change_switch(struct changes *c, const struct rs_node *n);

#endif

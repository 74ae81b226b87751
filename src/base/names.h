/* Names to numbers: open addressing, sized once. */
#ifndef RS_BASE_NAMES_H
#define RS_BASE_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include "base/load.h"

struct rs_names {
	uint32_t size; /* a power of two */
	struct {
		const char *name;
		uint32_t id;
	} * slot;
};
bool rs_names_create(struct rs_load *l, struct rs_names *t, uint32_t n);
/* False when the name is there already. */
bool rs_names_add(struct rs_names *t, const char *name, uint32_t id);
bool rs_names_find(const struct rs_names *t, const char *name, uint32_t *id);

#endif

/* Names to numbers by FNV-1a and linear probing; at most half full. */
#include <string.h>
#include "base/names.h"

static uint32_t hash(const char *s)
{
	uint32_t h = 2166136261u;

	while (*s)
		h = (h ^ (uint8_t)*s++) * 16777619u;
	return h;
}

bool rs_names_create(struct rs_load *l, struct rs_names *t, uint32_t n)
{
	t->size = 16;
	while (t->size < 2 * n)
		t->size *= 2;
	t->slot = rs_load_take(l, t->size, sizeof(*t->slot));
	return t->slot;
}

bool rs_names_add(struct rs_names *t, const char *name, uint32_t id)
{
	uint32_t i = hash(name) & (t->size - 1);

	for (; t->slot[i].name; i = (i + 1) & (t->size - 1))
		if (!strcmp(t->slot[i].name, name))
			return false;
	t->slot[i].name = name;
	t->slot[i].id = id;
	return true;
}

bool rs_names_find(const struct rs_names *t, const char *name, uint32_t *id)
{
	uint32_t i = hash(name) & (t->size - 1);

	for (; t->slot[i].name; i = (i + 1) & (t->size - 1))
		if (!strcmp(t->slot[i].name, name)) {
			*id = t->slot[i].id;
			return true;
		}
	return false;
}

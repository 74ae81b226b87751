/*
 * What searches found, kept for plans that are made beside one another: the same topology with the
 * same variables is searched once. The key is all that a search depends on, byte by byte; so what
 * is taken is what a search would find, bit for bit. Threads may share it: two that miss at once
 * both search.
 */
#ifndef RS_NCCL_SEARCHES_H
#define RS_NCCL_SEARCHES_H

#include <stdint.h>

struct rs_nccl_searches;

enum { RS_NCCL_SEARCHES_MAX = 256 }; /* topologies; further ones are searched each time */

/* NULL: no memory. It outlives the plans that are being made with it, not those that are made. */
struct rs_nccl_searches *rs_nccl_searches_create(void);
void rs_nccl_searches_free(struct rs_nccl_searches *s);
/* How many topologies it has; how often one of them was taken. */
uint32_t rs_nccl_searches_kept(const struct rs_nccl_searches *s);
uint64_t rs_nccl_searches_taken(const struct rs_nccl_searches *s);

#endif

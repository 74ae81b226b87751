/*
 * Private to audit/: addresses, GUIDs, serials and names that are masked, the same one always in
 * the same way under one key, so that what matched before matches after.
 */
#ifndef RS_AUDIT_PROBE_MASK_H
#define RS_AUDIT_PROBE_MASK_H

#include <stddef.h>
#include <stdint.h>

struct rs_mask {
	uint8_t key[16];
	char host[256];   /* the name to be replaced; "": none */
	char masked[256]; /* what it becomes */
};

/* key NULL: one drawn now, kept nowhere. Negative errno when there is no randomness to be had. */
int rs_mask_create(struct rs_mask *m, const char *key, const char *host);

/*
 * A copy of text with what identifies replaced: IPv4 and IPv6 addresses (subnets stay subnets,
 * private and link-local ranges stay what they are), MAC addresses and GUIDs (the vendor's half
 * stays), UUIDs, serial numbers of fact lines, the host's name. NULL: no memory.
 */
char *rs_mask_text(const struct rs_mask *m, const char *text, size_t n, size_t *out_n);

/* For tests. */
uint64_t rs_mask_siphash(const uint8_t key[16], const void *data, size_t n);
uint32_t rs_mask_ipv4(const struct rs_mask *m, uint32_t address);
uint32_t rs_mask_24(const struct rs_mask *m, uint32_t low);

#endif

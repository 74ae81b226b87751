/*
 * Management datagrams of our own over QP1, in a vendor's class whose second range names its vendor
 * (IBTA §16.5, table 262): a layout each for what they ask. Who is not ours drops them.
 */
#ifndef RS_LIVE_VENDOR_MAD_H
#define RS_LIVE_VENDOR_MAD_H

#include <stdbool.h>
#include <stdint.h>
#include "base/bytes.h"
#include "live/grant.h"

enum {
	MAD_VERSION_AT = 0,
	MAD_CLASS_AT = 1,
	MAD_CLASS_VERSION_AT = 2,
	MAD_METHOD_AT = 3,
	MAD_TRANSACTION_AT = 8,
	MAD_OUI_AT = 37,
	MAD_LAYOUT_AT = 40,
	MAD_GET = 0x01,
	MAD_GET_RESPONSE = 0x81,
	MAD_VENDOR = 0x525053,
	MAD_LAYOUT_GRANT = 1, /* grant.c: how much may be on its way to a socket */
	MAD_LAYOUT_MEET = 2,  /* meet.c: where the registry is */
	MAD_LAYOUT_NEAR = 3,  /* near.c: a ring between network namespaces */
	MAD_LAYOUT_KNOCK = 4, /* knock.h: is a connection's other end there */
};

/* What comes before a layout's own fields. */
static inline void vendor_mad_begin(uint8_t *mad, uint8_t method, uint8_t layout)
{
	mad[MAD_VERSION_AT] = 1;
	mad[MAD_CLASS_AT] = RS_GRANT_CLASS;
	mad[MAD_CLASS_VERSION_AT] = 1;
	mad[MAD_METHOD_AT] = method;
	rs_put24(mad + MAD_OUI_AT, MAD_VENDOR);
	mad[MAD_LAYOUT_AT] = layout;
}

static inline bool vendor_mad_is(const uint8_t *mad, uint8_t layout)
{
	return mad[MAD_VERSION_AT] == 1 && mad[MAD_CLASS_AT] == RS_GRANT_CLASS &&
	       rs_get24(mad + MAD_OUI_AT) == MAD_VENDOR && mad[MAD_LAYOUT_AT] == layout;
}

#endif

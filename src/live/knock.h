/*
 * Does who made a communication ID still have it? A question of our own over QP1 (vendor_mad.h) and
 * its answer, for peers whose kernel would send a DREQ for a killed program (IBTA §12.9): ours has
 * nothing to do with RDMA. Who has the ID answers; for a process that is gone any other of its
 * network namespace does, and where none is, its kernel refuses the datagram (RFC 1122 §3.2.2.1,
 * RFC 4443 §3.1: port unreachable). A stopped process says nothing.
 */
#ifndef RS_LIVE_KNOCK_H
#define RS_LIVE_KNOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "live/vendor_mad.h"

struct rs_live;
struct rs_gsi_datagram;

/* The number that an answer has, and a refused question. */
struct rs_knock {
	uint64_t token;
	uint32_t local_id, remote_id; /* communication IDs: of the asking end, of the asked */
};

enum rs_knock_is { RS_KNOCK_QUESTION, RS_KNOCK_LIVES, RS_KNOCK_GONE };

enum { KNOCK_LOCAL_AT = 44, KNOCK_REMOTE_AT = 48, KNOCK_IS_AT = 52 };

static inline bool rs_knock_is_knock(const uint8_t *mad)
{
	return vendor_mad_is(mad, MAD_LAYOUT_KNOCK);
}

/* Bytes 41 and 42 are the slots of the asking end and of the asked, where grant.c has them. */
static inline void rs_knock_encode(const struct rs_knock *k, enum rs_knock_is is, uint8_t *mad)
{
	vendor_mad_begin(mad, is == RS_KNOCK_QUESTION ? MAD_GET : MAD_GET_RESPONSE,
			 MAD_LAYOUT_KNOCK);
	rs_put64(mad + MAD_TRANSACTION_AT, k->token);
	mad[MAD_LAYOUT_AT + 1] = (uint8_t)(k->local_id >> 24);
	mad[MAD_LAYOUT_AT + 2] = (uint8_t)(k->remote_id >> 24);
	rs_put32(mad + KNOCK_LOCAL_AT, k->local_id);
	rs_put32(mad + KNOCK_REMOTE_AT, k->remote_id);
	mad[KNOCK_IS_AT] = (uint8_t)is;
}

/* Of what rs_knock_is_knock(). False: a method or an answer that there is not. */
static inline bool rs_knock_decode(const uint8_t *mad, struct rs_knock *k, enum rs_knock_is *is)
{
	k->token = rs_get64(mad + MAD_TRANSACTION_AT);
	k->local_id = (uint32_t)rs_get32(mad + KNOCK_LOCAL_AT);
	k->remote_id = (uint32_t)rs_get32(mad + KNOCK_REMOTE_AT);
	*is = (enum rs_knock_is)mad[KNOCK_IS_AT];
	if (mad[MAD_METHOD_AT] == MAD_GET)
		return *is == RS_KNOCK_QUESTION;
	return mad[MAD_METHOD_AT] == MAD_GET_RESPONSE &&
	       (*is == RS_KNOCK_LIVES || *is == RS_KNOCK_GONE);
}

/* Locked: send a question, from a port of its own: only a socket that sends nothing else may hear
 * of refusals, which would fail its sends. Negative errno. */
int rs_live_knock(struct rs_live *l, const struct rs_gsi_datagram *d);
/* Locked: the next question that a kernel refused, by its token; false: no more. */
bool rs_live_knock_refused(struct rs_live *l, uint64_t *token);
/* No process has the communication ID that a question is about: say so. */
void rs_knock_answer_alone(struct rs_live *l, const struct rs_gsi_datagram *d);

#endif

/*
 * Is the other end of an established connection still there? A program that only waits to receive
 * would never hear that its peer was killed: no kernel sends a DREQ for it (§12.9). What is asked,
 * and what is proof; live/knock.h has the question. Pure: the caller has the clock and the socket.
 */
#ifndef RS_VERBS_CM_ALIVE_H
#define RS_VERBS_CM_ALIVE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	/* Questions without an answer until a peer that never gave one counts as another maker's:
	 * it is left alone. */
	RS_ALIVE_TRIES = 5,
	/* Refusals of a peer that answered before, none of its answers between them, until it is
	 * gone: one may be of an address that moves. By judgement. */
	RS_ALIVE_REFUSALS = 3,
	RS_ALIVE_FIRST_MS = 100, /* behind the connection's start */
	RS_ALIVE_SOON_MS = 300,  /* between questions, until it is known */
	RS_ALIVE_MS = 2000,      /* between questions to one that answers, or is silent */
	RS_ALIVE_SHARE_MS = 10,  /* the same, for each connection of the process: 100 a second */
};

struct rs_alive {
	uint64_t token; /* of all questions since the last answer; 0: none */
	bool open;      /* the last one met neither an answer nor a refusal */
	bool ours;      /* it answered once, or asked */
	bool gone;      /* proved */
	uint8_t silent, refused;
};

/* It is time to ask, by a->token: where it is 0, a number not used before, token, not 0. After how
 * long again; 0: never, and not now either. n: connections of the process. */
unsigned rs_alive_ask(struct rs_alive *a, uint64_t token, unsigned n);
/* An answer, and whose kernel refused a question. Others' numbers count for nothing; late answers
 * count. */
void rs_alive_answered(struct rs_alive *a, uint64_t token, bool lives);
void rs_alive_refused(struct rs_alive *a, uint64_t token);
/* The other end asks for this connection: it is ours, and lives. */
void rs_alive_asked(struct rs_alive *a);

#endif

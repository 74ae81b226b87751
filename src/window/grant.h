/*
 * A socket tells its senders what it can take: its buffer is dealt out to all that asked lately.
 * Equal shares to each host that asks, and of a host's share to each of its processes, so that a
 * host that claims many processes takes from itself alone. Pure: questions go in, answers come out.
 */
#ifndef RS_WINDOW_GRANT_H
#define RS_WINDOW_GRANT_H

#include <stdbool.h>
#include <stdint.h>
#include "window/tuning.h"

enum { RS_GRANT_ASKERS = 256 };

struct rs_asker {
	uint8_t own[16], peer[16]; /* addresses: here, and there */
	uint8_t slot;              /* of its process */
	uint16_t beside;           /* askers of its host, itself counted */
	uint32_t question;
	uint64_t told; /* bytes */
	rs_time heard;
};

struct rs_grants {
	struct rs_asker asker[RS_GRANT_ASKERS];
	unsigned n, hosts;
	const struct rs_window_tuning *tuning;
	uint64_t buffer; /* of the socket, as the kernel counts */
	int answer;      /* who asked last and has no answer yet; negative: none */
	unsigned told;   /* askers that were looked at, whether their share is less now */
};

struct rs_grant {
	uint8_t own[16], peer[16];
	uint8_t slot;
	uint32_t question; /* that it answers; 0: none, the share is less than before */
	uint64_t bytes;
};

/* tuning: borrowed; NULL: rs_window_defaults. */
void rs_grants_init(struct rs_grants *g, const struct rs_window_tuning *tuning, uint64_t buffer);
/* A process asks. Where there is no place for it, the host with most askers gives one up; has none
 * more than the one that asks would have, there is no answer. */
void rs_grants_asked(struct rs_grants *g, const uint8_t own[16], const uint8_t peer[16],
		     uint8_t slot, uint32_t question, rs_time now);
/* The next answer to be sent; false: there is none. After each question, until there is none. */
bool rs_grants_next(struct rs_grants *g, struct rs_grant *out);

#endif

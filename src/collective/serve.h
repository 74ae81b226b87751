/*
 * Inference with prefill and decoding on GPUs of their own: requests come, one GPU computes a
 * request's keys and values, which go to another one that generates the tokens.
 */
#ifndef RS_COLLECTIVE_SERVE_H
#define RS_COLLECTIVE_SERVE_H

#include "collective/program.h"

/* A request, and its nodes of the graph. */
struct rs_request {
	rs_time arrival;
	uint32_t prefill, decode;        /* ranks */
	uint32_t computed, there;        /* nodes: all of the prefill; all bytes came */
	rs_time prefilled, moved, first; /* when, from the run's start; RS_NEVER: not */
};

struct rs_serve_result {
	uint32_t done, good; /* requests with a first token; of these within the objective */
	rs_time first[3];    /* time to first token: median, 90th and 99th percentile */
	rs_time moving[3];   /* of it: after the prefill until all keys and values are there */
	double rate;         /* good requests a second, from the first arrival to the last token */
};

/* requests: as many as conf says, in the arena. Arrivals are drawn from the conf's and the run's
 * seed. */
int rs_serve_work(const struct rs_serve_conf *c, uint64_t seed, struct rs_arena *a,
		  struct rs_work **out, struct rs_request **requests, struct rs_error *e);
void rs_serve_evaluate(const struct rs_program *p, const struct rs_serve_conf *c,
		       struct rs_request *requests, struct rs_serve_result *out);

#endif

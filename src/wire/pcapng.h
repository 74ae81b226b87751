/* pcapng (draft-ietf-opsawg-pcapng) out, with nanosecond times; classic pcap and pcapng in. */
#ifndef RS_WIRE_PCAPNG_H
#define RS_WIRE_PCAPNG_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include "base/error.h"
#include "base/time.h"

struct rs_pcapng_writer;

/* Truncates path. One writer, many interfaces (links), each with a name. */
int rs_pcapng_create(const char *path, struct rs_pcapng_writer **out, struct rs_error *e);
/* Returns the interface's number, or a negative errno. */
int rs_pcapng_add_interface(struct rs_pcapng_writer *w, const char *name);
/* t from the run's start; resolution written is one nanosecond. */
int rs_pcapng_write(struct rs_pcapng_writer *w, int interface, rs_time t, const uint8_t *frame,
		    size_t n);
/* Flushes and closes; a short write anywhere before is reported here. */
int rs_pcapng_close(struct rs_pcapng_writer *w, struct rs_error *e);

struct rs_pcap_reader;
struct rs_pcap_packet {
	int64_t when_ns;             /* nanoseconds since the epoch (rs_time spans 106 days only) */
	uint32_t captured, original; /* bytes */
	uint32_t interface; /* and, above 16 bits, the place in a cooked capture (wire/link.h) */
	bool foreign;       /* of a link layer that is not known: the bytes are no Ethernet frame */
	const uint8_t *bytes; /* borrowed until the next call */
};

/* Ethernet, and what wire/link.h makes Ethernet of. Reads the whole of a file of at most 1 GiB. */
int rs_pcap_open(const char *path, struct rs_pcap_reader **r, struct rs_error *e);
/* The same over memory: for fuzzing. name is used in errors. */
int rs_pcap_open_memory(const uint8_t *bytes, size_t n, const char *name,
			struct rs_pcap_reader **out, struct rs_error *e);
/* 1: a packet; 0: the end; -ENODATA: the end, in the middle of a packet; else negative: malformed,
 * with e naming packet number and field. */
int rs_pcap_next(struct rs_pcap_reader *r, struct rs_pcap_packet *p, struct rs_error *e);
void rs_pcap_close(struct rs_pcap_reader *r);

#endif

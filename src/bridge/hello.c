/* The frame in which switches tell each other where addresses are. */
#include "bridge/hello.h"

#include <string.h>
#include "base/bytes.h"

enum { ETHERNET_LEAST = 60, ASKS = 1 };

static const uint8_t nearest_bridge[6] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e};
static const uint8_t magic[4] = {'R', 'S', 'B', 1};

size_t hello_encode(const struct hello *h, const uint8_t from[6], uint8_t out[HELLO_MAX])
{
	size_t n = HELLO_HEAD;

	memset(out, 0, ETHERNET_LEAST);
	memcpy(out, nearest_bridge, 6);
	memcpy(out + 6, from, 6);
	rs_put16(out + 12, HELLO_ETHERTYPE);
	memcpy(out + 14, magic, sizeof(magic));
	rs_put64(out + 18, h->digest);
	rs_put32(out + 26, h->sw);
	rs_put16(out + 30, h->port);
	out[32] = h->asks ? ASKS : 0;
	out[33] = h->n;
	for (unsigned i = 0; i < h->n; i++, n += HELLO_PLACE) {
		memcpy(out + n, h->place[i].address, 6);
		rs_put32(out + n + 6, h->place[i].endpoint);
		rs_put64(out + n + 10, h->place[i].stamp);
	}
	return n < ETHERNET_LEAST ? ETHERNET_LEAST : n;
}

bool hello_decode(const uint8_t *frame, size_t n, struct hello *out)
{
	const uint8_t *at = frame + HELLO_HEAD;

	if (n < HELLO_HEAD || rs_get16(frame + 12) != HELLO_ETHERTYPE ||
	    memcmp(frame + 14, magic, sizeof(magic)) != 0 || frame[33] > HELLO_PLACES ||
	    n < HELLO_HEAD + (size_t)frame[33] * HELLO_PLACE)
		return false;
	out->digest = rs_get64(frame + 18);
	out->sw = rs_get32(frame + 26);
	out->port = rs_get16(frame + 30);
	out->asks = frame[32] & ASKS;
	out->n = frame[33];
	for (unsigned i = 0; i < out->n; i++, at += HELLO_PLACE) {
		memcpy(out->place[i].address, at, 6);
		out->place[i].endpoint = rs_get32(at + 6);
		out->place[i].stamp = rs_get64(at + 10);
	}
	return true;
}

/* The packet decoder: whatever decodes encodes to the same bytes, but for a bad ICRC and the second
 * way to write a checksum of zero, and those bytes decode to the same packet. */
#include <string.h>
#include "base/error.h"
#include "fuzz.h"
#include "base/bytes.h"
#include "wire/frame.h"
#include "wire/telemetry.h"

enum { IPV4_CHECKSUM = 10 };

/* Payload and trailer are compared as bytes: where they lie differs. */
static void same_packet(struct rs_packet *a, struct rs_packet *b)
{
	rs_assert(a->payload_bytes == b->payload_bytes);
	if (a->payload_bytes)
		rs_assert(!memcmp(a->payload, b->payload, a->payload_bytes));
	a->payload = b->payload = NULL;
	rs_assert(!memcmp(a, b, sizeof(*a)));
}

static void same_frame(struct rs_frame *a, struct rs_frame *b)
{
	rs_assert(a->trailer_bytes == b->trailer_bytes && a->icrc_ok == b->icrc_ok);
	if (a->trailer_bytes)
		rs_assert(!memcmp(a->trailer, b->trailer, a->trailer_bytes));
	if (!a->icrc_ok)
		a->icrc = b->icrc; /* a wrong one is made anew, wrong again */
	a->trailer = b->trailer = NULL;
	rs_assert(!memcmp(a, b, sizeof(*a)));
}

static void same_bytes(const uint8_t *in, const uint8_t *out, size_t n, const struct rs_frame *f,
		       const struct rs_packet *p)
{
	size_t ip = RS_ETH_BYTES + (f->vlan ? RS_VLAN_BYTES : 0u);
	size_t icrc = n - f->trailer_bytes - RS_ICRC_BYTES -
		      (f->stamped ? RS_INT_TRAILER_BYTES : f->filled);

	for (size_t i = 0; i < n; i++) {
		if (in[i] == out[i])
			continue;
		if (p->kind == RS_KIND_ROCE && p->corrupt && i >= icrc && i < icrc + RS_ICRC_BYTES)
			continue;
		rs_assert(p->kind == RS_KIND_ROCE && !f->ipv6 &&
			  rs_get16(in + ip + IPV4_CHECKSUM) == 0xffff);
		rs_assert(i - ip == IPV4_CHECKSUM || i - ip == IPV4_CHECKSUM + 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	static uint8_t out[RS_MAX_PAYLOAD + RS_MAX_HEADERS + RS_TRAILER_MAX];
	struct rs_error why = {0};
	struct rs_frame f, g;
	struct rs_packet p, q;
	enum rs_decode r = rs_frame_decode(bytes, n, &f, &p, &why);

	rs_assert((r == RS_DECODE_OK) == !why.code && !why.code == !why.what[0]);
	if (r)
		return 0;
	rs_assert(p.kind == RS_KIND_PFC || p.payload_bytes <= RS_MAX_PAYLOAD);
	rs_assert(rs_frame_encode(&f, &p, out, n - 1) < 0);
	rs_assert(rs_frame_encode(&f, &p, out, sizeof(out)) == (long)n);
	same_bytes(bytes, out, n, &f, &p);
	rs_assert(rs_frame_decode(out, n, &g, &q, NULL) == RS_DECODE_OK);
	same_packet(&p, &q);
	same_frame(&f, &g);
	return 0;
}

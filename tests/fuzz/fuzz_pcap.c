/* The capture reader, and the story that ripstop pcap tells: every packet's bytes are there, the
 * end is reached, an error is the last thing said. Packets go on to the decoder. */
#include "base/error.h"
#include "fuzz.h"
#include "capture/follow.h"
#include "wire/pcapng.h"

/* In the file, or in the reader's room after its link layer was taken off: not beyond either. */
static void check_packet(const struct rs_pcap_packet *k, size_t n)
{
	struct rs_packet p;
	struct rs_frame f;
	unsigned sum = 0;

	rs_assert(k->captured <= n + 64 && k->captured <= k->original);
	for (uint32_t i = 0; i < k->captured; i++)
		sum += k->bytes[i]; /* a sanitizer looks */
	rs_assert(sum <= 255 * k->captured);
	if (!k->foreign)
		rs_frame_decode_part(k->bytes, k->captured, k->original, &f, &p, NULL);
}

static void tell(struct rs_follow *f, const struct rs_pcap_packet *k)
{
	if (k->foreign) {
		rs_follow_foreign(f);
		return;
	}
	rs_follow_learn_part(f, k->bytes, k->captured, k->original);
	rs_assert(!rs_follow_part(f, k->interface, k->when_ns, k->bytes, k->captured, k->original));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct rs_pcap_reader *r = NULL;
	struct rs_pcap_packet k;
	struct rs_error e = {0};
	struct rs_follow *f;
	size_t packets = 0;
	int got;

	if (rs_pcap_open_memory(bytes, n, "fuzz", &r, &e)) {
		rs_assert(e.code < 0 && e.what[0] && !r);
		return 0;
	}
	rs_assert(!rs_follow_create(&f));
	while ((got = rs_pcap_next(r, &k, &e)) > 0) {
		check_packet(&k, n);
		tell(f, &k);
		rs_assert(++packets <= n / 16); /* no record is shorter */
	}
	rs_assert(!got || (e.code == got && e.what[0]));
	rs_assert(rs_pcap_next(r, &k, &e) <= 0);
	rs_assert(!rs_follow_finish(f) && rs_follow_totals(f)->frames == packets);
	rs_follow_destroy(f);
	rs_pcap_close(r);
	return 0;
}

/* The capture reader: every packet lies inside the file, the end is reached, an error is the last
 * thing said. Packets go on to the decoder. */
#include "base/error.h"
#include "fuzz.h"
#include "wire/frame.h"
#include "wire/pcapng.h"

static void check_packet(const struct rs_pcap_packet *k, const uint8_t *bytes, size_t n)
{
	struct rs_packet p;
	struct rs_frame f;

	rs_assert(k->bytes >= bytes && k->bytes <= bytes + n);
	rs_assert(k->captured <= (size_t)(bytes + n - k->bytes));
	rs_frame_decode(k->bytes, k->captured, &f, &p, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct rs_pcap_reader *r = NULL;
	struct rs_pcap_packet k;
	struct rs_error e = {0};
	size_t packets = 0;
	int got;

	if (rs_pcap_open_memory(bytes, n, "fuzz", &r, &e)) {
		rs_assert(e.code < 0 && e.what[0] && !r);
		return 0;
	}
	while ((got = rs_pcap_next(r, &k, &e)) > 0) {
		check_packet(&k, bytes, n);
		rs_assert(++packets <= n / 16); /* no record is shorter */
	}
	rs_assert(!got || (e.code == got && e.what[0]));
	rs_assert(rs_pcap_next(r, &k, &e) <= 0);
	rs_pcap_close(r);
	return 0;
}

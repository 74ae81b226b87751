/* Reads classic pcap (both byte orders, us and ns) and pcapng; every length is checked first.
 * Frames of other link layers become Ethernet's. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/bytes.h"
#include "wire/link.h"
#include "wire/pcapng.h"

enum {
	CAPTURED_MAX = 1 << 20,
	BLOCK_MAX = 1 << 24,
	ORIGINAL_MAX = 1 << 30
}; /* what writers keep to */
enum { INTERFACES_MAX = 65536, SECTION = 0x0a0d0d0a, BYTE_ORDER_MAGIC = 0x1a2b3c4d };
enum { IDB = 1, PB = 2, SPB = 3, EPB = 6, OPT_TSRESOL = 9, OPT_TSOFFSET = 14 };

struct interface {
	uint16_t link;
	uint8_t resolution;
	uint32_t snaplen;
	int64_t offset; /* seconds */
};

struct rs_pcap_reader {
	uint8_t *owned;
	const uint8_t *b, *end;
	char name[256];
	bool ng, little, nano;
	uint32_t link;                /* of a classic one */
	struct interface *interfaces; /* of this section */
	uint32_t n_interfaces, cap_interfaces;
	uint64_t packets;
	uint8_t *room; /* of frames that were converted */
};

static uint32_t get32(const struct rs_pcap_reader *r, const uint8_t *b)
{
	return r->little ? rs_get32_le(b) : rs_get32(b);
}

static uint16_t get16(const struct rs_pcap_reader *r, const uint8_t *b)
{
	return r->little ? (uint16_t)(b[1] << 8 | b[0]) : rs_get16(b);
}

static size_t left(const struct rs_pcap_reader *r)
{
	return (size_t)(r->end - r->b);
}

/* The file ends in the middle of a record, as when its writer was killed. */
static int ends(struct rs_pcap_reader *r, struct rs_error *e)
{
	r->b = r->end;
	return rs_error_set(e, -ENODATA, "%s: the file ends in the middle of packet %llu", r->name,
			    (unsigned long long)r->packets + 1);
}

static int bad(struct rs_pcap_reader *r, struct rs_error *e, const char *field, uint64_t found)
{
	r->b = r->end;
	return rs_error_set(e, -EBADMSG, "%s: packet %llu: %s: %llu cannot be", r->name,
			    (unsigned long long)r->packets + 1, field, (unsigned long long)found);
}

static int open_classic(struct rs_pcap_reader *r, struct rs_error *e)
{
	uint32_t magic = rs_get32(r->b);

	r->little = magic == 0xd4c3b2a1 || magic == 0x4d3cb2a1;
	r->nano = magic == 0xa1b23c4d || magic == 0x4d3cb2a1;
	if (!r->little && !r->nano && magic != 0xa1b2c3d4)
		return rs_error_set(e, -EBADMSG, "%s: neither pcap nor pcapng", r->name);
	if (left(r) < 24)
		return rs_error_set(e, -EBADMSG, "%s: file header: expected 24 bytes, found %zu",
				    r->name, left(r));
	r->link = get32(r, r->b + 20) & 0xffff; /* above: the length of an FCS */
	if (!rs_link_known(r->link))
		return rs_error_set(e, -EPROTONOSUPPORT,
				    "%s: link type %u: not one that is read here (%s)", r->name,
				    r->link, rs_link_names);
	r->b += 24;
	return 0;
}

int rs_pcap_open_memory(const uint8_t *bytes, size_t n, const char *name,
			struct rs_pcap_reader **out, struct rs_error *e)
{
	struct rs_pcap_reader *r = calloc(1, sizeof(*r));
	int err = 0;

	if (!r)
		return rs_error_set(e, -ENOMEM, "out of memory");
	r->b = bytes;
	r->end = bytes + n;
	r->room = malloc(RS_LINK_ROOM);
	if (!r->room) {
		free(r);
		return rs_error_set(e, -ENOMEM, "out of memory");
	}
	snprintf(r->name, sizeof(r->name), "%s", name);
	if (n < 4)
		err = rs_error_set(e, -EBADMSG, "%s: neither pcap nor pcapng", name);
	else if (rs_get32(bytes) == SECTION)
		r->ng = true;
	else
		err = open_classic(r, e);
	if (err)
		rs_pcap_close(r);
	else
		*out = r;
	return err;
}

/* The whole of an open file; freed by the caller; NULL after an error, which is in e. */
static uint8_t *read_whole(const char *path, int fd, size_t *n, struct rs_error *e)
{
	struct stat st;
	uint8_t *bytes;
	ssize_t got = 1;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		rs_error_set(e, -EINVAL, "%s: not a regular file", path);
		return NULL;
	}
	if (st.st_size > 1L << 30) {
		rs_error_set(e, -EFBIG, "%s: larger than 1 GiB", path);
		return NULL;
	}
	bytes = malloc(st.st_size ? (size_t)st.st_size : 1);
	if (!bytes) {
		rs_error_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	for (*n = 0; got > 0 && *n<(size_t)st.st_size; *n += got> 0 ? (size_t)got : 0)
		got = read(fd, bytes + *n, (size_t)st.st_size - *n);
	if (got < 0) {
		rs_error_set(e, -EIO, "%s: cannot be read", path);
		free(bytes);
		return NULL;
	}
	return bytes;
}

int rs_pcap_open(const char *path, struct rs_pcap_reader **r, struct rs_error *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO is not waited for */
	struct rs_error own = {0};
	uint8_t *bytes;
	size_t n = 0;
	int err;

	e = e ? e : &own;
	if (fd < 0) {
		err = -errno;
		return rs_error_set(e, err, "%s: %s", path, strerror(-err));
	}
	bytes = read_whole(path, fd, &n, e);
	close(fd);
	if (!bytes)
		return e->code;
	err = rs_pcap_open_memory(bytes, n, path, r, e);
	if (err)
		free(bytes);
	else
		(*r)->owned = bytes;
	return err;
}

/* What is too short for its own link layer has no bytes then. */
static int deliver(struct rs_pcap_reader *r, uint32_t link, struct rs_pcap_packet *p)
{
	struct rs_link_frame f = {p->bytes, p->captured, p->original, 0};

	r->packets++;
	if (f.original < f.captured || f.original > ORIGINAL_MAX) /* neither can be */
		f.original = p->original = f.captured;
	p->foreign = !rs_link_known(link) || !rs_link_to_ethernet(link, &f, r->room);
	if (p->foreign)
		return 1;
	p->bytes = f.bytes;
	p->captured = f.captured;
	p->original = f.original;
	p->interface |= f.place << 16;
	return 1;
}

static int next_classic(struct rs_pcap_reader *r, struct rs_pcap_packet *p, struct rs_error *e)
{
	uint32_t fraction;

	if (left(r) < 16)
		return ends(r, e);
	fraction = get32(r, r->b + 4);
	p->captured = get32(r, r->b + 8);
	p->original = get32(r, r->b + 12);
	p->interface = 0;
	if (fraction >= (r->nano ? 1000000000u : 1000000u))
		return bad(r, e, "fraction of a second", fraction);
	if (p->captured > CAPTURED_MAX)
		return bad(r, e, "captured length", p->captured);
	if (p->captured > left(r) - 16)
		return ends(r, e);
	p->when_ns =
		(int64_t)get32(r, r->b) * 1000000000 + (int64_t)fraction * (r->nano ? 1 : 1000);
	p->bytes = r->b + 16;
	r->b += 16 + p->captured;
	return deliver(r, r->link, p);
}

/* A section begins: its byte order, and no interfaces yet. b: the block, at least 12 bytes. */
static int begin_section(struct rs_pcap_reader *r, struct rs_error *e)
{
	if (left(r) < 28)
		return bad(r, e, "section header bytes", left(r));
	r->little = rs_get32_le(r->b + 8) == BYTE_ORDER_MAGIC;
	if (!r->little && rs_get32(r->b + 8) != BYTE_ORDER_MAGIC)
		return bad(r, e, "byte-order magic", rs_get32(r->b + 8));
	if (get32(r, r->b + 4) < 28)
		return bad(r, e, "section header length", get32(r, r->b + 4));
	if (get16(r, r->b + 12) != 1)
		return bad(r, e, "pcapng major version", get16(r, r->b + 12));
	r->n_interfaces = 0;
	return 0;
}

static int interface_options(struct rs_pcap_reader *r, struct interface *i, const uint8_t *b,
			     const uint8_t *end, struct rs_error *e)
{
	while (end - b >= 4 && get16(r, b)) {
		uint16_t code = get16(r, b), n = get16(r, b + 2);

		b += 4;
		if (n > end - b)
			return bad(r, e, "interface option length", n);
		if (code == OPT_TSRESOL && n == 1)
			i->resolution = b[0];
		if (code == OPT_TSOFFSET && n == 8) {
			uint32_t first = get32(r, b), second = get32(r, b + 4);

			i->offset = (int64_t)(r->little ? (uint64_t)second << 32 | first
							: (uint64_t)first << 32 | second);
		}
		b += (n + 3) & ~3;
		if (b > end)
			return bad(r, e, "interface option length", n);
	}
	return 0;
}

static int add_interface(struct rs_pcap_reader *r, const uint8_t *b, uint32_t length,
			 struct rs_error *e)
{
	struct interface i = {.resolution = 6};
	int err;

	if (length < 20)
		return bad(r, e, "interface block length", length);
	if (r->n_interfaces == INTERFACES_MAX)
		return bad(r, e, "number of interfaces", r->n_interfaces);
	i.link = get16(r, b + 8);
	i.snaplen = get32(r, b + 12);
	err = interface_options(r, &i, b + 16, b + length - 4, e);
	if (err)
		return err;
	if (r->n_interfaces == r->cap_interfaces) {
		uint32_t cap = r->cap_interfaces ? 2 * r->cap_interfaces : 16;
		struct interface *grown = realloc(r->interfaces, cap * sizeof(*grown));

		if (!grown)
			return rs_error_set(e, -ENOMEM, "out of memory");
		r->interfaces = grown;
		r->cap_interfaces = cap;
	}
	r->interfaces[r->n_interfaces++] = i;
	return 0;
}

/* Units of the interface's resolution to nanoseconds; false where int64_t cannot hold them. */
static bool nanoseconds(const struct interface *i, uint64_t units, int64_t *ns)
{
	rs_uint128 v = units;
	unsigned n = i->resolution & 0x7f;
	int64_t offset;

	if (n > (i->resolution & 0x80 ? 63u : 18u))
		return false;
	if (i->resolution & 0x80)
		v = (v * 1000000000) >> n;
	for (; !(i->resolution & 0x80) && n < 9; n++)
		v *= 10;
	for (; !(i->resolution & 0x80) && n > 9; n--)
		v /= 10;
	return v <= INT64_MAX && !__builtin_mul_overflow(i->offset, 1000000000, &offset) &&
	       !__builtin_add_overflow((int64_t)v, offset, ns);
}

static int packet_block(struct rs_pcap_reader *r, uint32_t type, const uint8_t *b, uint32_t length,
			struct rs_pcap_packet *p, struct rs_error *e)
{
	uint32_t head = type == SPB ? 12 : 28;
	const struct interface *i;
	uint64_t units = 0;

	if (length < head + 4)
		return bad(r, e, "packet block length", length);
	p->interface = type == EPB ? get32(r, b + 8) : type == PB ? get16(r, b + 8) : 0;
	if (p->interface >= r->n_interfaces)
		return bad(r, e, "interface", p->interface);
	i = &r->interfaces[p->interface];
	p->original = get32(r, b + head - 4);
	p->captured = type == SPB ? p->original : get32(r, b + 20);
	if (type == SPB && i->snaplen && p->captured > i->snaplen)
		p->captured = i->snaplen;
	if (type != SPB)
		units = (uint64_t)get32(r, b + 12) << 32 | get32(r, b + 16);
	if (p->captured > length - head - 4)
		return bad(r, e, "captured length", p->captured);
	if (!nanoseconds(i, units, &p->when_ns))
		return bad(r, e, "time", units);
	p->bytes = b + head;
	return deliver(r, i->link, p);
}

/* The next block: 1 where it held a packet, 0 where not. */
static int next_block(struct rs_pcap_reader *r, struct rs_pcap_packet *p, struct rs_error *e)
{
	const uint8_t *b = r->b;
	uint32_t type, length;
	int err;

	if (left(r) < 12)
		return ends(r, e);
	if (rs_get32(b) == SECTION && (err = begin_section(r, e)))
		return err;
	type = get32(r, b);
	length = get32(r, b + 4);
	if (length < 12 || length % 4 || length > BLOCK_MAX)
		return bad(r, e, "block length", length);
	if (length > left(r))
		return ends(r, e);
	if (get32(r, b + length - 4) != length)
		return bad(r, e, "block length repeated", get32(r, b + length - 4));
	r->b += length;
	if (type == IDB)
		return add_interface(r, b, length, e);
	return type == EPB || type == SPB || type == PB ? packet_block(r, type, b, length, p, e)
							: 0;
}

int rs_pcap_next(struct rs_pcap_reader *r, struct rs_pcap_packet *p, struct rs_error *e)
{
	int got = 0;

	if (!r->ng)
		return r->b == r->end ? 0 : next_classic(r, p, e);
	while (!got && r->b != r->end)
		got = next_block(r, p, e);
	return got;
}

void rs_pcap_close(struct rs_pcap_reader *r)
{
	if (!r)
		return;
	free(r->interfaces);
	free(r->owned);
	free(r->room);
	free(r);
}

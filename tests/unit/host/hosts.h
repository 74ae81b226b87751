/* Small hosts that the tests of this room share. */
#ifndef TESTS_UNIT_HOST_HOSTS_H
#define TESTS_UNIT_HOST_HOSTS_H

#include "host/host.h"

/* Two sockets; switch pci0 with nic0 and gpu0; switches pci1, pci2 below pci1, with gpu1; nic1 and
 * gpu2 at root ports of socket 0; gpu3 and switch pci3 with gpu4 on socket 1. All links alike. */
enum { S0, S1, PCI0, PCI1, PCI2, PCI3, NIC0, NIC1, GPU0, GPU1, GPU2, GPU3, GPU4, N_PARTS };

struct sample {
	struct rs_part parts[N_PARTS];
	struct rs_xlink xlink;
	struct rs_host host;
};

static inline struct rs_part part_of(const char *name, enum rs_part_kind kind, int parent,
				     struct rs_pcie up)
{
	return (struct rs_part){.name = name,
				.kind = kind,
				.parent = parent,
				.parent2 = RS_NO_PART,
				.up = up,
				.numa = -1};
}

static inline void sample_host(struct sample *s, const char *cpu, struct rs_pcie up)
{
	const struct rs_pcie none = {0};

	*s = (struct sample){
		.parts = {[S0] = part_of("socket0", RS_PART_SOCKET, RS_NO_PART, none),
			  [S1] = part_of("socket1", RS_PART_SOCKET, RS_NO_PART, none),
			  [PCI0] = part_of("pci0", RS_PART_PCI_BRIDGE, S0, up),
			  [PCI1] = part_of("pci1", RS_PART_PCI_BRIDGE, PCI0, up),
			  [PCI2] = part_of("pci2", RS_PART_PCI_BRIDGE, PCI1, up),
			  [PCI3] = part_of("pci3", RS_PART_PCI_BRIDGE, S1, up),
			  [NIC0] = part_of("nic0", RS_PART_NIC, PCI0, up),
			  [NIC1] = part_of("nic1", RS_PART_NIC, S0, up),
			  [GPU0] = part_of("gpu0", RS_PART_GPU, PCI0, up),
			  [GPU1] = part_of("gpu1", RS_PART_GPU, PCI2, up),
			  [GPU2] = part_of("gpu2", RS_PART_GPU, S0, up),
			  [GPU3] = part_of("gpu3", RS_PART_GPU, S1, up),
			  [GPU4] = part_of("gpu4", RS_PART_GPU, PCI3, up)},
		.xlink = {S0, S1, RS_XLINK_SOCKET, 0, -1, 0},
		.host = {.name = "sample",
			 .source = "written out",
			 .cpu = cpu,
			 .n_parts = N_PARTS,
			 .n_xlinks = 1},
	};
	s->parts[S0].numa = 0;
	s->parts[S1].numa = 1;
	s->host.parts = s->parts;
	s->host.xlinks = &s->xlink;
}

#endif

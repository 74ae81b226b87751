/* Private to audit/: facts by their place in sysfs, procfs and configfs, wherever the place comes
 * from: a tree, an archive, a listing of "path:value" lines, this host. */
#ifndef RS_AUDIT_READ_PLACE_H
#define RS_AUDIT_READ_PLACE_H

#include "audit/read/reader.h"

/* Adds what a file at `path` that holds `value` says. 1: it said something, 0: not known. */
int rs_place_add(struct rs_audit *a, const struct rs_input *in, uint32_t line, const char *path,
		 const char *value);
/* The same without adding. */
bool rs_place_known(const char *path);

/* A network or RDMA device named in a file's name ("mlnx_qos-eth4.txt"); "unnamed" when none. Where
 * a tool's text does not say whose it is, its file's name is all there is. */
void rs_input_device(const struct rs_input *in, char *out, size_t size);
/* mlx5_0, rocep80s0, ibp25s0, bnxt_re0, irdma0, hrn3_bond_0: an RDMA device rather than a netdev.
 */
bool rs_is_rdma_name(const char *name);

/* How many bytes at the beginning of a text name a bundle of a switch's ports: "port-channel7",
 * "Bundle-Ether 98", "Eth-Trunk0", "ae4". 0: none, or a part of one, "Po7.100". */
size_t rs_bundle_name(const char *text);

/* A PCI address at the beginning of a text, "16:00.0" or "0000:16:00.0", with its domain. */
bool rs_pci_address(const char *text, char *full, size_t size);

#endif

/*
 * Facts as the simulator's own structs: a host's inside from its PCI tree, and the description of a
 * fabric of the audited hosts. What is not known stays unknown (0, -1), as host.h says.
 */
#ifndef RS_AUDIT_PRICE_MODEL_H
#define RS_AUDIT_PRICE_MODEL_H

#include "audit/facts/audit.h"
#include "host/host.h"

/* A host with GPUs, RDMA devices and interfaces, in the audit's arena; after rs_audit_run() or
 * rs_facts_seal(). -ENODATA: no PCI tree is known; -E2BIG; -ENOMEM. */
int rs_audit_host(struct rs_audit *a, const char *host, struct rs_host **out, struct rs_error *e);

/* PCIe generation of tenths of GT/s; 0: not known. */
unsigned rs_audit_pcie_gen(int64_t tenths);

#endif

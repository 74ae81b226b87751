/* Registers of PCI Express as facts: PCI Express Base Specification 7.5.3. */
#ifndef RS_AUDIT_FACTS_PCIE_H
#define RS_AUDIT_FACTS_PCIE_H

/* Tenths of GT/s by the code of Link Capabilities and Link Status (7.5.3.6, 7.5.3.8); 0: reserved.
 */
long rs_pcie_speed(unsigned code);

enum { RS_PCIE_CONTROL_FACTS = 4 };
struct rs_pcie_fact {
	const char *name;
	long value;
};
/* What Device Control (7.5.3.4) sets: payload and read request in bytes, ordering, tags. */
void rs_pcie_control(unsigned control, struct rs_pcie_fact out[RS_PCIE_CONTROL_FACTS]);

#endif

/* Registers of PCI Express as facts. */
#include "audit/facts/pcie.h"

long rs_pcie_speed(unsigned code)
{
	static const long tenths[] = {0, 25, 50, 80, 160, 320, 640};

	return code < sizeof(tenths) / sizeof(*tenths) ? tenths[code] : 0;
}

void rs_pcie_control(unsigned control, struct rs_pcie_fact out[RS_PCIE_CONTROL_FACTS])
{
	out[0] = (struct rs_pcie_fact){"mps", 128L << (control >> 5 & 7)};
	out[1] = (struct rs_pcie_fact){"mrrs", 128L << (control >> 12 & 7)};
	out[2] = (struct rs_pcie_fact){"relaxed_ordering", control >> 4 & 1};
	out[3] = (struct rs_pcie_fact){"ext_tag", control >> 8 & 1};
}

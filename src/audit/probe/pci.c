/* PCI configuration space by libpci, read only: PCI Express Base Specification chapter 7 (link,
 * device control, ACS, ATS). Beyond its first 64 bytes it needs root; then that is the fact. */
#include <pci/pci.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "audit/facts/pcie.h"
#include "audit/probe/probe.h"

/* libpci reports a failure by a function that may not come back. */
static jmp_buf gave_up;

static void __attribute__((noreturn)) on_error(char *fmt, ...)
{
	longjmp(gave_up, 1);
}

static void on_warning(char *fmt, ...)
{
}

struct function {
	struct rs_fact_text *t;
	struct pci_dev *d;
	char subject[64];
};

static void put(struct function *f, const char *name, long value)
{
	rs_fact_line(f->t, f->subject, name, "%ld", value);
}

static void express(struct function *f, int at)
{
	unsigned caps = pci_read_long(f->d, at + PCI_EXP_DEVCAP);
	unsigned control = pci_read_word(f->d, at + PCI_EXP_DEVCTL);
	unsigned link = pci_read_long(f->d, at + PCI_EXP_LNKCAP);
	unsigned status = pci_read_word(f->d, at + PCI_EXP_LNKSTA);
	unsigned type = (pci_read_word(f->d, at + PCI_EXP_FLAGS) & PCI_EXP_FLAGS_TYPE) >> 4;
	struct rs_pcie_fact set[RS_PCIE_CONTROL_FACTS];

	put(f, "mps_max", 128L << (caps & PCI_EXP_DEVCAP_PAYLOAD));
	rs_pcie_control(control, set);
	for (unsigned i = 0; i < RS_PCIE_CONTROL_FACTS; i++)
		put(f, set[i].name, set[i].value);
	put(f, "port_type", (long)type);
	/* an endpoint inside the root complex has no link */
	if (type == PCI_EXP_TYPE_ROOT_INT_EP || type == PCI_EXP_TYPE_ROOT_EC)
		return;
	put(f, "max_link_speed", rs_pcie_speed(link & PCI_EXP_LNKCAP_SPEED));
	put(f, "max_link_width", (link & PCI_EXP_LNKCAP_WIDTH) >> 4);
	put(f, "link_speed", rs_pcie_speed(status & PCI_EXP_LNKSTA_SPEED));
	put(f, "link_width", (status & PCI_EXP_LNKSTA_WIDTH) >> 4);
}

static void extended(struct function *f)
{
	struct pci_cap *c = pci_find_cap(f->d, PCI_EXT_CAP_ID_ACS, PCI_CAP_EXTENDED);

	if (c)
		rs_fact_line(f->t, f->subject, "acs_control", "0x%02x",
			     (unsigned)pci_read_word(f->d, (int)c->addr + PCI_ACS_CTRL));
	c = pci_find_cap(f->d, PCI_EXT_CAP_ID_ATS, PCI_CAP_EXTENDED);
	if (c)
		put(f, "ats",
		    !!(pci_read_word(f->d, (int)c->addr + PCI_ATS_CTRL) & PCI_ATS_CTRL_ENABLE));
}

/* What lspci's reader says of the same function. */
static const char *kind(const struct pci_dev *d)
{
	switch (d->device_class) {
	case PCI_CLASS_BRIDGE_PCI:
		return "bridge";
	case PCI_CLASS_DISPLAY_3D:
		return "gpu";
	case PCI_CLASS_DISPLAY_VGA:
		return d->vendor_id == 0x10de || d->vendor_id == 0x1002 ? "gpu" : "other";
	case PCI_CLASS_DISPLAY_OTHER:
	case 0x1200: /* processing accelerators: AMD's Instinct */
		return d->vendor_id == 0x1002 || d->vendor_id == 0x10de ? "gpu" : "other";
	case PCI_CLASS_NETWORK_ETHERNET:
		return d->vendor_id == 0x15b3 ? "nic" : "ethernet";
	case 0x0207: /* InfiniBand controller */
		return "nic";
	default:
		return "other";
	}
}

static void function(struct rs_fact_text *t, struct pci_dev *d)
{
	struct function f = {.t = t, .d = d};
	unsigned char byte;
	struct pci_cap *c;

	pci_fill_info(d, PCI_FILL_IDENT | PCI_FILL_CLASS | PCI_FILL_CAPS | PCI_FILL_EXT_CAPS);
	snprintf(f.subject, sizeof(f.subject), "pci/%04x:%02x:%02x.%x", (unsigned)d->domain, d->bus,
		 d->dev, d->func);
	rs_fact_line(t, f.subject, "kind", "%s", kind(d));
	if ((pci_read_byte(d, PCI_HEADER_TYPE) & 0x7f) == PCI_HEADER_TYPE_BRIDGE)
		rs_fact_line(t, f.subject, "secondary_bus", "%u-%u",
			     pci_read_byte(d, PCI_SECONDARY_BUS),
			     pci_read_byte(d, PCI_SUBORDINATE_BUS));
	/* capabilities begin behind the header */
	if (!pci_read_block(d, 64, &byte, 1)) {
		if (pci_read_word(d, PCI_STATUS) & PCI_STATUS_CAP_LIST)
			rs_fact_line(t, f.subject, "config", "access denied");
		return;
	}
	c = pci_find_cap(d, PCI_CAP_ID_EXP, PCI_CAP_NORMAL);
	if (!c)
		return;
	express(&f, (int)c->addr);
	extended(&f);
}

static void scan(struct rs_fact_text *t)
{
	struct pci_access *host = pci_alloc();

	host->method = PCI_ACCESS_SYS_BUS_PCI;
	host->error = on_error;
	host->warning = on_warning;
	if (setjmp(gave_up))
		return;
	pci_init(host);
	pci_scan_bus(host);
	for (struct pci_dev *d = host->devices; d; d = d->next)
		function(t, d);
	pci_cleanup(host);
}

int rs_probe_pci(const struct rs_probe *p)
{
	struct rs_fact_text t = {0};

	/* a test's tree has no configuration space; without PCI in sysfs libpci would try I/O
	 * ports: not this program */
	if (*p->root || access("/sys/bus/pci/devices", R_OK))
		return 0;
	scan(&t);
	return rs_probe_emit(p, "ripstop/pci.facts", &t);
}

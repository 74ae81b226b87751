/*
 * What a line of the kernel's log says, by words: who speaks, and what befell it. A driver says its
 * faults in its own words; what they have in common is here.
 */
#ifndef RS_AUDIT_FACTS_KERNEL_LINE_H
#define RS_AUDIT_FACTS_KERNEL_LINE_H

enum rs_kernel_line {
	RS_KERNEL_NONE,  /* of another log, or of a part that has no check */
	RS_KERNEL_CALM,  /* what a healthy machine says: a start, a capability, a link that is up */
	RS_KERNEL_FAULT, /* a device or a part of the kernel failed */
};

enum rs_kernel_part {
	RS_KERNEL_NIC,
	RS_KERNEL_GPU,
	RS_KERNEL_PCI,
	RS_KERNEL_IOMMU,
	RS_KERNEL_CPU,
	RS_KERNEL_NET,
	RS_KERNEL_MODULE,
	RS_KERNEL_VF,
	RS_KERNEL_ULP, /* who uses RDMA in the kernel: IPoIB, NVMe, iSER, SRP, NFS */
};

/* part: whose fault it is; NULL: not asked. */
enum rs_kernel_line rs_kernel_line(const char *text, enum rs_kernel_part *part);

#endif

/* Lines of the kernel's log by words: Linux's drivers (mlx4, mlx5, bnxt, irdma, ice, efa, erdma,
 * hns, hinic, ionic, qed, cxgb4, hfi1, cxi, mana), PCI, IOMMU, RAS and network; NVRM; amdgpu. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "audit/facts/kernel_line.h"
#include "audit/facts/word_list.h"

enum { TEXT = 512 };

/* Words are parted by '|' and begin at a word's beginning; '~': anywhere. */
static const struct {
	const char *who;
	enum rs_kernel_part part;
} speakers[] = {
	{"version magic|disagrees about version|unknown symbol|key was rejected|loading of module "
	 "with "
	 "unavailable key",
	 RS_KERNEL_MODULE},
	{"~enable 1 vfs|~not enough mmio resources for sr-iov|~ vfs (bus", RS_KERNEL_VF},
	{"dmar|amd-vi|arm-smmu|swiotlb|iommu|~swiotlb buffer", RS_KERNEL_IOMMU},
	{"pcieport|pciehp|aer|dpc|pci 0|~pcie bus error|~section_type: pcie", RS_KERNEL_PCI},
	{"nvrm|nvidia|amdgpu|kfd|habanalabs|[drm", RS_KERNEL_GPU},
	{"mce|edac|rcu|watchdog: bug|bug|~[hardware error]|~cpu clock throttled|~cpu clock is "
	 "throttled|"
	 "memory cgroup out of memory|out of memory|~page allocation failure",
	 RS_KERNEL_CPU},
	{"nf_conntrack|neighbour|tcp|request_sock", RS_KERNEL_NET},
	{"mlx5_core|mlx5_ib|mlx4_core|mlx4_en|mlx4_ib|mlx5_|bnxt_en|bnxt_re|bnxtnet|bnx2x|nmlx5_|"
	 "irdma|i40iw|i40e|ice|"
	 "efa|"
	 "ena|erdma|hns_roce|hns3|hclge|ionic|ionic_rdma|pds_core|qedr|qede|[qed|cxgb4|iw_cxgb4|"
	 "hfi1|cxi_core|cxi_ss1|cxi_eth|hinic|hinic3|roce3|nes|~hw csum failure|"
	 "qib|siw|rdma_rxe|mana|mana_ib|ocrdma|be2net|usnic|vmw_pvrdma|infiniband|ib_core|ib_"
	 "uverbs|"
	 "ib_mad|ib_umad|idpf|enic|fbnic|gve|octeontx2|rvu_|sfc|atlantic|xsc|ixgbe|igb|tg3",
	 RS_KERNEL_NIC},
	{"ib_srp|ib_srpt|iser|isert|ipoib|ib_ipoib|nvme_rdma|nvmet_rdma|nvme_fabrics|rpcrdma|"
	 "xprtrdma|svcrdma|rtrs_client|rtrs_server|ib",
	 RS_KERNEL_ULP},
};

static const char faults[] =
	"fail|failed|fails|failure|~error|timeout|timed out|time out|timedout|fault|fatal|abort|"
	"aborted|aborting|catast|overheat|overheated|too high|exceeded|exceeds|~thermal threshold|"
	"hung|hang|stall|stalled|stuck|dead|~not respond|giving up|inaccessible|refused|rejects|"
	"rejected|lost|~request for reset|~reset begin|~reset event|"
	"~reset requested|overflow|overrun|~table full|~buffer is full|dropping packet|dropping "
	"request|dropped by|storm|"
	"throttled|abnormal|bad|corrupt|corrupted|mismatch|unable|"
	"could not|couldn't|no space|not enough|insufficient|out of range|shut down|shutting down|"
	"halted|panic|~machine "
	"check|killed|degraded|unexpected|malicious|uncorrectable|uncorrected|"
	"~' should be '|ae qpid|ae_id|fallen off|null pointer|~bug:|~self-detected stall|"
	"safe mode|mis-configuration|~power fault|not ready|~not present|disagrees|~unknown symbol|"
	"stopped|rebuild failed|unqualified|denied|syn flooding|unrecoverable|~detected "
	"insufficient|"
	"no more|exhausted|out of memory|~has failed|violation|poison|poisoned|bogus|~err(-|~err -|"
	"~err=-|ret:-|ret=-|ret = -|err = -|err: -|rc=-|rc = -|rc: -|~returned -";

/* A fault, unless it is of what someone asked a driver for: a filter, a flow, a ring's size. */
static const char refusals[] = "unsupported|invalid|cannot|can't|reject|rejects|login_rej|rej";
static const char requests[] =
	"flow|offload|offloading|vlan|ethtool|valid range|~valid values|~range is|filter|match|"
	"~traffic classes|usecs|autoneg|~rx-|~tx-|channels|descriptor|~fec |flags|lro|dumps|"
	"~tx rate|~tc key|media|neighbor|switchdev|~auto configuration|command|log size|"
	"~using|dump";

/* Of a slot; that a NIC's link is down is told by how often it is (host.c). */
static const char slots[] = "link down|card not present";

/* What a healthy machine says in words that frighten. */
static const char calm[] =
	"~taint|~module verification failed|~may trigger|size 0x1000]|[io|~error containment|"
	"~error reporting|~error recovery|optional|~fec autoneg|~ras: |~interrupt took too long|"
	"hogged|~suspect gro|~default domain type|recovered|succeeded|~enabled "
	"with|~enabled|~disabled "
	"lso|~page cache is disabled|~has been corrected|~no issue|~fault injection|~failover|"
	"~fail-over|~will be retried|~timeout of|~timeout set|~max timeout|~link becomes ready|"
	"~timeout=|~without error|~error handler registered|~errors: 0|~not present in fw|"
	"~no fault|~ecc error correction|~default timeout|~lockdown|~reserved|~advertised "
	"sufficient|"
	"~module is not|~spurious|~error status/mask=|~[firmware bug]|"
	"~[firmware warn]|~bios warning|~bios error|~bios bug|~command line:|"
	"~nvkmskapidevice|~direct firmware load|~timekeeping watchdog";

static bool has_one(const char *low, const char *words)
{
	return rs_word_list_has(low, words, true);
}

/* "[  123.456] text", "Nov 12 03:11:21 host kernel: [1.2] text": where the text begins; NULL: no
 * line of the kernel's log. */
static const char *begin(const char *low)
{
	unsigned whole, part;
	int n = 0;
	const char *k = strstr(low, "kernel: ");
	const char *p = k ? k + 8 : low;

	if (*p == '[' &&
	    (sscanf(p, "[ %9u.%u]%n", &whole, &part, &n) == 2 ||
	     sscanf(p, "[ +%9u.%u]%n", &whole, &part, &n) == 2) &&
	    n)
		return p + n + strspn(p + n, " ");
	/* dmesg -T */
	if (*p == '[' && isalpha((unsigned char)p[1]) && p[4] == ' ' && strchr(p, ']') &&
	    strchr(p, ']') - p < 30)
		return strchr(p, ']') + 1 + (strchr(p, ']')[1] == ' ');
	/* ESXi's */
	k = k ? k : strstr(low, "vmkwarning: ");
	k = k ? k : strstr(low, "vmkernel: ");
	return k ? k : NULL;
}

/* A driver's line may be pasted without its clock: "mlx5_core 0000:3b:00.0: ...", "NVRM: ...". */
static bool is_drivers(const char *low)
{
	const char *colon = strchr(low, ':');

	if (!strncmp(low, "nvrm: ", 6) || !strncmp(low, "nvidia-nvswitch", 15) ||
	    !strncmp(low, "nvidia-nvlink: ", 15))
		return true;

	return colon && colon - low >= 4 && strlen(colon) > 9 && colon[3] == ':' && colon[6] == '.';
}

enum rs_kernel_line rs_kernel_line(const char *text, enum rs_kernel_part *part)
{
	char low[TEXT];
	const char *p;

	rs_word_lower(text, low, sizeof(low));
	p = begin(low);
	if (!p && is_drivers(low) && strcspn(low, " ") < 20)
		p = low;
	if (!p || strstr(p, "nccl") || strstr(p, " ucx "))
		return RS_KERNEL_NONE;
	for (unsigned i = 0; i < sizeof(speakers) / sizeof(*speakers); i++) {
		if (!has_one(p, speakers[i].who))
			continue;
		if (part)
			*part = speakers[i].part;
		/* corrected errors are counted elsewhere: one is none */
		if (has_one(p, "corrected|correctable") && !has_one(p, "~uncorrect"))
			return RS_KERNEL_NONE;
		if (has_one(p, calm))
			return RS_KERNEL_CALM;
		if (speakers[i].part == RS_KERNEL_PCI && has_one(p, slots))
			return RS_KERNEL_FAULT;
		if (has_one(p, faults))
			return RS_KERNEL_FAULT;
		if (has_one(p, refusals))
			return has_one(p, requests) ? RS_KERNEL_CALM : RS_KERNEL_FAULT;
		return RS_KERNEL_NONE;
	}
	return RS_KERNEL_NONE;
}

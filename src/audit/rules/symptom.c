/* Symptoms of slow or failing RDMA jobs and the checks that tell their causes apart. The order is
 * from what is quick to see and decides most to what needs counters over time. */
#include <ctype.h>
#include <string.h>
#include "audit/rules/symptom.h"

const struct rs_symptom rs_symptoms[] = {
	{
		.name = "low-goodput",
		.title =
			"a link is much faster than what a transfer gets (800G link, 500G goodput)",
		.words = "goodput throughput bandwidth slow link 800g 400g low half ib_write_bw "
			 "port "
			 "rate reach less perftest below line gbps",
		.first = "One flow between two hosts is enough to see it. Compare what each part "
			 "could carry: slot, MTU, reads in flight, port; the smallest is the "
			 "answer.",
		.step =
			{
				{"P01", "the slot carries less than the port: goodput stops at the "
					"slot's figure whatever the message size"},
				{"P02",
				 "small payloads: each 128 or 256 bytes pay 24 more on PCIe"},
				{"P03", "too few bytes of reads in flight: sending is limited, "
					"receiving is not"},
				{"R03", "a path MTU of 1024 costs 7 %, of 256 a quarter"},
				{"P04",
				 "transfers of GPU memory climb to the root complex; those of "
				 "host memory are at full rate"},
				{"P07", "the GPU's NIC is far: as with P04, host memory is not "
					"affected"},
				{"P11", "writes wait for each other on AMD hosts and in guests"},
				{"N07",
				 "one queue pair meets one path; too many split messages too "
				 "small"},
				{"L04", "the link came up at a lower speed than its siblings"},
				{"C04", "pauses: a receiver further on is slower; look there"},
			},
	},
	{
		.name = "timeouts",
		.title = "timeouts or retries in large all-reduce (status 12, local ack timeout)",
		.words = "timeout timeouts retry retries exceeded status 12 ack large allreduce "
			 "all-reduce stall err completion lost loss drop vendor 129 error",
		.first = "Small jobs work because nothing fills a queue. What is lossless at one "
			 "hop "
			 "and not at the next shows only under load.",
		.step =
			{
				{"X01", "the chain from traffic class to PFC is broken at the hop "
					"named: packets are dropped when queues fill"},
				{"X03",
				 "hosts classify differently: the same packet is lossless one "
				 "way and lossy the other"},
				{"X02", "a hop with a smaller MTU drops full packets, always"},
				{"R02", "packets with a GID that is not routed never arrive"},
				{"S03", "PFC is on, but its headroom is too small for the cable"},
				{"C07", "the link itself loses: flaps, symbol errors"},
				{"L02", "bits are lost faster than FEC mends them"},
				{"C02", "the receiver was not ready: RNR, not loss"},
				{"C01", "what was lost, since when, and on which ports"},
				{"N12", "what NCCL's own error says"},
			},
	},
	{
		.name = "cnps-rising",
		.title = "CNPs rise, senders slow down",
		.words =
			"cnp cnps rising ecn marked marks congestion rate dcqcn throttle rise many",
		.first = "CNPs are the mechanism at work: in an incast they belong there, from one "
			 "pair alone they do not.",
		.step =
			{
				{"C05", "marks and CNPs do not fit: loss is answered, or marks are "
					"not"},
				{"S05", "marking starts too early or too late against PFC"},
				{"S04", "ECN is not bound to the class's queue"},
				{"R10", "one end does not answer marks"},
				{"R11", "CNPs wait behind the data that they are to slow"},
				{"S11", "flows collide on one of several paths"},
				{"S12", "the fabric carries less up than down"},
				{"C04", "pauses beside CNPs: marking comes too late"},
			},
	},
	{
		.name = "halves-with-hosts",
		.title = "bandwidth halves when more hosts take part",
		.words = "halves half hosts nodes scale scaling 4 8 16 more than two bandwidth "
			 "drops "
			 "multi-node grows when",
		.first = "Two hosts share a leaf, four do not: what changes with the number of "
			 "hosts "
			 "is the path between leaves, and who shares it.",
		.step =
			{
				{"X04", "NIC i of all hosts is not on one leaf: rings cross rails"},
				{"S12", "the leaf has less rate up than down"},
				{"S11", "flows are hashed onto one uplink"},
				{"N13", "NCCL sees islands, or more nodes than there are"},
				{"N04", "hosts use different sets of NICs"},
				{"X06", "hosts have different environments"},
				{"X01", "only the way through the spine loses the class"},
				{"N07", "one queue pair is one path: hashing needs more"},
			},
	},
	{
		.name = "one-slow-host",
		.title = "one host is slower than its like",
		.words = "one host slow slower straggler odd others alike",
		.first = "Set the host beside one of its like and ask what differs; `ripstop "
			 "audit` of "
			 "both does just that.",
		.step =
			{
				{"P01", "its slot trained down"},
				{"X07", "its PCI tree is another"},
				{"X05", "its firmware or driver is another"},
				{"P07", "its GPUs use far NICs"},
				{"C07", "its cable or module loses"},
				{"P14", "its PCI bus reports errors"},
				{"H01", "its CPUs sleep deeply"},
				{"P05", "its IOMMU translates"},
				{"H04", "its interrupts go to the wrong CPUs"},
			},
	},
	{
		.name = "no-gpudirect",
		.title = "GPUDirect RDMA is not used",
		.words = "gpudirect gdr gdrdma peermem dma-buf dmabuf gpu direct copies staging "
			 "peer-to-peer p2p",
		.first =
			"NCCL's log says it: NET/IB/0/GDRDMA where it is used, NET/IB/0 where not.",
		.step =
			{
				{"P12", "neither nvidia_peermem nor dma-buf is there"},
				{"N08", "NCCL may not use it at this distance"},
				{"P07", "the NIC in use is far from the GPU"},
				{"P09", "a guest hides which device is near which"},
				{"P04", "redirected requests: it is used, and slow"},
				{"P13", "the GPU shows too little of its memory"},
				{"N09", "a topology file says what is not so"},
			},
	},
	{
		.name = "does-not-connect",
		.title = "the job does not start or connect",
		.words = "connect connection start hang init initialisation initialization "
			 "unreachable refused bootstrap stuck never rendezvous fails hangs ping "
			 "ibv_modify_qp",
		.first = "Name resolution and the bootstrap network aside, a connection needs an "
			 "active "
			 "port, a routed GID of one type at both ends, and memory that may be "
			 "locked.",
		.step =
			{
				{"H09", "a port is down"},
				{"R02", "the GID is of the wrong type, or link-local"},
				{"R01", "InfiniBand and Ethernet ports in one job"},
				{"N02", "the device list mixes them"},
				{"N04", "the device list names what is not there"},
				{"H07", "replies leave by another interface"},
				{"H05", "memory may not be locked"},
				{"N13", "rails that do not reach each other"},
				{"X02", "small messages pass, large ones do not"},
				{"N14", "it runs, over sockets"},
			},
	},
	{
		.name = "pauses",
		.title = "pause storms: ports are paused much of the time",
		.words = "pause pauses pfc storm xoff paused head-of-line blocking deadlock "
			 "watchdog",
		.first = "A pause says that who sent it is slow to take, or to pass on. Follow it "
			 "downstream to the first that is not paused itself.",
		.step =
			{
				{"C04", "which ports are paused, and by which"},
				{"P01", "a receiver's slot is slower than its port"},
				{"P04", "a receiver's GPU is reached through the root complex"},
				{"P07", "a receiver's GPU is far"},
				{"S04", "no marks: pauses are all there is"},
				{"S05", "marks come after pauses"},
				{"R10", "senders do not heed marks"},
				{"S08", "no watchdog, or one that drops"},
				{"S14", "more classes are lossless than are used"},
			},
	},
	{
		.name = "sockets",
		.title = "NCCL falls back to TCP sockets",
		.words = "socket sockets tcp net/socket fallback fall back ethernet eth0",
		.first = "NCCL falls back without a word beyond its log's NET/Socket.",
		.step =
			{
				{"N14", "that it is so, and what its log says of why"},
				{"H09", "no port is active"},
				{"N04", "the device list matches nothing"},
				{"N03", "the device list takes other devices"},
				{"N01", "a variable is misspelt"},
				{"R02", "no usable GID"},
				{"H05", "memory may not be locked"},
			},
	},
	{
		.name = "latency",
		.title = "small messages are slow",
		.words = "latency small messages microseconds us jitter tail slow short first "
			 "variance",
		.first =
			"Measure with ib_write_lat between two idle hosts first; the tail, not the "
			"median, tells wakes and interrupts.",
		.step =
			{
				{"H01", "CPUs sleep: a wake of some 100 us"},
				{"H02", "clocks ramp up"},
				{"H04", "interrupts on the far socket"},
				{"H03", "pages migrate"},
				{"P08", "nothing can be pinned: the NUMA node is not known"},
				{"P07", "the far socket"},
				{"R09", "the class waits for others"},
				{"C04", "it waits for pauses"},
			},
	},
	{
		.name = "link-flaps",
		.title = "links flap or count errors",
		.words =
			"flap flaps flapping link down up symbol errors ber fec module optic cable "
			"transceiver crc",
		.first = "Counters since boot tell little: take two snapshots (--since).",
		.step =
			{
				{"C07", "which ports, how often"},
				{"L01", "FEC differs at the two ends"},
				{"L02", "bit errors before FEC, and what FEC could not mend"},
				{"L03", "the module is hot or its light weak"},
				{"L04", "speeds differ"},
				{"P14", "the NIC itself leaves the bus"},
				{"X05", "firmware that differs from its like"},
			},
	},
	{
		.name = "routing",
		.title = "a BGP or OSPF neighbour is down, or hosts are not reached",
		.words = "bgp ospf bfd evpn neighbour neighbor peer peers session sessions "
			 "adjacency routing route routes ecmp unreachable idle established",
		.first = "The session's state on both sides, then its interface, then BFD.",
		.step =
			{
				{"S16", "a session that is not established takes its paths away"},
				{"H09", "its port, or the host's, is down"},
				{"C07", "the link flaps, and the session with it"},
				{"X02", "packets of the session's size do not pass"},
				{"S12", "what is left has less rate up than down"},
				{"S11", "what is left is shared unevenly"},
			},
	},
	{
		.name = "drops",
		.title = "drops or discards are counted",
		.words = "count counted drop drops dropped discard discards discarded rx_discards "
			 "out_of_buffer "
			 "buffer overflow lost packets",
		.first = "Where it is counted says what it is: at a switch's port a queue, at the "
			 "NIC's "
			 "its buffer, in its RDMA counters the receiver.",
		.step =
			{
				{"C08", "the port discards: its buffer, or length errors"},
				{"S13", "drops in a class with PFC: headroom"},
				{"X01", "a class without PFC"},
				{"X02", "packets too long for the next hop"},
				{"R08", "the NIC's own buffer for the priority"},
				{"S03", "headroom against the cable"},
				{"P01", "a slot that does not drain the port"},
				{"C02", "no receive was posted"},
			},
	},
	{
		.name = "virtual-machine",
		.title = "slow in a virtual machine, not on the host itself",
		.words = "vm virtual guest kvm hypervisor cloud passthrough sr-iov vf",
		.first = "A guest sees a flat PCI bus: NCCL, and the kernel, do not know what is "
			 "near "
			 "what.",
		.step =
			{
				{"P09", "no topology is given to NCCL"},
				{"N09", "the topology that is given is of another kind of host"},
				{"P06", "without ATS each peer access is translated by the root "
					"complex"},
				{"P04", "the host redirects, as it must for isolation"},
				{"P08", "no NUMA nodes"},
				{"P11", "ordering: writes wait for each other"},
				{"N08", "GPUDirect is off by distance"},
				{"K05", "too few virtual functions"},
			},
	},
	{
		.name = "all-to-all",
		.title = "all-to-all is slow while rings are fine",
		.words = "all-to-all alltoall moe expert incast many-to-one shuffle",
		.first =
			"A ring has one sender a receiver; all-to-all has many, and crosses rails.",
		.step =
			{
				{"S12", "less rate up than down"},
				{"S11", "collisions on uplinks"},
				{"S04", "no marks in the class"},
				{"R10", "senders do not heed them"},
				{"X01", "the class is lossy somewhere"},
				{"X04", "rails are crossed"},
				{"C04", "pauses spread"},
				{"S03", "headroom"},
			},
	},
	{0},
};

static size_t next_word(const char **p, char *out, size_t size)
{
	size_t n = 0;

	while (**p && !isalnum((unsigned char)**p))
		(*p)++;
	while (**p && (isalnum((unsigned char)**p) || strchr("-_/", **p))) {
		if (n + 1 < size)
			out[n++] = (char)tolower((unsigned char)**p);
		(*p)++;
	}
	out[n] = '\0';
	return n;
}

/* "hang" and "hangs", "slow" and "slower": one stem, with an ending of three letters at most. */
static bool same_stem(const char *x, size_t n, const char *y, size_t m)
{
	size_t common = n < m ? n : m;

	if (n == m)
		return !strncmp(x, y, n);
	return common >= 4 && n + m - 2 * common <= 3 && !strncmp(x, y, common);
}

static bool listed(const char *word, const char *words)
{
	for (const char *p = words; *p; p += strspn(p, " ")) {
		size_t n = strcspn(p, " ");

		if (same_stem(word, strlen(word), p, n))
			return true;
		p += n;
	}
	return false;
}

bool rs_symptom_has(const struct rs_symptom *s, const char *word)
{
	return listed(word, s->words);
}

/* A word that few symptoms know counts for more. */
static double weight(const char *word)
{
	unsigned n = 0;

	for (const struct rs_symptom *s = rs_symptoms; s->name; s++)
		n += listed(word, s->words);
	return n ? 1.0 / n : 0;
}

/* Words that help to tell symptoms apart and name none: "how many replicas?" is about no CNPs. */
static const char grammar[] = "many more than when one two first never below reach less get fall "
			      "back start status count 4 8 16 12";
/* Things that a question may be about: "what is the length of the cable?" tells of no trouble. */
static const char things[] = "port ports link links rate cable module optic transceiver buffer "
			     "hosts host nodes gpu 400g 800g bandwidth throughput gbps vendor us "
			     "vm guest vf congestion socket ethernet";
/* What a question begins with that asks for a value. */
static const char asks[] = "what which who how is are does do";

static bool exactly(const char *word, const char *words)
{
	size_t n = strlen(word);

	for (const char *p = words; *p; p += strspn(p, " ")) {
		if (strcspn(p, " ") == n && !strncmp(p, word, n))
			return true;
		p += strcspn(p, " ");
	}
	return false;
}

static double score_of(const struct rs_symptom *s, const char *text)
{
	bool asked = false, tells = false, begun = false;
	double score = 0;
	char word[64];

	while (next_word(&text, word, sizeof(word))) {
		asked |= !begun && exactly(word, asks);
		begun = true;
		if (!listed(word, s->words))
			continue;
		score += weight(word);
		tells |= !exactly(word, grammar) && !(asked && exactly(word, things));
	}
	return tells ? score : 0;
}

unsigned rs_symptom_near(const char *text, const struct rs_symptom **out, unsigned most)
{
	unsigned n = 0;

	/* few enough to be put in order by hand */
	for (const struct rs_symptom *s = rs_symptoms; s->name; s++) {
		double score = score_of(s, text);
		unsigned at = n;

		while (at && score > score_of(out[at - 1], text))
			at--;
		if (score <= 0 || at == most)
			continue;
		n += n < most;
		for (unsigned k = n - 1; k > at; k--)
			out[k] = out[k - 1];
		out[at] = s;
	}
	return n;
}

const struct rs_symptom *rs_symptom_find(const char *text)
{
	const struct rs_symptom *near[2];
	unsigned n;

	for (const struct rs_symptom *s = rs_symptoms; s->name; s++)
		if (!strcmp(s->name, text))
			return s;
	n = rs_symptom_near(text, near, 2);
	if (!n || (n > 1 && score_of(near[0], text) <= score_of(near[1], text)))
		return NULL;
	return near[0];
}

/* What the kernel says by netlink, none of which needs root: DCB (IEEE 802.1Qaz ETS, PFC and
 * application priorities), ethtool, RDMA devices, devlink. Asked with libmnl; nothing is set. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <libmnl/libmnl.h>
#include <linux/dcbnl.h>
#include <linux/devlink.h>
#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <linux/fib_rules.h>
#include <linux/genetlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include "audit/probe/probe.h"

enum { INTERFACES_MAX = 4096, ATTRS = 600, NAME_BYTES = 256, ANSWER_BYTES = 65536 };

/* Attributes by their number; those beyond the table are newer than what is asked for. */
struct attrs {
	const struct nlattr *of[ATTRS];
};

static int keep(const struct nlattr *a, void *arg)
{
	struct attrs *t = arg;

	if (mnl_attr_get_type(a) < ATTRS)
		t->of[mnl_attr_get_type(a)] = a;
	return MNL_CB_OK;
}

static const struct attrs *nested(const struct nlattr *in, struct attrs *t)
{
	memset(t, 0, sizeof(*t));
	if (in)
		mnl_attr_parse_nested(in, keep, t);
	return t;
}

static bool has(const struct attrs *t, int type, size_t bytes)
{
	return t->of[type] && mnl_attr_get_payload_len(t->of[type]) >= bytes;
}

static bool string(const struct attrs *t, int type, char *out, size_t size)
{
	if (!t->of[type])
		return false;
	snprintf(out, size, "%.*s", (int)mnl_attr_get_payload_len(t->of[type]),
		 (const char *)mnl_attr_get_payload(t->of[type]));
	return *out != '\0';
}

static uint64_t number(const struct attrs *t, int type)
{
	uint64_t value = 0;
	size_t n = mnl_attr_get_payload_len(t->of[type]);

	switch (n) {
	case 1:
		return mnl_attr_get_u8(t->of[type]);
	case 2:
		return mnl_attr_get_u16(t->of[type]);
	case 4:
		return mnl_attr_get_u32(t->of[type]);
	default:
		memcpy(&value, mnl_attr_get_payload(t->of[type]), n < 8 ? n : 8);
		return value;
	}
}

/* ---- DCB ---- */

/* Transmission selection algorithms (IEEE 802.1Q, ETS) as mlnx_qos calls them. */
static const char *tsa_name(unsigned tsa)
{
	static const char *const name[] = {[IEEE_8021QAZ_TSA_STRICT] = "strict",
					   [IEEE_8021QAZ_TSA_CB_SHAPER] = "cb_shaper",
					   [IEEE_8021QAZ_TSA_ETS] = "ets"};

	return tsa < sizeof(name) / sizeof(*name) ? name[tsa] : "vendor";
}

static void dcb_ets(struct rs_fact_text *t, const char *nd, const struct ieee_ets *e)
{
	for (unsigned i = 0; i < IEEE_8021QAZ_MAX_TCS; i++) {
		char name[32];

		snprintf(name, sizeof(name), "tc/%u/tsa", i);
		rs_fact_line(t, nd, name, "%s", tsa_name(e->tc_tsa[i]));
		if (e->tc_tsa[i] == IEEE_8021QAZ_TSA_ETS) {
			snprintf(name, sizeof(name), "tc/%u/bandwidth", i);
			rs_fact_line(t, nd, name, "%u", e->tc_tx_bw[i]);
		}
		snprintf(name, sizeof(name), "prio_to_tc/%u", i);
		rs_fact_line(t, nd, name, "%u", e->prio_tc[i]);
	}
}

static void dcb_pfc(struct rs_fact_text *t, const char *nd, const struct ieee_pfc *p)
{
	for (unsigned i = 0; i < IEEE_8021QAZ_MAX_TCS; i++) {
		char name[32];

		snprintf(name, sizeof(name), "pfc/%u", i);
		rs_fact_line(t, nd, name, "%u", p->pfc_en >> i & 1);
		snprintf(name, sizeof(name), "pfc_sent/%u", i);
		rs_fact_line(t, nd, name, "%" PRIu64, (uint64_t)p->requests[i]);
		snprintf(name, sizeof(name), "pfc_received/%u", i);
		rs_fact_line(t, nd, name, "%" PRIu64, (uint64_t)p->indications[i]);
	}
	rs_fact_line(t, nd, "pfc_delay", "%u", p->delay);
}

static void dcb_apps(struct rs_fact_text *t, const char *nd, const struct nlattr *table)
{
	const struct nlattr *a;

	mnl_attr_for_each_nested(a, table)
	{
		struct dcb_app app;
		char name[32];

		if (mnl_attr_get_type(a) != DCB_ATTR_IEEE_APP ||
		    mnl_attr_get_payload_len(a) < sizeof(app))
			continue;
		memcpy(&app, mnl_attr_get_payload(a), sizeof(app));
		if (app.selector != IEEE_8021QAZ_APP_SEL_DSCP || app.protocol > 63)
			continue;
		snprintf(name, sizeof(name), "dscp_to_prio/%u", app.protocol);
		rs_fact_line(t, nd, name, "%u", app.priority);
	}
}

static void dcb_buffers(struct rs_fact_text *t, const char *nd, const struct dcbnl_buffer *b)
{
	char name[32];

	for (unsigned i = 0; i < IEEE_8021Q_MAX_PRIORITIES; i++) {
		snprintf(name, sizeof(name), "prio_buffer/%u", i);
		rs_fact_line(t, nd, name, "%u", b->prio2buffer[i]);
	}
	for (unsigned i = 0; i < DCBX_MAX_BUFFERS; i++) {
		snprintf(name, sizeof(name), "buffer_size/%u", i);
		rs_fact_line(t, nd, name, "%u", b->buffer_size[i]);
	}
	rs_fact_line(t, nd, "buffer_total", "%u", b->total_size);
}

void rs_netlink_dcb(struct rs_fact_text *t, const struct nlmsghdr *msg)
{
	struct attrs top = {0}, ieee;
	char name[IFNAMSIZ], nd[IFNAMSIZ + 8];

	mnl_attr_parse(msg, sizeof(struct dcbmsg), keep, &top);
	if (!string(&top, DCB_ATTR_IFNAME, name, sizeof(name)))
		return;
	snprintf(nd, sizeof(nd), "netdev/%s", name);
	nested(top.of[DCB_ATTR_IEEE], &ieee);
	if (has(&ieee, DCB_ATTR_IEEE_ETS, sizeof(struct ieee_ets)))
		dcb_ets(t, nd, mnl_attr_get_payload(ieee.of[DCB_ATTR_IEEE_ETS]));
	if (has(&ieee, DCB_ATTR_IEEE_PFC, sizeof(struct ieee_pfc))) {
		struct ieee_pfc pfc;

		/* an attribute is aligned to four bytes, its counters to eight */
		memcpy(&pfc, mnl_attr_get_payload(ieee.of[DCB_ATTR_IEEE_PFC]), sizeof(pfc));
		dcb_pfc(t, nd, &pfc);
	}
	if (ieee.of[DCB_ATTR_IEEE_APP_TABLE])
		dcb_apps(t, nd, ieee.of[DCB_ATTR_IEEE_APP_TABLE]);
	if (has(&ieee, DCB_ATTR_DCB_BUFFER, sizeof(struct dcbnl_buffer)))
		dcb_buffers(t, nd, mnl_attr_get_payload(ieee.of[DCB_ATTR_DCB_BUFFER]));
	if (has(&top, DCB_ATTR_DCBX, 1))
		rs_fact_line(t, nd, "dcbx", "%s",
			     number(&top, DCB_ATTR_DCBX) & DCB_CAP_DCBX_HOST
				     ? "OS controlled"
				     : "firmware controlled");
}

/* ---- Addresses, routes, rules: IPv4, of the main table ---- */

static bool ipv4(const struct attrs *a, int type, char out[INET_ADDRSTRLEN])
{
	return has(a, type, 4) &&
	       inet_ntop(AF_INET, mnl_attr_get_payload(a->of[type]), out, INET_ADDRSTRLEN);
}

static void address(struct rs_fact_text *t, const struct nlmsghdr *msg)
{
	const struct ifaddrmsg *m = mnl_nlmsg_get_payload(msg);
	char name[IFNAMSIZ], nd[IFNAMSIZ + 8], ip[INET_ADDRSTRLEN];
	struct attrs a = {0};

	mnl_attr_parse(msg, sizeof(*m), keep, &a);
	if (!if_indextoname(m->ifa_index, name) ||
	    !ipv4(&a, a.of[IFA_LOCAL] ? IFA_LOCAL : IFA_ADDRESS, ip))
		return;
	snprintf(nd, sizeof(nd), "netdev/%s", name);
	rs_fact_line(t, nd, "address", "%s/%u", ip, m->ifa_prefixlen);
}

static void route(struct rs_fact_text *t, const struct nlmsghdr *msg)
{
	const struct rtmsg *m = mnl_nlmsg_get_payload(msg);
	char fact[64], to[INET_ADDRSTRLEN], via[INET_ADDRSTRLEN], name[IFNAMSIZ];
	struct attrs a = {0};
	bool gateway;

	mnl_attr_parse(msg, sizeof(*m), keep, &a);
	if (m->rtm_table != RT_TABLE_MAIN || m->rtm_type != RTN_UNICAST || !has(&a, RTA_OIF, 4) ||
	    !if_indextoname((unsigned)number(&a, RTA_OIF), name))
		return;
	if (ipv4(&a, RTA_DST, to))
		snprintf(fact, sizeof(fact), "route/%s/%u", to, m->rtm_dst_len);
	else
		snprintf(fact, sizeof(fact), "route/default");
	gateway = ipv4(&a, RTA_GATEWAY, via);
	rs_fact_line(t, "host", fact, "%s%s%s", name, gateway ? " via " : "", gateway ? via : "");
}

/* "from 10.1.0.5 lookup 101": rules by source alone are what multihoming needs. */
static void rule(struct rs_fact_text *t, const struct nlmsghdr *msg)
{
	const struct fib_rule_hdr *m = mnl_nlmsg_get_payload(msg);
	char fact[32], from[INET_ADDRSTRLEN];
	struct attrs a = {0};
	uint64_t table;

	mnl_attr_parse(msg, sizeof(*m), keep, &a);
	table = has(&a, FRA_TABLE, 4) ? number(&a, FRA_TABLE) : m->table;
	if (!ipv4(&a, FRA_SRC, from))
		return;
	snprintf(fact, sizeof(fact), "rule/%" PRIu64,
		 has(&a, FRA_PRIORITY, 4) ? number(&a, FRA_PRIORITY) : 0);
	if (m->src_len < 32)
		rs_fact_line(t, "host", fact, "from %s/%u lookup %" PRIu64, from, m->src_len,
			     table);
	else
		rs_fact_line(t, "host", fact, "from %s lookup %" PRIu64, from, table);
}

void rs_netlink_route(struct rs_fact_text *t, const struct nlmsghdr *msg)
{
	static const struct {
		uint16_t type;
		size_t header;
		void (*read)(struct rs_fact_text *t, const struct nlmsghdr *msg);
	} kinds[] = {
		{RTM_NEWADDR, sizeof(struct ifaddrmsg), address},
		{RTM_NEWROUTE, sizeof(struct rtmsg), route},
		{RTM_NEWRULE, sizeof(struct fib_rule_hdr), rule},
	};

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (msg->nlmsg_type == kinds[i].type &&
		    mnl_nlmsg_get_payload_len(msg) >= kinds[i].header)
			kinds[i].read(t, msg);
}

/* ---- ethtool ---- */

static const struct {
	uint8_t reply;
	uint16_t attr;
	const char *name;
} ethtool_numbers[] = {
	{ETHTOOL_MSG_RINGS_GET_REPLY, ETHTOOL_A_RINGS_RX, "ring_rx"},
	{ETHTOOL_MSG_RINGS_GET_REPLY, ETHTOOL_A_RINGS_RX_MAX, "ring_rx_max"},
	{ETHTOOL_MSG_RINGS_GET_REPLY, ETHTOOL_A_RINGS_TX, "ring_tx"},
	{ETHTOOL_MSG_RINGS_GET_REPLY, ETHTOOL_A_RINGS_TX_MAX, "ring_tx_max"},
	{ETHTOOL_MSG_CHANNELS_GET_REPLY, ETHTOOL_A_CHANNELS_COMBINED_COUNT, "channels"},
	{ETHTOOL_MSG_CHANNELS_GET_REPLY, ETHTOOL_A_CHANNELS_COMBINED_MAX, "channels_max"},
	{ETHTOOL_MSG_PAUSE_GET_REPLY, ETHTOOL_A_PAUSE_AUTONEG, "pause_autoneg"},
	{ETHTOOL_MSG_PAUSE_GET_REPLY, ETHTOOL_A_PAUSE_RX, "pause_rx"},
	{ETHTOOL_MSG_PAUSE_GET_REPLY, ETHTOOL_A_PAUSE_TX, "pause_tx"},
	{ETHTOOL_MSG_LINKMODES_GET_REPLY, ETHTOOL_A_LINKMODES_AUTONEG, "autoneg"},
	{ETHTOOL_MSG_LINKMODES_GET_REPLY, ETHTOOL_A_LINKMODES_LANES, "lanes"},
	{ETHTOOL_MSG_LINKMODES_GET_REPLY, ETHTOOL_A_LINKMODES_DUPLEX, "duplex"},
	{ETHTOOL_MSG_FEC_GET_REPLY, ETHTOOL_A_FEC_AUTO, "fec_auto"},
};

static const char *fec_name(uint64_t bit)
{
	switch (bit) {
	case ETHTOOL_LINK_MODE_FEC_NONE_BIT:
		return "none";
	case ETHTOOL_LINK_MODE_FEC_RS_BIT:
		return "rs";
	case ETHTOOL_LINK_MODE_FEC_BASER_BIT:
		return "baser";
	case ETHTOOL_LINK_MODE_FEC_LLRS_BIT:
		return "llrs";
	default:
		return NULL;
	}
}

static void stat(struct rs_fact_text *t, const char *nd, const struct nlattr *nest, int type,
		 const char *name)
{
	struct attrs s;

	nested(nest, &s);
	if (has(&s, type, 8))
		rs_fact_line(t, nd, name, "%" PRIu64, number(&s, type));
}

void rs_netlink_ethtool(struct rs_fact_text *t, const struct nlmsghdr *msg)
{
	const struct genlmsghdr *g = mnl_nlmsg_get_payload(msg);
	struct attrs top = {0}, header;
	char name[IFNAMSIZ], nd[IFNAMSIZ + 8];

	if (mnl_nlmsg_get_payload_len(msg) < sizeof(*g))
		return;
	mnl_attr_parse(msg, sizeof(*g), keep, &top);
	nested(top.of[1], &header); /* the header is the first attribute of each message */
	if (!string(&header, ETHTOOL_A_HEADER_DEV_NAME, name, sizeof(name)))
		return;
	snprintf(nd, sizeof(nd), "netdev/%s", name);
	for (unsigned i = 0; i < sizeof(ethtool_numbers) / sizeof(*ethtool_numbers); i++)
		if (ethtool_numbers[i].reply == g->cmd && has(&top, ethtool_numbers[i].attr, 1))
			rs_fact_line(t, nd, ethtool_numbers[i].name, "%" PRIu64,
				     number(&top, ethtool_numbers[i].attr));
	if (g->cmd == ETHTOOL_MSG_FEC_GET_REPLY && has(&top, ETHTOOL_A_FEC_ACTIVE, 4)) {
		const char *fec = fec_name(number(&top, ETHTOOL_A_FEC_ACTIVE));

		if (fec)
			rs_fact_line(t, nd, "fec", "%s", fec);
	}
	if (g->cmd == ETHTOOL_MSG_FEC_GET_REPLY && top.of[ETHTOOL_A_FEC_STATS]) {
		stat(t, nd, top.of[ETHTOOL_A_FEC_STATS], ETHTOOL_A_FEC_STAT_CORRECTED,
		     "counter/fec_corrected_blocks");
		stat(t, nd, top.of[ETHTOOL_A_FEC_STATS], ETHTOOL_A_FEC_STAT_UNCORR,
		     "counter/fec_uncorrectable_blocks");
	}
	if (g->cmd == ETHTOOL_MSG_PAUSE_GET_REPLY && top.of[ETHTOOL_A_PAUSE_STATS]) {
		stat(t, nd, top.of[ETHTOOL_A_PAUSE_STATS], ETHTOOL_A_PAUSE_STAT_TX_FRAMES,
		     "counter/pause_frames_sent");
		stat(t, nd, top.of[ETHTOOL_A_PAUSE_STATS], ETHTOOL_A_PAUSE_STAT_RX_FRAMES,
		     "counter/pause_frames_received");
	}
}

/* ---- RDMA devices ---- */

/* The kernel's enum ib_port_state and enum ib_port_phys_state, as sysfs spells them. */
static const char *const port_states[] = {"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"};
static const char *const phys_states[] = {NULL,       "Sleep",  "Polling",           NULL,
					  "Disabled", "LinkUp", "LinkErrorRecovery", "Phy Test"};

static void guid(struct rs_fact_text *t, const char *nic, const char *name, uint64_t v)
{
	rs_fact_line(t, nic, name, "%04x:%04x:%04x:%04x", (unsigned)(v >> 48) & 0xffff,
		     (unsigned)(v >> 32) & 0xffff, (unsigned)(v >> 16) & 0xffff,
		     (unsigned)v & 0xffff);
}

void rs_netlink_rdma(struct rs_fact_text *t, const struct nlmsghdr *msg)
{
	char name[64], nic[80], text[NAME_BYTES];
	struct attrs a = {0};

	mnl_attr_parse(msg, 0, keep, &a);
	if (!string(&a, RDMA_NLDEV_ATTR_DEV_NAME, name, sizeof(name)))
		return;
	snprintf(nic, sizeof(nic), "nic/%s", name);
	if (string(&a, RDMA_NLDEV_ATTR_FW_VERSION, text, sizeof(text)))
		rs_fact_line(t, nic, "firmware", "%s", text);
	if (has(&a, RDMA_NLDEV_ATTR_NODE_GUID, 8))
		guid(t, nic, "node_guid", number(&a, RDMA_NLDEV_ATTR_NODE_GUID));
	if (has(&a, RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, 8))
		guid(t, nic, "sys_image_guid", number(&a, RDMA_NLDEV_ATTR_SYS_IMAGE_GUID));
	if (string(&a, RDMA_NLDEV_ATTR_DEV_PROTOCOL, text, sizeof(text)))
		rs_fact_line(t, nic, "protocol", "%s", text);
	if (string(&a, RDMA_NLDEV_ATTR_NDEV_NAME, text, sizeof(text)))
		rs_fact_line(t, nic, "netdev", "%s", text);
	if (has(&a, RDMA_NLDEV_ATTR_PORT_STATE, 1)) {
		uint64_t v = number(&a, RDMA_NLDEV_ATTR_PORT_STATE);

		if (v < sizeof(port_states) / sizeof(*port_states))
			rs_fact_line(t, nic, "port_state", "%s", port_states[v]);
	}
	if (has(&a, RDMA_NLDEV_ATTR_PORT_PHYS_STATE, 1)) {
		uint64_t v = number(&a, RDMA_NLDEV_ATTR_PORT_PHYS_STATE);

		if (v < sizeof(phys_states) / sizeof(*phys_states) && phys_states[v])
			rs_fact_line(t, nic, "phys_state", "%s", phys_states[v]);
	}
}

/* ---- devlink ---- */

static void version(struct rs_fact_text *t, const char *subject, const char *kind,
		    const struct nlattr *nest)
{
	char name[NAME_BYTES], value[NAME_BYTES], fact[2 * NAME_BYTES];
	struct attrs v;

	nested(nest, &v);
	if (!string(&v, DEVLINK_ATTR_INFO_VERSION_NAME, name, sizeof(name)) ||
	    !string(&v, DEVLINK_ATTR_INFO_VERSION_VALUE, value, sizeof(value)))
		return;
	snprintf(fact, sizeof(fact), "devlink/%s/%s", kind, name);
	rs_fact_line(t, subject, fact, "%s", value);
}

void rs_netlink_devlink(struct rs_fact_text *t, const struct nlmsghdr *msg)
{
	char bus[64], dev[NAME_BYTES], subject[NAME_BYTES + 8], text[NAME_BYTES];
	const struct nlattr *a;
	struct attrs top = {0};

	mnl_attr_parse(msg, sizeof(struct genlmsghdr), keep, &top);
	if (!string(&top, DEVLINK_ATTR_BUS_NAME, bus, sizeof(bus)) || strcmp(bus, "pci") ||
	    !string(&top, DEVLINK_ATTR_DEV_NAME, dev, sizeof(dev)))
		return;
	snprintf(subject, sizeof(subject), "pci/%s", dev);
	if (string(&top, DEVLINK_ATTR_INFO_SERIAL_NUMBER, text, sizeof(text)))
		rs_fact_line(t, subject, "serial", "%s", text);
	if (string(&top, DEVLINK_ATTR_INFO_BOARD_SERIAL_NUMBER, text, sizeof(text)))
		rs_fact_line(t, subject, "board_serial", "%s", text);
	mnl_attr_for_each(a, msg, sizeof(struct genlmsghdr))
	{
		switch (mnl_attr_get_type(a)) {
		case DEVLINK_ATTR_INFO_VERSION_FIXED:
			version(t, subject, "fixed", a);
			break;
		case DEVLINK_ATTR_INFO_VERSION_RUNNING:
			version(t, subject, "running", a);
			break;
		case DEVLINK_ATTR_INFO_VERSION_STORED:
			version(t, subject, "stored", a);
			break;
		default:
			break;
		}
	}
}

/* ---- Asking ---- */

struct ask {
	struct mnl_socket *nl;
	unsigned seq;
	char *buf;
	struct rs_fact_text text;
	void (*read)(struct rs_fact_text *t, const struct nlmsghdr *msg);
};

static int answer(const struct nlmsghdr *msg, void *arg)
{
	struct ask *q = arg;

	q->read(&q->text, msg);
	return MNL_CB_OK;
}

static int ask_open(struct ask *q, int family)
{
	struct timeval patience = {.tv_sec = 1};

	*q = (struct ask){.nl = mnl_socket_open(family), .buf = malloc(ANSWER_BYTES)};
	if (!q->nl || !q->buf || mnl_socket_bind(q->nl, 0, MNL_SOCKET_AUTOPID) < 0) {
		int err = q->buf ? -errno : -ENOMEM;

		if (q->nl)
			mnl_socket_close(q->nl);
		free(q->buf);
		q->nl = NULL;
		return err;
	}
	/* the kernel answers at once or not at all */
	setsockopt(mnl_socket_get_fd(q->nl), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return 0;
}

static void ask_close(struct ask *q)
{
	if (q->nl)
		mnl_socket_close(q->nl);
	free(q->buf);
}

static struct nlmsghdr *request(struct ask *q, uint16_t type, uint16_t flags)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(q->buf);

	h->nlmsg_type = type;
	h->nlmsg_flags = NLM_F_REQUEST | flags;
	h->nlmsg_seq = ++q->seq;
	return h;
}

/* Sends q->buf and reads all that comes back. Negative errno of the kernel's. */
static int converse(struct ask *q, struct nlmsghdr *h, mnl_cb_t each, void *arg)
{
	unsigned port = mnl_socket_get_portid(q->nl);
	bool dump = h->nlmsg_flags & NLM_F_DUMP;
	ssize_t n;
	int r = MNL_CB_OK;

	if (mnl_socket_sendto(q->nl, h, h->nlmsg_len) < 0)
		return -errno;
	while (r > MNL_CB_STOP) {
		n = mnl_socket_recvfrom(q->nl, q->buf, ANSWER_BYTES);
		if (n < 0)
			return -errno;
		r = mnl_cb_run(q->buf, (size_t)n, q->seq, port, each, arg);
		if (!dump && r > MNL_CB_STOP)
			break;
	}
	return r < 0 ? -errno : 0;
}

/* ---- Families of generic netlink ---- */

static int family_answer(const struct nlmsghdr *msg, void *arg)
{
	struct attrs a = {0};

	mnl_attr_parse(msg, sizeof(struct genlmsghdr), keep, &a);
	if (has(&a, CTRL_ATTR_FAMILY_ID, 2))
		*(uint16_t *)arg = (uint16_t)number(&a, CTRL_ATTR_FAMILY_ID);
	return MNL_CB_OK;
}

static struct nlmsghdr *generic(struct ask *q, uint16_t family, uint8_t cmd, uint16_t flags)
{
	struct nlmsghdr *h = request(q, family, flags);
	struct genlmsghdr *g = mnl_nlmsg_put_extra_header(h, sizeof(*g));

	g->cmd = cmd;
	g->version = 1;
	return h;
}

/* 0: this kernel has no such family. */
static uint16_t family(struct ask *q, const char *name)
{
	struct nlmsghdr *h = generic(q, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0);
	uint16_t id = 0;

	mnl_attr_put_strz(h, CTRL_ATTR_FAMILY_NAME, name);
	return converse(q, h, family_answer, &id) ? 0 : id;
}

static void ask_ethtool(struct ask *q)
{
	static const struct {
		uint8_t cmd, header;
		uint32_t flags;
	} gets[] = {
		{ETHTOOL_MSG_LINKMODES_GET, ETHTOOL_A_LINKMODES_HEADER, 0},
		{ETHTOOL_MSG_RINGS_GET, ETHTOOL_A_RINGS_HEADER, 0},
		{ETHTOOL_MSG_CHANNELS_GET, ETHTOOL_A_CHANNELS_HEADER, 0},
		{ETHTOOL_MSG_PAUSE_GET, ETHTOOL_A_PAUSE_HEADER, ETHTOOL_FLAG_STATS},
		{ETHTOOL_MSG_FEC_GET, ETHTOOL_A_FEC_HEADER, ETHTOOL_FLAG_STATS},
	};
	uint16_t id = family(q, ETHTOOL_GENL_NAME);

	q->read = rs_netlink_ethtool;
	for (unsigned i = 0; id && i < sizeof(gets) / sizeof(*gets); i++) {
		struct nlmsghdr *h = generic(q, id, gets[i].cmd, NLM_F_DUMP);
		struct nlattr *nest = mnl_attr_nest_start(h, gets[i].header);

		mnl_attr_put_u32(h, ETHTOOL_A_HEADER_FLAGS,
				 gets[i].flags | ETHTOOL_FLAG_COMPACT_BITSETS);
		mnl_attr_nest_end(h, nest);
		converse(q, h, answer, q);
	}
}

static void ask_devlink(struct ask *q)
{
	uint16_t id = family(q, DEVLINK_GENL_NAME);

	q->read = rs_netlink_devlink;
	if (id)
		converse(q, generic(q, id, DEVLINK_CMD_INFO_GET, NLM_F_DUMP), answer, q);
}

/* An interface without DCB answers that it has none. */
static void ask_dcb(struct ask *q)
{
	struct if_nameindex *list = if_nameindex();

	q->read = rs_netlink_dcb;
	for (unsigned i = 0; list && list[i].if_index && i < INTERFACES_MAX; i++) {
		struct nlmsghdr *h = request(q, RTM_GETDCB, 0);
		struct dcbmsg *d = mnl_nlmsg_put_extra_header(h, sizeof(*d));

		d->cmd = DCB_CMD_IEEE_GET;
		mnl_attr_put_strz(h, DCB_ATTR_IFNAME, list[i].if_name);
		converse(q, h, answer, q);
	}
	if_freenameindex(list);
}

static void ask_route(struct ask *q)
{
	static const struct {
		uint16_t type;
		const char *seen; /* that there was no other is a fact, too */
	} gets[] = {
		{RTM_GETADDR, NULL},
		{RTM_GETROUTE, "routes_seen"},
		{RTM_GETRULE, "rules_seen"},
	};

	q->read = rs_netlink_route;
	for (unsigned i = 0; i < sizeof(gets) / sizeof(*gets); i++) {
		struct nlmsghdr *h = request(q, gets[i].type, NLM_F_DUMP);

		/* struct ifaddrmsg, rtmsg and fib_rule_hdr all begin with the family; the kernel
		 * takes the shortest of them as a question for all */
		*(uint8_t *)mnl_nlmsg_put_extra_header(h, sizeof(struct rtmsg)) = AF_INET;
		if (!converse(q, h, answer, q) && gets[i].seen)
			rs_fact_line(&q->text, "host", gets[i].seen, "1");
	}
}

static void ask_rdma(struct ask *q)
{
	static const unsigned cmds[] = {RDMA_NLDEV_CMD_GET, RDMA_NLDEV_CMD_PORT_GET};

	q->read = rs_netlink_rdma;
	converse(q, request(q, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, cmds[0]), NLM_F_DUMP), answer, q);
	/* ports are listed device by device, whose numbers have gaps where devices went */
	for (uint32_t i = 0, misses = 0; q->text.size && misses < 64 && i < 1024; i++) {
		struct nlmsghdr *h =
			request(q, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, cmds[1]), NLM_F_DUMP);
		size_t before = q->text.size;

		mnl_attr_put_u32(h, RDMA_NLDEV_ATTR_DEV_INDEX, i);
		converse(q, h, answer, q);
		misses = q->text.size > before ? 0 : misses + 1;
	}
}

int rs_probe_netlink(const struct rs_probe *p)
{
	static const struct {
		int family;
		void (*ask)(struct ask *q);
		const char *file;
	} sources[] = {
		{NETLINK_ROUTE, ask_route, "ripstop/route.facts"},
		{NETLINK_ROUTE, ask_dcb, "ripstop/dcb.facts"},
		{NETLINK_GENERIC, ask_ethtool, "ripstop/ethtool.facts"},
		{NETLINK_RDMA, ask_rdma, "ripstop/rdma.facts"},
		{NETLINK_GENERIC, ask_devlink, "ripstop/devlink.facts"},
	};
	int err = 0;

	for (unsigned i = 0; i < sizeof(sources) / sizeof(*sources) && !err; i++) {
		struct ask q;

		/* a kernel without this netlink family has nothing to say */
		if (ask_open(&q, sources[i].family))
			continue;
		sources[i].ask(&q);
		ask_close(&q);
		err = rs_probe_emit(p, sources[i].file, &q.text);
	}
	return err;
}

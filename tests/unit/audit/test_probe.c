/* The live carrier: files of a host's tree, netlink answers built as the kernel builds them,
 * secrets hidden. */
#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/dcbnl.h>
#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <linux/fib_rules.h>
#include <linux/genetlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <rdma/rdma_netlink.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "audit/probe/live.h"
#include "audit/probe/probe.h"
#include "audit/read/secrets.h"
#include "unit/audit/judge.h"

static union {
	struct nlmsghdr h;
	char bytes[8192];
} msg;

static void has_line(const struct rs_fact_text *t, const char *line)
{
	if (!t->data || !strstr(t->data, line))
		fail_msg("no '%s' in:\n%s", line, t->data ? t->data : "(nothing)");
}

static void free_text(struct rs_fact_text *t)
{
	free(t->data);
	*t = (struct rs_fact_text){0};
}

/* ---- Netlink ---- */

static struct nlmsghdr *dcb_begin(const char *nd)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(msg.bytes);

	h->nlmsg_type = RTM_GETDCB;
	mnl_nlmsg_put_extra_header(h, sizeof(struct dcbmsg));
	mnl_attr_put_strz(h, DCB_ATTR_IFNAME, nd);
	return h;
}

static void test_dcb_tells_pfc_ets_and_dscp(void **state)
{
	struct nlmsghdr *h = dcb_begin("eth4");
	struct nlattr *ieee = mnl_attr_nest_start(h, DCB_ATTR_IEEE), *table;
	struct ieee_pfc pfc = {.pfc_cap = 8, .pfc_en = 1 << 3, .delay = 7};
	struct ieee_ets ets = {.ets_cap = 8};
	struct dcb_app dscp = {IEEE_8021QAZ_APP_SEL_DSCP, 3, 26};
	struct dcb_app iscsi = {IEEE_8021QAZ_APP_SEL_STREAM, 4, 3260};
	struct rs_fact_text t = {0};

	pfc.requests[3] = 12;
	ets.tc_tsa[3] = IEEE_8021QAZ_TSA_ETS;
	ets.tc_tx_bw[3] = 50;
	ets.prio_tc[3] = 3;
	mnl_attr_put(h, DCB_ATTR_IEEE_ETS, sizeof(ets), &ets);
	mnl_attr_put(h, DCB_ATTR_IEEE_PFC, sizeof(pfc), &pfc);
	table = mnl_attr_nest_start(h, DCB_ATTR_IEEE_APP_TABLE);
	mnl_attr_put(h, DCB_ATTR_IEEE_APP, sizeof(dscp), &dscp);
	mnl_attr_put(h, DCB_ATTR_IEEE_APP, sizeof(iscsi), &iscsi);
	mnl_attr_nest_end(h, table);
	mnl_attr_nest_end(h, ieee);
	mnl_attr_put_u8(h, DCB_ATTR_DCBX, DCB_CAP_DCBX_HOST);
	rs_netlink_dcb(&t, h);
	has_line(&t, "netdev/eth4 pfc/3 = 1\n");
	has_line(&t, "netdev/eth4 pfc/4 = 0\n");
	has_line(&t, "netdev/eth4 pfc_sent/3 = 12\n");
	has_line(&t, "netdev/eth4 tc/3/tsa = ets\n");
	has_line(&t, "netdev/eth4 tc/3/bandwidth = 50\n");
	has_line(&t, "netdev/eth4 tc/0/tsa = strict\n");
	has_line(&t, "netdev/eth4 prio_to_tc/3 = 3\n");
	has_line(&t, "netdev/eth4 dscp_to_prio/26 = 3\n");
	has_line(&t, "netdev/eth4 dcbx = OS controlled\n");
	assert_null(strstr(t.data, "3260"));
	free_text(&t);
}

static void test_dcb_attributes_cut_short_say_nothing(void **state)
{
	struct nlmsghdr *h = dcb_begin("eth4");
	struct nlattr *ieee = mnl_attr_nest_start(h, DCB_ATTR_IEEE);
	struct rs_fact_text t = {0};

	mnl_attr_put(h, DCB_ATTR_IEEE_PFC, 5, "short");
	mnl_attr_put(h, DCB_ATTR_IEEE_ETS, 0, "");
	mnl_attr_nest_end(h, ieee);
	rs_netlink_dcb(&t, h);
	assert_int_equal(t.size, 0);
	free_text(&t);
}

static void test_ethtool_tells_rings_and_fec(void **state)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(msg.bytes);
	struct genlmsghdr *g = mnl_nlmsg_put_extra_header(h, sizeof(*g));
	struct nlattr *nest = mnl_attr_nest_start(h, ETHTOOL_A_RINGS_HEADER);
	struct rs_fact_text t = {0};

	g->cmd = ETHTOOL_MSG_RINGS_GET_REPLY;
	mnl_attr_put_strz(h, ETHTOOL_A_HEADER_DEV_NAME, "eth4");
	mnl_attr_nest_end(h, nest);
	mnl_attr_put_u32(h, ETHTOOL_A_RINGS_RX, 1024);
	mnl_attr_put_u32(h, ETHTOOL_A_RINGS_RX_MAX, 8192);
	rs_netlink_ethtool(&t, h);
	has_line(&t, "netdev/eth4 ring_rx = 1024\n");
	has_line(&t, "netdev/eth4 ring_rx_max = 8192\n");
	h = mnl_nlmsg_put_header(msg.bytes);
	g = mnl_nlmsg_put_extra_header(h, sizeof(*g));
	g->cmd = ETHTOOL_MSG_FEC_GET_REPLY;
	nest = mnl_attr_nest_start(h, ETHTOOL_A_FEC_HEADER);
	mnl_attr_put_strz(h, ETHTOOL_A_HEADER_DEV_NAME, "eth4");
	mnl_attr_nest_end(h, nest);
	mnl_attr_put_u32(h, ETHTOOL_A_FEC_ACTIVE, ETHTOOL_LINK_MODE_FEC_RS_BIT);
	nest = mnl_attr_nest_start(h, ETHTOOL_A_FEC_STATS);
	mnl_attr_put_u64(h, ETHTOOL_A_FEC_STAT_UNCORR, 5);
	mnl_attr_nest_end(h, nest);
	rs_netlink_ethtool(&t, h);
	has_line(&t, "netdev/eth4 fec = rs\n");
	has_line(&t, "netdev/eth4 counter/fec_uncorrectable_blocks = 5\n");
	free_text(&t);
}

static void test_addresses_routes_and_rules_are_as_tools_print_them(void **state)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(msg.bytes);
	struct ifaddrmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));
	struct fib_rule_hdr *r;
	struct rs_fact_text t = {0};
	struct rtmsg *to;

	h->nlmsg_type = RTM_NEWADDR;
	m->ifa_index = if_nametoindex("lo");
	m->ifa_prefixlen = 8;
	mnl_attr_put_u32(h, IFA_LOCAL, htonl(0x7f000001));
	rs_netlink_route(&t, h);
	has_line(&t, "netdev/lo address = 127.0.0.1/8\n");
	h = mnl_nlmsg_put_header(msg.bytes);
	to = mnl_nlmsg_put_extra_header(h, sizeof(*to));
	h->nlmsg_type = RTM_NEWROUTE;
	to->rtm_table = RT_TABLE_MAIN;
	to->rtm_type = RTN_UNICAST;
	to->rtm_dst_len = 16;
	mnl_attr_put_u32(h, RTA_DST, htonl(0x0a020000));
	mnl_attr_put_u32(h, RTA_OIF, if_nametoindex("lo"));
	mnl_attr_put_u32(h, RTA_GATEWAY, htonl(0x0a010001));
	rs_netlink_route(&t, h);
	has_line(&t, "host route/10.2.0.0/16 = lo via 10.1.0.1\n");
	h = mnl_nlmsg_put_header(msg.bytes);
	r = mnl_nlmsg_put_extra_header(h, sizeof(*r));
	h->nlmsg_type = RTM_NEWRULE;
	r->src_len = 32;
	mnl_attr_put_u32(h, FRA_SRC, htonl(0x0a010005));
	mnl_attr_put_u32(h, FRA_TABLE, 101);
	mnl_attr_put_u32(h, FRA_PRIORITY, 7);
	rs_netlink_route(&t, h);
	has_line(&t, "host rule/7 = from 10.1.0.5 lookup 101\n");
	free_text(&t);
}

static void test_rdma_tells_device_and_port(void **state)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(msg.bytes);
	struct rs_fact_text t = {0};

	mnl_attr_put_strz(h, RDMA_NLDEV_ATTR_DEV_NAME, "mlx5_0");
	mnl_attr_put_strz(h, RDMA_NLDEV_ATTR_FW_VERSION, "28.39.1002");
	mnl_attr_put_u64(h, RDMA_NLDEV_ATTR_NODE_GUID, UINT64_C(0x9cdc710300414e3a));
	mnl_attr_put_u8(h, RDMA_NLDEV_ATTR_PORT_STATE, 4);
	mnl_attr_put_u8(h, RDMA_NLDEV_ATTR_PORT_PHYS_STATE, 5);
	mnl_attr_put_strz(h, RDMA_NLDEV_ATTR_NDEV_NAME, "eth4");
	rs_netlink_rdma(&t, h);
	has_line(&t, "nic/mlx5_0 firmware = 28.39.1002\n");
	has_line(&t, "nic/mlx5_0 node_guid = 9cdc:7103:0041:4e3a\n");
	has_line(&t, "nic/mlx5_0 port_state = ACTIVE\n");
	has_line(&t, "nic/mlx5_0 phys_state = LinkUp\n");
	has_line(&t, "nic/mlx5_0 netdev = eth4\n");
	free_text(&t);
}

/* ---- Secrets ---- */

static void test_secrets_lose_their_value_and_nothing_else_does(void **state)
{
	char text[] = "root=/dev/sda1 iommu=pt rd.luks.key=abc PASSWORD=hunter2 quiet\n"
		      "NCCL_IB_TC=106 MY_TOKEN=xyz nosecret ds=nocloud;s=http://u:pw@h/x?a@b";

	rs_secrets_hide(text);
	assert_string_equal(text, "root=/dev/sda1 iommu=pt rd.luks.key=*** PASSWORD=******* quiet\n"
				  "NCCL_IB_TC=106 MY_TOKEN=*** nosecret "
				  "ds=nocloud;s=http://****@h/x?a@b");
}

/* ---- A tree ---- */

static void put(const char *root, const char *path, const char *value)
{
	char full[512];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (char *p = strchr(full + strlen(root) + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		mkdir(full, 0755);
		*p = '/';
	}
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(value, f);
	fclose(f);
}

static void remove_tree(const char *root)
{
	char command[300];

	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	assert_int_equal(system(command), 0);
}

struct seen {
	char text[16384];
};

static int collect(void *arg, const char *path, const char *data, size_t size)
{
	struct seen *s = arg;
	size_t n = strlen(s->text);

	assert_int_equal(data[size], '\0');
	snprintf(s->text + n, sizeof(s->text) - n, "%s:%s\n", path, data);
	return 0;
}

static void test_tree_gives_functions_by_what_is_above_them(void **state)
{
	char root[] = "/tmp/ripstop-probe-XXXXXX", link[256];
	struct seen *s = calloc(1, sizeof(*s));
	struct rs_probe p = {collect, s, root};

	assert_non_null(mkdtemp(root));
	put(root, "sys/devices/pci0000:10/0000:10:01.0/0000:11:00.0/class", "0x020000");
	put(root, "sys/devices/pci0000:10/0000:10:01.0/0000:11:00.0/numa_node", "1");
	put(root, "sys/bus/pci/drivers/mlx5_core/x", "");
	put(root, "sys/bus/pci/devices/x", "");
	put(root, "sys/class/net/eth4/mtu", "9000");
	put(root, "proc/cmdline", "iommu=pt token=abc");
	snprintf(link, sizeof(link), "%s/sys/bus/pci/devices/0000:11:00.0", root);
	assert_int_equal(symlink("../../../devices/pci0000:10/0000:10:01.0/0000:11:00.0", link), 0);
	snprintf(link, sizeof(link), "%s/sys/class/net/eth4/device", root);
	assert_int_equal(symlink("../../../devices/pci0000:10/0000:10:01.0/0000:11:00.0", link), 0);
	snprintf(link, sizeof(link), "%s/sys/devices/pci0000:10/0000:10:01.0/0000:11:00.0/driver",
		 root);
	assert_int_equal(symlink("../../../../bus/pci/drivers/mlx5_core", link), 0);
	assert_int_equal(rs_probe_files(&p), 0);
	remove_tree(root);
	assert_non_null(strstr(
		s->text, "sys/devices/pci0000:10/0000:10:01.0/0000:11:00.0/class:0x020000\n"));
	assert_non_null(strstr(s->text, "sys/class/net/eth4/mtu:9000\n"));
	assert_non_null(strstr(s->text, "proc/cmdline:iommu=pt token=***\n"));
	assert_non_null(strstr(s->text, "netdev/eth4 pci = 0000:11:00.0\n"));
	assert_non_null(strstr(s->text, "netdev/eth4 driver = mlx5_core\n"));
	assert_non_null(strstr(s->text, "pci/0000:11:00.0 driver = mlx5_core\n"));
	free(s);
}

static int refuse(void *arg, const char *path, const char *data, size_t size)
{
	return -ENOSPC;
}

static void test_probe_ends_when_its_sink_does(void **state)
{
	char root[] = "/tmp/ripstop-probe-XXXXXX";
	struct rs_probe p = {refuse, NULL, root};

	assert_non_null(mkdtemp(root));
	put(root, "proc/cmdline", "iommu=pt");
	assert_int_equal(rs_probe_files(&p), -ENOSPC);
	remove_tree(root);
}

/* ---- This host ---- */

static void test_this_host_is_read_with_places_as_they_are(void **state)
{
	struct rs_audit *a;
	struct rs_error e = {0};
	const struct rs_fact *f;

	assert_int_equal(rs_audit_create(&a), 0);
	assert_int_equal(rs_audit_read_live(a, &e), 0);
	rs_facts_seal(a->facts);
	assert_int_equal(rs_facts_hosts(a->facts), 1);
	f = rs_facts_get(a->facts, rs_facts_host(a->facts, 0), "netdev/lo", "mtu");
	assert_non_null(f);
	assert_string_equal(f->file, "/sys/class/net/lo/mtu");
	assert_int_equal(f->trust, RS_TRUST_LIVE);
	rs_audit_destroy(a);
}

static void test_facts_read_back_as_they_were_written(void **state)
{
	struct rs_fact_text t = {0};
	struct rs_audit *a;

	rs_fact_line(&t, "netdev/eth4", "pfc/3", "%d", 1);
	rs_fact_line(&t, "host", "unreadable", "%s", "dmesg: a = b\ncut");
	assert_int_equal(rs_audit_create(&a), 0);
	assert_int_equal(rs_audit_read_text(a, "h", "x.facts", t.data, NULL), 0);
	rs_facts_seal(a->facts);
	assert_string_equal(rs_facts_value(a->facts, "h", "netdev/eth4", "pfc/3"), "1");
	assert_string_equal(rs_facts_value(a->facts, "h", "host", "unreadable"), "dmesg: a = b");
	assert_int_equal(rs_facts_get(a->facts, "h", "netdev/eth4", "pfc/3")->line, 2);
	assert_int_equal(rs_facts_count(a->facts), 2);
	rs_audit_destroy(a);
	free_text(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dcb_tells_pfc_ets_and_dscp),
		cmocka_unit_test(test_dcb_attributes_cut_short_say_nothing),
		cmocka_unit_test(test_ethtool_tells_rings_and_fec),
		cmocka_unit_test(test_addresses_routes_and_rules_are_as_tools_print_them),
		cmocka_unit_test(test_rdma_tells_device_and_port),
		cmocka_unit_test(test_secrets_lose_their_value_and_nothing_else_does),
		cmocka_unit_test(test_tree_gives_functions_by_what_is_above_them),
		cmocka_unit_test(test_probe_ends_when_its_sink_does),
		cmocka_unit_test(test_this_host_is_read_with_places_as_they_are),
		cmocka_unit_test(test_facts_read_back_as_they_were_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* RDMA in Kubernetes: manifests are read, and each check is right, wrong, in doubt, or only looks
 * wrong. */
#include <stdlib.h>
#include "audit/read/reader.h"
#include "judge.h"

#define POD(name, value)                             \
	{                                            \
		"c", "k8s/pod/train", name, value, 0 \
	}
#define RDMA_RESOURCE POD("resource/rdma/hca_shared", "1")

static void test_pod_may_lock_memory(void **state)
{
	assert_int_equal(verdict("K01", FACTS(RDMA_RESOURCE, POD("ipc_lock", "1"))), RS_PASS);
	assert_int_equal(verdict("K01", FACTS(RDMA_RESOURCE, POD("privileged", "1"))), RS_PASS);
	assert_int_equal(verdict("K01", FACTS(RDMA_RESOURCE)), RS_FAIL);
	/* a pod without RDMA registers nothing */
	assert_int_equal(verdict("K01", FACTS(POD("resource/nvidia.com/gpu", "8"))), RS_NA);
}

static void test_pod_asks_for_a_device_per_network(void **state)
{
#define GPUS POD("resource/nvidia.com/gpu", "8")
	assert_int_equal(verdict("K02", FACTS(GPUS, POD("resource/openshift.io/roce0", "2"),
					      POD("networks", "rail0, rail1"))),
			 RS_PASS);
	assert_int_equal(verdict("K02", FACTS(GPUS, POD("resource/openshift.io/roce0", "1"),
					      POD("networks", "rail0,rail1"))),
			 RS_FAIL);
	assert_int_equal(verdict("K02", FACTS(GPUS)), RS_UNKNOWN);
	/* the host's own network and devices */
	assert_int_equal(verdict("K02", FACTS(GPUS, POD("host_network", "1"))), RS_PASS);
	/* which resource is RDMA's, the policy says, not the name */
	assert_int_equal(verdict("K02", FACTS(GPUS, POD("resource/openshift.io/fast", "1"),
					      POD("networks", "rail0"),
					      {"c", "k8s/policy/p", "resourceName", "fast", 0},
					      {"c", "k8s/policy/p", "isRdma", "true", 0})),
			 RS_PASS);
}

#define NAD(name, value)                                     \
	{                                                    \
		"c", "k8s/nad/default/rail0", name, value, 0 \
	}
#define RAIL0 NAD("name", "rail0"), NAD("resource", "openshift.io/roce0")
#define JOINS POD("networks", "rail0@net1"), POD("resource/openshift.io/roce0", "1")

static void test_networks_are_defined(void **state)
{
	assert_int_equal(verdict("K03", FACTS(JOINS, RAIL0)), RS_PASS);
	assert_int_equal(verdict("K03", FACTS(POD("networks", "rail9"), RAIL0)), RS_FAIL);
	/* defined, and its device is not asked for */
	assert_int_equal(verdict("K03", FACTS(POD("networks", "rail0"), RAIL0)), RS_FAIL);
	/* definitions were not given */
	assert_int_equal(verdict("K03", FACTS(JOINS)), RS_UNKNOWN);
	assert_int_equal(verdict("K03", FACTS(POD("networks", "[{\"name\": \"rail0\"}]"), RAIL0,
					      POD("resource/openshift.io/roce0", "1"))),
			 RS_PASS);
}

static void test_chaining_follows_the_nodes_mode(void **state)
{
#define MODE(v) {"node1", "host", "rdma_netns", v, 0}
	assert_int_equal(verdict("K03", FACTS(JOINS, RAIL0, MODE("exclusive"))), RS_FAIL);
	assert_int_equal(
		verdict("K03", FACTS(JOINS, RAIL0, NAD("rdma_cni", "1"), MODE("exclusive"))),
		RS_PASS);
	assert_int_equal(verdict("K03", FACTS(JOINS, RAIL0, NAD("rdma_cni", "1"), MODE("shared"))),
			 RS_FAIL);
	assert_int_equal(verdict("K03", FACTS(JOINS, RAIL0, MODE("shared"))), RS_PASS);
}

#define POLICY(name, value)                         \
	{                                           \
		"c", "k8s/policy/p", name, value, 0 \
	}
#define MADE POLICY("resourceName", "roce0"), POLICY("numVfs", "8"), POLICY("mtu", "9000")

static void test_policy_makes_rdma_functions(void **state)
{
	assert_int_equal(verdict("K04", FACTS(MADE, POLICY("isRdma", "true"),
					      POLICY("deviceType", "netdevice"),
					      POLICY("pfNames", "eth4#0-7"))),
			 RS_PASS);
	assert_int_equal(verdict("K04", FACTS(MADE, POLICY("isRdma", "false"))), RS_FAIL);
	assert_int_equal(verdict("K04", FACTS(MADE, POLICY("isRdma", "true"),
					      POLICY("deviceType", "vfio-pci"))),
			 RS_FAIL);
	/* more functions than the NIC has; another MTU than the NIC's */
	assert_int_equal(
		verdict("K04", FACTS(MADE, POLICY("isRdma", "true"), POLICY("pfNames", "eth4"),
				     {"n", "netdev/eth4", "sriov_totalvfs", "4", 0})),
		RS_FAIL);
	assert_int_equal(
		verdict("K04", FACTS(MADE, POLICY("isRdma", "true"), POLICY("pfNames", "eth4"),
				     {"n", "netdev/eth4", "mtu", "1500", 0})),
		RS_FAIL);
	assert_int_equal(verdict("K04", FACTS(MADE, POLICY("isRdma", "true"))), RS_UNKNOWN);
	/* DPDK's own */
	assert_int_equal(verdict("K04", FACTS(POLICY("resourceName", "dpdk0"),
					      POLICY("deviceType", "vfio-pci"))),
			 RS_NA);
}

static void test_virtual_functions_are_free(void **state)
{
#define VF(name, value)                                    \
	{                                                  \
		"n", "netdev/eth4", "vf/0/" name, value, 0 \
	}
	struct judged j;

	assert_int_equal(verdict("K05", FACTS(VF("trust", "true"), VF("max_tx_rate", "0"))),
			 RS_PASS);
	assert_int_equal(verdict("K05", FACTS(VF("max_tx_rate", "10000"))), RS_FAIL);
	assert_int_equal(verdict("K05", FACTS(VF("link_state", "disable"))), RS_FAIL);
	j = judge("K05", FACTS(VF("trust", "false")));
	assert_int_equal(j.a->findings[0]->severity, RS_MINOR);
	assert_string_equal(j.a->findings[0]->fix[0].command, "ip link set eth4 vf 0 trust on");
	rs_audit_destroy(j.a);
	assert_int_equal(verdict("K05", FACTS({"n", "netdev/eth4", "mtu", "9000", 0})), RS_NA);
}

static void test_placement_and_shared_memory(void **state)
{
#define KUBELET {"n", "k8s/kubelet", "kubelet", "1", 0}
#define MANAGER(v)                                           \
	{                                                    \
		"n", "k8s/kubelet", "topology_manager", v, 0 \
	}
	assert_int_equal(verdict("K06", FACTS(KUBELET, MANAGER("single-numa-node"))), RS_PASS);
	assert_int_equal(verdict("K06", FACTS(KUBELET, MANAGER("best-effort"))), RS_FAIL);
	assert_int_equal(verdict("K06", FACTS(GPUS)), RS_FAIL);
	assert_int_equal(verdict("K06", FACTS(GPUS, POD("shm", "64Mi"))), RS_FAIL);
	assert_int_equal(verdict("K06", FACTS(GPUS, POD("shm", "8Gi"))), RS_PASS);
	assert_int_equal(verdict("K06", FACTS(GPUS, POD("shm", "unlimited"))), RS_PASS);
	assert_int_equal(verdict("K06", FACTS(GPUS, POD("host_ipc", "1"))), RS_NA);
	/* one GPU needs no peer */
	assert_int_equal(verdict("K06", FACTS(POD("resource/nvidia.com/gpu", "1"))), RS_NA);
}

/* ---- The reader ---- */

static const char manifests[] =
	"apiVersion: batch/v1\n"
	"kind: Job\n"
	"metadata:\n"
	"  name: train\n"
	"spec:\n"
	"  template:\n"
	"    metadata:\n"
	"      annotations:\n"
	"        k8s.v1.cni.cncf.io/networks: rail0, rail1\n"
	"    spec:\n"
	"      hostIPC: true\n"
	"      containers:\n"
	"      - name: main\n"
	"        env:\n"
	"        - {name: NCCL_IB_TC, value: \"106\"}\n"
	"        securityContext:\n"
	"          capabilities:\n"
	"            add: [\"IPC_LOCK\"]\n"
	"        resources:\n"
	"          limits:\n"
	"            nvidia.com/gpu: 8\n"
	"            openshift.io/roce0: 2\n"
	"---\n"
	"apiVersion: k8s.cni.cncf.io/v1\n"
	"kind: NetworkAttachmentDefinition\n"
	"metadata:\n"
	"  name: rail0\n"
	"  namespace: default\n"
	"  annotations:\n"
	"    k8s.v1.cni.cncf.io/resourceName: openshift.io/roce0\n"
	"spec:\n"
	"  config: '{\"plugins\":[{\"type\":\"sriov\"},{\"type\":\"rdma\"}]}'\n"
	"---\n"
	"apiVersion: sriovnetwork.openshift.io/v1\n"
	"kind: SriovNetworkNodePolicy\n"
	"metadata: {name: p}\n"
	"spec:\n"
	"  isRdma: true\n"
	"  deviceType: netdevice\n"
	"  numVfs: 8\n"
	"  resourceName: roce0\n"
	"  nicSelector: {pfNames: [\"eth4#0-7\", eth5]}\n"
	"---\n"
	"this: [is broken\n"
	"---\n"
	"apiVersion: v1\n"
	"kind: ConfigMap\n"
	"metadata: {name: plugin}\n"
	"data:\n"
	"  config.json: |\n"
	"    {\"resourceList\": [{\"resourceName\": \"fast\", \"selectors\": {\"isRdma\": true,\n"
	"      \"pfNames\": [\"eth6\"]}}]}\n";

static void test_manifests_are_read(void **state)
{
	static const struct told want[] = {
		{"c", "k8s/pod/train", "resource/openshift.io/roce0", "2", 0},
		{"c", "k8s/pod/train", "networks", "rail0, rail1", 0},
		{"c", "k8s/pod/train", "ipc_lock", "1", 0},
		{"c", "k8s/pod/train", "host_ipc", "1", 0},
		{"c", "env", "NCCL_IB_TC", "106", 0},
		{"c", "k8s/nad/default/rail0", "rdma_cni", "1", 0},
		{"c", "k8s/nad/default/rail0", "resource", "openshift.io/roce0", 0},
		{"c", "k8s/policy/p", "pfNames", "eth4#0-7,eth5", 0},
		{"c", "k8s/policy/p", "isRdma", "true", 0},
		{"c", "k8s/plugin/fast", "isRdma", "true", 0},
		{"c", "k8s/plugin/fast", "pfNames", "eth6", 0},
	};
	struct rs_input in = {.host = "c",
			      .path = "all.yaml",
			      .inner = "all.yaml",
			      .data = manifests,
			      .size = sizeof(manifests) - 1};
	const struct rs_fact *f;
	struct rs_audit *a;

	assert_int_equal(rs_audit_create(&a), 0);
	assert_int_equal(rs_read_input(a, &in), 1);
	assert_string_equal(a->files[0].reader, "kubernetes");
	rs_facts_seal(a->facts);
	for (unsigned i = 0; i < sizeof(want) / sizeof(*want); i++) {
		const char *v = rs_facts_value(a->facts, "c", want[i].subject, want[i].name);

		if (!v)
			fail_msg("%s %s is unknown", want[i].subject, want[i].name);
		assert_string_equal(v, want[i].value);
	}
	/* lines are those of the file, in the first document and behind */
	f = rs_facts_get(a->facts, "c", "k8s/pod/train", "resource/openshift.io/roce0");
	assert_int_equal(f->line, 22);
	f = rs_facts_get(a->facts, "c", "k8s/policy/p", "isRdma");
	assert_int_equal(f->line, 38);
	rs_audit_destroy(a);
}

/* libfyaml 0.7.12 keeps some memory when it refuses a text: its own. */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:libfyaml\n";
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pod_may_lock_memory),
		cmocka_unit_test(test_pod_asks_for_a_device_per_network),
		cmocka_unit_test(test_networks_are_defined),
		cmocka_unit_test(test_chaining_follows_the_nodes_mode),
		cmocka_unit_test(test_policy_makes_rdma_functions),
		cmocka_unit_test(test_virtual_functions_are_free),
		cmocka_unit_test(test_placement_and_shared_memory),
		cmocka_unit_test(test_manifests_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

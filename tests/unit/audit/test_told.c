/* Texts that name failures and tell of none, beside the same words where they tell of one. */
#include "reading.h"

static bool accused(const char *text)
{
	struct rs_input in = {
		.host = "h", .path = "f", .inner = "f", .data = text, .size = strlen(text)};
	struct rs_audit *a;
	bool any = false;

	assert_int_equal(rs_audit_create(&a), 0);
	assert_true(rs_read_input(a, &in) >= 0);
	assert_int_equal(rs_audit_run(a, NULL, NULL, NULL), 0);
	for (uint32_t i = 0; i < a->n_findings; i++)
		any |= a->findings[i]->verdict == RS_FAIL && a->findings[i]->severity >= RS_MINOR;
	rs_audit_destroy(a);
	return any;
}

static void each(const char *const *healthy, const char *const *sick)
{
	for (; *healthy; healthy++) {
		if (accused(*healthy))
			fail_msg("accused: %s", *healthy);
	}
	for (; *sick; sick++) {
		if (!accused(*sick))
			fail_msg("not accused: %s", *sick);
	}
}

static void test_a_tests_name_is_no_failure(void **state)
{
	static const char *const healthy[] = {
		"t/test_mem.py::test_reg_mr_fails_without_memlock SKIPPED (no root)\n",
		"t/test_net.py::test_error_connect_to_peer_failed PASSED [ 12%]\n",
		"ok 7 - error: connection to peer 10.0.0.1 refused\n",
		"      Start  12: error_rdma_cannot_open_device\n",
		" 3/9 Test #3: error: failed to connect to peer ....   Passed    0.21 sec\n",
		"[       OK ] error: failed to connect to rank 3\n",
		NULL};
	static const char *const sick[] = {
		"not ok 7 - error: connection to peer 10.0.0.1 refused\n",
		"error: failed to connect to rank 3\n", NULL};

	(void)state;
	each(healthy, sick);
}

static void test_a_changelogs_entry_is_no_failure(void **state)
{
	static const char *const healthy[] = {
		"* Fixed \"Unable to register memory (type = 2). RC: -22, Invalid argument\"\n",
		"- RDMA: resolve crash on ibv_modify_qp failure with errno 110.\n",
		"## Known issues\n\n * On small nodes GPUDirect RDMA is not supported.\n", NULL};
	static const char *const sick[] = {
		"Unable to register memory (type = 2). RC: -22, Invalid argument\n",
		"## Known issues\n\n * the switch is old\n\n## Log\n\n"
		"error: ibv_modify_qp failed with errno 110\n",
		NULL};

	(void)state;
	each(healthy, sick);
}

static void test_a_tools_help_is_no_failure(void **state)
{
	static const char *const healthy[] = {
		"$ nvidia-smi --help-query-gpu\n\n\"fan\"\nIf the fan is blocked and cannot "
		"spin, "
		"this value does not tell so; an error message says that it could not be read.\n",
		"$ nvidia-smi -m\nERROR: Option -m is missing its value. See -h.\n",
		"  \"run_args\": \"--network none --platform kvm -watchdog-action=panic\"\n",
		"    [line]:     self.init_process_group(backend, timeout, method)\n", NULL};
	static const char *const sick[] = {
		"$ nvidia-smi --help\nNVIDIA-SMI has failed because it couldn't communicate "
		"with the NVIDIA driver.\n",
		"    self.init_process_group(backend, timeout)\nRuntimeError: connection to peer "
		"10.0.0.1 refused\n",
		NULL};

	(void)state;
	each(healthy, sick);
}

static void test_a_display_card_needs_no_nvlink(void **state)
{
#define LINKS \
	" (UUID: GPU-1)\nNVML: Unable to retrieve NvLink information as all links are inActive\n"
#define MEMORY                                             \
	"    FB Memory Usage\n        Total : 40960 MiB\n" \
	"    BAR1 Memory Usage\n        Total : 256 MiB\n"
#define Q                                                                                    \
	"==============NVSMI LOG==============\n\nGPU 00000000:01:00.0\n    Product Name : " \
	"NVIDIA "
	static const char *const healthy[] = {
		"$ nvidia-smi nvlink -s\nGPU 0: NVIDIA GeForce RTX 3060" LINKS,
		Q "GeForce RTX 2070\n" MEMORY, NULL};
	static const char *const sick[] = {
		"$ nvidia-smi nvlink -s\nGPU 0: NVIDIA H100 80GB HBM3" LINKS,
		Q "A100-SXM4-40GB\n" MEMORY, NULL};

	(void)state;
	each(healthy, sick);
}

static void test_a_protocols_own_counts_are_no_failure(void **state)
{
	static const char *const healthy[] = {
		"r1#show rip vrf blue statistics\n\nRIP statistics:\nPackets received: 900\n"
		"Discarded packets:  4321\n",
		"<Lldp><BadPackets>0</BadPackets><OutOfMemoryErrors>0</OutOfMemoryErrors></Lldp>\n",
		"r1#show ip bgp summary\n"
		"BGP router identifier 10.0.0.1, local AS number 65001\n"
		"Neighbor V AS MsgRcvd MsgSent TblVer InQ OutQ Up/Down State/PfxRcd\n"
		"10.0.0.2 4 65002 0 0 1 0 0 never Idle (Admin)\n",
		NULL};
	static const char *const sick[] = {
		"torch.OutOfMemoryError: the GPU has too little memory\n",
		"r1#show ip bgp summary\n"
		"BGP router identifier 10.0.0.1, local AS number 65001\n"
		"Neighbor V AS MsgRcvd MsgSent TblVer InQ OutQ Up/Down State/PfxRcd\n"
		"10.0.0.2 4 65002 0 0 1 0 0 never Idle\n",
		NULL};

	(void)state;
	each(healthy, sick);
}

static void test_a_manuals_sentence_is_no_failure(void **state)
{
	static const char *const healthy[] = {
		"**ibv_open_thing()** returns NULL if it fails, and errno is set to tell why.\n",
		"- If memlock is small, ibv_reg_mr may fail with ENOMEM.\n",
		"$ kubectl logs plugin\n  plugin [--fail-on-error=<bool>] [--oneshot]\n",
		"$ kubectl logs plugin\nfailOnInitError: true\n",
		"$ kubectl get pods\nThe chart that made it cannot be told from another, and this "
		"is why the "
		"operator keeps a record.\n",
		NULL};
	static const char *const sick[] = {"ibv_reg_mr failed with ENOMEM\n", NULL};

	(void)state;
	each(healthy, sick);
}

static void test_a_monitors_rule_is_no_state(void **state)
{
	static const char *const healthy[] = {
		"- alert: PortDown\n  expr: port_state != 4\n  annotations:\n"
		"    description: \"Port is not active: look at the cable.\"\n",
		NULL};
	static const char *const sick[] = {"description: \"Port is not active\"\n", NULL};

	(void)state;
	each(healthy, sick);
}

static void test_what_a_later_line_settled_is_no_failure(void **state)
{
	static const char *const healthy[] = {
		"$ kubectl get events\n"
		"5m  Warning  FailedMount  pod/a  volume set up failed: timed out waiting\n"
		"4m  Normal   Started      pod/a  Started container worker\n",
		"Mar 11 10:11:18 n kernel: bond0: Warning: No 802.3ad response from the link "
		"partner for any adapters in the bond\n"
		"Mar 11 10:11:19 n kernel: bond0: active interface up!\n",
		"time=\"1\" level=error msg=\"failed to load cni during init\" error=\"no net\"\n"
		"time=\"2\" level=info msg=\"containerd successfully booted in 0.1s\"\n",
		NULL};
	static const char *const sick[] = {
		"$ kubectl get events\n"
		"5m  Warning  FailedMount  pod/a  volume set up failed: timed out waiting\n"
		"4m  Normal   Started      pod/b  Started container worker\n",
		"Mar 11 10:11:17 n kernel: bond0: active interface up!\n"
		"Mar 11 10:11:18 n kernel: bond0: Warning: No 802.3ad response from the link "
		"partner for any adapters in the bond\n",
		NULL};

	(void)state;
	each(healthy, sick);
}

static void test_what_explains_a_message_is_no_failure(void **state)
{
	static const char *const healthy[] = {
		"A line such as `Failed to modify QP to RTR` means that the GIDs differ.\n",
		"misc/wrap.cc:88:3: note: in expansion of macro 'IBV_FAIL'\n", NULL};
	static const char *const sick[] = {"Failed to modify QP to RTR\n", NULL};

	(void)state;
	each(healthy, sick);
}

static void test_a_daemon_of_the_system_is_no_job(void **state)
{
	static const char *const healthy[] = {
		"Mar 11 10:11:14 n multipathd[8]: error: failed to get the rank of a path\n", NULL};
	static const char *const sick[] = {
		"Mar 11 10:11:14 n trainer[8]: error: failed to get the rank of a path\n", NULL};

	(void)state;
	each(healthy, sick);
}

static void test_a_pod_that_got_its_node_lacks_none(void **state)
{
	static const char *const healthy[] = {
		"Events:\n"
		"  Warning  FailedScheduling  5m  default-scheduler  0/2 nodes are available: 2 "
		"Insufficient nvidia.com/gpu.\n"
		"  Normal   Scheduled         4m  default-scheduler  Successfully assigned a/b to "
		"n1\n",
		NULL};
	static const char *const sick[] = {
		"Name: a\nEvents:\n"
		"  Warning  FailedScheduling  5m  default-scheduler  0/2 nodes are available: 2 "
		"Insufficient nvidia.com/gpu.\n"
		"Name: c\nEvents:\n"
		"  Normal   Scheduled         4m  default-scheduler  Successfully assigned a/c to "
		"n1\n",
		NULL};

	(void)state;
	each(healthy, sick);
}

static void test_what_is_not_ready_yet_is_no_failure(void **state)
{
	static const char *const healthy[] = {
		"E0604 12:00:03.211400    2211 worker.go:14] \"Skipping a pod of this worker\" "
		"err=\"its status check may not have completed yet, the GPU is not healthy\"\n",
		NULL};
	static const char *const sick[] = {"E0604 12:00:03.211400    2211 kubelet.go:14] "
					   "\"Collecting images of the worker failed\" "
					   "err=\"invalid capacity 0 on worker\"\n",
					   NULL};

	(void)state;
	each(healthy, sick);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_tests_name_is_no_failure),
		cmocka_unit_test(test_a_changelogs_entry_is_no_failure),
		cmocka_unit_test(test_a_tools_help_is_no_failure),
		cmocka_unit_test(test_a_display_card_needs_no_nvlink),
		cmocka_unit_test(test_a_protocols_own_counts_are_no_failure),
		cmocka_unit_test(test_a_manuals_sentence_is_no_failure),
		cmocka_unit_test(test_a_monitors_rule_is_no_state),
		cmocka_unit_test(test_what_a_later_line_settled_is_no_failure),
		cmocka_unit_test(test_what_explains_a_message_is_no_failure),
		cmocka_unit_test(test_a_daemon_of_the_system_is_no_job),
		cmocka_unit_test(test_a_pod_that_got_its_node_lacks_none),
		cmocka_unit_test(test_what_is_not_ready_yet_is_no_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

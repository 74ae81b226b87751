/* Failures in words that no table knows: their subject's words lead to a check. */
#include "reading.h"

static struct rs_audit *judged(const char *line)
{
	struct rs_input in = {
		.host = "h", .path = "f", .inner = "f", .data = line, .size = strlen(line)};
	struct rs_audit *a;

	assert_int_equal(rs_audit_create(&a), 0);
	assert_true(rs_read_input(a, &in) >= 0);
	assert_int_equal(rs_audit_run(a, NULL, NULL, NULL), 0);
	return a;
}

/* What a text of one line gives: the check and severity of its first FAIL; NULL: none. */
static const char *first(const char *line, enum rs_severity *severity)
{
	struct rs_audit *a = judged(line);
	const char *id = NULL;

	if (a->n_findings && a->findings[0]->verdict == RS_FAIL) {
		id = a->findings[0]->rule->id;
		*severity = a->findings[0]->severity;
		assert_true(a->findings[0]->n_facts > 0);
	}
	/* what states a failure is never fine */
	if (id)
		assert_int_not_equal(rs_audit_status(a, false, false), 0);
	rs_audit_destroy(a);
	return id;
}

static void test_words_of_a_subject_lead_to_its_check(void **state)
{
	static const struct {
		const char *check, *line;
	} cases[] = {
		/* checks of a machine's health, and what raises an alert */
		{"H09", "Number of rails present, 7 ports, is different than expected, 8\n"},
		{"H02", "governor of CPU 3: expected: performance, and found: powersave\n"},
		{"P14", "gpuId 4: has 2 links down and 0 links disabled\n"},
		{"N18", "211 / 900 = 23% of nodes are in bad slurm state\n"},
		{"C08", "WARNING: Interface 'swp3' packets out discard: 4% | 'swp3.out'=9;0:80\n"},
		{"P01",
		 "{\"status\": \"firing\", \"annotations\": {\"summary\": \"GPU 6 runs at x4, "
		 "expected x16\"}}\n"},
		{"R02", "fabric.c:90 E could not pick a gid on mlx5_2: table has no entry\n"},
		{"N12", "[err] wr 17 finished with wc status RETRY_EXC from 10.0.0.9\n"},
		{"N12", "app.cc:55: ERROR: work completion failed, code 12, qp 0x4a\n"},
		{"N16", "ERROR: registerMem of 4 GiB VRAM failed on device 3\n"},
		{"N16", "store.cc:10: error: listener: rdma_cm event REJECTED, giving up\n"},
		{"N16", "transport.rs: failed to move the QP to ready state\n"},
		{"N15", "error: no RDMA device matches pattern ib7s400p*\n"},
		{"N15", "E0101 10:00:00.1 99 core.cc:3] provider myverbs: init failed, code -61\n"},
		{"H09", "error: link of port 3 is down, cannot start\n"},
		{"N17", "FATAL: rendezvous with 10.2.2.2:29500 failed after 3 tries\n"},
		{"K03", "Error: multus could not attach net rail3 to pod worker-1\n"},
		{"K02", "E0101 10:00:00.1 1 main.go:3] device plugin failed to start on node a\n"},
		{"P14", "[ 77.123456] ionic 0000:3b:00.0: adminq stuck, device not responding\n"},
		{"P14", "Oct  3 03:11:02 h kernel: erdma 0000:00:05.0: failed to set up CMDQ\n"},
		{"N16", "[ 77.123456] rpcrdma: connection to 10.0.0.1 failed, status -103\n"},
		{"H05", "error: mlock of 4096 pages failed, raise the memlock limit\n"},
		{"P12", "warning: gdrcopy: pin failed with error: -12, falling back\n"},
		{"N16",
		 "E1127 17:51:28.5 21 /x/rdma/cq.cpp:123] Fail to set up RdmaCompletionQueue\n"},
		{"N18", "ERROR RdmaNode: Failed in RdmaNode constructor\n"},
		{"N17", "E0101 10:00:00.1 9 verbs/qp.cc:7] server did not answer on its socket\n"},
		{"N16", "[ 9.123456] scsi host3: ib_srp: target sent a reject, code 5\n"},
		{"N16", "[ 9.123456] ib2: could not post a receive, ret: -12\n"},
		{"P14", "[ 9.123456] bnxt_en 0000:3b:00.0 eth0: ring setup gave rc: -12\n"},
		{"N16", "a:1:2 [0] q.cc:4 NCCL WARN NET/IB : qp3 Got async error event: path\n"},
		{"N18",
		 "2026:1:1-10:00:00:(9) |CCL_ERROR| x.cpp:5 go: pool of requests is empty\n"},
		{"P12", "/src/gda.cpp:9: error in NVSHMEM: no host map as GDRCopy is disabled\n"},
		{"K03", "2026-01-01T10:00:00Z [error] DelegateAdd: no such kind of plugin\n"},
		{"H09", "ibwarn: [99] get_port: port query failed on lid 4\n"},
		{"N16", "$ ib_send_bw -d mlx5_0 node2\n Couldn't start the size loop\n"},
		{"N16", "$ ib_send_bw -d mlx5_0 node2\n Inline only valid for short messages\n"},
		{"K03", "2026-01-01T10:00:00Z [verbose] multus-daemon started\n"
			"2026-01-01T10:00:01Z [error] wrong route: no netmask\n"},
		{"N18",
		 "[1700000001.104313] [n7:9 :0]  ucc_context.c:1  UCC ERROR failed to read the "
		 "context of TL mlx5\n"},
		{"N17",
		 "DistStoreError: Timed out after 9 seconds waiting for clients. 1/2 joined.\n"},
		{"C07",
		 "-E- lid=0x0009 dev=5 S1/U1/P3 : \"link_downed_counter\" increased during the "
		 "run (difference value=2, threshold=0)\n"},
		{"H09", "[9] [5] Link [S-1 : 3] - [H-2 : 1] Link went down: (leaf-9 : 3)\n"},
		{"N12", "Error: POLL CQ with RDMA_CQE_RESP_STS_BROKEN_ERR, icid=0x9\n"},
		{"N12", "$ ib_send_bw node2\n Poll send CQ error status=-5 qp 1\n"},
		{"N17", "$ rping -c -a node9\ngetaddrinfo error: no such name\n"},
		{"N18", "[2026-01-01 10:00:00.1: E ops/x.cc:14] [3]: the shape has no such axis\n"},
		{"N18", "/src/team.cpp:9: error in NVSHMEM: a team cannot initialize twice\n"},
		{"N17",
		 "n1:1:2 [0] s.c:4 NCCL WARN socketTryAccept: exceeded error retry count after 3 "
		 "attempts\n"},
		{"P11",
		 "n1:1:2 [0] p.c:4 NCCL WARN NET/IB: PCI relaxed order memory access requested "
		 "but not supported\n"},
		{"P14", "[ 9.123456] rdma_rxe: rxe2: rxe_make_cq: gave err = -12\n"},
		{"H05", "[ 9.123456] infiniband mlx5_1: umem_get: no mlock permission\n"},
		{"N16", "* Waiting for client to connect... *\n Unable to start the size loop\n"},
		{"H09", "ibdiag: Query SA failed: timed out; path_query\n"},
		{"X05", "# Plugin fails if compiled against a newer libfabric than is run\n"},
		{"H06", "alloc.c:10: error: cannot map 512 huge pages\n"},
		{"P13", "01-01 [pid=1] ERROR  0:10 Inc-bar-usage failed: size 524288000\n"},
		{"P05", "E0101 10:00:00.1 99 core.cc:3] vfio: cannot bind behind this iommu\n"},
		{"R03", "ep.cc:33: error: path mtu 4096 and 1024 of the peers differ\n"},
		{"X05", "loader.c:4: error: plugin version mismatch: 9, not 10\n"},
		{"N16", "Couldn't create IB resources\n"},
		{"H09", "ERROR: check: No IB port of rdma9 is ACTIVE now\n"},
		{"N15", "a:1:2 [0] t.c:3 NCCL WARN SHARP group creation: no tree left (-18)\n"},
		{"N15", "tool: rdma_create_event_channel fail\n"},
		{"N15", "librdmacm: Fatal: cannot read the list, no RDMA devices here\n"},
		{"N15", "librdmacm: Warning: abi version could not be read\n"},
		{"N15", "net_mlx5: probe of 0000:3b:00.2 failed, not a verbs device\n"},
		{"N15", "mlx5_common: Verbs device not found for 0000:3b:00.3\n"},
		{"H06", "ring.c: WARN: * Not enough hugepage memory for the rings\n"},
		{"N18", "RuntimeError: transfer of layer 7 failed between prefill and decode\n"},
		{"N15", "launcher: cxi1: new service: Invalid argument\n"},
		{"P14", "ERROR: check_links: GPU 3 has nvlinks inactive: 4, 5\n"},
		{"P12", "ERROR  io:204 cuFile driver refused this file system, fail\n"},
		{"P12", "gpu-peermem-ctr: /usr/bin/load: line 9: KERNEL: unbound variable\n"},
		{"H06", "app.c:77: error: cannot create iobuf pool of 512 large buffers\n"},
		{"N18", "/src/host/team/x.cpp:120: non-zero status: 7 setup of nvshmem teams\n"},
		{"N18", "rank3: Assertion failure at lib/ptl.c:96: n == want\n"},
		{"N18", "Traceback (most recent call last): something failed at step 3\n"},
		/* checks of a machine's health: a cross, a verdict, Python's logging */
		{"H09",
		 "\xe2\x9c\x98 6 port(s) are active, expect 8; 2 device(s) found Down (ib5)\n"},
		{"P14", "\xe2\x9c\x97 GPU-9 waits for row remapping, uncorrectable, reset it\n"},
		{"C07", "2026-01-01 10:00:00 - ERROR - n4: 7 link flaps of rail2 since noon\n"},
		{"C07", "monitor: mlx5_7 port 1: link_downed: the training state machine failed, "
			"queue pairs are lost (value=2, delta=1)\n"},
		{"C07", "nic3 (rail3): FAIL - effective physical errors 77 (expected 0)\n"},
		{"P14",
		 "2026-01-01 10:00:00 - ERROR - GPU 6: ECC count of SRAM, uncorrectable, 4\n"},
		{"P01",
		 "2026-01-01 10:00:00 - ERROR - PCIe width mismatch: slot 4 has x4, not x16\n"},
		{"H09", "/opt/nhc/node-mark-offline n7 check_ib: No IB port rdma2:1 is active\n"},
		{"N15",
		 "modprobe: FATAL: Module bnxt_re not found in directory /lib/modules/6.8\n"},
		{"N15", "2026/01/02 03:04:05 Error to read the list. No valid RDMA device found\n"},
		{"N15", "rdma_create_ep: No such device\n"},
		{"X04", "rank 3: MPI_Init: the ports of both do not have the same subnet_prefix\n"},
		{"H09", "IOC_GET_NI error 100: Network is down\n"},
		{"H09", "$ lnetctl net show\nnet:\n    - net type: o2ib4\n      local NI(s):\n"
			"        - nid: 10.7.7.7@o2ib4\n          status: down\n"},
		{"P14", "2026-01-01 10:00:00 - ERROR - host7 - Fabric Manager not started\n"},
		{"P14",
		 "2026-01-01 10:00:00 - ERROR - GPU Count Test: Failed - device handle of 3\n"},
		{"H02", "2026-01-01 10:00:00 - WARNING - CPU Profile Check: Failed\n"},
		{"C07", "2026-01-01 10:00:00 - WARNING - RDMA link flapping test: Failed\n"},
		{"N18", "n7 - NCCL Test Failed: Avg bus bandwidth is 12.5\n"},
		{"H09",
		 "ts=1 level=error msg=\"NIC check failed\" message=\"port ib4/1 state DOWN\"\n"},
		{"N18",
		 "kern: app[9]: segfault at 7f79 ip 7f7c sp 7f7d error 4 in libnccl.so.2[7f+d3]\n"},
		{"R02", "W0101 10:00:00.1 9 ctx.cpp:5] GID index 5 of ib4 is NULL GID, check it\n"},
		{"H06", "EAL: could not reserve the memory of socket 1\n"},
		{"N15", "mlx5_net: cannot map the shared data of the first process\n"},
		{"N17",
		 "E0101 10:00:00.1 9 na.cc:7] cq: retry of peer 4 failed: No route to host\n"},
		{"N12", "# na_x(): fi_cq_readerr gave err: 5 for the send, failed\n"},
		{"N12", "  what():  a work item failed: status 12 (Ib failure: no memory)\n"},
		{"N15", "E0101 10:00:00.1 9 global.cpp:3] Fail to find one RDMA device of four\n"},
		{"N15", "[2026-01-01 10:00:00 ERROR] IBDevice not initialized yet\n"},
		{"N16", "/src/gda.cpp:9: error: cannot register the wq buf.\n"},
		{"N16", "peer.cc:12: ERROR: failed to post RDMA write 7 of rank 3\n"},
		{"H09", "card4: no network interfaces were detected\n"},
		{"K03",
		 "containerd: level=error msg=\"failed to hotplug the VFIO device of n3\"\n"},
		{"N15", "libibverbs: Warning: couldn't stat the device of mlx5_9\n"},
		{"N18", "[09:35:53] src/van.cc:9: unsupported kind of van: 4\n"},
		/* a library's clock is no kernel's */
		{"N18", "# [ 77.123456] mercury->cls: [error] x.c:9 hg_x() no such class\n"},
		{"N15", "By default, infiniband ports on a device\nare not used by Open MPI.\n"},
		{"P04",
		 "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n"
		 "Device=0 CANNOT Access Peer Device=1\nDevice=1 CANNOT Access Peer Device=0\n"},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		enum rs_severity s;
		const char *id = first(cases[i].line, &s);

		if (!id || strcmp(id, cases[i].check))
			print_error("%s, not %s: %s", id ? id : "nothing", cases[i].check,
				    cases[i].line);
		assert_non_null(id);
		assert_string_equal(id, cases[i].check);
	}
}

static void test_a_sentence_accuses_little(void **state)
{
	static const struct {
		const char *check, *line;
	} told[] = {
		{"N14", "# NCCL takes plain sockets instead of InfiniBand on our new cluster\n"},
		{"M01", "# very low bandwidth between two of our nodes, what is the reason?\n"},
		{"N15", "# Fail to open rdma device in a container\n"},
		{"P01", "our NIC is on a degraded link and it is slow (x4 instead of x16), why?\n"},
		{"N18", "# vllm error when all of the workers start at once\n"},
		{"N16",
		 "When I start the second node it hangs and the QP is never connected, why is "
		 "that?\n"},
		{"N16", "# registering the memory region failed on a100\n"},
		{"N17", "- the connection of rank 3 is refused when we use the bond and it is fine "
			"without\n"},
		{"X02", "My two nodes hang and I see that the MTU is different between them.\n"},
		{"X05",
		 "It fails, and the firmware of the NIC differs between both of the nodes.\n"},
		{"X07",
		 "It hangs when the NIC names are not the same on the two nodes, is that why?\n"},
		{"R07", "This is typical of a network that is without flow control and is dropping "
			"packets.\n"},
		/* the sentence that states the failure names what failed */
		{"K02",
		 "With nv_peermem and the driver all was fine and it ran. After a reboot the "
		 "device plugin of the node is not working.\n"},
	};

	for (unsigned i = 0; i < sizeof(told) / sizeof(*told); i++) {
		enum rs_severity s;

		const char *id = first(told[i].line, &s);

		if (!id || strcmp(id, told[i].check))
			print_error("%s, not %s: %s", id ? id : "nothing", told[i].check,
				    told[i].line);
		assert_non_null(id);
		assert_string_equal(id, told[i].check);
		assert_int_equal(s, RS_MINOR);
	}
}

/* A program knows better than a person what failed, and its first line better than its last. */
static void test_what_was_said_first_by_a_program_comes_first(void **state)
{
	struct rs_audit *a =
		judged("I run it over the sockets provider and it fails when it is "
		       "loading, what is wrong?\n"
		       "E0101 10:00:00.1 9 x.cc:7] the socket of peer 10.0.0.9 failed\n"
		       "E0101 10:00:00.2 9 y.cc:9] the QP of rank 3 failed\n");
	static const char *const order[] = {"N17", "N16", "N15"};

	for (unsigned i = 0; i < 3; i++)
		assert_string_equal(a->findings[i]->rule->id, order[i]);
	assert_true(a->findings[2]->told);
	rs_audit_destroy(a);
}

/* What is minor by itself is no cause of what a program is sure of. */
static void test_a_minor_finding_explains_no_sure_one(void **state)
{
	struct rs_audit *a = judged("$ rdma link\n"
				    "link bnxt_re4/1 state ACTIVE physical_state LINK_UP\n"
				    "$ ibv_devinfo\nNo IB devices found\n");

	assert_string_equal(a->findings[0]->rule->id, "N15");
	assert_null(a->findings[0]->cause);
	rs_audit_destroy(a);
}

/* A port that is down explains a list that takes it, not one that names a device too many. */
static void test_a_port_explains_its_own_place_in_a_list_alone(void **state)
{
	static const struct {
		const char *list;
		bool explained;
	} cases[] = {{"mlx5_0,mlx5_2", true}, {"mlx5_0,mlx5_2,mlx5_7", false}};

	for (unsigned i = 0; i < 2; i++) {
		char text[512];
		struct rs_audit *a;
		unsigned seen = 0;

		snprintf(text, sizeof(text),
			 "$ rdma link\n"
			 "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ens3f0np0\n"
			 "link mlx5_1/1 state ACTIVE physical_state LINK_UP netdev ens3f1np1\n"
			 "link mlx5_2/1 state DOWN physical_state DISABLED netdev ens4f0np0\n"
			 "$ env | grep NCCL\nNCCL_IB_HCA=%s\n",
			 cases[i].list);
		a = judged(text);
		for (uint32_t k = 0; k < a->n_findings; k++)
			if (!strcmp(a->findings[k]->rule->id, "N04")) {
				seen++;
				assert_int_equal(a->findings[k]->cause != NULL, cases[i].explained);
			}
		assert_int_equal(seen, 1);
		rs_audit_destroy(a);
	}
}

static void test_settings_columns_and_other_parts_accuse_nothing(void **state)
{
	static const char *const lines[] = {
		"ptp announce timeout 30\n",
		"a:1:2 [0] t.cc:9 NCCL WARN NET/IB : Got async event : client reregistration\n",
		"[25033.2] nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid "
		"context, "
		"skipping further processing\n",
		"connect: Connection refused\n",
		"Failed to connect to lldpad - clif_open: Connection refused\n",
		"priority-flow-control pause watchdog default timeout 0.05\n",
		"remapped_uncorrectable_errors: 512\n",
		"check_link_errors: false\n",
		"Fri Dec 13 07:57:31 2019: CRITICAL  : Started a daemon, protocol version 3.3\n",
		"[1700000001.1] [n7:49 :0]  ib_md.c:9  UCX  DEBUG ibv_reg_mr() failed: Bad "
		"address\n",
		"Tcp: RtoAlgorithm AttemptFails EstabResets InErrs\n",
		"[    2.345678] ata1.00: failed to get Identify Device Data, Emask 0x1\n",
		"[ 3100.100000] pcieport 0000:00:01.1: AER: Corrected error received: "
		"0000:00:01.1\n",
		"tests.test_tag_matching.TMTest.test_tm_unexpected_tag: needs an SRQ\n",
		"W0101 10:00:00.1 9 topo.cpp:3] Failed to load the map, falling back to its own\n",
		"[2026-01-01 10:00:00] Ignore import error when loading a.b: cannot import name "
		"'X'\n",
		"[a:4] mca_base_open: unable to open mca_btl_x: libfabric.so.1: cannot open shared "
		"object file: No such file or directory (ignored)\n",
		"test_ibv_modify_qp_failed_is_reported (t.T) ... ok\n",
		"[    5.200000] nvidia: module verification failed: signature and/or required key "
		"missing - tainting kernel\n",
		"E0000 00:00:17.123456    1234 cuda_dnn.cc:83] Unable to register a factory: one "
		"has already been registered\n",
		"If you see errors of incompatible models, use another release.\n",
		"check of ports: no errors were detected\n",
		"Userspace RDMA     : Unsupported\n",
		"| NCCL | 2.18.3, one process (\"No device found\") | log |\n",
		"n1:1:1 [0] NCCL INFO NET/Plugin: could not find libnccl-net-x.so for the QP\n",
		"[ 5.200000] mlx5_core 0000:3b:00.0 eth0: Disabling LRO, not supported here\n",
		"[ 5.200000] ice 0000:3b:00.0 eth0: Changing Rx descriptor count from 1 to 2\n",
		"[ 5.200000] bnxt_en 0000:3b:00.0 eth0: cannot offload this flow's vlan\n",
		"[ 5.200000] ice 0000:3b:00.0: clock source: clk_src = -5\n",
		"n1:1:1 [0] graph/x.cc:9 NCCL INFO Could not open XML topology file /var/t.xml\n",
		"[W1112 10:11:12.1 x.py:6] UserWarning: this loader might get slow or even "
		"freeze\n",
		"n1:1:2 [0] x.cc:1 NCCL WARN MSCCL++: Cannot enable MSCCL++ on this architecture\n",
		"r RIB-failure, S Stale, m multipath, f RT-Filter\n",
		"libfabric:9:1::verbs:core:f():5<info> no RDMA devices found\n",
		"\xe2\x9c\x94 no xid error found on 8 devices\n",
		"\xe2\x9c\x93 link failures: none seen by the monitor\n",
		"nic3 (rail3): OK - physical errors below the limit of failure\n",
		"[PASS] check_errors: no error of any link\n",
		"2026-01-01 10:00:00 - INFO - RDMA link flapping/down test: Passed\n",
		"2026-01-01 10:00:00 - INFO - GPU PCIe Width Failure Test: Passed\n",
		"[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n"
		"Device=0 CAN Access Peer Device=1\nDevice=0 CANNOT Access Peer Device=2\n",
	};

	for (unsigned i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct rs_audit *a = judged(lines[i]);

		for (uint32_t k = 0; k < a->n_findings; k++) {
			if (a->findings[k]->verdict == RS_FAIL)
				print_error("%s: %s", a->findings[k]->rule->id, lines[i]);
			assert_int_not_equal(a->findings[k]->verdict, RS_FAIL);
		}
		rs_audit_destroy(a);
	}
}

/* What no table has is found and accuses no machine, a person or a program. */
static void test_words_alone_are_minor(void **state)
{
	static const char *const mild[] = {
		"[2025-01-01 10:00:00] WARNING x.py:56: nixl: Failed to load CuPy, using numpy\n",
		"rdma functions of the engine fail. I've added messages to a large number of "
		"lines\n",
		"Initialize a field for RDMA transports. Without this, RDMA services fail to "
		"start\n",
		"[1700000001.1] [n7:49 :0]  ucp_ep.c:9  UCX  INFO  ep 0x1: failed to connect "
		"lanes\n",
		"libqedr: allow post send if QP is in error state\n",
		"[W1112 10:11:12.1 socket.cpp:697] [c10d] The client socket has failed to connect "
		"to [localhost]:29500 (errno: 99 - Cannot assign requested address).\n",
		"WARNING: There was an error initializing an OpenFabrics device.\n",
		"libibverbs: Warning: couldn't load driver 'libx-rdmav34.so': libx-rdmav34.so: "
		"cannot open shared object file: No such file or directory\n",
		"n1:44:44 [0] NCCL INFO Call to connect returned Connection refused, retrying\n",
		"n1:44:44 [0] NCCL INFO Call to ibv_modify_qp failed with 110 timed out, retrying "
		"1/9\n",
		"libfabric:9:1::core:core:grow():9<warn> madvise of hugepages failed, using "
		"others\n",
		"Warning: couldn't read an ibverbs config file.\n",
		"$ ibv_rc_pingpong node2\nWarning: couldn't read a config file of a driver.\n",
		"n1:44:44 [0] init.cc:9 NCCL WARN minCTAs 40 is larger than 32, cap it to 32\n",
	};
	static const char *const plain[] = {
		"[1700000001.1] [n7:49 :0]  ucp_ep.c:9  UCX  ERROR ep 0x1: failed to connect "
		"lanes\n",
		"Failed to allocate a memory region\n",
		"node1:1:2 [0] x.cc:9 NCCL WARN NET/OFI Couldn't set an option of the endpoint\n",
	};
	enum rs_severity s;

	for (unsigned i = 0; i < sizeof(mild) / sizeof(*mild); i++)
		if (first(mild[i], &s))
			assert_true(s <= RS_MINOR);
	/* found, and by its words alone no more than minor */
	for (unsigned i = 0; i < sizeof(plain) / sizeof(*plain); i++) {
		assert_non_null(first(plain[i], &s));
		assert_int_equal(s, RS_MINOR);
	}
	/* c10d's old level */
	assert_null(
		first("[I socket.cpp:293] [c10d - debug] The server has accepted a worker\n", &s));
}

static void test_a_known_message_is_said_once(void **state)
{
	struct rs_audit *a = judged("n1:5:9 [0] misc/ibvwrap.cc:187 NCCL WARN Call to ibv_reg_mr "
				    "failed with error Cannot allocate memory\n");
	unsigned fails = 0;

	for (uint32_t k = 0; k < a->n_findings; k++)
		fails += a->findings[k]->verdict == RS_FAIL;
	assert_int_equal(fails, 1);
	rs_audit_destroy(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_of_a_subject_lead_to_its_check),
		cmocka_unit_test(test_a_sentence_accuses_little),
		cmocka_unit_test(test_what_was_said_first_by_a_program_comes_first),
		cmocka_unit_test(test_a_minor_finding_explains_no_sure_one),
		cmocka_unit_test(test_a_port_explains_its_own_place_in_a_list_alone),
		cmocka_unit_test(test_settings_columns_and_other_parts_accuse_nothing),
		cmocka_unit_test(test_words_alone_are_minor),
		cmocka_unit_test(test_a_known_message_is_said_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

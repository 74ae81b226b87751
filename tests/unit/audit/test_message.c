/* Messages (facts/message.h): each pattern of each row finds its line, nothing else does, and what
 * is found is judged as its row says. */
#include <ctype.h>
#include "audit/facts/message.h"
#include "audit/read/shown.h"
#include "audit/read/states.h"
#include "audit/read/event.h"
#include "audit/read/terms.h"
#include "reading.h"

/* ---- The table ---- */

/* Does a row of the table of outputs, the vocabulary or a table's form tell it? */
static bool is_shown(const char *key)
{
	static const char *const forms[] = {"mtu-small",   "gid-empty",  "config-differs",
					    "port-wanted", "lag-down",   "port-protocol",
					    "host-lossy",  "link-losses"};

	for (unsigned i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (!strcmp(forms[i], key))
			return true;
	if (rs_term_tells(key) || rs_state_tells(key) || rs_event_tells(key))
		return true;
	for (const struct rs_shown *b = rs_shown_blocks; b->name; b++)
		for (const struct rs_shown_row *r = b->row; r->like; r++)
			if (r->message && !strcmp(r->message, key))
				return true;
	return false;
}

static void test_rows_are_well_formed(void **state)
{
	const struct rs_message *m;
	unsigned rows = 0;

	for (; (m = rs_message_row(rows)); rows++) {
		bool found = !m->check || rs_rule_find(m->check);

		if (!found)
			print_error("%s: no check %s\n", m->key, m->check);
		assert_true(found);
		assert_null(strchr(m->key, '/'));
		assert_true(!m->check || (m->title && m->why));
		assert_true(!m->need == !m->need_why);
		assert_true(!m->errno_is || !m->pattern[0]);
		assert_true(m->errno_is || m->pattern[0] || is_shown(m->key));
		/* two rows of one key: one speaks where the other's condition does not hold */
		assert_true(m->errno_is || !strcmp(rs_message_find(m->key)->key, m->key));
	}
	assert_true(rows < RS_MESSAGE_ROWS);
	assert_null(rs_message_find("gdr"));
	assert_string_equal(rs_message_find("verbs-register/12")->check, "H05");
	assert_string_equal(rs_message_find("verbs-register/77")->check, "N16");
}

/* A line as a program prints it: "*" stands for anything. */
static void line_of(const char *pattern, const char *before, const char *after, char *out,
		    size_t size)
{
	size_t n = (size_t)snprintf(out, size, "%s", before);

	for (; *pattern && n < size - 64; pattern++) {
		if (*pattern == '*')
			n += (size_t)snprintf(out + n, size - n, "mlx5_3 x9");
		else
			out[n++] = *pattern;
	}
	snprintf(out + n, size - n, "%s\n", after);
}

static bool found_in(const char *text, const struct rs_message *m)
{
	struct rs_input in = {
		.host = "h", .path = "f", .inner = "f", .data = text, .size = strlen(text)};
	struct rs_audit *a;
	bool found;

	assert_int_equal(rs_audit_create(&a), 0);
	rs_read_input(a, &in);
	rs_facts_seal(a->facts);
	found = facts(a, "message", m->key) > 0;
	rs_audit_destroy(a);
	return found;
}

static void test_each_pattern_finds_its_line_and_not_its_source(void **state)
{
	const struct rs_message *m;
	char text[1024];

	for (uint32_t row = 0; (m = rs_message_row(row)); row++)
		for (unsigned i = 0; m->pattern[i]; i++) {
			line_of(m->pattern[i], "node1:77:99 [0] ", " failed: x", text,
				sizeof(text));
			if (!found_in(text, m))
				print_error("%s: not found: %s", m->key, text);
			assert_true(found_in(text, m));
			line_of(m->pattern[i], "\tWARN(\"", " failed: %s\", name);", text,
				sizeof(text));
			assert_false(found_in(text, m));
			line_of(m->pattern[i], "dmesg | grep '", "'", text, sizeof(text));
			assert_false(found_in(text, m));
		}
}

/* ---- Lines ---- */

static void found_as(const char *text, const char *name)
{
	struct rs_audit *a = reading(text);

	if (!facts(a, "message", name))
		print_error("no %s in: %s\n", name, text);
	assert_true(facts(a, "message", name));
	rs_audit_destroy(a);
}

static void test_a_call_is_told_by_its_errno(void **state)
{
	found_as("n1:5:9 [0] misc/ibvwrap.cc:187 NCCL WARN Call to ibv_modify_qp failed with error "
		 "Network is unreachable\n",
		 "verbs-modify/101");
	found_as("n1:5:9 [0] ibvwrap.c:262 NCCL WARN Call to ibv_modify_qp failed with 110 "
		 "Connection "
		 "timed out, on dev mlx5_1:1, curr state INIT, next state RTR\n",
		 "verbs-modify/110");
	found_as("E0331 12:03:04.222625 56060 rdma_endpoint.cpp:385] [Handshake] Failed to modify "
		 "QP to "
		 "RTR, check mtu, gid, peer lid, peer qp num: No such device [19]\n",
		 "verbs-modify/19");
	found_as("/src/modules/transport/ibrc/ibrc.cpp:418: non-zero status: 22 ibv_modify_qp "
		 "failed\n",
		 "verbs-modify/22");
	found_as("n1:5:9 [0] NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate "
		 "memory\n",
		 "verbs-register/12");
	found_as("Couldn't allocate MR with error=14\n", "verbs-register/14");
	found_as("[16.1] [n:1:0] ib_md.c:499  UCX  ERROR ibv_reg_mr(address=0x7f2e length=2097152) "
		 "failed: Bad address\n",
		 "verbs-register/14");
	found_as("[1,23]<stdout>:n:7:9 [7] NCCL WARN NET/OFI Couldn't register memory region with "
		 "regattr. RC: -95, ERROR: Operation not supported\n",
		 "verbs-register/95");
	found_as("ERROR rdma::mr: RawMemoryRegion::register_from failed Os { code: 12, kind: "
		 "OutOfMemory, message: \"Cannot allocate memory\" }\n",
		 "verbs-register/12");
	found_as("[1.2] [pod:27:0] ib_mlx5dv_md.c:1100 UCX  ERROR mlx5_7: ibv_modify_qp(UMR QP "
		 "0x9b5e) failed to modify to RTR: No such device\n",
		 "umr-qp");
	/* a log of JSON lines, and a post's inline code */
	found_as("{\"level\":\"error\",\"msg\":\"Failed to create QP\",\"err\":\"Invalid "
		 "argument\"}\n",
		 "verbs-create/22");
	found_as("and then I see `Failed to create QP: Invalid argument`.\n", "verbs-create/22");
}

/* Open MPI's file of help texts holds each message that it has, and none was printed. */
static void test_a_help_file_says_nothing(void **state)
{
	static const char message[] = "The InfiniBand retry count between two MPI processes has "
				      "been\nexceeded.\n";
	char file[256];
	struct rs_audit *a;
	struct rs_input in = {.host = "h", .path = "f", .inner = "f", .data = file};

	found_as(message, "mpi-retry");
	in.size =
		(size_t)snprintf(file, sizeof(file), "# -*- text -*-\n#\n[btl:retry]\n%s", message);
	assert_int_equal(rs_audit_create(&a), 0);
	rs_read_input(a, &in);
	rs_facts_seal(a->facts);
	assert_int_equal(facts(a, "message", ""), 0);
	rs_audit_destroy(a);
}

static void status_is(const char *text, const char *status)
{
	struct rs_audit *a = reading(text);

	expect(a, "nccl", "completion_error", status);
	rs_audit_destroy(a);
}

static void test_a_status_by_number_name_words_and_syndrome(void **state)
{
	status_is("n:1:2 [0] NCCL WARN NET/IB : Got completion from peer 10.0.0.2<54862> with "
		  "status=12 "
		  "opcode=0 len=0 vendor err 129 (Recv)\n",
		  "12");
	status_is("n:1:2 [0] NCCL WARN NET/IB : Got completion with error 4, opcode 1, len 0, "
		  "vendor err "
		  "81 from peer x\n",
		  "4");
	status_is(
		"n:1:2 [0] NCCL WARN NET/IB: Got completion from peer 10.0.0.2<5> with "
		"status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) reqSize=0 vendor_err=129\n",
		"12");
	status_is(" Completion with error at client\n Failed status 10: wr_id 0 syndrom 0x88\n",
		  "10");
	status_is(
		"[17.8] [pod:537 :1] srd_iface.c:221  UCX  ERROR send completion[0] with error on "
		"rdmap132s0/0x55: Work Request Flushed Error, vendor_err 0x1 wr_id 0x7f\n",
		"5");
	status_is(
		"terminate called after throwing an instance of 'std::runtime_error' what(): NCCL "
		"error. Last error: NET/IB : Got completion from peer 10.0.0.2<39138> with error "
		"12, opcode 0, len 0, vendor err 129\n",
		"12");
	status_is("[n:1:0:1] ib_mlx5_log.c:177  Transport retry count exceeded on mlx5_0:1/IB "
		  "(synd 0x15 "
		  "vend 0x81 hw_synd 0/0)\n",
		  "12");
	status_is(
		"[n:1:0:1] ib_mlx5_log.c:177  Remote access on mlx5_0:1/RoCE (synd 0x13 vend 0x88 "
		"hw_synd 0/0)\n",
		"10");
	status_is("E0724 1 worker_pool.cpp:291] Worker: Process failed for slice (dest_rkey: 21): "
		  "local "
		  "protection error\n",
		  "4");
	status_is("[[47,1],5][btl_openib_component.c:3645:handle_wc] from a to: b error polling LP "
		  "CQ with "
		  "status RETRY EXCEEDED ERROR status number 12 for wr_id 1a opcode 0\n",
		  "12");
	status_is("[E] cq.cc:9: CQE error, wr_id=3, status=2 (local QP operation error)\n", "2");
	status_is("pollOnce chan.cc:198] WR_FLUSH_ERR, qp_num=0x2c91\n", "5");
	status_is("nvme.c:22:poll: *ERROR*: CQ error on Queue Pair 0x7f, Response Index 14 (13): "
		  "x\n",
		  "13");
	status_is("ep.cpp:11: bad wc status 9 on qp 4\n", "9");
	status_is("ib_read_bw Failed status 12\n", "12");
	status_is("  what():  a work item failed: status 4 (Ib failure)\n", "4");
	status_is("@ 1> rcv comp->status=5\n", "5");
	status_is("@ 0> snd status=10 opcode=2 dst_node=1 dst_qp=0\n", "10");
	/* success is no error */
	status_is("n:1:2 [0] NCCL INFO completion from peer with status=0\nx: RNR retry counter "
		  "exceeded\n",
		  "13");
}

/* People tell of messages; code has their formats; scripts look for them. None is a machine's. */
static void test_what_only_tells_of_messages_is_none(void **state)
{
	static const char *const texts[] = {
		"Hi all,\nlast week a NIC reported \"transport retry counter exceeded\" after a "
		"cable was "
		"replaced; it is fixed now.\n",
		"if (ret) LOG(ERROR) << \"Failed to modify QP to RTR, check mtu\";\n",
		"        WARN(\"NET/IB : Unable to open device %s\", name);\n",
		"dmesg | grep -i 'fallen off the bus'\n",
		"export NCCL_IB_HCA=mlx5\nsrun python train.py --on-timeout retry\n",
		"We use ibv_modify_qp and ibv_reg_mr in our own transport.\n",
		"- `Failed to create QP: Cannot allocate memory` -> too many queue pairs\n",
		"| `No suitable GID found` | the index is empty |\n",
		"\t\tcase IBV_WC_RETRY_EXC_ERR:\n\t\t\treturn \"transport retry counter "
		"exceeded\";\n",
		"    raise RuntimeError(\"NIXL_ERR_BACKEND: Failed to register memory\")\n",
		"nixl_exit_on_failure(status, \"Failed to register memory\", agent1);\n",
		"Entry(\"when device plugin is unable to register memory\", true, false),\n",
		"To set up: ibv_create_qp, then ibv_modify_qp to INIT, RTR and RTS.\n",
	};

	for (unsigned i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct rs_input in = {.host = "h",
				      .path = "f",
				      .inner = "f",
				      .data = texts[i],
				      .size = strlen(texts[i])};
		struct rs_audit *a;

		assert_int_equal(rs_audit_create(&a), 0);
		rs_read_input(a, &in);
		rs_facts_seal(a->facts);
		if (facts(a, "message", ""))
			print_error("taken: %s", texts[i]);
		assert_int_equal(facts(a, "message", ""), 0);
		assert_int_equal(facts(a, "nccl", "completion_error"), 0);
		rs_audit_destroy(a);
	}
}

/* ---- Judgement ---- */

static const struct rs_finding *first(struct judged j)
{
	return j.a->n_findings ? j.a->findings[0] : NULL;
}

static void test_a_message_takes_the_place_of_a_pass(void **state)
{
	const struct told loaded[] = {
		{"h", "host", "module/nvidia_peermem", "1", 0},
		{"h", "host", "memory_peers/nv_mem", "1.3", 0},
		{"h", "message", "gdr-disabled", "GPU Direct RDMA Disabled for HCA 0 'mlx5_0'", 0},
		{NULL, NULL, NULL, NULL, 0}};
	struct judged j = judge("P12", loaded);

	assert_int_equal(j.a->n_findings, 1);
	assert_int_equal(first(j)->verdict, RS_FAIL);
	rs_audit_destroy(j.a);
	/* and what the job did takes the place of the message */
	assert_int_equal(
		verdict("P12", FACTS({"h", "nccl", "via_ib_gdr", "NET/IB/0/GDRDMA", 0},
				     {"h", "host", "module/nvidia_peermem", "1", 0},
				     {"h", "message", "gdr-disabled", "Disabled for HCA 1", 0})),
		RS_PASS);
}

/* EFAULT of a registration: a GPU's memory where the text is of GPUs, else any. */
static void test_an_address_is_a_gpus_where_gpus_are_named(void **state)
{
	const struct told host[] = {
		{"h", "message", "verbs-register/14", "ibv_reg_mr failed: Bad address", 0},
		{NULL, NULL, NULL, NULL, 0}};
	const struct told gpu[] = {
		{"h", "message", "verbs-register/14", "ibv_reg_mr failed: Bad address", 0},
		{"h", "said", "failure/1", "cannot register 4 GiB of VRAM", 0},
		{NULL, NULL, NULL, NULL, 0}};
	struct judged j = judge(NULL, host);

	assert_string_equal(first(j)->rule->id, "N16");
	rs_audit_destroy(j.a);
	j = judge(NULL, gpu);
	assert_string_equal(first(j)->rule->id, "P12");
	rs_audit_destroy(j.a);
}

/* Who asks why a good sign is missing has not seen it. */
static void test_a_sign_that_is_missed_is_none(void **state)
{
	static const char text[] = "# Why is there no connection via NET/IB/0/GDRDMA here\n"
				   "I don't see /GDRDMA being enabled.\n";
	struct rs_input in = {
		.host = "h", .path = "f", .inner = "f", .data = text, .size = sizeof(text) - 1};
	struct rs_audit *a;

	assert_int_equal(rs_audit_create(&a), 0);
	rs_read_input(a, &in);
	rs_facts_seal(a->facts);
	assert_int_equal(facts(a, "message", "gdr-enabled"), 0);
	assert_int_equal(facts(a, "nccl", "via_ib_gdr"), 0);
	rs_audit_destroy(a);
	a = reading("n1:5:9 [0] NCCL INFO Channel 00/0 : 7[3] -> 0[0] [receive] via "
		    "NET/IB/0/GDRDMA\n");
	assert_int_equal(facts(a, "message", "gdr-enabled"), 1);
	assert_int_equal(facts(a, "nccl", "via_ib_gdr"), 1);
	rs_audit_destroy(a);
}

static void test_one_finding_for_a_message_of_many_hosts(void **state)
{
	struct judged j =
		judge("R02", FACTS({"a", "message", "gid", "No suitable GID found on mlx5_0", 0},
				   {"a", "message_device", "gid", "mlx5_0", 0},
				   {"b", "message", "gid", "No suitable GID found on mlx5_1", 0},
				   {"c", "message", "gid", "No suitable GID found on mlx5_1", 0}));

	assert_int_equal(j.a->n_findings, 1);
	assert_int_equal(first(j)->n_subjects, 3);
	assert_string_equal(first(j)->subject[0].part, "mlx5_0");
	assert_non_null(strstr(first(j)->title, "3 lines, 3 hosts"));
	rs_audit_destroy(j.a);
}

/* A completion's finding names the line's device and peer, and the line of the status that counts.
 */
static void test_a_completion_names_its_device_and_peer(void **state)
{
	static const char text[] =
		"n1:1:2 [0] NCCL WARN NET/IB: Got completion from peer 10.0.0.7<5> with status=5 "
		"opcode=0 len=0 vendor err 249 (Recv) hca mlx5_1\n"
		"n1:1:2 [0] NCCL WARN NET/IB: Got completion from peer 10.0.0.9<6> with status=12 "
		"opcode=0 len=0 vendor err 129 (Recv) hca mlx5_7\n"
		"n1:1:2 [0] NCCL WARN NET/IB: Got completion from peer 10.0.0.9<6> with status=12 "
		"opcode=0 len=0 vendor err 129 (Recv) hca mlx5_7\n";
	struct rs_input in = {
		.host = "h", .path = "f", .inner = "f", .data = text, .size = sizeof(text) - 1};
	struct judged j;

	assert_int_equal(rs_audit_create(&j.a), 0);
	rs_read_input(j.a, &in);
	assert_int_equal(rs_audit_run(j.a, NULL, NULL, NULL), 0);
	assert_string_equal(first(j)->rule->id, "N12");
	assert_string_equal(first(j)->subject[0].part, "mlx5_7");
	assert_non_null(strstr(first(j)->title, "error 12"));
	assert_non_null(strstr(first(j)->title, "peer 10.0.0.9 (2 lines)"));
	assert_non_null(strstr(first(j)->fact[0]->value, "status=12"));
	rs_audit_destroy(j.a);
	/* link-local GIDs of RoCE explain it */
	in.data = "n1:1:2 [0] ib_plugin.c:1105 NCCL WARN NET/IB : Got completion from peer "
		  "10.0.0.2<5> with error 12, opcode 0, len 0, vendor err 129 (Recv) localGid "
		  "fe80::966d:aeff:fe5d:1 remoteGid fe80::6e92:cfff:fe87:2\n";
	in.size = strlen(in.data);
	assert_int_equal(rs_audit_create(&j.a), 0);
	rs_read_input(j.a, &in);
	assert_int_equal(rs_audit_run(j.a, NULL, NULL, NULL), 0);
	assert_string_equal(first(j)->rule->id, "R02");
	assert_int_equal(first(j)->n_effects, 1);
	rs_audit_destroy(j.a);
}

static void test_a_cause_stands_before_what_follows(void **state)
{
	struct judged j =
		judge(NULL, FACTS({"a", "message", "job-failed", "ncclSystemError: x", 0},
				  {"a", "message", "verbs-register/12", "ibv_reg_mr failed", 0}));

	assert_string_equal(first(j)->rule->id, "H05");
	assert_int_equal(first(j)->n_effects, 1);
	rs_audit_destroy(j.a);
}

/* ---- Minor, and not fine ---- */

static void test_what_states_a_failure_is_not_right_though_it_is_minor(void **state)
{
	static const struct {
		int status;
		const char *text;
	} cases[] = {
		{4, "[  5.120000] CPU3: Core temperature above threshold, cpu clock throttled\n"},
		{4, "[  5.120000] WARNING: CPU: 3 PID: 12 at drivers/infiniband/core/verbs.c:1"
		    " ib_free+0x1/0x2\n"},
		{4, "leaf1# show qos\nPFC is not enabled on Ethernet4\n"},
		{0, "leaf1# show qos\nPFC is not enabled on Ethernet4\n$ cat "
		    "/proc/sys/kernel/numa_balancing\n0\n"},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rs_input in = {.host = "h",
				      .path = "f",
				      .inner = "f",
				      .data = cases[i].text,
				      .size = strlen(cases[i].text)};
		struct rs_audit *a;
		unsigned fails = 0;

		assert_int_equal(rs_audit_create(&a), 0);
		assert_true(rs_read_input(a, &in) >= 0);
		assert_int_equal(rs_audit_run(a, NULL, NULL, NULL), 0);
		for (uint32_t k = 0; k < a->n_findings; k++)
			fails += a->findings[k]->verdict == RS_FAIL;
		if (rs_audit_status(a, false, false) != cases[i].status || !fails)
			print_error("%d, %u FAILs: %s", rs_audit_status(a, false, false), fails,
				    cases[i].text);
		assert_true(fails > 0);
		assert_int_equal(rs_audit_status(a, false, false), cases[i].status);
		rs_audit_destroy(a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_states_a_failure_is_not_right_though_it_is_minor),
		cmocka_unit_test(test_rows_are_well_formed),
		cmocka_unit_test(test_each_pattern_finds_its_line_and_not_its_source),
		cmocka_unit_test(test_a_call_is_told_by_its_errno),
		cmocka_unit_test(test_a_help_file_says_nothing),
		cmocka_unit_test(test_a_status_by_number_name_words_and_syndrome),
		cmocka_unit_test(test_what_only_tells_of_messages_is_none),
		cmocka_unit_test(test_a_message_takes_the_place_of_a_pass),
		cmocka_unit_test(test_an_address_is_a_gpus_where_gpus_are_named),
		cmocka_unit_test(test_a_sign_that_is_missed_is_none),
		cmocka_unit_test(test_one_finding_for_a_message_of_many_hosts),
		cmocka_unit_test(test_a_completion_names_its_device_and_peer),
		cmocka_unit_test(test_a_cause_stands_before_what_follows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

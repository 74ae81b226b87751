/* Texts that a terminal or a mailer broke, and replies that quote the log of the run before: the
 * answers are those of the text as it was printed. */
#include <stdlib.h>
#include "audit/read/unwrap.h"
#include "reading.h"

enum { ROOM = 1 << 14 };

/* ---- As printed ---- */

static const char *const texts[] = {
	"g1:77:99 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB "
	"eth0:10.1.0.1<0>\n"
	"g1:77:99 [0] NCCL INFO Using network IB\n"
	"\n"
	"g1:77:99 [0] misc/ibvwrap.cc:262 NCCL WARN Call to ibv_modify_qp failed with 110 "
	"Connection timed out, on dev mlx5_1:1, curr state INIT, next state RTR\n"
	"g1:77:99 [0] NCCL INFO transport/net_ib.cc:1213 -> 2\n",

	"[1641382252.649812] [n-62-31-9:154364:0]         dc_mlx5.c:505  UCX  ERROR "
	"mlx5dv_create_qp(DCT) failed: Invalid argument\n"
	"[n-62-31-9:154364] ompi/mca/pml/ucx/pml_ucx.c:309  Error: Failed to create UCP worker\n",

	"E0115 11:22:06.866998 36639 rdma_context.cpp:257] Failed to register memory "
	"0x7f7186000000: Cannot allocate memory [12]\n"
	"I0115 11:22:06.867100 36639 transfer_engine.cpp:146] listening on 10.2.3.4:15385\n",

	"[   77.123456] mlx5_core 0000:3b:00.0: mlx5_health:300:(pid 0): health compromised - "
	"reached miss count\n"
	"[   78.001000] mlx5_core 0000:3b:00.0 ens1np0: Link up\n",

	"Training on four hosts hangs at the first step since we changed the switch, and each "
	"rank says that the GID index it was given is not valid on its device.\n",

	"g2:12:34 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB "
	"eth0:10.1.0.2<0>\n"
	"g2:12:34 [0] NCCL INFO NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0' of eight\n"
	"g2:12:34 [0] NCCL INFO Connected all rings, use ring PXN 0 GDR 1\n",
};

/* ---- As pasted ---- */

static void cut_at(const char *text, char *out, unsigned width)
{
	unsigned column = 0;

	for (; *text; text++) {
		if (*text != '\n' && column == width) {
			*out++ = '\n';
			column = 0;
		}
		column = *text == '\n' ? 0 : column + 1;
		*out++ = *text;
	}
	*out = '\0';
}

/* Between words, as far to the right as they fit. */
static void break_at(const char *text, char *out, unsigned width)
{
	char *line = out, *blank = NULL;

	for (; *text; text++) {
		if (*text == '\n') {
			line = out + 1;
			blank = NULL;
		} else if (*text == ' ' && out > line && out[-1] != '\n') {
			blank = out;
		}
		*out++ = *text;
		if (*text != '\n' && out - line > (int)width && blank) {
			*blank = '\n';
			line = blank + 1;
			blank = NULL;
		}
	}
	*out = '\0';
}

static void quote(const char *text, char *out)
{
	bool fresh = true;

	for (; *text; text++) {
		if (fresh)
			out = stpcpy(out, "> ");
		fresh = *text == '\n';
		*out++ = *text;
	}
	*out = '\0';
}

/* ---- Answers ---- */

static struct rs_audit *judged(const char *text)
{
	struct rs_input in = {
		.host = "h", .path = "f", .inner = "f", .data = text, .size = strlen(text)};
	struct rs_audit *a;

	assert_int_equal(rs_audit_create(&a), 0);
	assert_true(rs_read_input(a, &in) >= 0);
	assert_int_equal(rs_audit_run(a, NULL, NULL, NULL), 0);
	return a;
}

static bool has(const struct rs_audit *a, const struct rs_finding *f)
{
	for (uint32_t i = 0; i < a->n_findings; i++)
		if (a->findings[i]->rule == f->rule && a->findings[i]->verdict == f->verdict &&
		    a->findings[i]->severity == f->severity)
			return true;
	return false;
}

static void answers_alike(const char *printed, const char *pasted)
{
	struct rs_audit *a = judged(printed), *b = judged(pasted);
	bool same = rs_audit_status(a, false, false) == rs_audit_status(b, false, false);

	for (uint32_t i = 0; i < a->n_findings; i++)
		same &= has(b, a->findings[i]);
	for (uint32_t i = 0; i < b->n_findings; i++)
		same &= has(a, b->findings[i]);
	if (!same)
		print_error("another answer to:\n%s", pasted);
	assert_true(same);
	rs_audit_destroy(a);
	rs_audit_destroy(b);
}

static void test_a_terminal_that_cuts_changes_no_answer(void **state)
{
	static const unsigned widths[] = {80, 100};
	char out[ROOM];

	for (unsigned i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		for (unsigned k = 0; k < sizeof(widths) / sizeof(*widths); k++) {
			if (k && i != 0) /* one line beyond 100 columns shows no terminal */
				continue;
			cut_at(texts[i], out, widths[k]);
			answers_alike(texts[i], out);
		}
}

static void test_a_mailer_that_breaks_and_quotes_changes_no_answer(void **state)
{
	char out[ROOM], quoted[ROOM];

	for (unsigned i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		for (unsigned width = 70; width <= 78; width += 4) {
			break_at(texts[i], out, width);
			answers_alike(texts[i], out);
			quote(out, quoted);
			answers_alike(texts[i], quoted);
		}
}

static void test_what_is_no_broken_line_stays(void **state)
{
	static const char *const whole[] = {
		/* a list of settings, a table, a list of names, two programs' lines */
		"nv set interface swp1-32 qos roce mode lossless and trust of the port dscp\n"
		"nv set interface swp1-32 link mtu 9216 and the breakout of the port one 1x\n",
		"NAME                                   READY   STATUS      RESTARTS       AGE   \n"
		"mofed-ubuntu22.04-ds-8812a             1/1     Running     1 (41d ago)    41d   \n"
		"rdma-shared-dp-ds-77123                1/1     Running     0              41d   "
		"\n",
		"/sys/class/infiniband/irdma0/ports/1/gids/3:0000:0000:0000:0000:0000 RoCE\n"
		"/sys/class/infiniband/irdma0/ports/1/gid_attrs/types/0:RoCE v2\n",
		"error handling callback was invoked with status -6 (peer is unreachable)\n"
		"unable to send the message of the stream\n",
		"src/init/init.cpp:276: non-zero status: 3 building transport map failed, exit\n"
		"src/mem/mem.cpp:nvshmem_malloc:342: initialization failed\n",
		"root@gpu07:~# echo 32 > /sys/class/net/ens1np0/device/sriov_numvfs\n"
		"-bash: echo: write error: Numerical result out of range\n",
	};
	uint8_t how[16];

	for (unsigned i = 0; i < sizeof(whole) / sizeof(*whole); i++) {
		uint32_t lines = 0;

		memset(how, 0, sizeof(how));
		for (const char *p = whole[i]; (p = strchr(p, '\n')); p++)
			lines++;
		if (rs_unwrap_find(whole[i], strlen(whole[i]), how, lines))
			print_error("joined:\n%s", whole[i]);
		assert_false(rs_unwrap_find(whole[i], strlen(whole[i]), how, lines));
	}
}

static void test_lines_keep_their_numbers(void **state)
{
	static const char text[] =
		"first words\n"
		"g1:77:99 [0] misc/ibvwrap.cc:262 NCCL WARN Call to ibv_modify_qp failed\n"
		"with 110 Connection timed out, on dev mlx5_1:1, curr state INIT\n"
		"g1:77:99 [0] NCCL INFO transport/net_ib.cc:1213 -> 2\n"
		"g1:77:99 [0] misc/ibvwrap.cc:262 NCCL WARN Call to ibv_create_ah failed\n"
		"with error Connection timed out\n";
	struct rs_audit *a = reading(text);
	const struct rs_fact *f;

	f = rs_facts_get(a->facts, "h", "message", "verbs-modify/110");
	assert_non_null(f);
	assert_int_equal(f->line, 2);
	f = rs_facts_get(a->facts, "h", "message", "verbs-ah/110");
	assert_non_null(f);
	assert_int_equal(f->line, 5);
	rs_audit_destroy(a);
}

/* ---- Quotes of an older run ---- */

static void test_a_quoted_run_is_older_than_the_one_behind_it(void **state)
{
	char out[ROOM];
	size_t n;

	/* what failed then does not accuse the run that follows, nor does what ran well clear it */
	quote(texts[0], out);
	n = strlen(out);
	snprintf(out + n, sizeof(out) - n, "\nWith GID index 3:\n\n%s", texts[5]);
	answers_alike(texts[5], out);
	quote(texts[5], out);
	n = strlen(out);
	snprintf(out + n, sizeof(out) - n, "\nThis is what I see:\n\n%s", texts[0]);
	answers_alike(texts[0], out);
	/* a quote without another log is all that there is */
	quote(texts[0], out);
	n = strlen(out);
	snprintf(out + n, sizeof(out) - n, "\nWhich release is that?\n");
	answers_alike(texts[0], out);
}

/* ---- Several machines ---- */

static void test_two_configurations_in_one_text_are_two_switches(void **state)
{
	static const char text[] = "! device: leaf-a (DCS-7060)\n"
				   "!\n"
				   "hostname leaf-a\n"
				   "!\n"
				   "interface Ethernet1\n"
				   "   mtu 9214\n"
				   "   priority-flow-control on\n"
				   "   priority-flow-control priority 3 no-drop\n"
				   "!\n"
				   "end\n"
				   "\n"
				   "! device: leaf-b (DCS-7060)\n"
				   "!\n"
				   "hostname leaf-b\n"
				   "!\n"
				   "interface Ethernet1\n"
				   "   mtu 1500\n"
				   "   priority-flow-control on\n"
				   "   priority-flow-control priority 4 no-drop\n"
				   "!\n"
				   "end\n";
	struct rs_audit *a = reading(text);

	assert_true(rs_facts_value(a->facts, "leaf-a", "port/Ethernet1", "pfc/3"));
	assert_true(rs_facts_value(a->facts, "leaf-b", "port/Ethernet1", "pfc/4"));
	assert_false(rs_facts_value(a->facts, "leaf-b", "port/Ethernet1", "pfc/3"));
	rs_audit_destroy(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_terminal_that_cuts_changes_no_answer),
		cmocka_unit_test(test_a_mailer_that_breaks_and_quotes_changes_no_answer),
		cmocka_unit_test(test_what_is_no_broken_line_stays),
		cmocka_unit_test(test_lines_keep_their_numbers),
		cmocka_unit_test(test_two_configurations_in_one_text_are_two_switches),
		cmocka_unit_test(test_a_quoted_run_is_older_than_the_one_behind_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Traces of other programs through the whole simulator: who waits for whom, what is refused, and
 * requests that are served. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "describe/describe.h"
#include "sim/sim.h"

#define FABRIC                                                                              \
	"fabric: {network: {kind: single-switch, hosts: 4, rate: 400G, delay: 500ns, mtu: " \
	"4096}}\n"
#define LINE (400e9 * 4096 / 4178)

static char dir[] = "/tmp/ripstop-trace-XXXXXX";

static const char *put(const char *name, const char *text)
{
	static char path[256];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
	return path;
}

struct run {
	struct rs_fabric *f;
	struct rs_sim_result *r;
	struct rs_error e;
	int err;
};

static struct run run_job(const char *job)
{
	struct rs_sim_options o = {.seed = 1};
	struct run x = {0};
	char text[4096];

	snprintf(text, sizeof(text), FABRIC "workload: [{%s}]\n", job);
	x.err = rs_fabric_load_text(text, strlen(text), "test", dir, NULL, 0, &x.f, &x.e);
	if (!x.err)
		x.err = rs_sim_run(x.f, &o, &x.r, &x.e);
	return x;
}

static const struct rs_sim_job *done(const struct run *x)
{
	if (x->err)
		fail_msg("%s:%d: %s", x->e.file, x->e.line, x->e.what);
	assert_true(x->r->complete);
	return &x->r->jobs[0];
}

static void end(struct run *x)
{
	rs_sim_result_free(x->r);
	rs_fabric_free(x->f);
}

static void refuse(const char *text, const char *says, int line)
{
	struct run x;

	put("bad", text);
	x = run_job("trace: bad");
	if (!x.err)
		fail_msg("taken: %s", text);
	if (!strstr(x.e.what, says) || !strstr(x.e.file, "bad") || x.e.line != line)
		fail_msg("'%s:%d: %s' is not '%s' in line %d", x.e.file, x.e.line, x.e.what, says,
			 line);
	end(&x);
}

static void assert_near(double got, double want, double share)
{
	if (got < want * (1 - share) || got > want * (1 + share))
		fail_msg("got %g, want %g within %g%%", got, want, share * 100);
}

/* ---- GOAL ---- */

static void test_goal_computes_then_sends_then_computes(void **state)
{
	struct run x;

	put("a.goal", "num_ranks 2\nrank 0 {\na: calc 50000\nb: send 40000000b to 1 tag 7\n"
		      "b requires a\n}\nrank 1 {\nc: recv 40000000b from 0 tag 7\nd: calc 30000\n"
		      "d requires c\n}\n");
	x = run_job("trace: a.goal");
	assert_near((double)done(&x)->work.step / RS_S, 80e-6 + 40e6 * 8 / LINE, 0.01);
	assert_int_equal(x.r->jobs[0].work.dry, 80 * RS_US);
	end(&x);
}

/* Units of a rank work at once, one unit's computations one after another; a message that is waited
 * for holds up no unit. */
static void test_goal_units(void **state)
{
	struct run x;

	put("u.goal", "num_ranks 2\nrank 0 {\nr: recv 8b from 1\na: calc 100000 cpu 0\n"
		      "b: calc 100000 cpu 1\nc: calc 100000 cpu 1\ns: send 8b to 1\n}\n"
		      "rank 1 {\nq: recv 8b from 0\ns: send 8b to 0\ns requires q\n}\n");
	x = run_job("trace: u.goal");
	assert_int_equal(done(&x)->work.step, 200 * RS_US);
	end(&x);
}

/* A tag's message is found behind another's; `irequires` waits for no end. */
static void test_goal_tags_and_begins(void **state)
{
	struct run x;

	put("t.goal", "num_ranks 2\nrank 0 {\na: send 100b to 1 tag 1\nb: send 200b to 1 tag 2\n}\n"
		      "rank 1 {\nx: recv 200b from 0 tag 2\ny: calc 10000\ny requires x\n"
		      "z: recv 100b from 0 tag 1\nz requires y\n"
		      "l: calc 70000 cpu 1\nm: calc 5000 cpu 2\nm irequires l\n}\n");
	x = run_job("trace: t.goal");
	assert_int_equal(done(&x)->work.step, 70 * RS_US);
	end(&x);
}

/* Two messages of one tag are paired in the order of the file, whichever is ready first. */
static void test_goal_pairs_before_it_orders(void **state)
{
	struct run x;

	put("p.goal", "num_ranks 2\nrank 0 {\na: calc 90000\nb: send 5000b to 1\nb requires a\n"
		      "c: send 1b to 1\n}\nrank 1 {\nd: recv 5000b from 0\ne: recv 1b from 0\n"
		      "f: calc 20000\nf requires e\n}\n");
	x = run_job("trace: p.goal");
	assert_in_range(done(&x)->work.step, 90 * RS_US, 95 * RS_US);
	end(&x);
}

static void test_goal_refuses(void **state)
{
	struct run x;

	refuse("num_ranks 0\n", "num_ranks", 1);
	refuse("num_ranks 2\nrank 2 {\n}\n", "below num_ranks", 2);
	refuse("num_ranks 2\nrank 0 {\na: send 5 to 1\n}\n", "bytes such as 64b", 3);
	refuse("num_ranks 2\nrank 0 {\na: send 5b to 0\n}\n", "another rank", 3);
	refuse("num_ranks 2\nrank 0 {\na: send 5b to 1 tag x\n}\n", "a tag", 3);
	refuse("num_ranks 2\nrank 0 {\na: send 5b to 1\n", "no '}'", 3);
	refuse("num_ranks 2\nrank 0 {\na: jump 5\n}\n", "calc, send or recv", 3);
	refuse("num_ranks 2\nrank 0 {\na: calc 5\na requires b\n}\n", "label", 4);
	refuse("num_ranks 2\nrank 1 {\nr: recv 5b from -1\n}\n", "not any (-1)", 3);
	refuse("num_ranks 2\nrank 0 {\ns: send 5b to 1\n}\nrank 1 {\n}\n", "never receives", 0);
	refuse("num_ranks 2\nrank 0 {\nr: recv 5b from 1\n}\nrank 1 {\n}\n", "never sends", 0);
	refuse("num_ranks 2\nrank 0 {\ns: send 5b to 1\n}\nrank 1 {\nr: recv 6b from 0\n}\n",
	       "waits for 6 B", 0);
	refuse("num_ranks 2\nrank 0 {\nr: recv 5b from 1\ns: send 5b to 1\ns requires r\n}\n"
	       "rank 1 {\nr: recv 5b from 0\ns: send 5b to 0\ns requires r\n}\n",
	       "never ends", 0);
	put("nine", "num_ranks 9\nrank 0 {\na: calc 5\n}\n");
	x = run_job("trace: nine");
	assert_true(x.err && strstr(x.e.what, "9 ranks, the fabric has 4 GPUs"));
	end(&x);
}

/* ---- Chakra ---- */

static void test_chakra_collectives_have_their_sizes(void **state)
{
	static const struct {
		int type;
		uint64_t sent; /* by all four ranks, of comm_size 1 MB */
	} cases[] = {{0, 6000000}, {2, 12000000}, {7, 3000000}, {6, 3000000}};
	char text[256];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct run x;

		snprintf(text, sizeof(text),
			 "{\"workload_graph\": [{\"Id\": 7, \"NodeType\": 7, \"comm_type\": %d, "
			 "\"comm_size\": 1000000, \"is_cpu_op\": false}]}",
			 cases[i].type);
		for (int r = 0; r < 4; r++) {
			char name[16];

			snprintf(name, sizeof(name), "c.%d.json", r);
			put(name, text);
		}
		x = run_job("trace: c.%d.json");
		assert_int_equal(done(&x)->work.bytes[RS_WHY_OTHER], cases[i].sent);
		end(&x);
	}
}

static void test_chakra_groups_and_messages(void **state)
{
	struct run x;

	put("g.json", "{\"left\": [0, 1], \"right\": [3, 2]}");
	put("m.0.json",
	    "{\"id\": \"1\", \"type\": \"COMP_NODE\", \"durationMicros\": \"40\"}\n"
	    "{\"id\": \"2\", \"type\": \"COMM_COLL_NODE\", \"dataDeps\": [\"1\"], \"attr\": ["
	    "{\"name\": \"comm_type\", \"int64Val\": \"0\"}, "
	    "{\"name\": \"pg_name\", \"stringVal\": \"left\"}, "
	    "{\"name\": \"comm_size\", \"uint64Val\": \"4000\"}]}\n");
	put("m.1.json",
	    "{\"id\": \"2\", \"type\": \"COMM_COLL_NODE\", \"attr\": ["
	    "{\"name\": \"comm_type\", \"int64Val\": \"0\"}, "
	    "{\"name\": \"pg_name\", \"stringVal\": \"left\"}, "
	    "{\"name\": \"comm_size\", \"uint64Val\": \"4000\"}]}\n"
	    "{\"id\": \"3\", \"type\": \"COMM_SEND_NODE\", \"ctrlDeps\": [\"2\"], \"attr\": ["
	    "{\"name\": \"comm_dst\", \"int32Val\": 2}, {\"name\": \"comm_tag\", "
	    "\"int32Val\": 9}, {\"name\": \"comm_size\", \"int64Val\": \"100\"}]}\n");
	put("m.2.json",
	    "{\"id\": \"5\", \"type\": \"COMM_RECV_NODE\", \"attr\": ["
	    "{\"name\": \"comm_src\", \"int32Val\": 1}, {\"name\": \"comm_tag\", "
	    "\"int32Val\": 9}, {\"name\": \"comm_size\", \"int64Val\": \"100\"}]}\n"
	    "{\"id\": \"6\", \"type\": \"COMP_NODE\", \"dataDeps\": [\"5\"], \"attr\": ["
	    "{\"name\": \"num_ops\", \"int64Val\": \"8000000\"}]}\n");
	put("m.3.json", "{\"id\": \"1\", \"type\": \"METADATA_NODE\"}\n");
	x = run_job("trace: {file: m.%d.json, groups: g.json, flops: 1e12}");
	/* 40 us, the all-reduce, the message, 8e6 operations at 1e12 a second */
	assert_int_equal(done(&x)->work.dry, 48 * RS_US);
	assert_in_range(x.r->jobs[0].work.step, 48 * RS_US, 70 * RS_US);
	assert_int_equal(x.r->jobs[0].work.bytes[RS_WHY_OTHER], 2 * 4000 + 100);
	end(&x);
	x = run_job("trace: m.%d.json");
	assert_true(x.err && strstr(x.e.what, "process group 'left'"));
	end(&x);
	/* ASTRA-sim takes a group's name as a number */
	put("g.json", "{\"4\": [0, 1], \"40\": [2, 3]}");
	for (int i = 0; i < 2; i++) {
		char name[] = "m.0.json";

		name[2] = (char)('0' + i);
		put(name, "{\"id\": \"2\", \"type\": \"COMM_COLL_NODE\", \"attr\": ["
			  "{\"name\": \"comm_type\", \"int64Val\": \"0\"}, "
			  "{\"name\": \"pg_name\", \"stringVal\": \"4.0\"}, "
			  "{\"name\": \"comm_size\", \"uint64Val\": \"4000\"}]}\n");
	}
	put("m.2.json", "{\"id\": \"1\", \"type\": \"METADATA_NODE\"}\n");
	x = run_job("trace: {file: m.%d.json, groups: g.json}");
	assert_int_equal(done(&x)->work.bytes[RS_WHY_OTHER], 2 * 4000);
	end(&x);
	put("g.json", "{\"40\": [0, 1], \"x\": [2, 3]}");
	x = run_job("trace: {file: m.%d.json, groups: g.json}");
	assert_true(x.err && strstr(x.e.what, "process group '4.0'"));
	end(&x);
}

static void test_chakra_refuses(void **state)
{
	refuse("{\"schema\": \"1\", \"nodes\": []}", "chakra_converter", 1);
	refuse("{\"id\": 1, \"type\": 4", "ends inside", 0);
	refuse("{\"a\": 1}", "expected a node", 1);
	refuse("{\"id\": 1, \"type\": 4}\n{\"id\": 1, \"type\": 4}", "two nodes with number 1", 0);
	refuse("{\"id\": 1, \"type\": 5}\n", "a send without comm_dst", 1);
	refuse("{\"id\": 1, \"type\": 9}\n", "is of type", 1);
	refuse("{\"id\": 1, \"type\": 4, \"data_deps\": [2]}\n{\"id\": 2, \"type\": 4, "
	       "\"data_deps\": [1]}\n",
	       "never ends", 0);
	refuse("\x05hello\x7f", "ends inside", 0);
	refuse("", "empty", 1);
}

/* ---- SimAI ---- */

static void test_simai_layers(void **state)
{
	struct run x;

	put("w.txt", "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 "
		     "vpp: 1 ga: 1 all_gpus: 4 checkpoints: 0\n2\n"
		     "a -1 1000 ALLREDUCE 4000 2000 ALLREDUCE 6000 3000 ALLREDUCE 8000 10\n"
		     "b -1 1000 NONE 0 2000 NONE 0 3000 NONE 0 10\n");
	x = run_job("trace: w.txt");
	assert_int_equal(done(&x)->work.dry, 12020 * RS_NS);
	assert_int_equal(x.r->jobs[0].work.bytes[RS_WHY_TENSOR], 4 * (4000 + 6000));
	assert_int_equal(x.r->jobs[0].work.bytes[RS_WHY_DATA], 4 * 8000);
	end(&x);
	refuse("DATA all_gpus: 4\n1\na -1 10 SUM 4 1 NONE 0 1 NONE 0 1\n", "ALLREDUCE", 3);
	refuse("DATA all_gpus: 4\n2\na -1 10 NONE 4 1 NONE 0 1 NONE 0 1\n", "expected 2 layers", 3);
	refuse("DATA all_gpus: 9216\n1\na -1 10 NONE 4 1 NONE 0 1 NONE 0 1\n",
	       "9216 GPUs and the fabric has 4", 1);
}

/* ASTRA-sim 1's files do not say how many ranks they are for, have CRLF and words behind. Each
 * collective is of all ranks. */
static void test_astra_sim_1(void **state)
{
	struct run x;

	put("w.txt",
	    "HYBRID_MODEL_DATA\t\t\t\r\n2\t\r\n"
	    "a\t-1\t1000\tALLGATHER\t4000\t2000\tNONE\t0\t3000\tALLREDUCE\t8000\t10\tDATA\r\n"
	    "b -1 1000 NONE\t\t0 2000 REDUCESCATTER 6000 3000 NONE 0 10");
	x = run_job("trace: w.txt");
	assert_int_equal(done(&x)->work.dry, 12020 * RS_NS);
	assert_int_equal(x.r->jobs[0].coll->n_ranks, 4);
	/* of an all-gather a share is given, of a reduce-scatter all of it */
	assert_int_equal(x.r->jobs[0].work.bytes[RS_WHY_TENSOR], 4 * 3 * 4000 + 3 * 6000);
	assert_int_equal(x.r->jobs[0].work.bytes[RS_WHY_DATA], 2 * 3 * 8000);
	end(&x);
	x = run_job("trace: {file: w.txt, collective: {ranks: 2}}");
	assert_int_equal(done(&x)->coll->n_ranks, 2);
	end(&x);
	put("w.txt", "HYBRID_TRANSFORMER model_parallel_NPU_group: 2\n1\n"
		     "a -1 1000 ALLREDUCE 4000 2000 NONE 0 3000 ALLREDUCE 8000 10\n");
	x = run_job("trace: w.txt");
	assert_int_equal(done(&x)->work.bytes[RS_WHY_TENSOR], 4 * 4000);
	assert_int_equal(x.r->jobs[0].work.bytes[RS_WHY_DATA], 4 * 8000);
	end(&x);
	refuse("HYBRID_TRANSFORMER model_parallel_NPU_group: 3\n0\n", "do not divide", 1);
	refuse("HYBRID_DLRM x\n0\n", "the last bottom layer", 1);
}

/* At a layer of checkpoint_initiates those from the last checkpoint on go forward again, without
 * it.
 */
static void test_simai_checkpoints(void **state)
{
	static const char layers[] = "\n4\n"
				     "a -1 1000 ALLREDUCE 4000 1 NONE 0 1 NONE 0 0\n"
				     "b -1 2000 ALLREDUCE 400 1 NONE 0 1 NONE 0 0\n"
				     "c -1 4000 ALLREDUCE 40 1 NONE 0 1 NONE 0 0\n"
				     "d -1 8000 NONE 0 1 NONE 0 1 ALLREDUCE 800 0\n";
	static const char *const heads[] = {
		"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 checkpoints: 2 0 2 "
		"checkpoint_initiates: 2 3 1",
		"HYBRID_TRANSFORMER model_parallel_NPU_group: 2 checkpoints: 1 0", "MICRO",
		"DISTRIBUTED_INFERENCE"};
	static const struct {
		rs_time ns;
		uint64_t tensor, data;
	} want[] = {{15000 + 4000 + 1000 + 8, 4 * (4440 + 40 + 4000), 4 * 800},
		    {15008, 4 * 4440, 4 * 800},
		    {15008, 6 * 4440, 6 * 800},
		    {15000, 6 * 4440, 0}};

	for (unsigned i = 0; i < 4; i++) {
		char text[512];
		struct run x;

		snprintf(text, sizeof(text), "%s%s", heads[i], layers);
		put("w.txt", text);
		x = run_job("trace: w.txt");
		assert_int_equal(done(&x)->work.dry, want[i].ns * RS_NS);
		assert_int_equal(x.r->jobs[0].work.bytes[RS_WHY_TENSOR], want[i].tensor);
		assert_int_equal(x.r->jobs[0].work.bytes[RS_WHY_DATA], want[i].data);
		end(&x);
	}
	refuse("HYBRID_TRANSFORMER_FWD_IN_BCKWD checkpoints: 1 7\n1\na -1 1 NONE 0 1 NONE 0 1 NONE "
	       "0 1\n",
	       "the layers are 0 to 0", 1);
	refuse("HYBRID_TRANSFORMER_FWD_IN_BCKWD checkpoints: 3 7\n0\n", "a layer", 1);
	refuse("DATA_REORDER\n0\n", "expected DATA, MODEL", 1);
}

/* The embedding's exchange goes on behind the bottom layers, and the first one above waits. */
static void test_astra_sim_1_dlrm(void **state)
{
	static const char layers[] = "\n3\n"
				     "emb -1 1000 ALLTOALL 40000000 0 NONE 0 0 NONE 0 0\n"
				     "bottom -1 700000 NONE 0 0 NONE 0 0 NONE 0 0\n"
				     "top -1 1000 NONE 0 0 NONE 0 0 NONE 0 0\n";
	rs_time step[2];

	for (unsigned i = 0; i < 2; i++) {
		char text[512];
		struct run x;

		snprintf(text, sizeof(text), "HYBRID_DLRM %d%s", i ? 2 : 0, layers);
		put("w.txt", text);
		x = run_job("trace: w.txt");
		step[i] = done(&x)->work.step;
		end(&x);
	}
	/* 30 MB by each at line rate */
	assert_near((double)step[0] / RS_S, 702e-6 + 30e6 * 8 / LINE, 0.1);
	assert_true(step[1] < step[0] - 500 * RS_US);
	assert_true(step[1] >= 702 * RS_US);
}

/* ---- AICB ---- */

#define AICB_HEAD                                                                               \
	"comm_type,comm_group,comm_group_size,msg_size,stage,dst,src,additional,_elapsed_time," \
	"algbw,busbw,count\n"

static void test_aicb_rows(void **state)
{
	struct run x;

	put("w.csv",
	    "[rank0 ~ rank3]\n" AICB_HEAD
	    "CommType.all_gather,CommGroup.dp_group,4,8000,forward,None,None,,None,None,None,1\n"
	    "CommType.computation,CommGroup.tp_group,1,\"((4, 1), (1, "
	    "2))\",mm,,,,5000,None,None,1\n"
	    "CommType.computation,CommGroup.tp_group,1,\"((4, 1), (1, "
	    "2))\",mm,,,,None,None,None,1\n"
	    "\n"
	    "CommType.all_reduce,CommGroup.tp_group,2,600,x,None,None,,None,None,None,1\n"
	    "CommType.reduce_scatter,CommGroup.dp_group,2,1000,x,None,None,,None,None,None,1\n"
	    "CommType.epoch_end,None,None,0,,None,None,,None,None,None,1\n"
	    "CommType.broadcast,CommGroup.tp_group,1,999,x,None,0,,None,None,None,1\n"
	    "CommType.barrier,CommGroup.all,4,0,x,None,None,,None,None,None,1\n");
	x = run_job("trace: w.csv");
	assert_int_equal(done(&x)->coll->n_ranks, 4);
	assert_int_equal(x.r->jobs[0].work.dry, 5000 * RS_NS);
	/* one gathered by all, one scattered by pairs, a barrier: 6 steps round four ranks */
	assert_int_equal(x.r->jobs[0].work.bytes[RS_WHY_DATA], 3 * 8000 + 4 * 500 + 4 * 6 * 4);
	assert_int_equal(x.r->jobs[0].work.bytes[RS_WHY_TENSOR], 4 * 600);
	end(&x);
	/* without a number of ranks it is the fabric's, and a group is all of them */
	put("w.csv", "comm_type,comm_group,msg_size,stage\n"
		     "CommType.all_to_all,CommGroup.dp_group,4000,warmup\n");
	x = run_job("trace: w.csv");
	assert_int_equal(done(&x)->work.bytes[RS_WHY_DATA], 4 * 3 * 1000);
	end(&x);
}

static void test_aicb_refuses(void **state)
{
	refuse("[rank0 ~ rank127]\n" AICB_HEAD, "128 GPUs and the fabric has 4", 1);
	refuse("[ pp_stage0: [rank0, rank1] ]\n" AICB_HEAD, "stages of a pipeline", 1);
	refuse("comm_type,stage\n", "columns comm_type", 1);
	refuse(AICB_HEAD "CommType.isend,CommGroup.pp_group,1,33554432,x\n", "all_reduce", 2);
	refuse(AICB_HEAD "CommType.all_reduce,CommGroup.pp_group,2,8,x\n", "tp_group", 2);
	refuse(AICB_HEAD "CommType.all_reduce,CommGroup.dp_group,9,8,x\n", "at most all", 2);
	refuse(AICB_HEAD "CommType.all_reduce,CommGroup.dp_group,0,8,x\n", "1 or more", 2);
	refuse(AICB_HEAD "CommType.all_reduce,CommGroup.dp_group,3,8,x\n", "do not divide", 2);
	refuse(AICB_HEAD "CommType.all_reduce,CommGroup.dp_group,4,-8,x\n", "bytes", 2);
}

/* ---- Requests ---- */

/* One request: its prefill, then the last piece of its keys and values. */
static void test_serving_one_request(void **state)
{
	struct run x = run_job("serve: {prefill: 1, decode: 1, requests: 1, rate: 1000, kv: 40MB, "
			       "pieces: 4, prefill_time: 4ms, decode_time: 1ms, slo: 1s}");
	const struct rs_serve_result *s = &done(&x)->serve;

	assert_int_equal(s->done, 1);
	assert_int_equal(s->good, 1);
	assert_near((double)s->moving[0] / RS_S, 10e6 * 8 / LINE, 0.05);
	assert_near((double)s->first[0] / RS_S, 5e-3 + 10e6 * 8 / LINE, 0.01);
	end(&x);
}

/* More pieces than bytes: the first token does not come before the prefill's end. */
static void test_serving_less_than_its_pieces(void **state)
{
	struct run x = run_job("serve: {prefill: 1, decode: 1, requests: 3, rate: 10, kv: 2B, "
			       "pieces: 80, prefill_time: 8ms}");

	assert_int_equal(done(&x)->serve.done, 3);
	assert_int_equal(x.r->jobs[0].work.bytes[RS_WHY_KV], 6);
	assert_true(x.r->jobs[0].serve.moving[0] > 0 && x.r->jobs[0].serve.first[0] > 8 * RS_MS);
	end(&x);
}

/* Arrivals of a file; those who come while a prefill goes on wait for it. */
static void test_serving_arrivals(void **state)
{
	struct run x;

	put("at.csv", "start_ns\n0\n1000\n10000000\n");
	x = run_job("serve: {prefill: 1, decode: 2, arrivals: at.csv, kv: 1kB, prefill_time: 2ms, "
		    "slo: 3ms}");
	assert_int_equal(done(&x)->serve.done, 3);
	assert_int_equal(x.r->jobs[0].serve.good, 2);
	assert_near((double)x.r->jobs[0].serve.first[2] / RS_S, 4e-3, 0.01);
	assert_near((double)x.r->jobs[0].serve.first[0] / RS_S, 2e-3, 0.01);
	end(&x);
}

/* A Poisson process: the mean between arrivals, and its square, which is twice the mean's. */
static void test_arrivals_are_poisson(void **state)
{
	struct run x = run_job("serve: {prefill: 1, decode: 1, requests: 4000, rate: 1e6, kv: 1B}");
	const struct rs_sim_job *j = done(&x);
	double sum = 0, squares = 0, last = 0;

	for (int i = 0; i < 4000; i++) {
		double at = (double)j->requests[i].arrival / RS_US, d = at - last;

		sum += d;
		squares += d * d;
		last = at;
	}
	assert_near(sum / 4000, 1, 0.05);
	assert_near(squares / 4000, 2, 0.15);
	end(&x);
}

static int make_dir(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_goal_computes_then_sends_then_computes),
		cmocka_unit_test(test_goal_units),
		cmocka_unit_test(test_goal_tags_and_begins),
		cmocka_unit_test(test_goal_pairs_before_it_orders),
		cmocka_unit_test(test_goal_refuses),
		cmocka_unit_test(test_chakra_collectives_have_their_sizes),
		cmocka_unit_test(test_chakra_groups_and_messages),
		cmocka_unit_test(test_chakra_refuses),
		cmocka_unit_test(test_simai_layers),
		cmocka_unit_test(test_astra_sim_1),
		cmocka_unit_test(test_simai_checkpoints),
		cmocka_unit_test(test_astra_sim_1_dlrm),
		cmocka_unit_test(test_aicb_rows),
		cmocka_unit_test(test_aicb_refuses),
		cmocka_unit_test(test_serving_one_request),
		cmocka_unit_test(test_serving_less_than_its_pieces),
		cmocka_unit_test(test_serving_arrivals),
		cmocka_unit_test(test_arrivals_are_poisson),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}

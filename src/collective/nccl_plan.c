/* NCCL's plan of a collective's ranks on the fabric, with what a user said of its release and
 * variables. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "collective/nccl.h"
#include "nccl/job.h"

/* Variables of the choice and of the run; the others are the plan's. */
static int read_own(struct nccl_run *r, const char *name, const char *value, struct rs_error *e)
{
	const struct {
		const char *name;
		int *number;
		int min, max, add;
	} own[] = {
		{"NCCL_NTHREADS", &r->tune.threads, 32, 640, 0},
		{"NCCL_LL128_NTHREADS", &r->tune.ll128_threads, 32, 640, 0},
		{"NCCL_IB_QPS_PER_CONNECTION", &r->qps, 1, 16, 0},
		{"NCCL_IB_SPLIT_DATA_ON_QPS", &r->split, 0, 1, 0},
		{"NCCL_P2P_LL_THRESHOLD", &r->ll_threshold, 0, 1 << 30, 0},
		{"NCCL_PAT_ENABLE", &r->tune.pat, 0, 1, 1},
		{"FI_HMEM_CUDA_USE_GDRCOPY", &r->gdrcopy, 0, 1, 0},
		{"FI_CXI_RDZV_THRESHOLD", &r->rdzv_threshold, 0, 1 << 29, 0},
		{"FI_CXI_RDZV_GET_MIN", &r->rdzv_get_min, 0, 1 << 29, 0},
	};

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
		char *end;
		long v;

		if (strcmp(name, own[i].name))
			continue;
		v = strtol(value, &end, 10);
		if (!*value || *end || v < own[i].min || v > own[i].max)
			return rs_error_set(e, -EINVAL,
					    "nccl.env: %s: expected a number of %d to %d, found "
					    "'%.60s'",
					    name, own[i].min, own[i].max, value);
		*own[i].number = (int)v + own[i].add;
		return 0;
	}
	rs_error_set(e, -EINVAL, "nccl.env: the model has no %.60s", name);
	rs_error_hint(e, "docs/nccl.md lists the variables that it has");
	return -EINVAL;
}

/* Hybrid begins by hardware, and goes on by software where the NIC has no room for more. */
static int read_match(struct nccl_run *r, const char *value, struct rs_error *e)
{
	r->soft_match = !strcmp(value, "software");
	if (r->soft_match || !strcmp(value, "hardware") || !strcmp(value, "hybrid"))
		return 0;
	return rs_error_set(e, -EINVAL,
			    "nccl.env: FI_CXI_RX_MATCH_MODE: expected hardware, hybrid or "
			    "software, found '%.60s'",
			    value);
}

/* "none", or AWS's (libnccl-ofi-tuner.so, libnccl-net-ofi.so, by any path). */
static int read_tuner(struct nccl_run *r, const char *value, struct rs_error *e)
{
	const char *name = strrchr(value, '/') ? strrchr(value, '/') + 1 : value;

	r->aws_tuner = strstr(name, "ofi") != NULL;
	if (r->aws_tuner || !strcmp(name, "none"))
		return 0;
	rs_error_set(e, -EINVAL, "nccl.env: NCCL_TUNER_PLUGIN: the model has no tuner '%.60s'",
		     value);
	rs_error_hint(e, "give 'none', or AWS's, as libnccl-ofi-tuner.so");
	return -EINVAL;
}

/* Google's tuner reads its rules from a file; those of A3 Mega are known. */
static int read_rules(struct nccl_run *r, const char *value, struct rs_error *e)
{
	r->tune.google = strstr(value, "a3plus_tuner_config") != NULL;
	if (r->tune.google)
		return 0;
	rs_error_set(e, -EINVAL,
		     "nccl.env: NCCL_TUNER_CONFIG_PATH: the model has no rules of '%.60s'", value);
	rs_error_hint(e, "it has those of A3 Mega, a3plus_tuner_config.textproto");
	return -EINVAL;
}

static int read_env(const struct rs_collective_conf *conf, struct nccl_run *r,
		    struct rs_nccl_env *env, struct rs_error *e)
{
	for (uint32_t i = 0; i < conf->nccl.n_env; i++) {
		const char *name = conf->nccl.env[2 * i], *value = conf->nccl.env[2 * i + 1];
		int err = strncmp(name, "FI_", 3) ? rs_nccl_env_set(env, name, value, e) : 1;

		if (!err && !strcmp(name, "NCCL_MAX_CTAS"))
			r->max_ctas = atoi(value);
		if (err == 1 && !strcmp(name, "NCCL_TUNER_PLUGIN"))
			err = read_tuner(r, value, e);
		else if (err == 1 && !strcmp(name, "NCCL_TUNER_CONFIG_PATH"))
			err = read_rules(r, value, e);
		else if (err == 1 && !strcmp(name, "FI_CXI_RX_MATCH_MODE"))
			err = read_match(r, value, e);
		else if (err == 1)
			err = read_own(r, name, value, e);
		if (err)
			return err;
	}
	r->tune.algo = env->algo;
	r->tune.proto = env->proto;
	r->tune.buffer = env->buffer;
	r->tune.nvls_chunk = env->nvls_chunk;
	r->tune.nvls_tree_chunk = env->nvls_tree_chunk;
	r->tune.thresholds = env->thresholds;
	return 0;
}

static uint32_t release_of(const struct rs_collective_conf *conf, struct rs_error *e)
{
	uint32_t release = RS_NCCL_DEFAULT;

	if (conf->nccl.version)
		release = rs_nccl_release_parse(conf->nccl.version);
	if (release >= RS_NCCL_OLDEST)
		return release;
	rs_error_set(e, -EINVAL, "nccl.version: expected 2.18 or later, as 2.27.7, found '%.60s'",
		     conf->nccl.version);
	return 0;
}

/* Which also has a tuner, of a p5 here; NCCL looks for one there from 2.21 on. */
static bool aws_tunes(const struct rs_collective_conf *conf, const struct nccl_run *r)
{
	return r->aws_tuner && conf->nccl.net == RS_NCCL_NET_EFA && r->p->min_cc == 90;
}

/* AWS's plugin tells NCCL a latency by the machine (75 us to p5, 35 us from p5en on), and without
 * RDMA WRITE, whose order LL128 needs, sets NCCL_PROTO=simple (aws-ofi-nccl, platform-aws). */
static void tell_net(const struct rs_collective_conf *conf, struct nccl_run *r)
{
	if (conf->nccl.net != RS_NCCL_NET_EFA && conf->nccl.net != RS_NCCL_NET_EFA_READ)
		return;
	for (int a = 0; a < RS_NCCL_ALGOS && r->p->n_nodes > 1; a++)
		if (!(r->p->graph[a].latency_inter > 0))
			r->p->graph[a].latency_inter = r->p->min_cc >= 100 ? 35 : 75;
	if (conf->nccl.net == RS_NCCL_NET_EFA_READ && !(r->tune.proto && *r->tune.proto))
		r->tune.proto = "simple";
	r->tune.aws = aws_tunes(conf, r);
}

/* What AWS's plugin sets besides, where the user has not (platform-aws): on a p5 chunks of NVLS
 * from its 1.8 and 1.9 on (2024-02, 2024-04), everywhere buffers and chunks of point-to-point from
 * 1.16 on (2025-06). Releases of NCCL stand for those of the plugin of their time. */
static void set_as_aws(const struct rs_collective_conf *conf, struct rs_nccl_env *env)
{
	bool write = conf->nccl.net == RS_NCCL_NET_EFA;

	if (!write && conf->nccl.net != RS_NCCL_NET_EFA_READ)
		return;
	if (write && env->release >= RS_NCCL_RELEASE(2, 20, 0))
		env->nvls_tree_chunk = 512 << 10;
	if (write && env->release >= RS_NCCL_RELEASE(2, 21, 0))
		env->nvls_chunk = 512 << 10;
	if (env->release >= RS_NCCL_RELEASE(2, 27, 0)) {
		env->buffer = 8 << 20;
		env->chunk_net = 512 << 10;
	}
}

int run_plan(struct planner *p, struct nccl_run *r)
{
	const struct rs_collective_conf *conf = &p->c->conf;
	const struct rs_nccl_assume assume = {.gpu = rs_nccl_gpu_find("H100")};
	struct rs_nccl_env *env = plan_take(p, 1, sizeof(*env));
	uint32_t release = release_of(conf, p->e);
	int err;

	if (!env)
		return -ENOMEM;
	if (!release)
		return -EINVAL;
	rs_nccl_env_init(env, release);
	set_as_aws(conf, env);
	r->split = release < RS_NCCL_RELEASE(2, 20, 0);
	r->ll_threshold = 16384;
	r->gdrcopy = 1;
	r->rdzv_threshold = 16384;
	r->rdzv_get_min = 2049;
	r->aws_tuner = release >= RS_NCCL_RELEASE(2, 21, 0);
	err = read_env(conf, r, env, p->e);
	if (err)
		return err;
	if (env->collnet) {
		rs_error_set(p->e, -EINVAL,
			     "nccl.env: NCCL_COLLNET_ENABLE: reductions in the "
			     "network (CollNet, SHARP) are not simulated");
		rs_error_hint(p->e, "set it to 0; `ripstop nccl plan` and `tune` take it");
		return -EINVAL;
	}
	err = rs_nccl_plan_fabric(p->f, conf->gpu, p->c->n_ranks, env, &assume, conf->nccl.searches,
				  p->a, &r->p, p->e);
	if (!err)
		tell_net(conf, r);
	/* NVLS's channels are cut by this alone, not by NCCL_MAX_NCHANNELS (transport/nvls.cc) */
	if (!err && r->max_ctas && r->p->nvls_channels > r->max_ctas)
		r->p->nvls_channels = r->max_ctas;
	if (!err && r->p->rccl && !r->p->gfx) {
		rs_error_set(p->e, -EINVAL, "RCCL on MI100 and before is not simulated");
		rs_error_hint(p->e, "give the collective an `algorithm:`, as ring");
		return -EINVAL;
	}
	return err;
}

/* Inside a host: without peer-to-peer a message goes through NICs where these are faster than the
 * way between sockets, or the host's memory is switched off. */
static bool leaves(const struct nccl_run *r, uint32_t src, uint32_t dst)
{
	return r->p->n_nodes > 1 && rs_nccl_via(r->p, src, dst, NULL, NULL) == RS_NCCL_VIA_NET;
}

void run_connect(struct planner *p, const struct nccl_run *r, uint64_t conn, uint32_t src,
		 uint32_t dst, uint32_t channel)
{
	struct rs_conn *k = &p->c->conns[conn];
	struct rs_nccl_way out, in;

	plan_connect(p, conn, src, dst, channel);
	if (k->nvlink && !leaves(r, src, dst)) {
		/* without peer-to-peer the sender writes into the host's memory (transport/shm.cc)
		 */
		k->to_host = rs_nccl_via(r->p, src, dst, NULL, NULL) == RS_NCCL_VIA_SHM;
		k->c2c = rs_nccl_has_c2c(r->p, dst);
		return;
	}
	if (r->p2p) {
		out = rs_nccl_p2p_way(r->p, src, dst, (int)channel, true);
		in = rs_nccl_p2p_way(r->p, dst, src, (int)channel, false);
	} else {
		out = rs_nccl_way(r->p, r->choice.algo, src, (int)channel, true);
		in = rs_nccl_way(r->p, r->choice.algo, dst, (int)channel, false);
	}
	if (k->nvlink && (out.net < 0 || in.net < 0))
		return;
	k->nvlink = false;
	if (out.net >= 0) {
		k->src_endpoint = rs_nccl_endpoint(p->f, r->p, src, out.net);
		k->via = out.proxy;
		k->from_host = !out.gdr;
	}
	if (in.net >= 0) {
		k->dst_endpoint = rs_nccl_endpoint(p->f, r->p, dst, in.net);
		k->to_host = !in.gdr;
		k->c2c = rs_nccl_has_c2c(r->p, dst);
	}
}

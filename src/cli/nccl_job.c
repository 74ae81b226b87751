/* The job of `ripstop nccl`: a scenario's, or so many hosts like a topology of NCCL's. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/load.h"
#include "base/units.h"
#include "cli/nccl.h"
#include "describe/describe.h"

enum { XML_MAX = 16 << 20 };

struct loading {
	const struct rs_cli_nccl_job *job;
	const struct rs_nccl_env *env;
	struct rs_arena *a;
	struct rs_error *e;
	struct rs_nccl_assume assume;
	const struct rs_nccl_log *log;      /* the job's, or that which draws the host; NULL */
	int devs[RS_NCCL_GPUS_MAX], n_devs; /* of each host */
};

/* "0,2-5": numbers of GPUs, none twice. */
static int list_gpus(struct loading *g, const char *s)
{
	char *end;

	for (const char *at = s; *at;) {
		long first = strtol(at, &end, 10), last = first;

		if (end != at && *end == '-')
			last = strtol(end + 1, &end, 10);
		if (end == at || !isdigit((unsigned char)*at) || last < first ||
		    last >= RS_NCCL_GPUS_MAX || (*end && *end != ','))
			return rs_error_set(g->e, -EINVAL, "--gpus takes 0,1 or 0-3, not '%s'", s);
		for (long i = first; i <= last && g->n_devs < RS_NCCL_GPUS_MAX; i++)
			g->devs[g->n_devs++] = (int)i;
		at = *end ? end + 1 : end;
	}
	return g->n_devs ? 0 : rs_error_set(g->e, -EINVAL, "--gpus: no GPU");
}

static int assume(struct loading *g)
{
	int64_t rate = 0;
	int err;

	g->assume.gpu = rs_nccl_gpu_find(g->job->gpu);
	if (g->job->nic) {
		err = rs_parse_rate(g->job->nic, &rate, g->e);
		if (err)
			return err;
		g->assume.mbps = (int)(rate / RS_MBPS);
	}
	return g->job->gpus ? list_gpus(g, g->job->gpus) : 0;
}

/* ---- So many hosts like one ---- */

/* Without --gpus: all, in order of their numbers. */
static void all_gpus(struct loading *g, const struct rs_nccl_host *h)
{
	for (int dev = 0; !g->job->gpus && dev < RS_NCCL_GPUS_MAX; dev++)
		for (int i = 0; i < h->n_items; i++)
			if (h->items[i].kind == RS_NCCL_GPU && h->items[i].dev == dev &&
			    g->n_devs < RS_NCCL_GPUS_MAX)
				g->devs[g->n_devs++] = dev;
}

/* Ranks where the log says that they were. */
static uint32_t places_of_log(const struct rs_nccl_log *log, struct rs_nccl_place *places)
{
	uint32_t hosts = 0;

	for (uint32_t r = 0; r < log->n_ranks; r++) {
		uint32_t k = 0;

		while (k < r && strcmp(log->ranks[k].host, log->ranks[r].host))
			k++;
		places[r] = (struct rs_nccl_place){k < r ? places[k].host : hosts,
						   log->ranks[r].dev, r};
		hosts += k == r;
	}
	return hosts;
}

static uint32_t hosts_of(const struct loading *g)
{
	const struct rs_nccl_log *log = g->log;

	if (g->job->nodes)
		return g->job->nodes;
	if (log && log->n_nodes)
		return log->n_nodes;
	if (log && log->n_ranks > (uint32_t)g->n_devs)
		return (log->n_ranks + (uint32_t)g->n_devs - 1) / (uint32_t)g->n_devs;
	return 1;
}

static int plan_hosts(struct loading *g, const struct rs_nccl_host *h, struct rs_nccl_plan **out)
{
	const struct rs_nccl_log *log = g->log;
	bool by_log = log && log->all_ranks && !g->job->nodes && !g->job->gpus;
	struct rs_nccl_job job = {0};
	const struct rs_nccl_host **hosts;
	struct rs_nccl_place *places;

	all_gpus(g, h);
	job.n_hosts = hosts_of(g);
	job.n_ranks = by_log ? log->n_ranks : job.n_hosts * (uint32_t)g->n_devs;
	if (!by_log && log && log->n_ranks && log->n_ranks < job.n_ranks && !g->job->gpus &&
	    log->n_ranks % job.n_hosts == 0) {
		/* fewer ranks a host than GPUs: the first ones */
		g->n_devs = (int)(log->n_ranks / job.n_hosts);
		job.n_ranks = log->n_ranks;
	}
	if (job.n_ranks > RS_NCCL_RANKS_MAX)
		return rs_error_set(g->e, -E2BIG, "a job of %u ranks; at most %d", job.n_ranks,
				    RS_NCCL_RANKS_MAX);
	places = rs_arena_alloc(g->a, job.n_ranks, sizeof(*places));
	if (!places)
		return rs_error_set(g->e, -ENOMEM, "out of memory");
	for (uint32_t r = 0; !by_log && r < job.n_ranks; r++)
		places[r] = (struct rs_nccl_place){r / (uint32_t)g->n_devs,
						   g->devs[r % (uint32_t)g->n_devs], r};
	if (by_log)
		job.n_hosts = places_of_log(log, places);
	hosts = rs_arena_alloc(g->a, job.n_hosts, sizeof(*hosts));
	if (!hosts)
		return rs_error_set(g->e, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < job.n_hosts; i++)
		hosts[i] = h;
	job.hosts = hosts;
	job.ranks = places;
	return rs_nccl_plan_make(&job, g->env, g->a, out, g->e);
}

static int from_topology(struct loading *g, const char *text, size_t n, struct rs_nccl_plan **out,
			 const char **assumed)
{
	struct rs_nccl_host *h;
	int err = rs_nccl_host_parse(text, n, g->job->file, &g->assume, g->a, &h, g->e);

	if (err)
		return err;
	h->name = g->job->file;
	for (int i = 0; h->assumed && i < h->n_items; i++)
		if (h->items[i].kind == RS_NCCL_GPU) {
			*assumed = rs_arena_printf(
				g->a,
				"GPUs of compute capability %d.%d, %d NVLinks each (--gpu MODEL "
				"says which)",
				h->items[i].cc / 10, h->items[i].cc % 10,
				h->n_nvlinks ? h->nvlinks[0].count : 0);
			break;
		}
	if (h->slow_nics && g->job->nodes > 1)
		*assumed = rs_arena_printf(g->a,
					   "%s%sNICs of 10 Gb/s, as NCCL does where no rate is "
					   "told (--nic RATE says which)",
					   *assumed ? *assumed : "", *assumed ? "; " : "");
	return plan_hosts(g, h, out);
}

static int from_log(struct loading *g, const char *text, size_t n, struct rs_nccl_plan **out)
{
	const struct rs_nccl_log *log = g->job->log;
	struct rs_nccl_log *own;
	struct rs_nccl_host *h;
	int err = 0;

	if (!log) {
		err = rs_nccl_log_read(text, n, g->job->file, g->a, &own, g->e);
		g->log = log = err ? NULL : own;
	}
	if (!err)
		err = rs_nccl_host_drawn(text, n, g->job->file, log, g->env->release, &g->assume,
					 g->a, &h, g->e);
	return err ? err : plan_hosts(g, h, out);
}

/* ---- A scenario's job ---- */

static const struct rs_job *job_of(const struct loading *g, const struct rs_fabric *f)
{
	for (uint32_t i = 0; i < f->n_jobs; i++)
		if (g->job->job ? !strcmp(f->jobs[i].name, g->job->job)
				: rs_job_collective(&f->jobs[i]) != NULL)
			return &f->jobs[i];
	return NULL;
}

static int from_fabric(struct loading *g, struct rs_fabric **fabric, struct rs_nccl_plan **out)
{
	const struct rs_collective_conf *c;
	const uint32_t **places;
	const struct rs_job *j;
	struct rs_fabric *f;
	uint32_t n;
	int err = rs_fabric_load(g->job->file, NULL, 0, fabric, g->e);

	if (err)
		return err;
	f = *fabric;
	if (g->job->nodes || g->job->gpus)
		return rs_error_set(g->e, -EINVAL,
				    "--nodes and --gpus are for a topology (XML); of "
				    "a scenario its job says where ranks are");
	places = rs_arena_alloc(g->a, (size_t)f->n_jobs + 1, sizeof(*places));
	if (!places)
		return rs_error_set(g->e, -ENOMEM, "out of memory");
	err = rs_fabric_place(f, 1, g->a, places, g->e);
	if (err)
		return err;
	j = job_of(g, f);
	if (g->job->job && !j)
		return rs_error_set(g->e, -EINVAL, "%s has no job '%s'", g->job->file, g->job->job);
	c = j ? rs_job_collective(j) : NULL;
	n = c && c->n_ranks ? c->n_ranks : f->n_gpus;
	if (!n)
		return rs_error_set(g->e, -EINVAL, "%s has no GPUs", g->job->file);
	return rs_nccl_plan_fabric(f, c ? places[j - f->jobs] : NULL, n, g->env, &g->assume, NULL,
				   g->a, out, g->e);
}

int rs_cli_nccl_load(const struct rs_cli_nccl_job *job, const struct rs_nccl_env *env,
		     struct rs_arena *a, struct rs_fabric **fabric, struct rs_nccl_plan **out,
		     const char **assumed, struct rs_error *e)
{
	struct loading g = {.job = job, .log = job->log, .env = env, .a = a, .e = e};
	struct rs_load l = {.arena = a, .e = e, .name = job->file};
	size_t n, at = 0;
	char *text;
	int err = assume(&g);

	if (err)
		return err;
	text = rs_load_file(&l, job->file, RS_NCCL_LOG_MAX, (struct rs_where){job->file, 0, 0}, &n);
	if (!text)
		return l.err;
	while (at < n && isspace((unsigned char)text[at]))
		at++;
	if (text[at] == '<')
		err = from_topology(&g, text, n, out, assumed);
	else if (strstr(text, "NCCL INFO "))
		err = from_log(&g, text, n, out);
	else
		err = from_fabric(&g, fabric, out);
	free(text);
	if (err)
		rs_error_place(e, (struct rs_where){job->file, 1, 1});
	return err;
}

/* Reading NCCL's log: lines of many processes mixed, other programs' between. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "nccl/log.h"

struct scan {
	struct rs_load *l;
	struct rs_nccl_log *log;
	uint32_t room;
	bool any;
};

/* A number behind a word, "nranks 16": -1: no such word. */
static long after(const char *s, const char *word)
{
	const char *at = strcasestr(s, word);

	while (at && !isdigit((unsigned char)at[strlen(word)]))
		at = strcasestr(at + 1, word);
	return at ? strtol(at + strlen(word), NULL, 10) : -1;
}

static const char *word(struct rs_load *l, const char *s, size_t n)
{
	char *copy = rs_load_take(l, n + 1, 1);

	if (copy)
		memcpy(copy, s, n);
	return copy;
}

/* "NCCL_CROSS_NIC set by environment to 1." */
static void variable(struct scan *s, const char *text, int line)
{
	const char *set = strstr(text, " set by environment to ");
	const char *value = set ? set + strlen(" set by environment to ") : NULL, *name = set;
	size_t n;

	if (!set || s->log->n_vars == RS_NCCL_LOG_VARS)
		return;
	while (name > text && (isalnum((unsigned char)name[-1]) || name[-1] == '_'))
		name--;
	n = strcspn(value, " \r\n");
	if (n && value[n - 1] == '.')
		n--;
	for (int i = 0; i < s->log->n_vars; i++)
		if (strlen(s->log->vars[i].name) == (size_t)(set - name) &&
		    !strncmp(s->log->vars[i].name, name, (size_t)(set - name)))
			return;
	s->log->vars[s->log->n_vars].line = line;
	s->log->vars[s->log->n_vars].name = word(s->l, name, (size_t)(set - name));
	s->log->vars[s->log->n_vars].value = word(s->l, value, n);
	s->log->n_vars += !s->l->err;
}

static void more_ranks(struct scan *s, uint32_t n)
{
	struct rs_nccl_log_rank *ranks = s->log->ranks;

	if (n <= s->log->n_ranks || n > RS_NCCL_RANKS_MAX)
		return;
	/* the largest communicator is meant: those before it are forgotten */
	if (n > s->room) {
		ranks = rs_load_take(s->l, n, sizeof(*ranks));
		if (!ranks)
			return;
		s->room = n;
		s->log->ranks = ranks;
	}
	memset(ranks, 0, s->room * sizeof(*ranks));
	s->log->n_ranks = n;
}

/* "comm 0x... rank 3 nranks 16 cudaDev 3 nvmlDev 3 busId 5d000". */
static void rank_line(struct scan *s, const char *line, const char *text)
{
	long n = after(text, "nranks "), rank = after(text, " rank "), dev;

	if (n <= 0)
		return;
	more_ranks(s, (uint32_t)n);
	if ((uint32_t)n != s->log->n_ranks || rank < 0 || rank >= n || s->l->err)
		return;
	if (after(text, "nNodes ") > 0)
		s->log->n_nodes = (uint32_t)after(text, "nNodes ");
	dev = after(text, "nvmlDev ");
	if (dev < 0)
		dev = after(text, "cudaDev ");
	if (dev >= 0 && dev < RS_NCCL_GPUS_MAX && !s->log->ranks[rank].host) {
		size_t host = strcspn(line, ": \t");

		s->log->ranks[rank].host = word(s->l, line, host);
		s->log->ranks[rank].dev = (int)dev;
	}
}

static void net_name(struct scan *s, const char *text)
{
	const char *at = strstr(text, "Using network ");

	if (at && !s->log->net)
		s->log->net = word(s->l, at + 14, strcspn(at + 14, "\r\n"));
}

/* "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'". */
static void nic_line(struct scan *s, const char *text)
{
	const char *at = strstr(text, "GPU Direct RDMA "), *hca = strstr(text, " for HCA "), *quote;
	long n;

	if (!at || !hca)
		return;
	n = strtol(hca + 9, NULL, 10);
	quote = strchr(hca, '\'');
	if (n < 0 || n >= RS_NCCL_LOG_NICS || !quote)
		return;
	s->log->nics[n].no_gdr = !strncmp(at + 16, "Disabled", 8);
	if (!s->log->nics[n].name)
		s->log->nics[n].name = word(s->l, quote + 1, strcspn(quote + 1, "'"));
}

static void one_line(struct scan *s, const char *line, int number)
{
	const char *text = strstr(line, "NCCL INFO "), *version = strstr(line, "NCCL version ");

	if (version && !s->log->release) {
		char v[32];

		snprintf(v, sizeof(v), "%.*s", (int)strcspn(version + 13, " \r\n"), version + 13);
		s->log->release = rs_nccl_release_parse(v);
	}
	if (!text)
		return;
	s->any = true;
	text += 10;
	variable(s, text, number);
	net_name(s, text);
	nic_line(s, text);
	if (strstr(text, "NVLS multicast support is not available"))
		s->log->no_nvls = true;
	if (strstr(text, "P2P/direct pointer"))
		s->log->one_process = true;
	rank_line(s, line, text);
}

/* Lines of a text, each ended by a NUL in buf. */
static bool next_line(const char **at, const char *end, char *buf, size_t size)
{
	const char *stop;
	size_t n;

	if (*at >= end)
		return false;
	stop = memchr(*at, '\n', (size_t)(end - *at));
	n = (size_t)((stop ? stop : end) - *at);
	snprintf(buf, size, "%.*s", (int)(n < size ? n : size - 1), *at);
	*at = stop ? stop + 1 : end;
	return true;
}

enum { LINE_MAX_BYTES = 1 << 16 };

int rs_nccl_log_read(const char *text, size_t n, const char *name, struct rs_arena *a,
		     struct rs_nccl_log **out, struct rs_error *e)
{
	struct rs_error own = {0};
	struct rs_load l = {.arena = a, .e = e ? e : &own, .name = name};
	struct scan s = {.l = &l, .log = rs_load_take(&l, 1, sizeof(*s.log))};
	char *buf = rs_load_take(&l, LINE_MAX_BYTES, 1);
	const char *at = text;

	*out = NULL;
	for (int number = 1; !l.err && next_line(&at, text + n, buf, LINE_MAX_BYTES); number++)
		one_line(&s, buf, number);
	if (!l.err && !s.any)
		rs_load_fail(&l, -EINVAL, (struct rs_where){name, 1, 1},
			     "no line of NCCL's log (\"NCCL INFO\"): run with NCCL_DEBUG=INFO");
	if (l.err)
		return l.err;
	s.log->all_ranks = s.log->n_ranks > 0;
	for (uint32_t r = 0; r < s.log->n_ranks; r++)
		s.log->all_ranks &= s.log->ranks[r].host != NULL;
	*out = s.log;
	return 0;
}

/* ---- Held against a plan ---- */

const char *const rs_nccl_line_names[] = {"graphs",     "rings",     "ring neighbours", "trees",
					  "NVLS heads", "p2p chunk", "connections",     "counts",
					  "system",     NULL};

/* A process of the log, and how many ranks its communicator has. */
enum { PROCESSES_MAX = 4096, PREFIX_MAX = 96 };
struct process {
	char prefix[PREFIX_MAX];
	long n_ranks;
};

struct comparison {
	const struct rs_nccl_plan *p;
	const struct rs_nccl_print *how;
	const char *name;
	FILE *out;
	struct rs_nccl_compared *c;
	int line, n_processes;
	struct process *processes;
};

static void told(struct comparison *m, enum rs_nccl_line kind, bool same, const char *log,
		 const char *plan)
{
	m->c->lines[kind]++;
	m->c->same[kind] += same;
	if (same || !m->out)
		return;
	fprintf(m->out, "%s:%d: %s\n    log   ", m->name, m->line, rs_nccl_line_names[kind]);
	for (; *log && *log != '\n' && *log != '\r'; log++)
		fputc((unsigned char)*log < ' ' || *log == 127 ? '?' : *log, m->out);
	fprintf(m->out, "\n    plan  %s\n", plan);
}

/* Numbers after a colon up to the end: as many as the line shows, which NCCL may have cut. */
static void ring_line(struct comparison *m, const char *text, const char *colon, int c, int of)
{
	const struct rs_nccl_plan *p = m->p;
	char plan[1024];
	size_t used;
	bool same = of == p->n_channels && c < p->n_channels;
	uint32_t i = 0;
	char *end;

	for (const char *s = colon; i < p->n_ranks; s = end, i++) {
		long v = strtol(s, &end, 10);

		if (end == s || *end == '.') {
			same &= *end == '.' || (i && strspn(s, " \r\n.") == strlen(s));
			break;
		}
		same &= c < p->n_channels && v == (long)p->channel[c].ring[i];
	}
	used = (size_t)snprintf(plan, sizeof(plan), "Channel %02d/%02d : ", c, p->n_channels);
	for (uint32_t k = 0; c < p->n_channels && k < p->n_ranks && used + 16 < sizeof(plan); k++)
		used += (size_t)snprintf(plan + used, sizeof(plan) - used, " %u",
					 p->channel[c].ring[k]);
	told(m, RS_NCCL_LINE_RING, same, text, plan);
}

static void via_line(struct comparison *m, const char *text)
{
	const struct rs_nccl_plan *p = m->p;
	static const enum rs_nccl_algo algos[] = {RS_NCCL_ALGO_RING, RS_NCCL_ALGO_TREE,
						  RS_NCCL_ALGO_NVLS};
	unsigned from, to;
	int c, index, used = 0;
	char words[64], plan[160];
	const char *rest;
	bool send, same = false;

	if (sscanf(text, "Channel %d/%d : %u[%*[0-9a-fx]] -> %u[%*[0-9a-fx]]%n", &c, &index, &from,
		   &to, &used) < 4 ||
	    !used || c < 0 || c >= p->n_channels || from >= p->n_ranks || to >= p->n_ranks || index)
		return; /* p2p (index 1) is connected as a job asks for it */
	rest = text + used + strspn(text + used, " ");
	send = strncmp(rest, "[receive]", 9) != 0;
	for (int i = 0; i < 3 && !same; i++) {
		size_t n;

		rs_nccl_via_text(p, m->how, algos[i], from, to, c, send, words, sizeof(words));
		n = strlen(words);
		same = !strncmp(rest, words, n) && strspn(rest + n, " \r\n") == strlen(rest + n);
	}
	rs_nccl_via_text(p, m->how, RS_NCCL_ALGO_RING, from, to, c, send, words, sizeof(words));
	snprintf(plan, sizeof(plan), "Channel %02d/0 : %u[%d] -> %u[%d] %s", c, from,
		 p->ranks[from].dev, to, p->ranks[to].dev, words);
	told(m, RS_NCCL_LINE_VIA, same, text, plan);
}

static void trees_line(struct comparison *m, const char *text)
{
	const struct rs_nccl_plan *p = m->p;
	int c, d[3], up, used;
	unsigned rank;

	for (const char *s = text + 5;
	     sscanf(s, " [%d] %d/%d/%d->%u->%d%n", &c, &d[0], &d[1], &d[2], &rank, &up, &used) == 6;
	     s += used) {
		const struct rs_nccl_tree *t;
		char log[96], plan[96] = "no such channel or rank";
		bool same = false;

		snprintf(log, sizeof(log), "[%d] %d/%d/%d->%u->%d", c, d[0], d[1], d[2], rank, up);
		if (c >= 0 && c < p->n_channels && rank < p->n_ranks) {
			t = &p->channel[c].tree[rank];
			snprintf(plan, sizeof(plan), "[%d] %d/%d/%d->%u->%d", c, t->down[0],
				 t->down[1], t->down[2], rank, t->up);
			same = !strcmp(log, plan);
		}
		told(m, RS_NCCL_LINE_TREES, same, log, plan);
	}
}

static void ring_of_line(struct comparison *m, const char *text)
{
	const struct rs_nccl_plan *p = m->p;
	unsigned prev, rank, next;
	char plan[64] = "no such channel or rank";
	uint32_t a = UINT32_MAX, b = UINT32_MAX;
	int c;

	if (sscanf(text, "Ring %d : %u -> %u -> %u", &c, &prev, &rank, &next) != 4)
		return;
	if (c >= 0 && c < p->n_channels && rank < p->n_ranks) {
		const uint32_t *ring = p->channel[c].ring;

		for (uint32_t i = 0; i < p->n_ranks; i++)
			if (ring[i] == rank) {
				a = ring[(i + p->n_ranks - 1) % p->n_ranks];
				b = ring[(i + 1) % p->n_ranks];
			}
		snprintf(plan, sizeof(plan), "Ring %02d : %u -> %u -> %u", c, a, rank, b);
	}
	told(m, RS_NCCL_LINE_RING_OF, prev == a && next == b, text, plan);
}

static void heads_line(struct comparison *m, const char *text)
{
	const struct rs_nccl_plan *p = m->p;
	int h, used = 0;
	char plan[256], *end;
	size_t at;
	bool same;

	if (sscanf(text, "NVLS Head %d:%n", &h, &used) != 1 || !used || h < 0)
		return;
	same = h < p->n_nvls_heads;
	at = (size_t)snprintf(plan, sizeof(plan), "NVLS Head %2d:", h);
	for (uint32_t n = 0; h < p->n_nvls_heads && n < p->n_nodes && n < 20; n++) {
		uint32_t head = p->nvls_heads[(uint32_t)h * p->n_nodes + n];
		long v = strtol(text + used, &end, 10);

		same &= end != text + used && v == (long)head;
		used = (int)(end - text);
		at += (size_t)snprintf(plan + at, sizeof(plan) - at, " %2u", head);
	}
	told(m, RS_NCCL_LINE_HEADS, same, text, plan);
}

static void counts_line(struct comparison *m, const char *text)
{
	const struct rs_nccl_plan *p = m->p;
	const char *nvls = strstr(text, " nvls channels"), *p2p = strstr(text, " p2p channels");
	const char *peer = strstr(text, " p2p channels per peer");
	long n_nvls = -1, n_p2p = -1, n_peer = -1;
	char plan[160];

	/* each number stands before its words */
	for (int i = 0; i < 3; i++) {
		const char *s = i == 0 ? nvls : i == 1 ? p2p : peer;
		long *v = i == 0 ? &n_nvls : i == 1 ? &n_p2p : &n_peer;

		if (!s)
			continue;
		while (s > text && isdigit((unsigned char)s[-1]))
			s--;
		*v = strtol(s, NULL, 10);
	}
	snprintf(plan, sizeof(plan),
		 "%d coll channels, %d nvls channels, %d p2p channels, %d p2p channels per peer",
		 p->n_channels, p->nvls_channels, p->p2p_channels, p->p2p_channels_per_peer);
	told(m, RS_NCCL_LINE_COUNTS,
	     strtol(text, NULL, 10) == p->n_channels &&
		     (n_nvls < 0 || n_nvls == p->nvls_channels) &&
		     (n_p2p < 0 || n_p2p == p->p2p_channels) &&
		     (n_peer < 0 || n_peer == p->p2p_channels_per_peer),
	     text, plan);
}

static void graph_line(struct comparison *m, const char *text)
{
	static const struct {
		int pattern;
		enum rs_nccl_algo algo;
	} of[] = {{4, RS_NCCL_ALGO_RING},
		  {1, RS_NCCL_ALGO_TREE},
		  {2, RS_NCCL_ALGO_TREE},
		  {3, RS_NCCL_ALGO_TREE},
		  {5, RS_NCCL_ALGO_NVLS}};
	const struct rs_nccl_graph *g = NULL;
	int pattern, cross, n, same_channels;
	char intra[8], inter[8], plan[160];
	float a, b;

	if (sscanf(text,
		   "Pattern %d, crossNic %d, nChannels %d, bw %f/%f, type %7[A-Z]/%7[A-Z], "
		   "sameChannels %d",
		   &pattern, &cross, &n, &a, &b, intra, inter, &same_channels) != 8)
		return;
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		if (of[i].pattern == pattern)
			g = &m->p->graph[of[i].algo];
	if (!g)
		return;
	snprintf(plan, sizeof(plan),
		 "Pattern %d, crossNic %d, nChannels %d, bw %f/%f, type %s/%s, sameChannels %d",
		 g->pattern, g->cross_nic, g->n_channels, (double)g->bw_intra, (double)g->bw_inter,
		 rs_nccl_path_names[g->type_intra], rs_nccl_path_names[g->type_inter],
		 g->same_channels);
	told(m, RS_NCCL_LINE_GRAPH,
	     (int)g->pattern == pattern && g->cross_nic == cross && g->n_channels == n &&
		     g->bw_intra == a && g->bw_inter == b &&
		     !strcmp(intra, rs_nccl_path_names[g->type_intra]) &&
		     !strcmp(inter, rs_nccl_path_names[g->type_inter]) &&
		     g->same_channels == same_channels,
	     text, plan);
}

static struct process *process_of(struct comparison *m, const char *line, const char *text)
{
	char prefix[PREFIX_MAX];

	snprintf(prefix, sizeof(prefix), "%.*s", (int)strcspn(line, " \t"), line);
	for (int i = m->n_processes - 1; i >= 0; i--)
		if (!strcmp(m->processes[i].prefix, prefix))
			return &m->processes[i];
	if (m->n_processes == PROCESSES_MAX || text == line)
		return NULL;
	memcpy(m->processes[m->n_processes].prefix, prefix, sizeof(prefix));
	m->processes[m->n_processes].n_ranks = 0;
	return &m->processes[m->n_processes++];
}

static void compare_line(struct comparison *m, const char *line)
{
	const char *text = strstr(line, "NCCL INFO ");
	struct process *q;
	int c, of, used = 0;

	if (!text)
		return;
	text += 10;
	q = process_of(m, line, text);
	if (q && after(text, "nranks ") > 0)
		q->n_ranks = after(text, "nranks ");
	if (q && q->n_ranks && q->n_ranks != (long)m->p->n_ranks)
		return;
	if (sscanf(text, "Channel %d/%d :%n", &c, &of, &used) == 2 && used && c >= 0) {
		if (strstr(text, "->"))
			via_line(m, text);
		else
			ring_line(m, text, text + used, c, of);
	} else if (!strncmp(text, "Trees [", 7)) {
		trees_line(m, text);
	} else if (!strncmp(text, "Ring ", 5)) {
		ring_of_line(m, text);
	} else if (!strncmp(text, "NVLS Head ", 10)) {
		heads_line(m, text);
	} else if (!strncmp(text, "P2P Chunksize set to ", 21)) {
		char plan[48];

		snprintf(plan, sizeof(plan), "P2P Chunksize set to %u", m->p->p2p_chunk);
		told(m, RS_NCCL_LINE_CHUNK, strtoul(text + 21, NULL, 10) == m->p->p2p_chunk, text,
		     plan);
	} else if (strstr(text, " coll channels, ")) {
		counts_line(m, text);
	} else if (!strncmp(text, "Pattern ", 8)) {
		graph_line(m, text);
	}
}

int rs_nccl_compare(const struct rs_nccl_plan *p, const struct rs_nccl_print *how, const char *text,
		    size_t n, const char *name, FILE *out, struct rs_nccl_compared *c)
{
	struct comparison m = {.p = p, .how = how, .name = name, .out = out, .c = c};
	char *buf = malloc(LINE_MAX_BYTES);
	const char *at = text;

	m.processes = malloc(PROCESSES_MAX * sizeof(*m.processes));
	*c = (struct rs_nccl_compared){0};
	if (!buf || !m.processes) {
		free(buf);
		free(m.processes);
		return -ENOMEM;
	}
	for (m.line = 1; next_line(&at, text + n, buf, LINE_MAX_BYTES); m.line++)
		compare_line(&m, buf);
	free(buf);
	free(m.processes);
	return 0;
}

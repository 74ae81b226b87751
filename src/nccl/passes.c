/* NCCL's search from outside: which bandwidths, classes and patterns are tried in what order, when
 * it is enough, and how the result is doubled (graph/search.cc, ncclTopoCompute). */
#include <string.h>
#include "nccl/graph.h"

/* Steps of one attempt, and of all. */
enum { STEPS = 1 << 14, STEPS_SAME = 1 << 8, STEPS_ALL = 1 << 19, STEPS_ALL_218 = 5 << 16 };
enum { SPEEDS_MAX = 20 };

/* What is tried as a channel's bandwidth, GB/s; ended by 0. */
static const float intra[] = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 0};
static const float inter[] = {48, 30, 28, 24, 20, 18,   15,   12,   10,   9,
			      7,  6,  5,  4,  3,  2.4f, 1.2f, .24f, .12f, 0};
static const float intra90_218[] = {60, 40, 30, 24, 20, 15, 12, 6, 3, 0};
static const float inter90_218[] = {48, 45, 42, 40,   30,   24,   20,   17.5f, 15,
				    12, 6,  3,  2.4f, 1.2f, .24f, .12f, 0};
static const float intra90_219[] = {60, 50, 40, 30, 24, 20, 15, 12, 6, 3, 0};
static const float intra90[] = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3, 0};
static const float inter90[] = {48, 45, 42, 40, 30,   24,   22,   20,   17.5f,
				15, 12, 6,  3,  2.4f, 1.2f, .24f, .12f, 0};
static const float intra100_225[] = {90, 80, 70, 60, 50, 40, 30, 24, 20, 19, 0};
static const float intra100[] = {90, 80, 70, 60, 50, 40, 30, 24, 20, 19, 18, 0};
static const float intra100_229[] = {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18, 0};
static const float inter100_2273[] = {47.9f, 45, 42, 40, 30,   24,   22,   20,   17.5f,
				      15,    12, 6,  3,  2.4f, 1.2f, .24f, .12f, 0};
static const float inter100[] = {96, 48, 45.1f, 42, 40,   30,   24,   22,   20, 17.5f,
				 15, 12, 6,     3,  2.4f, 1.2f, .24f, .12f, 0};
static const float inter100_2297[] = {96,    80, 48, 45.1f, 42, 40,   30,   24,   22,   20,
				      17.5f, 15, 12, 6,     3,  2.4f, 1.2f, .24f, .12f, 0};
static const float inter100_230[] = {96,    86, 80, 48, 45.1f, 42,   40,   30,   24,   22, 20,
				     17.5f, 15, 12, 6,  3,     2.4f, 1.2f, .24f, .12f, 0};

static const float *speeds_of(uint32_t release, int cc, bool nets)
{
	if (cc >= 100 && release >= RS_NCCL_RELEASE(2, 25, 0)) {
		if (release >= RS_NCCL_RELEASE(2, 30, 0))
			return nets ? inter100_230 : intra100_229;
		if (release >= RS_NCCL_RELEASE(2, 29, 0))
			return !nets                                  ? intra100_229
			       : release >= RS_NCCL_RELEASE(2, 29, 7) ? inter100_2297
								      : inter100;
		if (release >= RS_NCCL_RELEASE(2, 27, 5))
			return nets ? inter100 : intra100;
		if (release >= RS_NCCL_RELEASE(2, 27, 0))
			return nets ? inter100_2273 : intra100;
		return nets ? inter90 : intra100_225;
	}
	if (cc < 90)
		return nets ? inter : intra;
	if (release >= RS_NCCL_RELEASE(2, 21, 0))
		return nets ? inter90 : intra90;
	if (release >= RS_NCCL_RELEASE(2, 19, 0))
		return nets ? inter90 : intra90_219;
	return nets ? inter90_218 : intra90_218;
}

int nccl_channels_max(uint32_t release)
{
	return release >= RS_NCCL_RELEASE(2, 25, 0) ? 64 : 32;
}

/* The bandwidth of the best path of a GPU, and of its links. */
void nccl_search_init(struct rs_nccl_topo *t)
{
	enum kind kind = t->n[NET] ? NET : GPU;

	t->max_bw = t->total_bw = 0;
	if (!t->n[NET] && t->n[GPU] == 1) {
		t->max_bw = LOC_BW;
		t->total_bw = t->env->release >= RS_NCCL_RELEASE(2, 21, 0) ? LOC_BW : 0;
		return;
	}
	for (int g = 0; g < t->n[GPU]; g++) {
		const struct node *gpu = &t->nodes[GPU][g];
		float nvlink = 0, pci = 0;

		for (int i = 0; i < t->n[kind]; i++)
			if (gpu->ways[kind][i].n && gpu->ways[kind][i].bw > t->max_bw)
				t->max_bw = gpu->ways[kind][i].bw;
		for (int i = 0; i < gpu->n_links; i++) {
			if (gpu->links[i].class == RS_NCCL_NVL)
				nvlink += gpu->links[i].bw;
			if (gpu->links[i].class == RS_NCCL_PIX)
				pci = gpu->links[i].bw;
		}
		if (pci > t->total_bw)
			t->total_bw = pci;
		if (nvlink > t->total_bw)
			t->total_bw = nvlink;
	}
}

/* The nearest and the farthest class between GPUs and GPUs or NICs. */
static void classes(const struct rs_nccl_topo *t, enum kind kind, enum rs_nccl_path *min,
		    enum rs_nccl_path *max)
{
	*min = RS_NCCL_SYS;
	*max = RS_NCCL_LOC;
	for (int g = 0; g < t->n[GPU]; g++)
		for (int i = 0; i < t->n[kind]; i++) {
			enum rs_nccl_path c = t->nodes[GPU][g].ways[kind][i].class;

			if (kind == GPU && i == g)
				continue;
			*min = c < *min ? c : *min;
			*max = c > *max ? c : *max;
		}
}

/* Two islands of NVLink on the host. */
static bool split_nvlink(const struct rs_nccl_topo *t)
{
	int domain[RS_NCCL_GPUS_MAX], count[RS_NCCL_GPUS_MAX] = {0}, islands = 0;

	for (int g = 0; g < t->n[GPU]; g++)
		domain[g] = g;
	for (int g = 0; g < t->n[GPU]; g++)
		for (int p = g + 1; p < t->n[GPU]; p++)
			if (t->nodes[GPU][g].ways[GPU][p].class == RS_NCCL_NVL)
				domain[p] = domain[g];
	for (int g = 0; g < t->n[GPU]; g++)
		count[domain[g]]++;
	for (int g = 0; g < t->n[GPU]; g++)
		islands += count[g] > 1;
	return islands == 2;
}

/* Releases do not know all classes: the next that this one has. */
static enum rs_nccl_path worse(uint32_t release, enum rs_nccl_path c)
{
	do
		c++;
	while ((c == RS_NCCL_C2C && release < RS_NCCL_RELEASE(2, 26, 0)) ||
	       (c == RS_NCCL_P2C && release < RS_NCCL_RELEASE(2, 27, 0)));
	return c;
}

struct search {
	struct rs_nccl_topo *t;
	struct found *f, *tmp; /* the best so far, and what is tried */
	const float *speeds;
	int n_speeds, speed, cc, cross; /* cross: NCCL_CROSS_NIC, 0 where it does not matter */
	enum rs_nccl_path min_intra, max_intra, min_inter, max_inter;
	enum rs_nccl_pattern pattern;
	bool same_first;
	int time; /* steps left of the last attempt; -1: the best there can be */
	int64_t left;
};

static bool since(const struct search *s, unsigned major, unsigned minor, unsigned patch)
{
	return s->t->env->release >= RS_NCCL_RELEASE(major, minor, patch);
}

static void copy(struct found *to, const struct found *from, int n_gpus)
{
	int16_t *own = to->intra;

	*to = *from;
	to->intra = own;
	memcpy(own, from->intra, (size_t)(from->n_channels * n_gpus) * sizeof(*own));
}

static void set_speed(struct search *s, int i)
{
	s->speed = i;
	s->tmp->bw_intra = s->tmp->bw_inter = s->speeds[i];
}

static void attempt(struct search *s)
{
	struct attempt a = {s->t, s->tmp, s->f};

	s->time = s->tmp->same ? STEPS_SAME : STEPS;
	s->left -= s->time;
	nccl_search_attempt(&a, &s->time);
}

static bool enough(const struct search *s)
{
	return s->time == -1 || (float)s->f->n_channels * s->f->bw_inter >= s->t->total_bw;
}

static bool amd_far(const struct search *s)
{
	const struct node *cpu = s->t->nodes[CPU];

	return since(s, 2, 19, 0) && cpu->arch == RS_NCCL_X86 && cpu->vendor == RS_NCCL_AMD &&
	       s->tmp->class_intra == RS_NCCL_SYS;
}

/* One class worse within the node. */
static bool widen_intra(struct search *s)
{
	enum rs_nccl_path max = s->t->n[NET] ? s->tmp->class_inter : s->max_intra;

	if (s->tmp->class_intra < max &&
	    (!s->f->n_channels || s->tmp->class_intra < s->f->class_intra)) {
		s->tmp->class_intra = worse(s->t->env->release, s->tmp->class_intra);
		if (s->tmp->class_intra < RS_NCCL_DIS)
			return true;
	}
	s->tmp->class_intra = s->min_intra;
	return false;
}

/* One class worse to the NICs. */
static bool widen_inter(struct search *s)
{
	if (s->t->n[NET] && s->tmp->class_inter < s->max_inter &&
	    (!s->f->n_channels || s->tmp->class_inter < s->f->class_inter ||
	     s->tmp->class_inter < RS_NCCL_PXN)) {
		s->tmp->class_inter = worse(s->t->env->release, s->tmp->class_inter);
		if (s->tmp->class_inter < RS_NCCL_DIS)
			return true;
	}
	s->tmp->class_inter = s->min_inter;
	return false;
}

static bool cross_more(struct search *s)
{
	if (since(s, 2, 19, 0)) {
		if (s->cross == 2 && !s->tmp->cross_nic &&
		    (!since(s, 2, 23, 0) || s->pattern == RS_NCCL_RING ||
		     s->pattern == RS_NCCL_BALANCED_TREE)) {
			s->tmp->cross_nic = since(s, 2, 23, 0) ? 2 : 1;
			return true;
		}
		s->tmp->cross_nic = s->cross == 1;
		return false;
	}
	if (s->cross && !s->tmp->cross_nic) {
		s->tmp->cross_nic = 1;
		return true;
	}
	s->tmp->cross_nic = 0;
	return false;
}

/* What to try next, no optimum being found. False: nothing is left. */
static bool try_else(struct search *s)
{
	if (s->tmp->same && !amd_far(s)) {
		s->tmp->same = false;
		return true;
	}
	s->tmp->same = s->same_first;
	if (s->time != -1)
		s->left += s->time;
	if (s->left < 0 && s->f->n_channels)
		return false;
	if (s->cc >= 90 && s->tmp->pattern == RS_NCCL_BALANCED_TREE) {
		s->tmp->pattern = RS_NCCL_TREE;
		return true;
	}
	s->tmp->pattern = s->pattern;
	if (widen_intra(s) || widen_inter(s) || cross_more(s))
		return true;
	if (s->speed < s->n_speeds - 1 &&
	    (!s->f->n_channels || (double)(s->speeds[s->speed + 1] / s->f->bw_inter) > .49)) {
		set_speed(s, s->speed + 1);
		return true;
	}
	return false;
}

static void first_pass(struct search *s)
{
	float total = s->t->total_bw;
	int n = s->t->n[GPU], i = 0;

	if (s->pattern != RS_NCCL_RING && n > 1)
		total *= (float)(n * 1.0 / (n - 1));
	else if (n == 1 && !since(s, 2, 21, 0))
		total = 1e30f; /* divided by 0 there */
	while (i < s->n_speeds - 1 &&
	       (s->speeds[i] > s->t->max_bw || s->speeds[i] * (float)s->f->min_channels > total))
		i++;
	set_speed(s, i);
	do
		attempt(s);
	while (!enough(s) && try_else(s));
}

/* Twice the channels of half the bandwidth, where a channel is fast. */
static void duplicate(struct search *s)
{
	struct found *f = s->f;
	int n = s->t->n[GPU], twice = 2 * f->n_channels, each;

	if (!f->n_channels || s->pattern == RS_NCCL_NVLS || f->bw_intra < 25.0f ||
	    (s->cc > 80 && f->bw_intra < 50.0f && f->n_channels > 4))
		return;
	twice = twice < f->max_channels ? twice : f->max_channels;
	memcpy(f->intra + f->n_channels * n, f->intra,
	       (size_t)((twice - f->n_channels) * n) * sizeof(*f->intra));
	memcpy(f->inter + 2 * f->n_channels, f->inter,
	       (size_t)(2 * (twice - f->n_channels)) * sizeof(*f->inter));
	each = (twice + f->n_channels - 1) / f->n_channels;
	f->bw_intra /= (float)each;
	f->bw_inter /= (float)each;
	f->n_channels = twice;
}

/* One speed up: of a ring both bandwidths, of heads the NICs', of trees the GPUs'. False: no more.
 */
static bool faster(struct search *s)
{
	struct found *f = s->f, *tmp = s->tmp;

	if (!s->time || !s->speed)
		return false;
	if (s->pattern == RS_NCCL_RING) {
		if (!since(s, 2, 19, 0))
			return false;
		set_speed(s, s->speed - 1);
		return true;
	}
	if (since(s, 2, 19, 0) && s->pattern == RS_NCCL_NVLS && tmp->bw_inter == f->bw_inter &&
	    tmp->bw_inter < tmp->bw_intra * 2) {
		tmp->min_channels = tmp->max_channels = f->n_channels;
		tmp->bw_inter = s->speeds[--s->speed];
		return true;
	}
	if (tmp->bw_intra == f->bw_intra && tmp->bw_intra < tmp->bw_inter * 2) {
		tmp->bw_intra = s->speeds[--s->speed];
		return true;
	}
	return false;
}

static void second_pass(struct search *s)
{
	int i = 0;

	s->time = -1;
	if (since(s, 2, 19, 0))
		duplicate(s);
	copy(s->tmp, s->f, s->t->n[GPU]);
	while (i < s->n_speeds - 1 && s->speeds[i] > s->f->bw_inter)
		i++;
	set_speed(s, i);
	s->tmp->min_channels = s->f->n_channels;
	/* what stops it: no more to try, or steps that ran out */
	while (faster(s)) {
		attempt(s);
		if (s->time == 0)
			break;
	}
	if (!since(s, 2, 19, 0))
		duplicate(s);
}

/* No channel was found: all GPUs in order, at 0.1 GB/s. */
static void simple_order(struct search *s)
{
	struct found *f = s->f;

	if (f->n_channels || f->collnet || s->pattern == RS_NCCL_NVLS)
		return;
	for (int i = 0; i < s->t->n[GPU]; i++)
		f->intra[i] = (int16_t)i;
	f->inter[0] = f->inter[1] = 0;
	f->bw_intra = f->bw_inter = .1f;
	f->class_intra = f->class_inter = RS_NCCL_SYS;
	f->n_channels = 1;
}

static void limits(struct search *s)
{
	struct rs_nccl_topo *t = s->t;
	struct found *f = s->f;

	s->min_intra = t->n[GPU] == 1 ? RS_NCCL_LOC : RS_NCCL_NVL;
	s->min_inter = RS_NCCL_PIX;
	s->max_intra = s->max_inter = RS_NCCL_SYS;
	if (since(s, 2, 25, 0)) {
		s->min_intra = RS_NCCL_LOC;
		if (t->n[GPU] > 1)
			classes(t, GPU, &s->min_intra, &s->max_intra);
		if (t->n[NET]) {
			classes(t, NET, &s->min_inter, &s->max_inter);
			s->max_intra = s->max_inter;
		}
	}
	/* balanced trees come back to the NIC over the sockets' link at times */
	if (since(s, 2, 29, 0) && t->nodes[GPU][0].cc < 90)
		s->max_inter = RS_NCCL_SYS;
	if (f->pattern == RS_NCCL_NVLS) {
		if (since(s, 2, 19, 0))
			f->max_channels =
				t->n[GPU] < RS_NCCL_NVLS_ARITY ? t->n[GPU] : RS_NCCL_NVLS_ARITY;
		if (!t->n[NET])
			f->min_channels = f->max_channels =
				t->n[GPU] < RS_NCCL_NVLS_ARITY ? t->n[GPU] : RS_NCCL_NVLS_ARITY;
	}
	if (f->pattern == RS_NCCL_COLLNET_DIRECT && f->max_channels > t->n[GPU])
		f->max_channels = t->n[GPU] < 8 ? t->n[GPU] : 8; /* NCCL_MAX_DIRECT_ARITY + 1 */
	if (t->n[GPU] == 1 && f->pattern != RS_NCCL_RING)
		f->pattern = RS_NCCL_TREE;
	if (since(s, 2, 26, 0) && f->pattern == RS_NCCL_RING && f->min_channels == 1 &&
	    f->max_channels >= 2 && split_nvlink(t))
		f->min_channels = 2;
}

void nccl_search_run(struct rs_nccl_topo *t, struct found *f, struct found *tmp)
{
	struct search s = {.t = t, .f = f, .tmp = tmp};
	int max;

	nccl_cc_range(t, &s.cc, &max);
	f->n_channels = 0;
	f->bw_intra = f->bw_inter = f->latency = 0;
	if (t->n[NET] > 1 && (f->pattern == RS_NCCL_RING || f->pattern == RS_NCCL_BALANCED_TREE ||
			      f->pattern == RS_NCCL_SPLIT_TREE))
		s.cross = t->env->cross_nic;
	f->cross_nic = s.cross == 1;
	s.same_first = f->pattern != RS_NCCL_NVLS;
	f->same = s.same_first;
	limits(&s);
	f->class_intra = s.min_intra;
	f->class_inter = s.min_inter;
	if (f->pattern == RS_NCCL_NVLS && (!t->n[NVS] || s.cc < 90))
		return;
	s.pattern = f->pattern;
	s.speeds = speeds_of(t->env->release, s.cc, t->n[NET] > 0);
	while (s.speeds[s.n_speeds] > 0)
		s.n_speeds++;
	s.left = since(&s, 2, 19, 0) ? STEPS_ALL : STEPS_ALL_218;
	copy(tmp, f, t->n[GPU]);
	first_pass(&s);
	second_pass(&s);
	simple_order(&s);
}

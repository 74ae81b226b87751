/* A list that only grows: entries are whole before they are in it, and nothing changes them. */
#include <stdlib.h>
#include <string.h>
#include "nccl/searches.h"
#include "nccl/state.h"

struct kept {
	struct kept *next;
	struct rs_arena *arena; /* all of it */
	size_t n_key;
	const unsigned char *key;
	struct found found[GRAPHS];
	float *left; /* what searches leave on links and NICs: sums come back rounded */
};

struct rs_nccl_searches {
	struct kept *first;
	uint32_t n;
	uint64_t taken;
};

struct rs_nccl_searches *rs_nccl_searches_create(void)
{
	return calloc(1, sizeof(struct rs_nccl_searches));
}

void rs_nccl_searches_free(struct rs_nccl_searches *s)
{
	for (struct kept *k = s ? s->first : NULL, *next; k; k = next) {
		next = k->next;
		rs_arena_destroy(k->arena);
	}
	free(s);
}

uint32_t rs_nccl_searches_kept(const struct rs_nccl_searches *s)
{
	return __atomic_load_n(&s->n, __ATOMIC_RELAXED);
}

uint64_t rs_nccl_searches_taken(const struct rs_nccl_searches *s)
{
	return __atomic_load_n(&s->taken, __ATOMIC_RELAXED);
}

/* ---- The key ---- */

struct key {
	unsigned char *to; /* NULL: only counted */
	size_t n;
};

static void put(struct key *k, const void *bytes, size_t n)
{
	if (k->to && n)
		memcpy(k->to + k->n, bytes, n);
	k->n += n;
}

/* Names by their text; tags are the maker's, no search sees them. */
static void put_item(struct key *k, const struct rs_nccl_item *item)
{
	struct rs_nccl_item own;

	memcpy(&own, item, sizeof(own));
	own.name = NULL;
	own.tag = 0;
	put(k, &own, sizeof(own));
	if (item->name)
		put(k, item->name, strlen(item->name));
	put(k, "", 1);
}

/* Padding is part of it: where that differs, a search is made that need not be. */
static void put_all(struct key *k, const struct rs_nccl_class *c)
{
	const struct rs_nccl_host *h = c->host;
	const int sizes[] = {h->n_items, h->n_nvlinks, h->n_c2cs, c->n_gpus, c->topo->n[NET]};

	put(k, sizes, sizeof(sizes));
	put(k, c->topo->env, sizeof(*c->topo->env));
	for (int i = 0; i < h->n_items; i++)
		put_item(k, &h->items[i]);
	put(k, h->nvlinks, (size_t)h->n_nvlinks * sizeof(*h->nvlinks));
	put(k, h->c2cs, (size_t)h->n_c2cs * sizeof(*h->c2cs));
	put(k, c->devs, (size_t)c->n_gpus * sizeof(*c->devs));
}

/* NULL: no memory. */
static const unsigned char *key_of(const struct rs_nccl_class *c, struct rs_arena *a, size_t *n)
{
	struct key k = {0};

	put_all(&k, c);
	k.to = rs_arena_alloc(a, k.n, 1);
	k.n = 0;
	if (k.to)
		put_all(&k, c);
	*n = k.n;
	return k.to;
}

/* ---- What is left on links ---- */

static size_t n_left(const struct rs_nccl_topo *t)
{
	size_t n = 0;

	for (int k = 0; k < KINDS; k++)
		for (int i = 0; i < t->n[k]; i++)
			n += 1 + (size_t)t->nodes[k][i].n_links;
	return n;
}

static void left_swap(struct rs_nccl_topo *t, float *left, bool take)
{
	for (int k = 0; k < KINDS; k++)
		for (int i = 0; i < t->n[k]; i++) {
			struct node *node = &t->nodes[k][i];

			if (take)
				node->net_bw = *left++;
			else
				*left++ = node->net_bw;
			for (int l = 0; l < node->n_links; l++)
				if (take)
					node->links[l].bw = *left++;
				else
					*left++ = node->links[l].bw;
		}
}

/* ---- Taking and keeping ---- */

static void found_copy(struct found *to, const struct found *from, int n_gpus)
{
	int16_t *own = to->intra;

	memcpy(own, from->intra, (size_t)RS_NCCL_CHANNELS_MAX * (size_t)n_gpus * sizeof(*own));
	*to = *from;
	to->intra = own;
}

static bool founds_init(struct found *f, int n_gpus, struct rs_arena *a)
{
	size_t n = (size_t)RS_NCCL_CHANNELS_MAX * (size_t)n_gpus;

	for (int i = 0; i < GRAPHS; i++) {
		f[i].intra = rs_arena_alloc(a, n, sizeof(*f[i].intra));
		if (!f[i].intra)
			return false;
	}
	return true;
}

bool nccl_searches_take(struct rs_nccl_searches *s, struct rs_nccl_class *c, struct rs_arena *a)
{
	const unsigned char *key;
	struct kept *k;
	size_t n;

	if (!s || !(key = key_of(c, a, &n)))
		return false;
	k = __atomic_load_n(&s->first, __ATOMIC_ACQUIRE);
	while (k && (k->n_key != n || memcmp(k->key, key, n) != 0))
		k = k->next;
	if (!k || !founds_init(c->found, c->n_gpus, a))
		return false;
	for (int i = 0; i < GRAPHS; i++)
		found_copy(&c->found[i], &k->found[i], c->n_gpus);
	left_swap(c->topo, k->left, true);
	__atomic_fetch_add(&s->taken, 1, __ATOMIC_RELAXED);
	return true;
}

static struct kept *kept_make(const struct rs_nccl_class *c)
{
	struct rs_arena *a = rs_arena_create(0);
	struct kept *k = a ? rs_arena_alloc(a, 1, sizeof(*k)) : NULL;

	if (k) {
		k->arena = a;
		k->key = key_of(c, a, &k->n_key);
		k->left = rs_arena_alloc(a, n_left(c->topo), sizeof(*k->left));
	}
	if (!k || !k->key || !k->left || !founds_init(k->found, c->n_gpus, a)) {
		rs_arena_destroy(a);
		return NULL;
	}
	for (int i = 0; i < GRAPHS; i++)
		found_copy(&k->found[i], &c->found[i], c->n_gpus);
	left_swap(c->topo, k->left, false);
	return k;
}

/* Without memory, or with no place left, it is not kept. */
void nccl_searches_keep(struct rs_nccl_searches *s, const struct rs_nccl_class *c)
{
	struct kept *k;

	if (!s || __atomic_fetch_add(&s->n, 1, __ATOMIC_RELAXED) >= RS_NCCL_SEARCHES_MAX ||
	    !(k = kept_make(c))) {
		if (s)
			__atomic_fetch_sub(&s->n, 1, __ATOMIC_RELAXED);
		return;
	}
	k->next = __atomic_load_n(&s->first, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&s->first, &k->next, k, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
}

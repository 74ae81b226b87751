/*
 * A YAML or JSON document as a tree with the place of every node, and getters
 * that check a mapping's keys and values strictly. The first error sticks; later calls do nothing.
 */
#ifndef RS_TEXT_TREE_H
#define RS_TEXT_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/time.h"

enum {
	TREE_BYTES_MAX = 64 << 20,
	TREE_NODES_MAX = 8 << 20,
	TREE_DEPTH_MAX = 32,
	TREE_LINE_MAX =
		1 << 20, /* libfyaml keeps a line's tokens until it knows that they are no key */
	TREE_OPEN_MAX = 1000, /* brackets, those in texts too: it looks ahead over all of them */
	TREE_KEYS_MAX = 256,
	TREE_ANCHORS_MAX = 1024,
	TREE_TEXT_MAX = 1 << 20,
};

enum node_kind { NODE_SCALAR, NODE_MAP, NODE_LIST };

struct node;
struct item {
	const char *key; /* NULL in a list */
	struct rs_where at;
	struct node *value;
	struct item *next;
};
struct node {
	enum node_kind kind;
	bool quoted;
	const char *text; /* scalars */
	struct rs_where at;
	uint32_t n;
	struct item *first, *last;
};

/* The state of a load: its arena, its error, where files named inside are. */
struct load {
	struct rs_arena *arena;
	struct rs_error *e;
	int err;
	const char *name, *base_dir;
	uint32_t n_nodes, n_items; /* nodes are made once, aliases are items that share them */
};

struct node *tree_parse(struct load *l, const char *text, size_t n, const char *name);
/* Put text (a value, YAML in flow style) at a dotted path, making mappings on the way; "[+]" is a
 * new element of a list, the text "null" takes the key or element out. */
void tree_set(struct load *l, struct node *root, const char *path, const char *text,
	      struct rs_where at);
/* The node as YAML flow text, in the arena. */
const char *tree_text(struct load *l, const struct node *n);
/* A string as a YAML scalar, quoted when it must be. */
void tree_write_string(FILE *out, const char *s);

int fail(struct load *l, int code, struct rs_where at, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void *take(struct load *l, size_t n, size_t size); /* zeroed; NULL after an error */
char *take_string(struct load *l, const char *s);

/* n is a mapping whose keys are all in the NULL-terminated list; what names it in errors. */
bool keys(struct load *l, const struct node *n, const char *what, const char *const *known);
bool is_list(struct load *l, const struct node *n, const char *what);
const struct node *get(const struct node *map, const char *key);
const struct node *need(struct load *l, const struct node *map, const char *key, const char *what);

/* Leave *out alone when the key is absent. */
void get_rate(struct load *l, const struct node *map, const char *key, int64_t *out);
/* 0: none. */
void get_rate_or_none(struct load *l, const struct node *map, const char *key, int64_t *out);
void get_time(struct load *l, const struct node *map, const char *key, rs_time min, rs_time max,
	      rs_time *out);
void get_bytes(struct load *l, const struct node *map, const char *key, uint64_t min, uint64_t max,
	       uint64_t *out);
void get_int(struct load *l, const struct node *map, const char *key, int64_t min, int64_t max,
	     int64_t *out);
void get_u8(struct load *l, const struct node *map, const char *key, int min, int max,
	    uint8_t *out);
void get_u32(struct load *l, const struct node *map, const char *key, int64_t min, int64_t max,
	     uint32_t *out);
void get_number(struct load *l, const struct node *map, const char *key, double min, double max,
		double *out);
/* A share of one: "0.1%" is 0.001. */
void get_share(struct load *l, const struct node *map, const char *key, double min, double max,
	       double *out);
void get_bool(struct load *l, const struct node *map, const char *key, bool *out);
void get_string(struct load *l, const struct node *map, const char *key, const char **out);
/* One of the NULL-terminated names: its index. */
void get_name(struct load *l, const struct node *map, const char *key, const char *const *names,
	      int *out);
const char *scalar(struct load *l, const struct node *n, const char *what);
/* "; did you mean 'x'?", or nothing: for a message about s, of which the names are known. In the
 * arena. */
const char *mean(struct load *l, const char *s, const char *const *names);
bool same_key(const char *a, const char *b); /* '-' and '_' are the same */

#endif

/*
 * A YAML or JSON document as a tree with the place of every node, and getters
 * that check a mapping's keys and values strictly. The first error sticks; later calls do nothing.
 */
#ifndef RS_TEXT_TREE_H
#define RS_TEXT_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "base/load.h"
#include "base/time.h"

enum {
	RS_TREE_BYTES_MAX = 64 << 20,
	RS_TREE_NODES_MAX = 8 << 20,
	RS_TREE_DEPTH_MAX = 32,
	RS_TREE_LINE_MAX =
		1 << 20, /* libfyaml keeps a line's tokens until it knows that they are no key */
	RS_TREE_OPEN_MAX = 1000, /* brackets, those in texts too: it looks ahead over all of them */
	RS_TREE_KEYS_MAX = 256,
	RS_TREE_ANCHORS_MAX = 1024,
	RS_TREE_TEXT_MAX = 1 << 20,
};

/* A table is no text's: rows of RS_NODE_COLUMNS numbers that a program gave, borrowed. */
enum rs_node_kind { RS_NODE_SCALAR, RS_NODE_MAP, RS_NODE_LIST, RS_NODE_TABLE };
enum { RS_NODE_COLUMNS = 5 };

struct rs_node;
struct rs_item {
	const char *key; /* NULL in a list */
	struct rs_where at;
	struct rs_node *value;
	struct rs_item *next;
};
struct rs_node {
	enum rs_node_kind kind;
	bool quoted;
	union {
		const char *text;                       /* scalars; else NULL */
		const int64_t (*rows)[RS_NODE_COLUMNS]; /* tables: n of them */
	};
	struct rs_where at;
	uint32_t n;
	struct rs_item *first, *last;
};

/* -E2BIG beyond RS_TREE_NODES_MAX; NULL after an error. */
struct rs_node *rs_node_new(struct rs_load *l, enum rs_node_kind kind, struct rs_where at);
/* Behind the last of a mapping (with a key, which is borrowed) or of a list (key NULL). */
void rs_node_append(struct rs_load *l, struct rs_node *to, const char *key, struct rs_where at,
		    struct rs_node *value);
/* The entry of a mapping; NULL: it has none of this key, or is none. */
struct rs_item *rs_node_item(const struct rs_node *map, const char *key);
/* All of n, in l's arena; tables' rows stay where they are. */
struct rs_node *rs_node_copy(struct rs_load *l, const struct rs_node *n);

/* Built without libfyaml (RS_NO_YAML): a plain scalar, else -ENOTSUP. */
struct rs_node *rs_tree_parse(struct rs_load *l, const char *text, size_t n, const char *name);
/* Put text (a value, YAML in flow style) at a dotted path, making mappings on the way; "[+]" is a
 * new element of a list, the text "null" takes the key or element out. */
void rs_tree_set(struct rs_load *l, struct rs_node *root, const char *path, const char *text,
		 struct rs_where at);
/* The node as YAML flow text, in the arena. */
const char *rs_tree_text(struct rs_load *l, const struct rs_node *n);
/* A string as a YAML scalar, quoted when it must be. */
void rs_tree_write_string(FILE *out, const char *s);

/* n is a mapping whose keys are all in the NULL-terminated list; what names it in errors. */
bool rs_node_keys(struct rs_load *l, const struct rs_node *n, const char *what,
		  const char *const *known);
bool rs_node_is_list(struct rs_load *l, const struct rs_node *n, const char *what);
const struct rs_node *rs_node_get(const struct rs_node *map, const char *key);
const struct rs_node *rs_node_need(struct rs_load *l, const struct rs_node *map, const char *key,
				   const char *what);

/* Leave *out alone when the key is absent. */
void rs_node_rate(struct rs_load *l, const struct rs_node *map, const char *key, int64_t *out);
/* 0: none. */
void rs_node_rate_or_none(struct rs_load *l, const struct rs_node *map, const char *key,
			  int64_t *out);
void rs_node_time(struct rs_load *l, const struct rs_node *map, const char *key, rs_time min,
		  rs_time max, rs_time *out);
void rs_node_bytes(struct rs_load *l, const struct rs_node *map, const char *key, uint64_t min,
		   uint64_t max, uint64_t *out);
void rs_node_int(struct rs_load *l, const struct rs_node *map, const char *key, int64_t min,
		 int64_t max, int64_t *out);
void rs_node_u8(struct rs_load *l, const struct rs_node *map, const char *key, int min, int max,
		uint8_t *out);
void rs_node_u32(struct rs_load *l, const struct rs_node *map, const char *key, int64_t min,
		 int64_t max, uint32_t *out);
void rs_node_number(struct rs_load *l, const struct rs_node *map, const char *key, double min,
		    double max, double *out);
/* A share of one: "0.1%" is 0.001. */
void rs_node_share(struct rs_load *l, const struct rs_node *map, const char *key, double min,
		   double max, double *out);
void rs_node_bool(struct rs_load *l, const struct rs_node *map, const char *key, bool *out);
void rs_node_string(struct rs_load *l, const struct rs_node *map, const char *key,
		    const char **out);
/* One of the NULL-terminated names: its index. */
void rs_node_name(struct rs_load *l, const struct rs_node *map, const char *key,
		  const char *const *names, int *out);
const char *rs_node_scalar(struct rs_load *l, const struct rs_node *n, const char *what);
/* "; did you mean 'x'?", or nothing: for a message about s, of which the names are known. In the
 * arena. */
const char *rs_did_you_mean(struct rs_load *l, const char *s, const char *const *names);
/* "a, b, c", all of them, in the arena: a list that is cut off denies the rest. */
const char *rs_list_names(struct rs_load *l, const char *const *names);
bool rs_same_key(const char *a, const char *b); /* '-' and '_' are the same */

#endif

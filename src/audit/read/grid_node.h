/*
 * Private to the readers of switches' outputs (grid*.c): a document of JSON or XML as one tree of
 * names and values. What people paste is cut off, has a comma too many or "etc...": what was whole
 * until there is kept.
 */
#ifndef RS_AUDIT_READ_GRID_NODE_H
#define RS_AUDIT_READ_GRID_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rs_node {
	const char *key;   /* "": it has none */
	const char *value; /* NULL: it has members, perhaps none */
	const struct rs_node *first, *next;
	uint32_t line; /* from 1 */
	bool list;
};

struct rs_nodes;

/* The documents that a text begins with, one behind the other, as members of the root. NULL: there
 * is none, or no memory. */
struct rs_nodes *rs_nodes_json(const char *text, size_t n);
/* An element with others in it has members; an attribute is left out. */
struct rs_nodes *rs_nodes_xml(const char *text, size_t n);
void rs_nodes_destroy(struct rs_nodes *t); /* NULL: nothing */

const struct rs_node *rs_nodes_root(const struct rs_nodes *t);
/* NULL: there is none of this key, or n is NULL. */
const struct rs_node *rs_node_member(const struct rs_node *n, const char *key);

#endif

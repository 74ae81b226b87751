/* Private to audit/: configurations as statements, each a list of words from the root down, as the
 * vendor's own `set` form gives it. Junos' braces, EOS' blocks and NVUE's trees become the same. */
#ifndef RS_AUDIT_READ_CONFIG_H
#define RS_AUDIT_READ_CONFIG_H

#include "audit/read/reader.h"

enum {
	RS_CONFIG_DEPTH = 96,
	RS_CONFIG_STATEMENTS = 400000,
	RS_CONFIG_CAPTURES = 8,
	RS_CONFIG_REMOVALS = 1024
};

struct rs_statement {
	const char *const *word;
	unsigned n;
	uint32_t line;
};

struct rs_config {
	struct rs_arena *arena;
	struct rs_statement *at;
	uint32_t n, room;
	uint32_t removals; /* by "no"; RS_CONFIG_REMOVALS at most */
	bool full;         /* a limit was met: what follows was not read */
};

int rs_config_create(struct rs_config *c);
void rs_config_destroy(struct rs_config *c);
/* Copies the list, not the words: those are the arena's. Nothing once a limit is met. */
void rs_config_add(struct rs_config *c, uint32_t line, const char *const *word, unsigned n);
/* Into the arena; "" when that is full. */
const char *rs_config_text(struct rs_config *c, const char *p, size_t n);

/*
 * Do the words follow the pattern? "?" in it takes any word, which got[] keeps in order (8 at
 * most); "*" at its end takes any number of words, none too.
 */
bool rs_config_match(const struct rs_statement *s, const char *pattern, const char **got);
/* The next statement, from *at on, that follows the pattern; NULL at the end. */
const struct rs_statement *rs_config_next(const struct rs_config *c, uint32_t *at,
					  const char *pattern, const char **got);
/* The first one, or NULL. */
const struct rs_statement *rs_config_find(const struct rs_config *c, const char *pattern,
					  const char **got);

/* Junos: nested braces, or lines that begin with set; inactive and deactivated parts left out. */
void rs_config_junos(struct rs_config *c, const struct rs_input *in);
/* Blocks by indentation, as EOS has them; "!" lines and multi-line texts up to EOF left out. */
void rs_config_indented(struct rs_config *c, const struct rs_input *in);
/* Lines `nv set ...`. */
void rs_config_nv(struct rs_config *c, const struct rs_input *in);
/* A YAML or JSON tree: keys, then the scalar; items of lists a statement each. */
void rs_config_tree(struct rs_config *c, const struct rs_input *in);

/* Does `name` follow a pattern with "*" for any characters? ("et-*" and "et-0/0/1") */
bool rs_config_like(const char *name, const char *pattern);

#endif

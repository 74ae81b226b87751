/*
 * A fabric as text (docs/fabric.md, ripstop-fabric(5)): read from YAML or JSON, written as YAML.
 * The struct and what can be done with it without text is in fabric/.
 */
#ifndef RS_DESCRIBE_DESCRIBE_H
#define RS_DESCRIBE_DESCRIBE_H

#include <stdio.h>
#include "fabric/fabric.h"

/*
 * Read a scenario or fabric file (YAML or JSON), apply settings in order (the same paths as --set),
 * generate, import, route, check. -EINVAL with file, line, column, what was expected; -ENOENT;
 * -E2BIG at a limit; -ENOMEM. Files named inside are relative to the file.
 */
int rs_fabric_load(const char *path, const struct rs_setting *set, uint32_t n_set,
		   struct rs_fabric **out, struct rs_error *e);
/* The same from memory: name is used in errors; base_dir for files named inside. For fuzzing. */
int rs_fabric_load_text(const char *text, size_t n, const char *name, const char *base_dir,
			const struct rs_setting *set, uint32_t n_set, struct rs_fabric **out,
			struct rs_error *e);
/*
 * The same from a tree (text/tree.h), which is only read: the fabric keeps nothing of it. For
 * programs that make descriptions by calls. *assumed: what a file that is no description leaves to
 * assume, or NULL.
 */
struct rs_load;
struct rs_node;
struct rs_node *rs_fabric_tree(struct rs_load *l, const char *text, size_t n, const char **assumed);
int rs_fabric_load_tree(const struct rs_node *root, const char *name, const char *base_dir,
			const struct rs_setting *set, uint32_t n_set, struct rs_fabric **out,
			struct rs_error *e);
/* The names that a setting takes ("fabric.qos.routing", "fabric.transport.recovery"), ended by
 * NULL, the default first; NULL: it takes no names, or their list is not kept here. */
const char *const *rs_fabric_choices(const char *path);
/* Canonical YAML of any input: reading it gives the same fabric, converting it the same text. */
int rs_fabric_write(const struct rs_fabric *f, FILE *out);

#endif

/*
 * A matrix of what pairs of hosts (or of their NICs) reached, and which hosts, NICs, leaves, paths
 * or collisions explain the slow ones. No run is made here.
 */
#ifndef RS_EXPECT_PAIRS_H
#define RS_EXPECT_PAIRS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/error.h"

enum { RS_PAIRS_MAX = 1024 /* names */, RS_PAIRS_FAULTS = 64, RS_PAIRS_SHOWN = 8 };

struct rs_pairs {
	struct rs_arena *arena;
	struct pairs_cells *cells; /* as they were read, until rs_pairs_close() */
	uint32_t n, n_hosts, n_groups, n_rails;
	const char **name; /* [n] */
	double *value;     /* [from * n + to]; 0: not tried; below: tried, and failed */
	bool latency;      /* less is better */
	bool undirected;   /* a pair has one value */
	uint32_t *host;    /* [n]: names of one host, "h1/mlx5_0" and "h1/mlx5_1", share a number */
	uint32_t *rail;    /* [n]: mlx5_0 of all hosts; where n_rails is 0: none */
	uint32_t *group;   /* [n]: of those below; UINT32_MAX: in none */
	const char **host_name, **group_name, **rail_name;
};

/*
 * Reads a file: a table with names (comma, semicolon, tab, blanks), a list of "A B value", JSON of
 * either; or a log of perftest or nccl-tests whose file name has the two names. The first file
 * makes *p (NULL before), others add to it. -EINVAL with line and column; -E2BIG; -ENOMEM.
 */
int rs_pairs_read(const char *text, size_t n, const char *path, struct rs_arena *a,
		  struct rs_pairs **p, struct rs_error *e);
/* After the last file: the matrix, hosts and rails. A cell that was read twice is the mean.
 * One that failed once failed. -ENODATA: no pair; -ENOMEM. */
int rs_pairs_close(struct rs_pairs *p, struct rs_error *e);
/* "leaf1=h1,h2,h3": hosts behind one switch. After rs_pairs_close(). -EINVAL: a host that is not
 * there. */
int rs_pairs_group(struct rs_pairs *p, const char *text, struct rs_error *e);

enum rs_pairs_kind {
	RS_PAIRS_HOST,       /* all that a host sends and receives */
	RS_PAIRS_SENDS,      /* what it sends alone */
	RS_PAIRS_RECEIVES,   /* what it receives alone */
	RS_PAIRS_NIC,        /* one NIC of a host */
	RS_PAIRS_RAIL,       /* one NIC of all hosts */
	RS_PAIRS_LEAF,       /* hosts that are slow to all others, and not among themselves */
	RS_PAIRS_LEAF_SENDS, /* the same one way: what they send to the others */
	RS_PAIRS_LEAF_RECEIVES,
	RS_PAIRS_BETWEEN,    /* two groups that are slow to each other */
	RS_PAIRS_SOME_PATHS, /* some pairs of a host or of a leaf, others not: one link of several
			      */
	RS_PAIRS_PAIR,       /* one pair alone */
	RS_PAIRS_COLLISIONS, /* pairs with nothing in common */
	RS_PAIRS_ALL,        /* all pairs failed */
};
extern const char *const rs_pairs_kinds[]; /* "host", "sends", ..., NULL */

struct rs_pairs_fault {
	enum rs_pairs_kind kind;
	const char *what;  /* "host gpu07", "leaf of h1, h2, h3" */
	uint32_t n, slow;  /* pairs that it concerns, those of them that are slow or failed */
	uint32_t failed;   /* of the slow ones */
	double factor;     /* of the healthy level; of latency above 1; 0: most slow ones failed */
	double confidence; /* 0 to 1 */
	bool inferred;     /* its hosts were not given as a group */
	uint32_t n_shown;  /* names of what it is, or the slowest pairs of it */
	uint32_t from[RS_PAIRS_SHOWN], to[RS_PAIRS_SHOWN];
};

struct rs_pairs_verdict {
	uint32_t cells, missing, slow, failed;
	double level, noise; /* what healthy pairs reach; a share of it. 0: each failed */
	uint32_t n;
	struct rs_pairs_fault fault[RS_PAIRS_FAULTS]; /* what explains most first */
};
/* -ENODATA: fewer than 3 pairs; -ENOMEM. */
int rs_pairs_judge(const struct rs_pairs *p, struct rs_pairs_verdict *out, struct rs_error *e);

#endif

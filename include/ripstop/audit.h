/*
 * An audit: snapshots of hosts and switches in, findings out. The same inputs give the same
 * findings. Read all, run once, then ask.
 */
#ifndef RIPSTOP_AUDIT_H
#define RIPSTOP_AUDIT_H

#include <ripstop/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ripstop_audit;

RIPSTOP_API int ripstop_audit_new(struct ripstop_audit **a, struct ripstop_error **e);
RIPSTOP_API void ripstop_audit_free(struct ripstop_audit *a);

/*
 * Reads a file, a folder or an archive (tar, zip, compressed too): what `ripstop audit PATH` reads.
 * host: whose it is; NULL: found from the path. Files that nothing recognises are no error: see
 * ripstop_audit_files(). -EINVAL: not there, a hostile archive, over a limit; or it was run.
 */
RIPSTOP_API int ripstop_audit_read(struct ripstop_audit *a, const char *path, const char *host,
				   struct ripstop_error **e);
/* The same of an older snapshot, for counters that grew since. */
RIPSTOP_API int ripstop_audit_read_older(struct ripstop_audit *a, const char *path,
					 struct ripstop_error **e);
/* A text as if it were this file of the host: "lspci_vv.txt", "sys/class/net/eth0/mtu". */
RIPSTOP_API int ripstop_audit_read_text(struct ripstop_audit *a, const char *host, const char *path,
					const char *text, struct ripstop_error **e);

enum ripstop_audit_price {
	RIPSTOP_PRICE_NONE,
	RIPSTOP_PRICE_FAST, /* the first findings, by two small simulations each */
	RIPSTOP_PRICE_FULL,
};

struct ripstop_audit_options {
	size_t size;
	const char *const *only; /* ids or names of rules, NULL behind the last; NULL: all */
	const char *const *skip;
	uint32_t price; /* enum ripstop_audit_price */
	uint32_t unused;
};
/* Once. o may be NULL. -EINVAL: it was run already, or a rule is not known. */
RIPSTOP_API int ripstop_audit_run(struct ripstop_audit *a, const struct ripstop_audit_options *o,
				  struct ripstop_error **e);

/* What `ripstop audit` exits with: 0 fine, 1 a FAIL of major or worse (strict: any), 3 a
 * critical check could not be made (allow_unknown: fine), 4 not enough evidence. */
RIPSTOP_API int ripstop_audit_status(const struct ripstop_audit *a, int strict, int allow_unknown);
/* What `ripstop audit --json` writes; freed by ripstop_free(). */
RIPSTOP_API int ripstop_audit_json(const struct ripstop_audit *a, char **text,
				   struct ripstop_error **e);

/* ---- Findings: n elements from `from` on; the whole number is returned ---- */

/* Texts in elements are the audit's. A finding that is not there has no elements. */

enum ripstop_verdict { RIPSTOP_PASS, RIPSTOP_FAIL, RIPSTOP_UNKNOWN, RIPSTOP_NOT_APPLICABLE };
enum ripstop_severity { RIPSTOP_INFO, RIPSTOP_MINOR, RIPSTOP_MAJOR, RIPSTOP_CRITICAL };
enum ripstop_confidence { RIPSTOP_LOW, RIPSTOP_MEDIUM, RIPSTOP_HIGH };

/* Causes first, then by price, severity and id. */
struct ripstop_finding {
	const char *id, *rule;        /* "P01", "pcie-path-rate" */
	const char *title, *why;      /* one line with the values; a sentence or two, or "" */
	const char *authority;        /* the standard, or whose default */
	const char *suppressed;       /* why it is; "": it is not */
	const char *price_unit;       /* "GB/s"; "": it has no price */
	const char *price_metric;     /* "all-reduce bandwidth"; without a price: why */
	double price_low, price_high; /* per cent of the metric; negative: lost */
	double price_as_is, price_fixed;
	uint32_t verdict, severity, confidence; /* enums above */
	int32_t cause; /* the number of the finding that explains it; -1: none */
	uint32_t places, evidence, fixes, needs;
};
RIPSTOP_API size_t ripstop_audit_findings(const struct ripstop_audit *a, size_t from, size_t n,
					  struct ripstop_finding *out, size_t each);

/* Where: a host or switch, and a part of it ("mlx5_2", "Ethernet8") or "". */
struct ripstop_place {
	const char *host, *part;
};
RIPSTOP_API size_t ripstop_audit_places(const struct ripstop_audit *a, size_t finding, size_t from,
					size_t n, struct ripstop_place *out, size_t each);

/* A fact that it rests on: value is what file says in this line, or at this place of JSON or XML.
 */
struct ripstop_evidence {
	const char *host, *subject, *name, *value, *file, *at;
	uint32_t line, unused; /* 0: not by line */
};
RIPSTOP_API size_t ripstop_audit_evidence(const struct ripstop_audit *a, size_t finding,
					  size_t from, size_t n, struct ripstop_evidence *out,
					  size_t each);

struct ripstop_fix {
	const char *on;         /* a host, a switch, or "all hosts of the job" */
	const char *command;    /* what to run or to do */
	const char *undo;       /* "": there is none */
	const char *interrupts; /* "link flap", "reboot"; "": nothing */
	uint32_t choice;        /* fixes of one choice go together, others are alternatives */
	int32_t persistent;     /* it outlives a reboot */
};
RIPSTOP_API size_t ripstop_audit_fixes(const struct ripstop_audit *a, size_t finding, size_t from,
				       size_t n, struct ripstop_fix *out, size_t each);

/* Of an UNKNOWN: the file or command that would tell, and what. */
struct ripstop_need {
	const char *file, *why;
};
RIPSTOP_API size_t ripstop_audit_needs(const struct ripstop_audit *a, size_t finding, size_t from,
				       size_t n, struct ripstop_need *out, size_t each);

/* What was read: reader "": nothing recognised it. */
struct ripstop_file {
	const char *host, *path, *reader;
	uint32_t facts, unused;
};
RIPSTOP_API size_t ripstop_audit_files(const struct ripstop_audit *a, size_t from, size_t n,
				       struct ripstop_file *out, size_t each);

#ifdef __cplusplus
}
#endif

#endif

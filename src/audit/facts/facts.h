/*
 * Facts: single values with their origin. Rules see facts, never files. A fact belongs to a host or
 * a switch and to a subject within it; docs/audit.md lists subjects and names. What is not known is
 * not there: nothing is guessed.
 */
#ifndef RS_AUDIT_FACTS_FACTS_H
#define RS_AUDIT_FACTS_FACTS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

/* How far a carrier is believed where two disagree, least first. */
enum rs_trust {
	RS_TRUST_NOTE,   /* what a person wrote */
	RS_TRUST_INTENT, /* configuration to be applied */
	RS_TRUST_LOG,
	RS_TRUST_TOOL, /* a tool's text */
	RS_TRUST_DUMP, /* a copy of kernel files or registers */
	RS_TRUST_LIVE, /* kernel or register, read now */
};

struct rs_fact {
	const char *host;    /* host or switch: "gpu01" */
	const char *subject; /* "nic/mlx5_0", "netdev/eth4", "pci/0000:19:00.0", "port/Ethernet8",
			      * "host", "env", "nccl" */
	const char *name;    /* "dscp_to_prio/26" */
	const char *value;   /* as read, trimmed */
	int64_t number;      /* the value when `numeric` */
	bool numeric;        /* a whole number, decimal or 0x: nothing behind it */
	uint8_t trust;       /* enum rs_trust */
	uint8_t age;         /* 0: now; 1: the older of two snapshots (--since) */
	uint32_t moment;     /* of a text that reads things again: place << RS_MOMENT_SHIFT | which
			      * reading, in their order; 0: not known */
	const char *file;    /* as the user would find it: "gpu01/mlnx_qos.txt", "a.tar:sys/..." */
	uint32_t line;       /* 0: not by line */
	uint32_t clock;      /* tenths of a second at that moment, from any beginning; 0: not known.
			      * Two that are RS_MOMENT_GAP apart are not known to be */
	const char *at;      /* place in JSON or XML: "/PORT/Ethernet8/mtu"; NULL: by line */
};

struct rs_facts;

enum { RS_MOMENT_SHIFT = 16, RS_MOMENT_GAP = 1 << 22 };

enum { RS_FACTS_MAX = 20000000, RS_FACT_BYTES = 4096 /* longest value kept; longer are cut */ };

struct rs_facts *rs_facts_create(void); /* NULL: no memory */
void rs_facts_destroy(struct rs_facts *f);

/* Copies f's strings. `numeric` and `number` are found from the value. -ENOMEM, -E2BIG at the
 * limit. A fact of the same host, subject, name, age and file replaces nothing: both are kept. */
int rs_facts_add(struct rs_facts *s, const struct rs_fact *f);
uint32_t rs_facts_count(const struct rs_facts *s);

/* Orders the facts; after the last add and before the first look-up. */
void rs_facts_seal(struct rs_facts *s);

/* The most trusted fact of that name; among equals of one file that of the last line (of messages
 * and of switches' ports the first added of the last reading), else of the first file. NULL: not
 * known. */
const struct rs_fact *rs_facts_get(const struct rs_facts *s, const char *host, const char *subject,
				   const char *name);
/* The same of the older snapshot. */
const struct rs_fact *rs_facts_get_old(const struct rs_facts *s, const char *host,
				       const char *subject, const char *name);
/* The earliest reading of what *now is of, in the same text and at the same place, since which it
 * has not fallen. NULL: there is none before it. *now: the last of these readings. */
const struct rs_fact *rs_facts_before(const struct rs_facts *s, const struct rs_fact **now);
/* What the last look-up of any kind found; NULL: nothing yet. */
const struct rs_fact *rs_facts_last(const struct rs_facts *s);
/* As if f had been looked up now: by who keeps an answer, so that its reason stays the same. */
void rs_facts_met(const struct rs_facts *s, const struct rs_fact *f);
/* Its number: false when it is unknown or no number. */
bool rs_facts_number(const struct rs_facts *s, const char *host, const char *subject,
		     const char *name, int64_t *out);
/* Its value, or NULL. */
const char *rs_facts_value(const struct rs_facts *s, const char *host, const char *subject,
			   const char *name);

/*
 * All facts (of now) of a host whose subject and name begin so, ordered by subject, name (numbers
 * in them by value), trust. *at: 0 to begin. NULL at the end. Empty strings match all.
 */
const struct rs_fact *rs_facts_next(const struct rs_facts *s, uint32_t *at, const char *host,
				    const char *subject, const char *name);

/* Where the facts of one subject begin: an *at for rs_facts_next(), whose order keeps a subject's
 * facts together. */
uint32_t rs_facts_seek(const struct rs_facts *s, const char *host, const char *subject);

/* Hosts and switches, in the order of their names. */
uint32_t rs_facts_hosts(const struct rs_facts *s);
const char *rs_facts_host(const struct rs_facts *s, uint32_t i);
/* A switch: it has the fact "host" "role" = "switch". */
bool rs_facts_is_switch(const struct rs_facts *s, const char *host);

/*
 * Subjects of a host that begin with prefix ("nic/"), each once, ordered. *at: 0 to begin. NULL at
 * the end.
 */
const char *rs_facts_subject(const struct rs_facts *s, uint32_t *at, const char *host,
			     const char *prefix);

/* Natural order: "eth2" before "eth10". */
int rs_facts_compare(const char *a, const char *b);

#endif

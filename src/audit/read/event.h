/*
 * Private to audit/: a record of a switch's log. Vendors write records in few forms (a facility, a
 * level and a mnemonic) and few words (what it is about, and whether it came or went), so a record
 * that no table knows still tells which check it is for.
 */
#ifndef RS_AUDIT_READ_EVENT_H
#define RS_AUDIT_READ_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include "audit/read/terms.h"

struct rs_event {
	int level;                   /* 0 (emergency) to 7 (debug); -1: the form tells none */
	char plain[RS_TERM_CONTEXT]; /* mnemonic and text as rs_term_plain() has them */
	bool more;                   /* its words stand in the next line, quoted */
};

/* Takes the line's record apart. false: it has none of the forms below.
 *   %FAC-SEV-MNEMONIC, %FAC_MNEMONIC: (IOS, NX-OS, EOS, IOS XR, RGOS, OS10); MOD/SEV/MNEMONIC (VRP,
 *   Comware); LEVEL container#daemon (SONiC); app|pid|tid|seq|W: (SR Linux); MAJOR: APP #2001,
 *   APP-MAJOR-name-2001 (SR OS); Event|ID|LOG_ERR| (AOS-CX); [daemon.ERR]: (Onyx); <Warn:Component>
 * (EXOS); daemon[pid]: of Junos and of Cumulus. */
bool rs_event_parse(const char *text, struct rs_event *out);

/* Adds the next line's words to a record. */
void rs_event_join(struct rs_event *e, const char *text);

/* Might a line of this text be a record? No: none is. */
bool rs_event_maybe(const char *data, size_t size);

/* The key of the message (facts/message.h) that a record means. NULL: it tells no fault, or that
 * one has ended. */
const char *rs_event_key(const struct rs_event *e);
/* Does the record tell that what a key stands for has ended? */
bool rs_event_ends(const struct rs_event *e, const char *key);
/* The key of a fault that came once and ended. NULL: its end makes it no smaller. */
const char *rs_event_over(const char *key);

/* Does some record mean this key? For tests. */
bool rs_event_tells(const char *key);

#endif

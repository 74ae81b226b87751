/*
 * Private to audit/: one vocabulary of what switches show. A value has a name: a column's, a
 * key's, or what stands behind a number. The vocabulary judges it by its name and context,
 * whatever the command, the vendor and the form of the output are (grid.h).
 */
#ifndef RS_AUDIT_READ_TERMS_H
#define RS_AUDIT_READ_TERMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	RS_TERM_NAME = 160,    /* bytes of a cell's name and of its value that are looked at */
	RS_TERM_CONTEXT = 1024 /* bytes of a context */
};

/*
 * What a count of lost or damaged frames says. The figures are ours: a port that boots or is
 * plugged counts some, a link at 1e-12 damages 1 frame of 30 million, and RoCE's rate halves at
 * 1e-5 to 1e-4 (docs/models.md, go-back-N).
 */
enum {
	RS_TERM_MANY = 1000, /* without the frames: this many are a fault */
	RS_TERM_FEW = 100    /* with the frames: fewer say nothing */
};
#define RS_TERM_SHARE 1e-6 /* of the frames, beyond which it is a fault */

/* What a command, a table or a key is about that shows a switch's own hardware, and the states of
 * a part of it that is broken. Alternatives. */
#define RS_TERM_HARDWARE                                                                       \
	" fan|fantray| env |power supply|powersupply|power supplies|powersup|psinfo|psu| pem " \
	"|cooling|"                                                                            \
	"temperature|thermal|environment|chassis env|chassis fan|chassis power|chassis fpc|"   \
	"chassis pic|chassis routing|platform| airflow|system health|hardware health|display " \
	"device|display power|show power|show module"
#define RS_TERM_BROKEN                                                                             \
	"fail|failed|failure|fault|faulty|faulted|bad|not ok|notok|nok|shutdown|shut|error|"       \
	"critical|major|minor|alarm|overheat|overheated|abnormal|not powered|no power|power loss|" \
	"input lost|no input|not supply|off|poweroff|power off|powered off|offline|insufficient|"  \
	"degraded|non operational|down|unpowered|out of range|over temperature|over temp|"         \
	"pwr denied|unresponsive|output fault"

/* The rows of the vocabulary that fit a name in a context: to be found once a column. */
struct rs_terms {
	uint64_t row[2];
};

/* Lower case; what is neither letter nor digit becomes one blank; a blank before and behind. */
void rs_term_plain(const char *text, char *out, size_t size);
/* The same of names that join their words: "linkDown", "inFcsErrors" as " link down ", ... */
void rs_term_words(const char *text, char *out, size_t size);
/* Is one of the alternatives ("a&b|c": a and b, or c) in this plain text? */
bool rs_term_in(const char *alternatives, const char *plain);
/* Does a port's description, plain, name a switch or a GPU host at its other end? */
bool rs_term_neighbour(const char *plain);
/* "1,234", "0x1f (31)", "-12.5dBm", "3E-4" from the value's start; false: no number. */
bool rs_term_number(const char *value, double *out);
/* name and context: rs_term_plain() of a column's or key's name, and of the command, the table's
 * head and the headings. */
struct rs_terms rs_terms_of(const char *name, const char *context);
/* The key of a message (facts/message.h) that tells what a value means; NULL: nothing. frames: of
 * the same entry; below 0: not known. */
const char *rs_term_judge(const struct rs_terms *t, const char *value, double frames);
/* Does some row of the vocabulary tell this message? For tests. */
bool rs_term_tells(const char *key);

#endif

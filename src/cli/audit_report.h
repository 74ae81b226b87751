/* Private to cli/: what `ripstop audit` writes. */
#ifndef RS_CLI_AUDIT_REPORT_H
#define RS_CLI_AUDIT_REPORT_H

#include <stdio.h>
#include "audit/rules/finding.h"

struct rs_audit_view {
	bool verbose; /* passes, what does not apply, every subject */
	bool colour;
};

void rs_audit_print(const struct rs_audit *a, const struct rs_audit_view *v, FILE *out);
int rs_audit_sarif(const struct rs_audit *a, FILE *out);
int rs_audit_junit(const struct rs_audit *a, bool strict, FILE *out);
int rs_audit_prometheus(const struct rs_audit *a, FILE *out);
int rs_audit_fix_script(const struct rs_audit *a, FILE *out);
void rs_audit_list(FILE *out);
void rs_audit_markdown(FILE *out);
/* Hosts as trees, after rs_facts_seal(). */
int rs_audit_show(struct rs_audit *a, FILE *out, struct rs_error *e);
/* Under `ripstop exec`: adds Ripstop's own devices to an audit of this host. */
int rs_audit_read_devices(struct rs_audit *a, struct rs_error *e);
/* 0, or -ENOENT: there is no such check. */
int rs_audit_explain(const char *id, FILE *out);

#endif

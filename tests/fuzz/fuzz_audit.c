/* What an audit reads: the first line is where a file was found, the rest what it holds. Every
 * reader that claims it reads it, then the rules judge the facts; only memory may make either fail.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/read/reader.h"
#include "audit/rules/run.h"
#include "base/error.h"
#include "fuzz.h"

static void check_findings(const struct rs_audit *a)
{
	for (uint32_t i = 0; i < a->n_findings; i++) {
		const struct rs_finding *f = a->findings[i];

		rs_assert(f->rule && f->title && f->title[0]);
		rs_assert(f->n_facts <= RS_FINDING_FACTS && f->n_stages <= RS_FINDING_STAGES);
		rs_assert(f->n_fixes <= RS_FINDING_FIXES && f->n_needs <= RS_FINDING_NEEDS);
		rs_assert(f->n_effects <= RS_FINDING_EFFECTS);
	}
	rs_audit_status(a, true, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	const uint8_t *end = n ? memchr(bytes, '\n', n) : NULL;
	size_t head = end ? (size_t)(end - bytes) + 1 : 0;
	struct rs_input in = {.host = "gpu01", .inner = "", .size = n - head};
	struct rs_error e = {0};
	struct rs_audit *a;
	char path[256], *data;

	snprintf(path, sizeof(path), "%.*s", head ? (int)head - 1 : 0, (const char *)bytes);
	data = malloc(in.size + 1);
	rs_assert(data && !rs_audit_create(&a));
	memcpy(data, bytes + head, in.size);
	data[in.size] = '\0';
	in.path = in.inner = path;
	in.data = data;
	for (const struct rs_reader *const *r = rs_readers; *r; r++) {
		in.trust = (*r)->trust;
		if ((*r)->score && (*r)->score(&in) > 0)
			rs_assert(!(*r)->read(a, &in));
	}
	rs_assert(rs_read_input(a, &in) >= 0 && !a->err);
	rs_assert(!rs_audit_run(a, NULL, NULL, &e));
	check_findings(a);
	rs_audit_destroy(a);
	free(data);
	return 0;
}

/* What `ripstop sim --html` writes: one page with the report's JSON in it (docs/page.md). */
#include <errno.h>
#include <stdlib.h>
#include "cli/page.h"
#include "cli/sim_report.h"

/* Something printed, as bytes in memory that the caller frees. */
static int printed(const struct rs_diagnosis *d, int (*print)(const struct rs_diagnosis *, FILE *),
		   struct rs_page_text *t)
{
	FILE *f = open_memstream(&t->at, &t->bytes);
	int err = f ? print(d, f) : -ENOMEM;

	if (f && fclose(f) && !err)
		err = -ENOMEM;
	return err;
}

static int print_text(const struct rs_diagnosis *d, FILE *out)
{
	rs_sim_print(d, out);
	return ferror(out) ? -EIO : 0;
}

int rs_sim_page(const struct rs_diagnosis *d, FILE *out)
{
	struct rs_page_text json = {0}, text = {0};
	int err = printed(d, rs_sim_json, &json);

	if (!err)
		err = printed(d, print_text, &text);
	if (!err)
		err = rs_page_write(&json, &text, out);
	free(json.at);
	free(text.at);
	return err;
}

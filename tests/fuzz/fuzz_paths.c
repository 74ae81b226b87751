/* The CSV of given paths, behind two flows over two switches: refused with a place, or every path
 * follows links from a flow's one end to the other. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/error.h"
#include "describe/describe.h"
#include "fabric/fabric.h"
#include "fuzz.h"

static void check_path(const struct rs_fabric *f, const struct rs_pinned *p, uint32_t from,
		       uint32_t to)
{
	uint32_t at = f->endpoints[from].node;

	rs_assert(p->n >= 1);
	for (uint32_t i = 0; i < p->n; i++) {
		bool moved = false;

		rs_assert(p->hop[i].sw == at && at < f->n_switches);
		for (uint32_t k = 0; k < f->n_links && !moved; k++)
			for (unsigned side = 0; side < 2 && !moved; side++) {
				const struct rs_link_end *a =
					side ? &f->links[k].b : &f->links[k].a;
				const struct rs_link_end *b =
					side ? &f->links[k].a : &f->links[k].b;

				if (!a->is_switch || a->id != at || a->port != p->hop[i].port)
					continue;
				moved = true;
				rs_assert(b->is_switch == (i + 1 < p->n));
				rs_assert(b->is_switch || b->id == to);
				at = b->id;
			}
		rs_assert(moved);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct rs_error e = {0};
	struct rs_fabric *f = NULL;
	char text[512];
	int fd = memfd_create("paths", MFD_CLOEXEC), err;

	rs_assert(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
	snprintf(
		text, sizeof(text),
		"fabric: {network: {kind: leaf-spine, leaves: 2, spines: 2, hosts: 4}}\n"
		"workload: [{flows: [{src: 0, dst: 3, bytes: 1MB}, {src: 2, dst: 0, bytes: 1MB}],\n"
		"  paths: /proc/self/fd/%d}]\n",
		fd);
	err = rs_fabric_load_text(text, strlen(text), "fuzz.yaml", ".", NULL, 0, &f, &e);
	if (err)
		rs_assert(e.code == err && e.line > 0 && e.column > 0 && e.what[0]);
	for (uint32_t i = 0; !err && i < f->jobs[0].n_flows; i++) {
		const struct rs_flow *w = &f->jobs[0].flows[i];

		if (w->path)
			check_path(f, w->path, w->src, w->dst);
	}
	rs_fabric_free(f);
	close(fd);
	return 0;
}

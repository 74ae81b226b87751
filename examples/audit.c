/*
 * Audits the snapshots that are named (folders, files, archives), or else a host that this program
 * has with it: a NIC in a slot that runs at a quarter of what it can. Prints what is wrong, where,
 * the lines that say so, and the fixes.
 *
 * cc audit.c $(pkg-config --cflags --libs ripstop) && ./a.out [PATH...]
 */
#include <ripstop/audit.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 16 };

static const char lspci[] =
	"19:00.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]\n"
	"\tNUMA node: 0\n"
	"\tCapabilities: [60] Express (v2) Endpoint, MSI 00\n"
	"\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported\n"
	"\t\tLnkSta:\tSpeed 16GT/s (downgraded), Width x8 (downgraded)\n";

static void check(int err, struct ripstop_error **e)
{
	if (!err)
		return;
	fprintf(stderr, "audit: %s\n", ripstop_error_text(*e));
	exit(2);
}

static void show(const struct ripstop_audit *a, size_t i, const struct ripstop_finding *f)
{
	static const char *const severity[] = {"info", "minor", "major", "critical"};
	struct ripstop_place place[MOST];
	struct ripstop_evidence fact[MOST];
	struct ripstop_fix fix[MOST];
	size_t n = ripstop_audit_places(a, i, 0, MOST, place, sizeof(place[0]));

	printf("%s %s (%s): %s\n", f->id, f->rule, severity[f->severity], f->title);
	for (size_t k = 0; k < n && k < MOST; k++)
		printf("  at   %s %s\n", place[k].host, place[k].part);
	n = ripstop_audit_evidence(a, i, 0, MOST, fact, sizeof(fact[0]));
	for (size_t k = 0; k < n && k < MOST; k++)
		printf("  by   %s:%u %s = %s\n", fact[k].file, fact[k].line, fact[k].name,
		       fact[k].value);
	n = ripstop_audit_fixes(a, i, 0, MOST, fix, sizeof(fix[0]));
	for (size_t k = 0; k < n && k < MOST; k++)
		printf("  fix  on %s: %s\n", fix[k].on, fix[k].command);
}

int main(int argc, char **argv)
{
	struct ripstop_finding f;
	struct ripstop_audit *a;
	struct ripstop_error *e;
	int status;

	check(ripstop_audit_new(&a, &e), &e);
	for (int i = 1; i < argc; i++)
		check(ripstop_audit_read(a, argv[i], NULL, &e), &e);
	if (argc == 1)
		check(ripstop_audit_read_text(a, "gpu01", "lspci_vv.txt", lspci, &e), &e);
	check(ripstop_audit_run(a, NULL, &e), &e);
	for (size_t i = 0; ripstop_audit_findings(a, i, 1, &f, sizeof(f)) > i; i++)
		if (f.verdict == RIPSTOP_FAIL)
			show(a, i, &f);
	status = ripstop_audit_status(a, 0, 1);
	printf("status %d\n", status);
	ripstop_audit_free(a);
	return argc > 1 ? status : 0;
}

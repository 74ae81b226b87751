/* ripstop expect --pairs: what explains the slow pairs of a matrix, as text and as JSON. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "cli/expect_report.h"
#include "report/report.h"

/* What it is, and what to look at. */
static const char *const advice[] = {
	[RS_PAIRS_HOST] = "its NIC, slot, port or cable: run ripstop audit there",
	[RS_PAIRS_SENDS] = "its NIC's reads (slot, MRRS, memory), or what its switch port receives",
	[RS_PAIRS_RECEIVES] = "its NIC's writes (slot, memory), pauses, or its switch port's queue",
	[RS_PAIRS_NIC] = "this NIC's slot, port or cable: run ripstop audit there",
	[RS_PAIRS_RAIL] = "the leaf of this rail, or a setting that all its NICs share",
	[RS_PAIRS_LEAF] =
		"the uplinks of their leaf: links that are down or slow, oversubscription",
	[RS_PAIRS_LEAF_SENDS] =
		"the uplinks of their leaf: what they send, and what the spines receive",
	[RS_PAIRS_LEAF_RECEIVES] =
		"the uplinks of their leaf: what the spines send, pauses of the leaf",
	[RS_PAIRS_BETWEEN] = "the spines and links that join the two",
	[RS_PAIRS_SOME_PATHS] = "one link of several: a slow or lossy uplink, a NIC of several",
	[RS_PAIRS_PAIR] = "measure it again, both ways; then its links",
	[RS_PAIRS_COLLISIONS] =
		"pairs that were measured at once share links: path collisions (ECMP); "
		"measure one pair at a time, or use adaptive routing",
	[RS_PAIRS_ALL] = "how the test is started: its server, port numbers, firewall, MPI",
};

static const char *sure(double confidence)
{
	return confidence > 0.9 ? "high" : confidence > 0.6 ? "medium" : "low";
}

/* Of a host without a level to compare with, and where pairs failed. */
static void reached(const struct rs_pairs_fault *f, char *s, size_t n)
{
	if (f->failed && !(f->factor > 0))
		snprintf(s, n, "failed: %u of %u pairs", f->failed, f->n);
	else
		snprintf(s, n, "%.0f %% of the healthy level; %u of %u pairs are slow",
			 f->factor * 100, f->slow, f->n);
	if (f->failed && f->factor > 0)
		snprintf(s + strlen(s), n - strlen(s), ", %u of them failed", f->failed);
	else if (f->failed && f->slow > f->failed)
		snprintf(s + strlen(s), n - strlen(s), ", %u more are slow", f->slow - f->failed);
}

static void pairs_of(const struct rs_pairs *p, const struct rs_pairs_fault *f, FILE *out)
{
	struct rs_enumeration all = {.n = 0};

	for (uint32_t i = 0; i < f->n_shown; i++)
		rs_enumerate(&all, ", ", "%s to %s%s", p->name[f->from[i]], p->name[f->to[i]],
			     p->value[(size_t)f->from[i] * p->n + f->to[i]] < 0 ? " (failed)" : "");
	if (all.n && f->kind != RS_PAIRS_PAIR)
		rs_paragraph(out, 2, "%s%s", all.text, f->slow > f->n_shown ? ", ..." : "");
}

static void print_fault(const struct rs_pairs *p, const struct rs_pairs_fault *f, uint32_t number,
			FILE *out)
{
	char what[160];

	reached(f, what, sizeof(what));
	fputc('\n', out);
	rs_paragraph(out, 0, "%u. %s: %s; confidence %s (%.2f).%s", number, f->what, what,
		     sure(f->confidence), f->confidence,
		     !f->inferred ? ""
		     : f->kind == RS_PAIRS_BETWEEN
			     ? " No leaf was given: that they share one follows from the matrix."
			     : " No leaf was given: that they share one follows from the matrix, "
			       "and whether it or the rest is at fault does not.");
	pairs_of(p, f, out);
	if (p->n_hosts == 3 && f->kind == RS_PAIRS_HOST)
		rs_paragraph(
			out, 2,
			"Of three hosts the matrix cannot tell whether this one is slow or the "
			"two others are fast together: measure a fourth.");
	rs_paragraph(out, 2, "Look at: %s.", advice[f->kind]);
}

void rs_expect_print_pairs(const struct rs_pairs *p, const struct rs_pairs_verdict *v, FILE *out)
{
	char failed[64] = "";

	if (v->failed)
		snprintf(failed, sizeof(failed), "%s%u failed", v->level > 0 ? ", " : ": ",
			 v->failed);
	if (v->level > 0)
		rs_paragraph(out, 0,
			     "%u pairs of %u hosts%s: healthy ones %s %.4g%s, with noise of %.1f "
			     "%%; %u measured values are slow%s.",
			     v->cells, p->n_hosts, v->missing ? ", some of them not measured" : "",
			     p->latency ? "take" : "reach", v->level, p->latency ? " us" : "",
			     v->noise * 100, v->slow - v->failed, failed);
	else
		rs_paragraph(out, 0, "%u pairs of %u hosts%s.", v->cells, p->n_hosts, failed);
	if (!v->n)
		rs_paragraph(out, 0, "Nothing is slower than noise explains.");
	for (uint32_t i = 0; i < v->n; i++)
		print_fault(p, &v->fault[i], i + 1, out);
}

static void fault(struct rs_json *j, const struct rs_pairs *p, const struct rs_pairs_fault *f)
{
	rs_json_object(j, NULL);
	rs_json_string(j, "kind", rs_pairs_kinds[f->kind]);
	rs_json_string(j, "what", f->what);
	rs_json_number(j, "factor", f->factor);
	rs_json_uint(j, "pairs", f->n);
	rs_json_uint(j, "slow", f->slow);
	rs_json_uint(j, "failed", f->failed);
	rs_json_number(j, "confidence", f->confidence);
	rs_json_bool(j, "inferred", f->inferred);
	rs_json_array(j, "examples");
	for (uint32_t i = 0; i < f->n_shown; i++) {
		rs_json_array(j, NULL);
		rs_json_string(j, NULL, p->name[f->from[i]]);
		rs_json_string(j, NULL, p->name[f->to[i]]);
		rs_json_end(j);
	}
	rs_json_end(j);
	rs_json_end(j);
}

int rs_expect_json_pairs(const struct rs_pairs *p, const struct rs_pairs_verdict *v, FILE *out)
{
	struct rs_json *j = rs_json_create(out);

	if (!j)
		return -ENOMEM;
	rs_json_object(j, NULL);
	rs_json_string(j, "schema", "ripstop-expect-pairs/1");
	rs_json_uint(j, "hosts", p->n_hosts);
	rs_json_uint(j, "pairs", v->cells);
	rs_json_uint(j, "missing", v->missing);
	rs_json_uint(j, "slow", v->slow);
	rs_json_uint(j, "failed", v->failed);
	rs_json_bool(j, "latency", p->latency);
	rs_json_number(j, "level", v->level);
	rs_json_number(j, "noise", v->noise);
	rs_json_array(j, "faults");
	for (uint32_t i = 0; i < v->n; i++)
		fault(j, p, &v->fault[i]);
	rs_json_end(j);
	rs_json_end(j);
	return rs_json_finish(j);
}

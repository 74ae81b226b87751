/* `ripstop sim --json`, --flows-csv and --rates-csv. */
#include <errno.h>
#include <sys/resource.h>
#include "cli/sim_report.h"

int rs_sim_json(const struct rs_diagnosis *r, FILE *out)
{
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	return rs_diagnosis_json(r, (uint64_t)ru.ru_maxrss * 1024, out);
}

int rs_sim_csv(const struct rs_diagnosis *r, FILE *out)
{
	const struct rs_sim_result *s = r->cases[0].result;

	fputs("id,src,dst,bytes,start_ns,finish_ns,fct_ns\n", out);
	for (uint32_t i = 0; i < s->n_flows; i++) {
		const struct rs_sim_flow *f = &s->flows[i];

		fprintf(out, "%u,%u,%u,%llu,%.3f,", i, f->src, f->dst, (unsigned long long)f->bytes,
			(double)f->start / RS_NS);
		if (f->finish == RS_NEVER)
			fputs(",\n", out);
		else
			fprintf(out, "%.3f,%.3f\n", (double)f->finish / RS_NS,
				(double)(f->finish - f->start) / RS_NS);
	}
	return ferror(out) ? -EIO : 0;
}

int rs_sim_rates_csv(const struct rs_diagnosis *r, FILE *out)
{
	const struct rs_sim_result *s = r->cases[0].result;

	fputs("time_ns,flow,rate_gbps\n", out);
	for (uint64_t i = 0; i < s->n_rates; i++)
		fprintf(out, "%.3f,%u,%.6f\n", (double)s->rates[i].when / RS_NS, s->rates[i].flow,
			(double)s->rates[i].rate / RS_GBPS);
	return ferror(out) ? -EIO : 0;
}

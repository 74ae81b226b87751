/* Private to diagnose/: how cases are gathered. */
#ifndef RS_DIAGNOSE_STATE_H
#define RS_DIAGNOSE_STATE_H

#include "diagnose/diagnose.h"

enum { CASES_MAX = 320 };

/* How a fabric is made from the scenario's: settings, then repairs. */
struct rs_change {
	const struct rs_setting *set;
	uint32_t n_set;
	uint64_t repairs; /* bits: places in repair.c's list */
	double widen;     /* links between switches, by this factor; 0: not */
};

struct diagnose {
	const struct rs_diagnose_options *o;
	struct rs_fabric *f;
	struct rs_diagnosis *d;
	struct rs_error *e;
};

/* A case with its own switches of what is ideal; fabric NULL: the scenario's. The case, or NULL
 * when there are too many. */
struct rs_case_info *case_add(struct diagnose *g, enum rs_case_kind kind, const char *name,
			      struct rs_fabric *fabric, const struct rs_sim_ideal *ideal);

/* cases.c: what may be made ideal, after the base has run. */
void counterfactuals_add(struct diagnose *g);
/* Each of several jobs alone, and nothing else. */
void jobs_alone_add(struct diagnose *g);
/* After those have run: whether the way alone is what one switch in place of all saves. */
void latency_add(struct diagnose *g);
/* together.c: after all of these: what hides one another. Runs what it needs. -ENOMEM. */
int together_find(struct diagnose *g);
/* run.c: runs cases from this one on with the first seed; those that are refused leave the list.
 * -ENOMEM. */
int cases_run(struct diagnose *g, uint32_t from);
/* run.c: as many seeds of a case as the scenario was run with. -ENOMEM. */
int case_seeds(struct diagnose *g, uint32_t i);
/* run.c: the scenario takes another time with another seed. */
bool base_varies(const struct rs_diagnosis *d);
/* The last case leaves the list. */
void case_drop(struct diagnose *g);
/* repair.c: the author's what-if list and fixes that the tool thinks of. */
int whatifs_add(struct diagnose *g);
int repairs_add(struct diagnose *g);
/* The scenario anew with changes. 0, -ENOMEM, or what refuses it. */
int change_make(struct diagnose *g, const struct rs_change *x, struct rs_fabric **out);
/* The scenario anew, with its own settings and then those of a list. */
int load_with(struct diagnose *g, const struct rs_setting *more, uint32_t n_more,
	      struct rs_fabric **out, struct rs_error *e);
/* series_json.c: what was observed of the scenario, as a member of its run. */
struct rs_json;
void series_json(struct rs_json *j, const struct rs_diagnosis *d);
/* Members of a flow or a job. */
void series_speed(struct rs_json *j, const struct rs_series_speed *x);
/* What jobs take alone, where a run was had of that: to the scenario's job_speed. */
void series_alone(struct rs_diagnosis *d);
/* fabric_json.c: the network and the ranks' places, as a member of the whole. */
void fabric_json(struct rs_json *j, const struct rs_diagnosis *d);
/* What a repair did: names of the first few places, in a list. */
struct repaired {
	struct rs_arena *a;
	const char *names;
	uint32_t n;
	bool far_off; /* one of them is far from usual */
};
void repaired_at(struct repaired *r, const char *name);
/* repair_host.c: each mends h, which is f loaded anew, and says where. */
void repair_slots(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r);
void repair_payload(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r);
void repair_host_limits(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r);
void repair_nic_places(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r);
void repair_far(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r);
void repair_xlinks(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r);
/* repair_work.c: the same, of the work. */
void repair_depth(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r);
void repair_message(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r);
void repair_memory(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r);
void repair_class(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r);
void repair_registration(const struct rs_fabric *f, struct rs_fabric *h, struct repaired *r);
/* names.c: a line of evidence; what is beyond the most of them is left out. */
void cause_evidence(struct rs_cause *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Where among causes of the same effect some come: less comes first. */
enum { CAUSE_RANK_COLLISIONS = 7, CAUSE_RANK_PATHS = 11, CAUSE_RANK_CUTS = 12 };
/* What the cause behind a counterfactual is called, where it is and what shows it, from the run as
 * described. False: no cause has that name; what stays empty where there is nothing to say. */
bool cause_name_kind(const struct rs_fabric *f, const struct rs_sim_result *r, const char *id,
		     struct rs_cause *c, unsigned *rank);
void cause_name_pauses(const struct rs_fabric *f, const struct rs_sim_result *r,
		       struct rs_cause *c);
void cause_name_oversubscription(const struct rs_fabric *f, const struct rs_sim_result *r,
				 struct rs_cause *c);
/* Nothing waited in a switch: the time is not the network's. */
bool cause_no_queues(const struct rs_fabric *f, const struct rs_sim_result *r);
/* causes.c: what a fix with these cures mends is a cause of its own. */
bool cause_mended(const char *cures);
/* After all runs. */
void causes_find(struct rs_diagnosis *d);

/* cases.c: links between switches, by this factor. */
void links_widen(struct rs_fabric *h, double factor);
bool fabric_multipath(const struct rs_fabric *f);
/* The switch takes packets of a NIC's lossless class (its DSCP) into a class that is lossy there:
 * the class that the NIC means, or -1. */
int dscp_meant(const struct rs_fabric *f, uint32_t sw, uint8_t dscp);

#endif

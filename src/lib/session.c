/* A simulation that the caller drives (ripstop/session.h): sim/session.h, its shapes translated. */
#include <errno.h>
#include <ripstop/session.h>
#include <stdlib.h>
#include "diagnose/diagnose.h"
#include "lib/fabric.h"
#include "lib/lib.h"
#include "lib/result.h"
#include "sim/session.h"

_Static_assert((int)RIPSTOP_NEWS_SENT == RS_SESSION_SENT &&
		       (int)RIPSTOP_NEWS_DELIVERED == RS_SESSION_DELIVERED &&
		       (int)RIPSTOP_NEWS_FAILED == RS_SESSION_FAILED &&
		       (int)RIPSTOP_NEWS_TIMER == RS_SESSION_TIMER,
	       "news are sim's");

struct ripstop_session {
	struct rs_fabric *fabric; /* the result's, once it was had */
	struct rs_session *x;
	uint64_t seed;
};

void ripstop_session_free(struct ripstop_session *s)
{
	if (!s)
		return;
	rs_session_destroy(s->x);
	rs_fabric_free(s->fabric);
	free(s);
}

int ripstop_session_new(const struct ripstop_fabric *f,
			const struct ripstop_session_options *theirs, struct ripstop_session **out,
			struct ripstop_error **e)
{
	struct ripstop_session_options o;
	struct rs_error inner = {0};
	struct ripstop_session *s;
	int err = lib_take(&o, sizeof(o), theirs, "ripstop_session_options", e);

	*out = NULL;
	if (err)
		return err;
	s = calloc(1, sizeof(*s));
	if (!s)
		return lib_fail(e, -ENOMEM, "out of memory");
	s->seed = o.seed ? o.seed : 1;
	err = lib_fabric_build(f, NULL, 0, &s->fabric, &inner);
	if (!err)
		err = rs_session_create(
			s->fabric,
			&(struct rs_session_conf){.seed = s->seed, .under_way = o.under_way}, &s->x,
			&inner);
	if (err) {
		ripstop_session_free(s);
		return lib_error(e, &inner, err);
	}
	*out = s;
	return 0;
}

int64_t ripstop_session_now(const struct ripstop_session *s)
{
	return rs_session_now(s->x);
}

uint64_t ripstop_session_unfinished(const struct ripstop_session *s)
{
	return rs_session_unfinished(s->x);
}

int ripstop_session_send(struct ripstop_session *s, const struct ripstop_flow *m, uint64_t user,
			 struct ripstop_error **e)
{
	struct rs_error inner = {0};
	struct rs_flow flow;
	int err;

	if (m->traffic_class < -1 || m->traffic_class >= RS_TCS)
		return lib_fail(e, -EINVAL, "expected a class of -1 to %d, found %d", RS_TCS - 1,
				m->traffic_class);
	flow = (struct rs_flow){
		.start = m->start ? m->start : rs_session_now(s->x),
		.src = m->src,
		.dst = m->dst,
		.bytes = m->bytes,
		.tc = m->traffic_class < 0 ? s->fabric->qos.data_tc : (uint8_t)m->traffic_class,
	};
	err = rs_session_post(s->x, &flow, user, &inner);
	return err ? lib_error(e, &inner, err) : 0;
}

int ripstop_session_at(struct ripstop_session *s, int64_t when, uint64_t user,
		       struct ripstop_error **e)
{
	struct rs_error inner = {0};
	int err = rs_session_at(s->x, when, user, &inner);

	return err ? lib_error(e, &inner, err) : 0;
}

int ripstop_session_run(struct ripstop_session *s, int64_t until, struct ripstop_error **e)
{
	struct rs_error inner = {0};
	int err = rs_session_run(s->x, until, &inner);
	uint32_t n = rs_session_waiting(s->x);

	if (err)
		return lib_error(e, &inner, err);
	return n > INT32_MAX ? INT32_MAX : (int)n;
}

size_t ripstop_session_news(struct ripstop_session *s, struct ripstop_news *out, size_t n,
			    size_t each)
{
	struct rs_session_news k;
	size_t i;

	for (i = 0; i < n && rs_session_news(s->x, &k, 1); i++) {
		struct ripstop_news ours = {.when = k.when,
					    .user = k.user,
					    .message = k.flow,
					    .what = k.what,
					    .status = k.status};

		lib_give_array((char *)out + i * each, each, 1, &ours, sizeof(ours));
	}
	return i;
}

int ripstop_session_end(struct ripstop_session *s, struct ripstop_result **out,
			struct ripstop_error **e)
{
	const struct rs_fabric *with;
	struct rs_error inner = {0};
	struct rs_sim_result *sim;
	struct ripstop_result *r = calloc(1, sizeof(*r));
	int err = r ? rs_session_end(s->x, &sim, &with, &inner) : -ENOMEM;

	*out = NULL;
	if (!err)
		err = rs_diagnosis_of(with, with->name, s->seed, sim, &r->d);
	if (err) {
		free(r);
		return lib_error(e, &inner, err);
	}
	r->fabric = s->fabric;
	s->fabric = NULL;
	*out = r;
	return 0;
}

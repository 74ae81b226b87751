/* Events behind descriptors: completion channels and asynchronous events (IBTA §11.4.2, §11.6.3).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "verbs/verbs.h"

int rs_vevents_open(struct rs_vevents *v)
{
	v->head = NULL;
	v->tail = &v->head;
	return rs_level_open(&v->level);
}

void rs_vevents_close(struct rs_vevents *v)
{
	while (v->head) {
		struct rs_vevent *e = v->head;

		v->head = e->next;
		free(e);
	}
	if (v->level.fd >= 0)
		close(v->level.fd);
	v->level.fd = -1;
}

int rs_vevents_add(struct rs_vevents *v, void *object, struct rs_vpending *of,
		   enum ibv_event_type type)
{
	struct rs_vevent *e = malloc(sizeof(*e));

	if (!e)
		return -ENOMEM;
	*e = (struct rs_vevent){.prev = v->tail, .of = of, .object = object, .type = type};
	*v->tail = e;
	v->tail = &e->next;
	if (of->first)
		of->last->sibling = e;
	else
		of->first = e;
	of->last = e;
	rs_level_raise(&v->level);
	return 0;
}

/* An object's oldest, out of the queue. */
static struct rs_vevent *take_first(struct rs_vevents *v, struct rs_vpending *of)
{
	struct rs_vevent *e = of->first;

	of->first = e->sibling;
	*e->prev = e->next;
	if (e->next)
		e->next->prev = e->prev;
	else
		v->tail = e->prev;
	return e;
}

void rs_vevents_drop(struct rs_vevents *v, struct rs_vpending *of)
{
	bool some = of->first != NULL;

	while (of->first)
		free(take_first(v, of));
	if (some && !v->head)
		rs_level_lower(&v->level);
}

/* Locked. The oldest; told: this thread lowered the level as it waited. */
static struct rs_vevent *pop(struct rs_vevents *v, bool told)
{
	struct rs_vevent *e;

	if (!v->head)
		return NULL;
	e = take_first(v, v->head->of); /* the queue's oldest is its object's */
	if (!v->head)
		rs_level_lower(&v->level);
	else if (told)
		rs_level_raise(&v->level);
	/* counted before the lock goes: a destroy waits for its acknowledgement */
	rs_vevent_got(e);
	return e;
}

struct taker {
	struct rs_vevents *v;
	struct rs_vctx *c;
};

/* Of a thread that is cancelled as it waits: what it has read is for another. */
static void ended(void *arg)
{
	struct taker *t = arg;

	rs_vctx_lock(t->c);
	if (t->v->head)
		rs_level_raise(&t->v->level);
	rs_vctx_unlock(t->c);
}

/* A thread that is cancelled ends where it waits, and not with the lock. */
int rs_vevents_take(struct rs_vevents *v, struct rs_vctx *c, struct rs_vevent *out)
{
	struct taker t = {v, c};
	struct rs_vevent *e;
	bool told = false;
	int cancel;

	for (;;) {
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
		rs_vctx_lock(c);
		e = pop(v, told);
		rs_vctx_unlock(c);
		if (e)
			*out = *e;
		free(e);
		pthread_setcancelstate(cancel, NULL);
		if (e)
			return 0;
		if (rs_level_wait(&v->level, ended, &t))
			return -1;
		told = true;
	}
}

RS_EXPORT struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct rs_vchannel *ch = calloc(1, sizeof(*ch));
	int err = ch ? rs_vevents_open(&ch->events) : -ENOMEM;

	if (err) {
		free(ch);
		errno = -err;
		return NULL;
	}
	ch->base.context = context;
	ch->base.fd = ch->events.level.fd;
	return &ch->base;
}

RS_EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	struct rs_vchannel *ch = rs_container(channel, struct rs_vchannel, base);
	struct rs_vctx *c = rs_vctx(channel->context);
	bool busy;

	rs_vctx_lock(c);
	busy = channel->refcnt != 0;
	rs_vctx_unlock(c);
	if (busy)
		return EBUSY;
	rs_vevents_close(&ch->events);
	free(ch);
	return 0;
}

RS_EXPORT int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq,
			       void **cq_context)
{
	struct rs_vchannel *ch = rs_container(channel, struct rs_vchannel, base);
	struct rs_vevent e;

	if (rs_vevents_take(&ch->events, rs_vctx(channel->context), &e))
		return -1;
	*cq = e.object;
	*cq_context = (*cq)->cq_context;
	return 0;
}

RS_EXPORT void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += n;
	pthread_cond_broadcast(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}

/* ---- Asynchronous events ---- */

static bool about_cq(enum ibv_event_type t)
{
	return t == IBV_EVENT_CQ_ERR;
}

static bool about_srq(enum ibv_event_type t)
{
	return t == IBV_EVENT_SRQ_ERR || t == IBV_EVENT_SRQ_LIMIT_REACHED;
}

static bool about_qp(enum ibv_event_type t)
{
	return t == IBV_EVENT_QP_FATAL || t == IBV_EVENT_QP_REQ_ERR ||
	       t == IBV_EVENT_QP_ACCESS_ERR || t == IBV_EVENT_COMM_EST ||
	       t == IBV_EVENT_SQ_DRAINED || t == IBV_EVENT_PATH_MIG ||
	       t == IBV_EVENT_PATH_MIG_ERR || t == IBV_EVENT_QP_LAST_WQE_REACHED;
}

void rs_vevent_got(const struct rs_vevent *e)
{
	if (e->type == RS_V_COMPLETION)
		((struct rs_vcq *)e->object)->events_got++;
	else if (about_cq(e->type))
		((struct rs_vcq *)e->object)->async_got++;
	else if (about_srq(e->type))
		((struct rs_vsrq *)e->object)->events_got++;
	else if (about_qp(e->type))
		((struct rs_vqp *)e->object)->events_got++;
}

RS_EXPORT int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct rs_vctx *c = rs_vctx(context);
	struct rs_vevent e;

	if (rs_vevents_take(&c->async, c, &e))
		return -1;
	memset(event, 0, sizeof(*event));
	event->event_type = e.type;
	if (about_cq(e.type))
		event->element.cq = e.object;
	else if (about_srq(e.type))
		event->element.srq = e.object;
	else if (about_qp(e.type))
		event->element.qp = e.object;
	else
		event->element.port_num = RS_V_PORT;
	return 0;
}

static void acknowledge(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *completed)
{
	pthread_mutex_lock(mutex);
	(*completed)++;
	pthread_cond_broadcast(cond);
	pthread_mutex_unlock(mutex);
}

RS_EXPORT void ibv_ack_async_event(struct ibv_async_event *e)
{
	if (about_cq(e->event_type))
		acknowledge(&e->element.cq->mutex, &e->element.cq->cond,
			    &e->element.cq->async_events_completed);
	else if (about_srq(e->event_type))
		acknowledge(&e->element.srq->mutex, &e->element.srq->cond,
			    &e->element.srq->events_completed);
	else if (about_qp(e->event_type))
		acknowledge(&e->element.qp->mutex, &e->element.qp->cond,
			    &e->element.qp->events_completed);
}

void rs_vevents_wait_acks(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed,
			  uint32_t got)
{
	pthread_mutex_lock(mutex);
	while (*completed != got)
		pthread_cond_wait(cond, mutex);
	pthread_mutex_unlock(mutex);
}

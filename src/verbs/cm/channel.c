/* Event channels, a real descriptor each, and what goes through them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "verbs/cm/cm.h"

static pthread_cond_t acknowledged = PTHREAD_COND_INITIALIZER;

static struct rs_cm_channel *channel_of(struct rdma_event_channel *c)
{
	return rs_container(c, struct rs_cm_channel, base);
}

RS_EXPORT struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct rs_cm_channel *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->tail = &c->head;
	if (!rs_level_open(&c->level)) {
		c->base.fd = c->level.fd;
		return &c->base;
	}
	free(c);
	return NULL;
}

RS_EXPORT void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	struct rs_cm_channel *c = channel_of(channel);
	struct rs_cm_event *e = c->head;

	while (e) {
		struct rs_cm_event *next = e->next;

		free(e);
		e = next;
	}
	close(c->base.fd);
	free(c);
}

static void add(struct rdma_event_channel *channel, struct rs_cm_event *e)
{
	struct rs_cm_channel *c = channel_of(channel);

	e->next = NULL;
	*c->tail = e;
	c->tail = &e->next;
	rs_level_raise(&c->level);
}

static void empty(struct rs_cm_channel *c)
{
	c->tail = &c->head;
	rs_level_lower(&c->level);
}

struct rs_cm_event *rs_cm_post(struct rs_cm_id *id, enum rdma_cm_event_type type, int status)
{
	struct rs_cm_event *e = id->ghost ? NULL : calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->id = id;
	e->base.id = &id->base;
	e->base.event = type;
	e->base.status = status;
	if (id->listener && type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		e->base.listen_id = &id->listener->base;
		e->id = id->listener;
	}
	add(e->id->base.channel, e);
	return e;
}

/* Is an event about an identifier, or about a request of its that is not taken yet? */
static bool about(const struct rs_cm_event *e, const struct rs_cm_id *id)
{
	return e->id == id || e->base.id == &id->base || e->id->listener == id;
}

/* The events of one identifier out of a channel's queue, as a list. */
static struct rs_cm_event *withdraw(struct rs_cm_channel *c, const struct rs_cm_id *id)
{
	struct rs_cm_event *out = NULL, **end = &out, **at = &c->head;
	bool some = c->head != NULL;

	while (*at) {
		struct rs_cm_event *e = *at;

		if (!about(e, id)) {
			at = &e->next;
			continue;
		}
		*at = e->next;
		e->next = NULL;
		*end = e;
		end = &e->next;
	}
	c->tail = at;
	if (some && !c->head)
		empty(c);
	return out;
}

void rs_cm_drop_events(struct rs_cm_id *id)
{
	struct rs_cm_event *e = withdraw(channel_of(id->base.channel), id);

	while (e) {
		struct rs_cm_event *next = e->next;

		free(e);
		e = next;
	}
	while (id->events)
		pthread_cond_wait(&acknowledged, &rs_cm_lock);
}

/* told: this thread lowered the level as it waited. */
static struct rs_cm_event *pop(struct rs_cm_channel *c, bool told)
{
	struct rs_cm_event *e;
	int cancel;

	/* a thread that is cancelled ends where it waits, and not with the lock */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&rs_cm_lock);
	e = c->head;
	if (e) {
		c->head = e->next;
		if (!c->head)
			empty(c);
		else if (told)
			rs_level_raise(&c->level);
		e->id->events++;
		/* The new identifier is the application's from here on. */
		if (e->base.event == RDMA_CM_EVENT_CONNECT_REQUEST) {
			rs_cm_id(e->base.id)->listener->backlog--;
			rs_cm_id(e->base.id)->listener = NULL;
		}
	}
	pthread_mutex_unlock(&rs_cm_lock);
	pthread_setcancelstate(cancel, NULL);
	return e;
}

bool rs_cm_pending(struct rdma_event_channel *channel)
{
	bool any;

	pthread_mutex_lock(&rs_cm_lock);
	any = channel_of(channel)->head != NULL;
	pthread_mutex_unlock(&rs_cm_lock);
	return any;
}

/* Of a thread that is cancelled as it waits: what it has read is for another. */
static void ended(void *arg)
{
	struct rs_cm_channel *c = arg;

	pthread_mutex_lock(&rs_cm_lock);
	if (c->head)
		rs_level_raise(&c->level);
	pthread_mutex_unlock(&rs_cm_lock);
}

RS_EXPORT int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	struct rs_cm_channel *c = channel_of(channel);
	struct rs_cm_event *e = pop(c, false);

	while (!e) {
		if (rs_level_wait(&c->level, ended, c))
			return -1;
		e = pop(c, true);
	}
	*event = &e->base;
	return 0;
}

RS_EXPORT int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	struct rs_cm_event *e;

	if (!event)
		return rs_cm_fail(EINVAL);
	e = rs_container(event, struct rs_cm_event, base);
	pthread_mutex_lock(&rs_cm_lock);
	e->id->events--;
	pthread_cond_broadcast(&acknowledged);
	pthread_mutex_unlock(&rs_cm_lock);
	free(e);
	return 0;
}

/* The event that ended an operation stays with a synchronous identifier until its next one. */
int rs_cm_wait(struct rs_cm_id *id)
{
	if (!id->sync)
		return 0;
	if (id->base.event) {
		rdma_ack_cm_event(id->base.event);
		id->base.event = NULL;
	}
	if (rdma_get_cm_event(id->base.channel, &id->base.event))
		return -1;
	if (id->base.event->event == RDMA_CM_EVENT_REJECTED)
		return rs_cm_fail(ECONNREFUSED);
	if (id->base.event->status)
		return rs_cm_fail(id->base.event->status);
	return 0;
}

/* Locked. With a listener go its requests that are not taken yet, and what happened to them since.
 */
static void move(struct rs_cm_id *id, struct rdma_event_channel *to)
{
	struct rs_cm_event *e = withdraw(channel_of(id->base.channel), id);

	id->base.channel = to;
	for (struct rs_cm_id *child = rs_cm_all(); child; child = child->next)
		if (child->listener == id)
			child->base.channel = to;
	while (e) {
		struct rs_cm_event *next = e->next;

		add(to, e);
		e = next;
	}
}

RS_EXPORT int rdma_migrate_id(struct rdma_cm_id *base, struct rdma_event_channel *channel)
{
	struct rs_cm_id *id = rs_cm_id(base);
	struct rdma_event_channel *old = base->channel, *made = NULL;

	if (!channel && !(made = channel = rdma_create_event_channel()))
		return -1;
	if (id->sync && base->event) {
		rdma_ack_cm_event(base->event);
		base->event = NULL;
	}
	pthread_mutex_lock(&rs_cm_lock);
	move(id, channel);
	/* rdma_migrate_id(3): not before what was got from the old one is acknowledged */
	while (id->events)
		pthread_cond_wait(&acknowledged, &rs_cm_lock);
	pthread_mutex_unlock(&rs_cm_lock);
	if (id->own_channel)
		rdma_destroy_event_channel(old);
	id->sync = id->own_channel = made != NULL;
	return 0;
}

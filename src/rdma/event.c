/* Asynchronous events, queued until the owner takes them. IBTA §11.6.3. */
#include "rdma/state.h"

static void *object_of(const struct rs_event *e)
{
	return e->qp ? (void *)e->qp : e->cq ? (void *)e->cq : (void *)e->srq;
}

void rs_event_add(struct rs_nic *nic, enum rs_event_type type, void *object)
{
	struct rs_event *e = &nic->events[nic->events_tail % RS_EVENTS];

	rs_assert(object);
	if (nic->events_tail - nic->events_head == RS_EVENTS) {
		nic->counters.events_lost++;
		return;
	}
	*e = (struct rs_event){.type = type};
	if (type == RS_EVENT_CQ_ERR)
		e->cq = object;
	else if (type == RS_EVENT_SRQ_LIMIT)
		e->srq = object;
	else
		e->qp = object;
	nic->events_tail++;
	nic->event = true;
}

void rs_event_forget(struct rs_nic *nic, const void *object)
{
	uint32_t kept = nic->events_head;

	for (uint32_t i = nic->events_head; i != nic->events_tail; i++)
		if (object_of(&nic->events[i % RS_EVENTS]) != object)
			nic->events[kept++ % RS_EVENTS] = nic->events[i % RS_EVENTS];
	nic->events_tail = kept;
}

bool rs_nic_poll_event(struct rs_nic *nic, struct rs_event *e)
{
	if (nic->events_head == nic->events_tail)
		return false;
	*e = nic->events[nic->events_head++ % RS_EVENTS];
	return true;
}

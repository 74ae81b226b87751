/* The ports of rdma_cm that are taken: a table in the registry. */
#include "live/ports.h"

#include "live/state.h"

enum { FIRST_EPHEMERAL = 32768 };

/* The table, locked: who takes a place raises *end above it, who gives one back lowers it. */
struct table {
	struct rs_cm_port *port;
	uint32_t *end;
};

static struct table table_of(struct rs_live *l)
{
	struct table t;

	t.port = rs_registry_ports(l->registry, &t.end);
	return t;
}

/* 0: it may be had beside all that have it but the one at place self. */
static int check(const struct table *t, const struct rs_cm_port *mine, int self, bool reuse)
{
	const struct rs_cm_port *p = t->port;
	int err = 0;

	for (int i = 0; !err && i < (int)*t->end; i++)
		if (i != self && p[i].port == mine->port && p[i].space == mine->space)
			err = rs_cm_beside(mine->how, mine->gid, p[i].how, p[i].gid, reuse);
	return err;
}

static uint16_t pick(const struct rs_live *l, const struct table *t, struct rs_cm_port *mine)
{
	unsigned n = UINT16_MAX + 1 - FIRST_EPHEMERAL;
	unsigned start = (unsigned)(rs_live_ns() / 1000) + l->slot * 97;

	for (unsigned i = 0; i < n; i++) {
		mine->port = (uint16_t)(FIRST_EPHEMERAL + (start + i) % n);
		if (!check(t, mine, -1, false))
			return mine->port;
	}
	return 0;
}

/* -ENOSPC: all places are taken. */
static int put(const struct table *t, const struct rs_cm_port *mine)
{
	uint32_t i = 0;

	while (i < *t->end && t->port[i].space)
		i++;
	if (i == RS_CM_PORTS)
		return -ENOSPC;
	if (i == *t->end)
		++*t->end;
	t->port[i] = *mine;
	return (int)i;
}

int rs_live_cm_bind(struct rs_live *l, uint16_t space, uint16_t *port, const uint8_t gid[16],
		    unsigned how)
{
	struct rs_cm_port mine = {
		.space = space, .port = *port, .slot = (uint8_t)l->slot, .how = (uint16_t)how};
	struct table t;
	int place, err;

	memcpy(mine.gid, gid, 16);
	rs_registry_lock(l->registry);
	t = table_of(l);
	if (!*port)
		err = pick(l, &t, &mine) ? 0 : -ENOSPC;
	else
		err = check(&t, &mine, -1, true);
	place = err ? err : put(&t, &mine);
	if (place >= 0)
		*port = mine.port;
	rs_registry_unlock(l->registry);
	return place;
}

/* Locked. What this device noted; NULL: a fork's child has its parent's number, or it was reaped.
 */
static struct rs_cm_port *own(const struct rs_live *l, const struct table *t, int place)
{
	struct rs_cm_port *p = t->port;

	return place >= 0 && place < RS_CM_PORTS && p[place].space && p[place].slot == l->slot
		       ? &p[place]
		       : NULL;
}

void rs_live_cm_change(struct rs_live *l, int place, unsigned how)
{
	struct rs_cm_port *mine;
	struct table t;

	if (l->forked)
		return;
	rs_registry_lock(l->registry);
	t = table_of(l);
	mine = own(l, &t, place);
	if (mine)
		mine->how = (uint16_t)how;
	rs_registry_unlock(l->registry);
}

int rs_live_cm_listen(struct rs_live *l, int place)
{
	struct rs_cm_port *mine;
	int err = -EINVAL;
	struct table t;

	if (l->forked)
		return err;
	rs_registry_lock(l->registry);
	t = table_of(l);
	mine = own(l, &t, place);
	if (mine)
		err = mine->how & RS_CM_REUSE ? check(&t, mine, place, false) : 0;
	if (!err) {
		mine->how &= (uint16_t)~RS_CM_REUSE;
		mine->listening = 1;
	}
	rs_registry_unlock(l->registry);
	return err;
}

void rs_live_cm_unbind(struct rs_live *l, int place)
{
	struct rs_cm_port *mine;
	struct table t;

	if (l->forked)
		return;
	rs_registry_lock(l->registry);
	t = table_of(l);
	mine = own(l, &t, place);
	if (mine)
		memset(mine, 0, sizeof(*mine));
	while (*t.end && !t.port[*t.end - 1].space)
		--*t.end;
	rs_registry_unlock(l->registry);
}

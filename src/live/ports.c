/* The ports of rdma_cm that are taken: a table in the registry. */
#include "live/ports.h"

#include "live/state.h"

enum { FIRST_EPHEMERAL = 32768 };

/* 0: it may be had beside all that have it but the one at place self. */
static int check(const struct rs_cm_port *p, const struct rs_cm_port *mine, int self, bool reuse)
{
	int err = 0;

	for (int i = 0; !err && i < RS_CM_PORTS; i++)
		if (i != self && p[i].space == mine->space && p[i].port == mine->port)
			err = rs_cm_beside(mine->how, mine->gid, p[i].how, p[i].gid, reuse);
	return err;
}

static uint16_t pick(const struct rs_live *l, const struct rs_cm_port *p, struct rs_cm_port *mine)
{
	unsigned n = UINT16_MAX + 1 - FIRST_EPHEMERAL;
	unsigned start = (unsigned)(rs_live_ns() / 1000) + l->slot * 97;

	for (unsigned i = 0; i < n; i++) {
		mine->port = (uint16_t)(FIRST_EPHEMERAL + (start + i) % n);
		if (!check(p, mine, -1, false))
			return mine->port;
	}
	return 0;
}

int rs_live_cm_bind(struct rs_live *l, uint16_t space, uint16_t *port, const uint8_t gid[16],
		    unsigned how)
{
	struct rs_cm_port *p = rs_registry_ports(l->registry);
	struct rs_cm_port mine = {
		.space = space, .port = *port, .slot = (uint8_t)l->slot, .how = (uint16_t)how};
	int i = 0, err = 0;

	memcpy(mine.gid, gid, 16);
	rs_registry_lock(l->registry);
	if (!*port)
		err = pick(l, p, &mine) ? 0 : -ENOSPC;
	else
		err = check(p, &mine, -1, true);
	while (i < RS_CM_PORTS && p[i].space)
		i++;
	if (!err && i == RS_CM_PORTS)
		err = -ENOSPC;
	if (!err) {
		p[i] = mine;
		*port = mine.port;
	}
	rs_registry_unlock(l->registry);
	return err ? err : i;
}

/* Locked. What this device noted; NULL: a fork's child has its parent's number, or it was reaped.
 */
static struct rs_cm_port *own(struct rs_live *l, int place)
{
	struct rs_cm_port *p = rs_registry_ports(l->registry);

	return place >= 0 && place < RS_CM_PORTS && p[place].space && p[place].slot == l->slot
		       ? &p[place]
		       : NULL;
}

void rs_live_cm_change(struct rs_live *l, int place, unsigned how)
{
	struct rs_cm_port *mine;

	if (l->forked)
		return;
	rs_registry_lock(l->registry);
	mine = own(l, place);
	if (mine)
		mine->how = (uint16_t)how;
	rs_registry_unlock(l->registry);
}

int rs_live_cm_listen(struct rs_live *l, int place)
{
	struct rs_cm_port *mine;
	int err = -EINVAL;

	if (l->forked)
		return err;
	rs_registry_lock(l->registry);
	mine = own(l, place);
	if (mine)
		err = mine->how & RS_CM_REUSE
			      ? check(rs_registry_ports(l->registry), mine, place, false)
			      : 0;
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

	if (l->forked)
		return;
	rs_registry_lock(l->registry);
	mine = own(l, place);
	if (mine)
		memset(mine, 0, sizeof(*mine));
	rs_registry_unlock(l->registry);
}

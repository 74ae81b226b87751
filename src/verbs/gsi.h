/* The door between our two libraries, exported under a version of our own (RIPSTOP_1): see
 * live/gsi.h and live/ports.h for what each does. */
#ifndef RS_VERBS_GSI_H
#define RS_VERBS_GSI_H

#include "live/gsi.h"
#include "live/ports.h"
#include "verbs/verbs.h"

/* Returns the slot, live/gsi.h's. fn is called on any thread, with the device locked. */
unsigned rs_verbs_gsi_open(struct ibv_context *c, rs_gsi_fn *fn, void *arg);
int rs_verbs_gsi_send(struct ibv_context *c, const struct rs_gsi_datagram *d);
/* rs_live_mind(). */
int rs_verbs_mind(struct ibv_context *c, const struct pollfd *own, unsigned n, int64_t ns);
/* ibv_poll_cq() for who sleeps when nothing comes: it does not yield the core (rs_live_rest()). */
int rs_verbs_look(struct ibv_cq *cq, int n, struct ibv_wc *wc, bool yields);
/* rs_live_fills(). */
bool rs_verbs_fills(struct ibv_qp *qp);
/* live/gsi.h's. */
enum rs_live_peer rs_verbs_peer_of(struct ibv_context *c, const uint8_t own[16],
				   const uint8_t peer[16], uint32_t qpn);
/* live/knock.h's. */
int rs_verbs_knock(struct ibv_context *c, const struct rs_gsi_datagram *d);
bool rs_verbs_knock_refused(struct ibv_context *c, uint64_t *token);
/* Take what lies in the device's socket, for others too: it goes with the process. */
void rs_verbs_gsi_drain(struct ibv_context *c);
/* As the process exits, perhaps by a signal: can the device still be used? */
bool rs_verbs_gsi_lockable(struct ibv_context *c);
int rs_verbs_cm_bind(struct ibv_context *c, uint16_t space, uint16_t *port, const uint8_t gid[16],
		     unsigned how);
void rs_verbs_cm_change(struct ibv_context *c, int place, unsigned how);
int rs_verbs_cm_listen(struct ibv_context *c, int place);
void rs_verbs_cm_unbind(struct ibv_context *c, int place);
/* Is the address one of the device's interface, opened or not? */
bool rs_verbs_has_gid(const struct ibv_device *d, const uint8_t gid[16]);

#endif

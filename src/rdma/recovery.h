/*
 * Recovery from loss as a strategy of a queue pair: what is sent again, and what becomes of a
 * request that came before its turn. Private to the room; nic.h names the strategies.
 *
 * Go-back-N is IBTA's own (§9.7.5.2) and needs no memory. A strategy with memory has it beside the
 * queue pair, from creation, and RS_QF_RECOVERY is set: only then is it asked for each packet.
 */
#ifndef RS_RDMA_RECOVERY_H
#define RS_RDMA_RECOVERY_H

#include "rdma/nic.h"

struct rs_swqe;

struct rs_recovery {
	const char *name;

	/* Of a queue pair's memory, zeroed at first; NULL: none. forget: RESET and ERR. */
	size_t (*bytes)(const struct rs_nic_config *c);
	void (*init)(const struct rs_nic_config *c, void *memory);
	void (*forget)(struct rs_qp *qp);

	/* The requester's half. rewind: what is out is lost, as a NAK, an RNR NAK or a timeout
	 * says: it is to be sent again, the oldest first. */
	void (*rewind)(struct rs_qp *qp);

	/* The responder's: a request beyond the expected PSN. */
	void (*early)(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p, uint32_t f,
		      rs_time now);

	/* With memory only, from here on. */

	/* A work request was posted: w is filled. */
	void (*posted)(struct rs_qp *qp, struct rs_swqe *w);
	/* May a request go, old or new; and the next one. As rs_req_ready() and rs_req_send(). */
	bool (*ready)(const struct rs_qp *qp);
	bool (*send)(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p, rs_time now);
	/* An answer was taken: una_psn may have moved, and p may tell of more. Owns the deadline.
	 */
	void (*acked)(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p, rs_time now);
	/* The deadline came, and no RNR wait was on. False: go-back-N's rules hold for it. */
	bool (*expire)(struct rs_nic *nic, struct rs_qp *qp, rs_time now);

	/* READs or atomics are out, and their answers are taken in any order: by response(). gap: a
	 * NAK of a request that the responder has not, others behind it having come. */
	bool (*reads_out)(const struct rs_qp *qp);
	void (*response)(struct rs_nic *nic, struct rs_qp *qp, const struct rs_packet *p,
			 uint32_t f, rs_time now);
	void (*gap)(struct rs_nic *nic, struct rs_qp *qp, uint32_t psn, rs_time now);

	/* Of the bytes that are not acknowledged, those that are not on their way: arrived before
	 * their turn, or lost. */
	uint64_t (*off)(const struct rs_qp *qp);

	/* An answer is to go: which path it takes. */
	void (*spread)(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p, rs_time now);

	/* A request was looked at: those kept that are due now are to be executed. */
	void (*in_order)(struct rs_nic *nic, struct rs_qp *qp, rs_time now);
	/* The payload of a WRITE goes to `to`, others being kept that were sent after it. False:
	 * that memory cannot be touched. */
	bool (*place)(const struct rs_nic *nic, const struct rs_qp *qp, uint8_t *to,
		      const struct rs_packet *p);
	/* An ACK is being made: what it tells beside. */
	void (*answer)(struct rs_nic *nic, struct rs_qp *qp, struct rs_packet *p);

	/* n responses of a READ, from psn on, are asked for once more; are some owed; the PSN of
	 * the next; it was sent, or its part is not to be. */
	void (*owe_again)(struct rs_qp *qp, uint32_t psn, uint32_t n);
	bool (*owes_again)(const struct rs_qp *qp);
	uint32_t (*next_again)(const struct rs_qp *qp);
	void (*sent_again)(struct rs_qp *qp, bool part);

	/* Invariants, for rs_nic_check(). */
	void (*check)(const struct rs_qp *qp);
};

#endif

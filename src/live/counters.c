/* Counters of other processes' devices: a question and an answer, each one datagram. */
#include "live/counters.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>
#include "live/state.h"

/* As long as no head of a packet that is handed over is, nor what rings tell (shm.c). */
struct question {
	char magic[4];
	struct rs_local_address from;
};

static const char magic[4] = "RSRP";

static void fill_qp(struct rs_live *l, struct rs_live_report *r, const struct rs_qp *qp)
{
	struct rs_live_qp_report *q = &r->qp[r->listed];
	const struct rs_qp_counters *c = rs_qp_get_counters(l->nic, qp);
	struct rs_qp_attr a = {0};

	r->qps++;
	if (r->listed == RS_LIVE_REPORT_QPS)
		return;
	q->qpn = rs_qp_num(qp);
	q->state = (uint8_t)rs_qp_get_state(qp);
	if (q->state >= RS_QPS_RTR && q->state <= RS_QPS_SQE)
		rs_qp_query(qp, &a);
	q->dest_qpn = a.dest_qpn;
	if (c)
		q->counters = *c;
	r->listed++;
}

static void fill(struct rs_live *l, struct rs_live_report *r)
{
	memset(r, 0, sizeof(*r));
	r->pid = (uint32_t)getpid();
	memcpy(r->device, l->device.name, sizeof(r->device));
	memcpy(r->interface, l->device.net.name, sizeof(r->interface));
	r->nic = *rs_nic_get_counters(l->nic);
	r->live = l->counters;
	for (uint32_t i = 0; i < RS_LIVE_MAX_QPS; i++) {
		const struct rs_qp *qp = rs_nic_find_qp(l->nic, l->flow.first_qpn + i);

		if (qp)
			fill_qp(l, r, qp);
	}
}

bool rs_counters_answer(struct rs_live *l, const void *bytes, size_t n)
{
	struct rs_live_report *r;
	struct question q;
	struct sockaddr_un to;
	struct iovec iov[2];
	struct msghdr m = {.msg_name = &to, .msg_iov = iov, .msg_iovlen = 2};

	if (n != sizeof(q) || memcmp(bytes, magic, sizeof(magic)) != 0)
		return false;
	memcpy(&q, bytes, sizeof(q));
	r = malloc(sizeof(*r));
	if (!r)
		return true;
	fill(l, r);
	m.msg_namelen = rs_local_name(&q.from, &to);
	iov[0] = (struct iovec){q.from.key, sizeof(q.from.key)};
	iov[1] = (struct iovec){r,
				offsetof(struct rs_live_report, qp) + r->listed * sizeof(r->qp[0])};
	/* An asker that does not listen gets no answer. */
	sendmsg(l->stray, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
	free(r);
	return true;
}

static bool ask(int fd, const struct rs_local_address *mine, const struct rs_local_address *slot,
		struct rs_live_report *r)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct question q = {.from = *mine};
	uint8_t key[RS_LOCAL_KEY];
	struct sockaddr_un to;
	struct iovec out[2] = {{(void *)(uintptr_t)slot->key, sizeof(slot->key)}, {&q, sizeof(q)}};
	struct iovec in[2] = {{key, sizeof(key)}, {r, sizeof(*r)}};
	struct msghdr question = {.msg_name = &to, .msg_iov = out, .msg_iovlen = 2};
	struct msghdr answer = {.msg_iov = in, .msg_iovlen = 2};
	ssize_t n;

	memcpy(q.magic, magic, sizeof(magic));
	question.msg_namelen = rs_local_name(slot, &to);
	if (sendmsg(fd, &question, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ||
	    poll(&p, 1, rs_live_tuning.counters_ms) != 1)
		return false;
	n = recvmsg(fd, &answer, MSG_DONTWAIT) - (ssize_t)sizeof(key);
	return n >= (ssize_t)offsetof(struct rs_live_report, qp) &&
	       r->listed <= RS_LIVE_REPORT_QPS &&
	       (size_t)n == offsetof(struct rs_live_report, qp) + r->listed * sizeof(r->qp[0]);
}

int rs_live_reports(void (*each)(void *arg, const struct rs_live_report *r), void *arg)
{
	struct rs_live_report *r = malloc(sizeof(*r));
	struct rs_registry_peeked slots[RS_SLOTS];
	struct rs_local_address mine;
	int answered = r ? rs_registry_peek(slots) : -ENOMEM, fd;

	if (answered < 0) {
		free(r);
		return answered;
	}
	fd = rs_local_open(&mine);
	if (fd < 0) {
		free(r);
		return fd;
	}
	for (unsigned i = RS_SLOT_FIRST; i <= RS_SLOT_LAST; i++)
		if (slots[i].leased && ask(fd, &mine, &slots[i].address, r)) {
			r->device[sizeof(r->device) - 1] = '\0';
			r->interface[sizeof(r->interface) - 1] = '\0';
			each(arg, r);
			answered++;
		}
	close(fd);
	free(r);
	return answered;
}

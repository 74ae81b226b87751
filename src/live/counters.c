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

enum { WAIT_MS = 1000 };

/* Shorter than the head of a packet that is handed over: cannot be taken for one. */
static const char question[8] = "RSREPORT";

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
		const struct rs_qp *qp = rs_nic_find_qp(l->nic, l->first_qpn + i);

		if (qp)
			fill_qp(l, r, qp);
	}
}

bool rs_counters_answer(struct rs_live *l, const void *bytes, size_t n, const struct msghdr *from)
{
	struct rs_live_report *r;

	if (n != sizeof(question) || memcmp(bytes, question, n) != 0)
		return false;
	r = malloc(sizeof(*r));
	if (!r || !from->msg_namelen) {
		free(r);
		return true;
	}
	fill(l, r);
	/* An asker that does not listen gets no answer. */
	sendto(l->stray, r, offsetof(struct rs_live_report, qp) + r->listed * sizeof(r->qp[0]),
	       MSG_DONTWAIT | MSG_NOSIGNAL, from->msg_name, from->msg_namelen);
	free(r);
	return true;
}

/* An address of the asker's own, given by the kernel. */
static int open_asker(void)
{
	struct sockaddr_un any = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&any, sizeof(sa_family_t))) {
		close(fd);
		return -errno;
	}
	return fd;
}

static bool ask(int fd, unsigned slot, struct rs_live_report *r)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct sockaddr_un to;
	socklen_t len = rs_steer_name(slot, &to);
	ssize_t n;

	if (sendto(fd, question, sizeof(question), MSG_DONTWAIT | MSG_NOSIGNAL,
		   (struct sockaddr *)&to, len) < 0 ||
	    poll(&p, 1, WAIT_MS) != 1)
		return false;
	n = recv(fd, r, sizeof(*r), MSG_DONTWAIT);
	return n >= (ssize_t)offsetof(struct rs_live_report, qp) &&
	       r->listed <= RS_LIVE_REPORT_QPS &&
	       (size_t)n == offsetof(struct rs_live_report, qp) + r->listed * sizeof(r->qp[0]);
}

int rs_live_reports(void (*each)(void *arg, const struct rs_live_report *r), void *arg)
{
	struct rs_live_report *r = malloc(sizeof(*r));
	uint8_t leased[RS_SLOTS];
	int answered = r ? rs_registry_peek(leased) : -ENOMEM, fd;

	if (answered < 0) {
		free(r);
		return answered;
	}
	fd = open_asker();
	if (fd < 0) {
		free(r);
		return fd;
	}
	for (unsigned i = RS_SLOT_FIRST; i <= RS_SLOT_LAST; i++)
		if (leased[i] && ask(fd, i, r)) {
			r->device[sizeof(r->device) - 1] = '\0';
			r->interface[sizeof(r->interface) - 1] = '\0';
			each(arg, r);
			answered++;
		}
	close(fd);
	free(r);
	return answered;
}

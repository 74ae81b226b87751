/*
 * A victim for security.sh: one queue pair of RC that takes WRITEs from a peer at an address, and
 * 4 KiB that nobody but that peer may write. It tells everything that an attacker would have to
 * guess, waits for a line on its standard input, and says whether a byte changed and what its
 * peer's address was heard to say.
 */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 4096, PSN = 0x123456, PORT = 1 };

static uint8_t memory[BYTES];

static int index_of(struct ibv_context *c, const uint8_t gid[16])
{
	union ibv_gid g;

	for (int i = 0; i < 16; i++)
		if (!ibv_query_gid(c, PORT, i, &g) && !memcmp(g.raw, gid, 16))
			return i;
	return -1;
}

/* IPv4 as ::ffff:a.b.c.d. */
static int read_gid(const char *text, uint8_t gid[16])
{
	memset(gid, 0, 16);
	gid[10] = gid[11] = 0xff;
	return inet_pton(AF_INET, text, gid + 12) == 1 || inet_pton(AF_INET6, text, gid) == 1;
}

static int connect_to(struct ibv_qp *qp, int sgid, const uint8_t peer[16])
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
				.port_num = PORT,
				.qp_access_flags = IBV_ACCESS_REMOTE_WRITE};

	if (ibv_modify_qp(qp, &a,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		return -1;
	a = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = 0x424242,
		.rq_psn = PSN,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = {.is_global = 1,
			    .port_num = PORT,
			    .grh = {.sgid_index = (uint8_t)sgid, .hop_limit = 64}}};
	memcpy(a.ah_attr.grh.dgid.raw, peer, 16);
	return ibv_modify_qp(qp, &a,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER);
}

int main(int argc, char **argv)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *c = list && *list ? ibv_open_device(*list) : NULL;
	struct ibv_pd *pd = c ? ibv_alloc_pd(c) : NULL;
	uint8_t own[16], peer[16];
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	struct ibv_wc wc;
	char line[8];
	int sgid;

	if (!pd || argc != 3 || !read_gid(argv[1], own) || !read_gid(argv[2], peer))
		return 1;
	sgid = index_of(c, own);
	init.send_cq = init.recv_cq = ibv_create_cq(c, 4, NULL, NULL, 0);
	mr = ibv_reg_mr(pd, memory, BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	qp = init.send_cq ? ibv_create_qp(pd, &init) : NULL;
	if (sgid < 0 || !mr || !qp || connect_to(qp, sgid, peer))
		return 2;
	memset(memory, 0x5e, BYTES);
	printf("%u %u %llu %u\n", qp->qp_num, mr->rkey, (unsigned long long)(uintptr_t)memory, PSN);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		int touched = 0;

		for (unsigned i = 0; i < 1000; i++) /* what lies in the socket is taken */
			ibv_poll_cq(init.send_cq, 1, &wc);
		for (unsigned i = 0; i < BYTES; i++)
			touched |= ((volatile uint8_t *)memory)[i] != 0x5e;
		puts(touched ? "touched" : "untouched");
		fflush(stdout);
	}
	return 0;
}

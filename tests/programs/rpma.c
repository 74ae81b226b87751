/* Remote memory by librpma: the client writes rounds of a pattern into the server's memory,
 * flushes, reads them back and compares; the server compares what it has at the end. usage: rpma
 * ADDRESS PORT server|client */
#include <librpma.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x)                                                                        \
	do {                                                                            \
		int err_ = (x);                                                         \
		if (err_) {                                                             \
			printf("line %d: %s: %s\n", __LINE__, #x, rpma_err_2str(err_)); \
			exit(1);                                                        \
		}                                                                       \
	} while (0)

enum { BYTES = 1 << 20, ROUNDS = 50 };

static void event(struct rpma_conn *c, enum rpma_conn_event wanted)
{
	enum rpma_conn_event e = RPMA_CONN_UNDEFINED;

	CHECK(rpma_conn_next_event(c, &e));
	if (e != wanted) {
		printf("event %s instead of %s\n", rpma_utils_conn_event_2str(e),
		       rpma_utils_conn_event_2str(wanted));
		exit(1);
	}
}

static unsigned char value(unsigned round, unsigned i)
{
	return (unsigned char)(i * 31 + (i >> 8) + round);
}

static unsigned wrong(const unsigned char *at, unsigned round)
{
	unsigned n = 0;

	for (unsigned i = 0; i < BYTES; i++)
		n += at[i] != value(round, i);
	return n;
}

static void serve(struct rpma_peer *peer, char **argv, unsigned char *memory)
{
	struct rpma_conn_private_data shown;
	struct rpma_conn_req *req;
	struct rpma_mr_local *mr;
	struct rpma_conn *conn;
	struct rpma_ep *ep;
	size_t n;

	CHECK(rpma_mr_reg(peer, memory, BYTES,
			  RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_WRITE_DST |
				  RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY,
			  &mr));
	CHECK(rpma_mr_get_descriptor_size(mr, &n));
	shown = (struct rpma_conn_private_data){malloc(n), (uint8_t)n};
	CHECK(rpma_mr_get_descriptor(mr, shown.ptr));
	CHECK(rpma_ep_listen(peer, argv[1], argv[2], &ep));
	CHECK(rpma_ep_next_conn_req(ep, NULL, &req));
	CHECK(rpma_conn_req_connect(&req, &shown, &conn));
	event(conn, RPMA_CONN_ESTABLISHED);
	event(conn, RPMA_CONN_CLOSED);
	CHECK(rpma_conn_disconnect(conn));
	CHECK(rpma_conn_delete(&conn));
	CHECK(rpma_ep_shutdown(&ep));
	CHECK(rpma_mr_dereg(&mr));
	if (wrong(memory, ROUNDS - 1)) {
		printf("the server has %u bytes wrong\n", wrong(memory, ROUNDS - 1));
		exit(1);
	}
}

static void done(struct rpma_conn *conn, uintptr_t id)
{
	struct rpma_cq *cq;
	struct ibv_wc wc;

	CHECK(rpma_conn_get_cq(conn, &cq));
	CHECK(rpma_cq_wait(cq));
	CHECK(rpma_cq_get_wc(cq, 1, &wc, NULL));
	if (wc.status || wc.wr_id != id) {
		printf("request %u ended with %s\n", (unsigned)wc.wr_id,
		       ibv_wc_status_str(wc.status));
		exit(1);
	}
}

static void ask(struct rpma_peer *peer, char **argv, unsigned char *memory)
{
	struct rpma_conn_private_data shown;
	struct rpma_mr_remote *there;
	unsigned char *back = calloc(1, BYTES);
	struct rpma_mr_local *from, *to;
	struct rpma_conn_req *req;
	struct rpma_conn *conn;
	unsigned bad = 0;

	CHECK(rpma_mr_reg(peer, memory, BYTES, RPMA_MR_USAGE_WRITE_SRC, &from));
	CHECK(rpma_mr_reg(peer, back, BYTES, RPMA_MR_USAGE_READ_DST, &to));
	CHECK(rpma_conn_req_new(peer, argv[1], argv[2], NULL, &req));
	CHECK(rpma_conn_req_connect(&req, NULL, &conn));
	event(conn, RPMA_CONN_ESTABLISHED);
	CHECK(rpma_conn_get_private_data(conn, &shown));
	CHECK(rpma_mr_remote_from_descriptor(shown.ptr, shown.len, &there));
	for (unsigned k = 0; k < ROUNDS; k++) {
		for (unsigned i = 0; i < BYTES; i++)
			memory[i] = value(k, i);
		CHECK(rpma_write(conn, there, 0, from, 0, BYTES, RPMA_F_COMPLETION_ON_ERROR, NULL));
		CHECK(rpma_flush(conn, there, 0, BYTES, RPMA_FLUSH_TYPE_VISIBILITY,
				 RPMA_F_COMPLETION_ALWAYS, (void *)1));
		done(conn, 1);
		CHECK(rpma_read(conn, to, 0, there, 0, BYTES, RPMA_F_COMPLETION_ALWAYS, (void *)2));
		done(conn, 2);
		bad += wrong(back, k);
	}
	CHECK(rpma_conn_disconnect(conn));
	event(conn, RPMA_CONN_CLOSED);
	CHECK(rpma_mr_remote_delete(&there));
	CHECK(rpma_conn_delete(&conn));
	CHECK(rpma_mr_dereg(&from) | rpma_mr_dereg(&to));
	free(back);
	if (bad) {
		printf("%u of %u bytes wrong\n", bad, ROUNDS * BYTES);
		exit(1);
	}
	printf("%u rounds of %u bytes\n", ROUNDS, BYTES);
}

int main(int argc, char **argv)
{
	int server = argc == 4 && !strcmp(argv[3], "server");
	unsigned char *memory = calloc(1, BYTES);
	struct ibv_context *c;
	struct rpma_peer *peer;

	if (argc != 4)
		return 2;
	CHECK(rpma_utils_get_ibv_context(
		argv[1], server ? RPMA_UTIL_IBV_CONTEXT_LOCAL : RPMA_UTIL_IBV_CONTEXT_REMOTE, &c));
	CHECK(rpma_peer_new(c, &peer));
	if (server)
		serve(peer, argv, memory);
	else
		ask(peer, argv, memory);
	CHECK(rpma_peer_delete(&peer));
	free(memory);
	return 0;
}

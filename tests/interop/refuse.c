/* So many connections by rdma_cm at once, of which the server refuses every second one; those that
 * stand are then closed, some by both sides at once. Each gets its event, and no descriptor is
 * left. usage: refuse ADDRESS PORT CONNECTIONS server|client */
#include <arpa/inet.h>
#include <dirent.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(c)                                               \
	do {                                                   \
		if (!(c)) {                                    \
			printf("line %d: %s\n", __LINE__, #c); \
			perror("errno");                       \
			exit(1);                               \
		}                                              \
	} while (0)

enum { PATIENCE_MS = 15000 };

static struct rdma_event_channel *channel;
static unsigned established, refused, gone, other;

static unsigned descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	CHECK(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static struct rdma_cm_id *take(enum rdma_cm_event_type *type)
{
	struct pollfd p = {.fd = channel->fd, .events = POLLIN};
	struct rdma_cm_event *e;
	struct rdma_cm_id *id;

	if (poll(&p, 1, PATIENCE_MS) != 1) {
		printf("%u established, %u closed, %u refused, %u other events, and then none\n",
		       established, gone, refused, other);
		exit(1);
	}
	CHECK(!rdma_get_cm_event(channel, &e));
	id = e->id;
	*type = e->event;
	CHECK(!rdma_ack_cm_event(e));
	return id;
}

/* The client closes all, and the server every second: some do at once. */
static void serve(struct sockaddr_in *a, unsigned n)
{
	struct rdma_conn_param p = {.responder_resources = 1, .initiator_depth = 1};
	struct rdma_cm_id *listener;
	unsigned asked = 0;

	CHECK(!rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP));
	CHECK(!rdma_bind_addr(listener, (struct sockaddr *)a) && !rdma_listen(listener, 0));
	while (gone + refused < n) {
		enum rdma_cm_event_type type;
		struct rdma_cm_id *id = take(&type);

		if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
			if (asked++ % 2) {
				CHECK(!rdma_reject(id, "no", 2));
				CHECK(!rdma_destroy_id(id));
				refused++;
			} else {
				CHECK(!rdma_accept(id, &p));
			}
		} else if (type == RDMA_CM_EVENT_ESTABLISHED) {
			if (established++ % 2)
				rdma_disconnect(id);
		} else if (type == RDMA_CM_EVENT_DISCONNECTED) {
			rdma_disconnect(id);
			CHECK(!rdma_destroy_id(id));
			gone++;
		} else if (type != RDMA_CM_EVENT_TIMEWAIT_EXIT) {
			other++;
		}
	}
	CHECK(!rdma_destroy_id(listener));
}

static void on_client(struct rdma_cm_id *id, enum rdma_cm_event_type type)
{
	struct rdma_conn_param p = {
		.responder_resources = 1, .initiator_depth = 1, .retry_count = 7};

	switch (type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		CHECK(!rdma_resolve_route(id, 2000));
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		CHECK(!rdma_connect(id, &p));
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE: /* without a queue pair of its own */
		CHECK(!rdma_establish(id));
		established++;
		CHECK(!rdma_disconnect(id));
		break;
	case RDMA_CM_EVENT_REJECTED:
		CHECK(!rdma_destroy_id(id));
		refused++;
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		rdma_disconnect(id);
		CHECK(!rdma_destroy_id(id));
		gone++;
		break;
	default:
		other += type != RDMA_CM_EVENT_TIMEWAIT_EXIT;
	}
}

static void ask(struct sockaddr_in *a, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct rdma_cm_id *id;

		CHECK(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
		CHECK(!rdma_resolve_addr(id, NULL, (struct sockaddr *)a, 2000));
	}
	while (gone + refused < n) {
		enum rdma_cm_event_type type;
		struct rdma_cm_id *id = take(&type);

		on_client(id, type);
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	struct ibv_context **all;
	unsigned n, before;

	if (argc != 5 || inet_pton(AF_INET, argv[1], &a.sin_addr) != 1)
		return 2;
	a.sin_port = htons((uint16_t)atoi(argv[2]));
	n = (unsigned)atoi(argv[3]);
	CHECK(all = rdma_get_devices(NULL)); /* what stays open is open */
	CHECK(channel = rdma_create_event_channel());
	before = descriptors();
	if (!strcmp(argv[4], "server"))
		serve(&a, n);
	else
		ask(&a, n);
	printf("%u established and closed, %u refused, %u other events\n", gone, refused, other);
	CHECK(gone == n / 2 && refused == n / 2 && !other);
	CHECK(descriptors() == before);
	rdma_destroy_event_channel(channel);
	rdma_free_devices(all);
	return 0;
}

/*
 * What librdmacm got after rdma-core 44 (RDMACM_1.4, of rdma-core 65): addresses resolved in the
 * background, and a program's own events. The numbers of events are those of its headers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "verbs/cm/cm.h"

enum {
	ADDRINFO_RESOLVED = 16,
	ADDRINFO_ERROR = 17,
	USER = 18,
	RAI_SA_ = 0x10,  /* by InfiniBand's subnet administrator, which RoCE has not */
	RAI_DNS_ = 0x20, /* by names, the default */
};

/* The name that programs link to. */
#define NAMED(name) __asm__(name) RS_EXPORT

/* A question that a thread asks: the identifier's, until that is destroyed. */
struct rs_cm_ask {
	struct rs_cm_id *id; /* NULL: nobody waits any more */
	char *node, *service;
	struct rdma_addrinfo hints;
	bool hinted, done;
	struct sockaddr_storage src, dst;
	struct rdma_addrinfo *found;
};

static void free_ask(struct rs_cm_ask *a)
{
	rdma_freeaddrinfo(a->found);
	free(a->node);
	free(a->service);
	free(a);
}

void rs_cm_forget_ask(struct rs_cm_id *id)
{
	struct rs_cm_ask *a = id->ask;

	id->ask = NULL;
	if (!a)
		return;
	a->id = NULL;
	if (a->done)
		free_ask(a);
}

static void *answer(void *arg)
{
	struct rs_cm_ask *a = arg;
	struct rdma_addrinfo *found = NULL;
	int err = rdma_getaddrinfo(a->node, a->service, a->hinted ? &a->hints : NULL, &found);

	if (err == -1)
		err = errno;
	pthread_mutex_lock(&rs_cm_lock);
	a->found = err ? NULL : found;
	a->done = true;
	if (a->id)
		rs_cm_post(a->id,
			   (enum rdma_cm_event_type)(err ? ADDRINFO_ERROR : ADDRINFO_RESOLVED),
			   err);
	else
		free_ask(a);
	pthread_mutex_unlock(&rs_cm_lock);
	return NULL;
}

static const struct sockaddr *keep(struct sockaddr_storage *to, const struct sockaddr *a,
				   socklen_t *n)
{
	if (!a || !*n)
		return NULL;
	*n = *n < sizeof(*to) ? *n : sizeof(*to);
	memcpy(to, a, *n);
	return (const struct sockaddr *)to;
}

/* Copies of what the caller need not keep. */
static struct rs_cm_ask *make_ask(const char *node, const char *service,
				  const struct rdma_addrinfo *hints)
{
	struct rs_cm_ask *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->node = node ? strdup(node) : NULL;
	a->service = service ? strdup(service) : NULL;
	if ((node && !a->node) || (service && !a->service)) {
		free_ask(a);
		return NULL;
	}
	if (!hints)
		return a;
	a->hinted = true;
	a->hints = *hints;
	a->hints.ai_flags &= ~RAI_DNS_;
	a->hints.ai_src_addr =
		(void *)(uintptr_t)keep(&a->src, hints->ai_src_addr, &a->hints.ai_src_len);
	a->hints.ai_dst_addr =
		(void *)(uintptr_t)keep(&a->dst, hints->ai_dst_addr, &a->hints.ai_dst_len);
	return a;
}

static int start(struct rs_cm_id *id, struct rs_cm_ask *a)
{
	pthread_attr_t attr;
	pthread_t thread;
	int err = 0;

	pthread_mutex_lock(&rs_cm_lock);
	if (id->ask && !id->ask->done) {
		err = EBUSY;
	} else {
		rs_cm_forget_ask(id);
		id->ask = a;
		a->id = id;
	}
	pthread_mutex_unlock(&rs_cm_lock);
	if (err)
		return err;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	err = pthread_create(&thread, &attr, answer, a);
	pthread_attr_destroy(&attr);
	if (err) {
		pthread_mutex_lock(&rs_cm_lock);
		a->done = true;
		a->id = id->ask == a ? id : NULL;
		rs_cm_forget_ask(id);
		pthread_mutex_unlock(&rs_cm_lock);
	}
	return err;
}

int resolve(struct rdma_cm_id *base, const char *node, const char *service,
	    const struct rdma_addrinfo *hints) NAMED("rdma_resolve_addrinfo");
int resolve(struct rdma_cm_id *base, const char *node, const char *service,
	    const struct rdma_addrinfo *hints)
{
	struct rs_cm_ask *a;
	int err;

	if (!base || (hints && (hints->ai_flags & RAI_SA_) && (hints->ai_flags & RAI_DNS_)) ||
	    (!node && !service && !(hints && (hints->ai_src_addr || hints->ai_dst_addr))))
		return rs_cm_fail(EINVAL);
	if (hints && hints->ai_flags & RAI_SA_)
		return rs_cm_fail(EOPNOTSUPP);
	a = make_ask(node, service, hints);
	if (!a)
		return rs_cm_fail(ENOMEM);
	err = start(rs_cm_id(base), a);
	if (err == EBUSY)
		free_ask(a);
	return err ? rs_cm_fail(err) : rs_cm_wait(rs_cm_id(base));
}

int query(struct rdma_cm_id *base, struct rdma_addrinfo **info) NAMED("rdma_query_addrinfo");
int query(struct rdma_cm_id *base, struct rdma_addrinfo **info)
{
	struct rs_cm_ask *a;
	int err = 0;

	if (!base || !info)
		return rs_cm_fail(EINVAL);
	pthread_mutex_lock(&rs_cm_lock);
	a = rs_cm_id(base)->ask;
	if (!a || !a->done || !a->found) {
		err = ENOENT;
	} else {
		*info = a->found;
		a->found = NULL;
		rs_cm_forget_ask(rs_cm_id(base));
	}
	pthread_mutex_unlock(&rs_cm_lock);
	return err ? rs_cm_fail(err) : 0;
}

int write_event(struct rdma_cm_id *base, enum rdma_cm_event_type event, int status, uint64_t arg)
	NAMED("rdma_write_cm_event");
int write_event(struct rdma_cm_id *base, enum rdma_cm_event_type event, int status, uint64_t arg)
{
	struct rs_cm_event *e;

	if (!base || (int)event != USER)
		return rs_cm_fail(EINVAL);
	pthread_mutex_lock(&rs_cm_lock);
	e = rs_cm_post(rs_cm_id(base), event, status);
	if (e)
		memcpy(&e->base.param, &arg, sizeof(arg)); /* param.arg */
	pthread_mutex_unlock(&rs_cm_lock);
	return e ? 0 : rs_cm_fail(ENOMEM);
}

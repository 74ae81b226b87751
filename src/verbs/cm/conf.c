/*
 * What an rsocket begins with: rsocket(7), "Files". A file has one number. A value that is out of
 * range is brought into it; a file that is not there, or has no number, leaves the default. Beside
 * them, as ever, RS_SQ_SIZE, RS_RQ_SIZE and RS_INLINE of the environment.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "verbs/cm/rsocket.h"

#define DIRECTORY "/etc/rdma/rsocket/"

enum {
	LEAST_BUFFER = 4096,
	MOST_BUFFER = 1 << 28,
	LEAST_QUEUE = 16,
	MOST_IOMAPS = 1 << 14,
	SPIN_US = 20, /* to sleep and to be woken takes as much */
	MOST_SPIN_US = 1000 * 1000,
	WAKE_MS = 100, /* another thread may have taken the event that is slept for */
};

static struct rs_sock_conf conf;

static uint32_t limited(unsigned long v, uint32_t least, uint32_t most)
{
	return v < least ? least : v > most ? most : (uint32_t)v;
}

static uint32_t of_file(const char *path, uint32_t otherwise, uint32_t least, uint32_t most)
{
	FILE *f = fopen(path, "re");
	unsigned long v;

	if (!f)
		return otherwise;
	if (fscanf(f, "%lu", &v) == 1)
		otherwise = limited(v, least, most);
	fclose(f);
	return otherwise;
}

static uint32_t of_environment(const char *name, uint32_t otherwise, uint32_t most)
{
	const char *text = getenv(name);
	char *end;
	unsigned long v = text ? strtoul(text, &end, 0) : 0;

	return text && *text && !*end && v && v <= most ? (uint32_t)v : otherwise;
}

static void load(void)
{
	conf = (struct rs_sock_conf){
		.mem = of_file(DIRECTORY "mem_default", RS_SOCK_BUFFER, LEAST_BUFFER, MOST_BUFFER),
		.wmem = of_file(DIRECTORY "wmem_default", RS_SOCK_BUFFER, LEAST_BUFFER,
				MOST_BUFFER),
		.sq = of_file(DIRECTORY "sqsize_default", RS_SOCK_QUEUE, LEAST_QUEUE, INT16_MAX),
		.rq = of_file(DIRECTORY "rqsize_default", RS_SOCK_QUEUE, LEAST_QUEUE, INT16_MAX),
		.inline_size =
			of_file(DIRECTORY "inline_default", RS_SOCK_INLINE, 0, RS_V_MAX_INLINE),
		.iomaps = of_file(DIRECTORY "iomap_size", 0, 0, MOST_IOMAPS),
		.spin_ns =
			INT64_C(1000) * of_file(DIRECTORY "polling_time", SPIN_US, 0, MOST_SPIN_US),
		.wake_ms = (int)of_file(DIRECTORY "wake_up_interval", WAKE_MS, 1, WAKE_MS),
	};
	conf.mem &= ~1u; /* two halves */
	conf.sq = of_environment("RS_SQ_SIZE", conf.sq, INT16_MAX);
	conf.rq = of_environment("RS_RQ_SIZE", conf.rq, INT16_MAX);
	conf.inline_size = of_environment("RS_INLINE", conf.inline_size, RS_V_MAX_INLINE);
}

const struct rs_sock_conf *rs_sock_conf(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
	return &conf;
}

/*
 * Sockets between the processes of a network namespace: Unix datagrams, in the abstract name space,
 * which is the network namespace's as port 4791 is. Everybody may see such a name and send to it;
 * so each socket has a key, which only processes that share the registry know, and a filter by
 * which the kernel drops what does not begin with it before it takes room or wakes anyone. Private
 * to the room.
 */
#ifndef RS_LIVE_LOCAL_H
#define RS_LIVE_LOCAL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { RS_LOCAL_NAME = 16, RS_LOCAL_KEY = 16 };

/* Both random; a datagram begins with its receiver's key. */
struct rs_local_address {
	uint8_t name[RS_LOCAL_NAME], key[RS_LOCAL_KEY];
};

/* Bytes that cannot be guessed; a negative errno where the kernel has none. */
int rs_live_random(void *out, size_t n);

/* A socket under an address of its own. Nonblocking. A negative errno. */
int rs_local_open(struct rs_local_address *a);
/* The same under a name in the file system, which other network namespaces may see; path: its. */
int rs_local_open_in(struct rs_local_address *a, const char *folder, char *path, size_t size);
/* An address's file name. */
void rs_local_file(const struct rs_local_address *a, char *out, size_t size);
socklen_t rs_local_name(const struct rs_local_address *a, struct sockaddr_un *out);

#endif

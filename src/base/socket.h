/* Sockets of the kernel's, for libraries that themselves stand in for socket(2): a program that is
 * run with librspreload.so has an rsocket come out of the C library's function. */
#ifndef RS_BASE_SOCKET_H
#define RS_BASE_SOCKET_H

#include <sys/syscall.h>
#include <unistd.h>

/* socket(2) itself, not a preloaded library's. */
static inline int rs_socket(int domain, int type, int protocol)
{
	return (int)syscall(SYS_socket, domain, type, protocol);
}

#endif

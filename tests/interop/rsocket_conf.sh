#!/bin/sh
# What rsockets begin with: the files of /etc/rdma/rsocket (rsocket(7), "Files"), the environment, the defaults; what is out of
# range, is no number, or is not there. Then a stream with the smallest buffers and queues that the files may ask for.
set -eu
ripstop=$1
. "$(dirname "$0")/lib.sh"
need python3 rstream mount
[ -n "${RS_OWN_NET-}" ] && [ -d /etc/rdma ] || skip "no namespaces, or no /etc/rdma"
mount -t tmpfs tmpfs /etc/rdma 2>/dev/null || skip "nothing can be mounted here"
mkdir /etc/rdma/rsocket

# begins WHAT EXPECTED: buffers to send and to receive, queues, inline bytes, mapped buffers
begins() {
	got=$("$ripstop" exec --no-view -- python3 - <<'EOS'
import ctypes, socket
c = ctypes.CDLL('librdmacm.so.1', use_errno=True)
s = c.rsocket(socket.AF_INET, socket.SOCK_STREAM, 0)
def of(level, name):
    v, n = ctypes.c_int(-1), ctypes.c_uint32(4)
    assert c.rgetsockopt(s, level, name, ctypes.byref(v), ctypes.byref(n)) == 0
    return str(v.value)
RDMA = 0x10000
print(of(socket.SOL_SOCKET, socket.SO_SNDBUF), of(socket.SOL_SOCKET, socket.SO_RCVBUF), *[of(RDMA, i) for i in range(4)])
EOS
	)
	[ "$got" = "$2" ] || {
		echo "FAILED: $1: \"$got\", not \"$2\""
		exit 1
	}
	echo "passed: $1"
}
file() { echo "$2" >/etc/rdma/rsocket/$1; }

begins "no file" "1048576 1048576 384 384 64 0"
file wmem_default 65536
file mem_default 131072
file sqsize_default 64
file rqsize_default 100
file inline_default 32
file iomap_size 7
begins "a file for each" "65536 131072 64 100 32 7"
RS_SQ_SIZE=50 RS_RQ_SIZE=60 RS_INLINE=16 begins "the environment goes before files" "65536 131072 50 60 16 7"
RS_SQ_SIZE=many RS_RQ_SIZE=0 RS_INLINE=99999999 begins "what the environment may not ask for" "65536 131072 64 100 32 7"
file wmem_default 1
file mem_default 99999999999
file sqsize_default 2
file rqsize_default 65536
file inline_default 999999
file iomap_size 99999
begins "out of range" "4096 268435456 16 32767 1024 16384"
file wmem_default many
: >/etc/rdma/rsocket/mem_default
rm /etc/rdma/rsocket/sqsize_default
mkdir /etc/rdma/rsocket/sqsize_default
file rqsize_default "  200 and more"
rm /etc/rdma/rsocket/inline_default /etc/rdma/rsocket/iomap_size
begins "no number" "1048576 1048576 384 200 64 0"

rm -rf --one-file-system /etc/rdma/rsocket/*
for f in wmem_default mem_default sqsize_default rqsize_default inline_default polling_time wake_up_interval; do file $f 1; done
"$ripstop" exec --no-view -- timeout $limit rstream -p $port -S 20000 -I 10 -C 3 -T v >"$tmp/server" 2>&1 &
server=$!
pids="$pids $server"
wait_cm $port
"$ripstop" exec --no-view -- timeout $limit rstream -s 127.0.0.1 -p $port -S 20000 -I 10 -C 3 -T v >"$tmp/client" 2>&1 || {
	echo "FAILED: a stream with the least of all: $(said "$tmp/client")"
	exit 1
}
wait $server
echo "passed: a stream with the least of all"

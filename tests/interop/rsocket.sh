#!/bin/sh
# Sockets over RDMA (rsocket(7)): rstream, riostream, rcopy, unmodified socket programs through Debian's
# librspreload.so, and a stream checked byte by byte.
set -eu
ripstop=$1
here=$(dirname "$0")
. "$here/lib.sh"
need rstream riostream rcopy cc

fail() {
	echo "FAILED: $*"
	tail -n 5 "$tmp/server"
	echo "-- client:"
	tail -n 5 "$tmp/client"
	exit 1
}

serve() {
	timeout $limit "$ripstop" exec -- "$@" >"$tmp/server" 2>&1 &
	server=$!
	pids="$pids $server"
	wait_cm $port
}

# stream PROGRAM OPTIONS...: a server and a client, both in time and with exit status 0
stream() {
	program=$1
	shift
	serve $program -p $port "$@"
	client=0
	timeout $limit "$ripstop" exec -- $program -s 127.0.0.1 -p $port "$@" >"$tmp/client" 2>&1 || client=$?
	status=0
	wait $server || status=$?
	[ $client = 0 ] && [ $status = 0 ] || fail "$program $*: server $status, client $client"
	grep -q custom "$tmp/client" || fail "no result"
	port=$((port + 1))
	echo "passed: $program $*"
}

stream rstream -S 1000 -I 10 -C 20 -T v
stream rstream -S 200000 -I 10 -C 3 -T v -T b
stream rstream -S 200000 -I 10 -C 3 -T v -T n
stream rstream -S 200000 -I 10 -C 3 -T v -T a
stream rstream -S 64 -I 50 -C 1 -B 65536 -i 128 -T v
stream riostream -S 20000 -I 10 -C 3 -T v
stream riostream -S 64 -I 10 -C 3 -T v -T n

head -c 3000000 /dev/urandom >"$tmp/file"
serve rcopy -p $port
timeout $limit "$ripstop" exec -- rcopy "$tmp/file" 127.0.0.1:"$tmp/copy" -p $port >"$tmp/client" 2>&1 || fail rcopy
cmp "$tmp/file" "$tmp/copy" || fail "rcopy copied something else"
kill $server
wait $server 2>/dev/null || :
port=$((port + 1))
echo "passed: rcopy"

preload=$(ls /usr/lib/*/rsocket/librspreload.so 2>/dev/null | head -n 1)
if [ -n "$preload" ]; then
	stream "env LD_PRELOAD=$preload rstream" -T s -S 20000 -I 10 -C 3 -T v
fi

if cc -O1 -o "$tmp/check" "$here/rsocket_stream.c" -lrdmacm 2>"$tmp/client"; then
	for how in nonblocking blocking poll 'poll ::1'; do
		host=127.0.0.1
		[ "$how" = "${how#* }" ] || host=${how#* }
		how=${how% *}
		serve "$tmp/check" $host $port 10000000 $how server
		client=0
		timeout $limit "$ripstop" exec -- "$tmp/check" $host $port 10000000 $how client \
			>"$tmp/client" 2>&1 || client=$?
		status=0
		wait $server || status=$?
		[ $client = 0 ] && [ $status = 0 ] || fail "stream, $how: server $status, client $client"
		port=$((port + 1))
		echo "passed: 10 MB each way over $host, $how"
	done
	# one side exits in a signal handler, in the middle of anything: both end, the other one is told
	for i in 1 2 3 4 5; do
		serve "$tmp/check" 127.0.0.1 $port 100000000000 exit server
		client=0
		timeout $limit "$ripstop" exec -- "$tmp/check" 127.0.0.1 $port 100000000000 poll client \
			>"$tmp/client" 2>&1 || client=$?
		status=0
		wait $server || status=$?
		[ $client = 1 ] && [ $status = 0 ] || fail "exit in a handler: server $status, client $client"
		port=$((port + 1))
	done
	echo "passed: exit in a signal handler"
	# nobody there
	client=0
	timeout 10 "$ripstop" exec -- "$tmp/check" 127.0.0.1 $port 1 blocking client >"$tmp/client" 2>&1 || client=$?
	[ $client = 1 ] && grep -q 'rconnect: Connection refused' "$tmp/client" || fail "rconnect to nobody: $client"
fi
echo "passed: rsocket"

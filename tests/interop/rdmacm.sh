#!/bin/sh
# Programs of librdmacm over the loopback: connections made by management datagrams on QP1.
set -eu
ripstop=$1
. "$(dirname "$0")/lib.sh"
need rping rdma_server rdma_client

# both SERVER... -- CLIENT...: both in time and with exit status 0. $delay: until the server listens
delay=0.3
both() {
	words=
	while [ "$1" != -- ]; do
		words="$words $1"
		shift
	done
	shift
	$in_server timeout 20 "$ripstop" exec -- $words >"$tmp/server" 2>&1 &
	server=$!
	pids="$pids $server"
	sleep $delay
	client=0
	$in_client timeout 20 "$ripstop" exec -- "$@" >"$tmp/client" 2>&1 || client=$?
	status=0
	wait $server || status=$?
	if [ $client != 0 ] || [ $status != 0 ]; then
		echo "FAILED:$words: $status; $*: $client"
		tail -n 5 "$tmp/server"
		echo "-- client:"
		tail -n 5 "$tmp/client"
		exit 1
	fi
	echo "passed:$words"
}

port=$((port + 1))
both rping -s -a $host -p $port -C 10 -v -- rping -c -a $host -p $port -C 10 -v
[ "$(grep -c 'ping data: rdma-ping-' "$tmp/client")" = 10 ]
port=$((port + 1))
both rdma_server -p $port -- rdma_client -s $host -p $port
echo "passed: rdmacm"

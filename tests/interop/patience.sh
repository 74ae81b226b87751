#!/bin/sh
# How these tests wait (lib.sh): by the clock, however long a look takes, and for a listener of rdma_cm as for one of TCP.
# On a loaded core 200 looks took 60 s; the server's time was over before its client began.
set -eu
ripstop=$1
. "$(dirname "$0")/lib.sh"
need rping ibv_rc_pingpong

fail() {
	echo "FAILED: $*"
	exit 1
}
slowly() {
	looks=$((looks + 1))
	sleep 0.7
	false
}
sleep 600 &
server=$!
pids="$pids $server"
looks=0
! patient 2 slowly || fail "what never comes came"
[ $looks -le 4 ] || fail "$looks looks of 0.7 s in 2 s"
kill $server
looks=0
patient $limit slowly || fail "the server's end was not seen"
[ $looks -le 4 ] || fail "$looks looks for a server that had ended"
echo "passed: by the clock"

# a port whose bytes are a text's line end and its end, too
for port in 24842 25600 $port; do
	"$ripstop" exec -- rping -s -P -a 127.0.0.1 -p $port >"$tmp/server" 2>&1 &
	server=$!
	pids="$pids $server"
	wait_cm $port && kill -0 $server || fail "rping listens on $port: not seen"
	kill $server
	wait $server 2>/dev/null || :
done
port=$((port + 1))
"$ripstop" exec -- ibv_rc_pingpong -d rs_lo -g 0 -p $port >"$tmp/server" 2>&1 &
server=$!
pids="$pids $server"
wait_listen "" && kill -0 $server || fail "ibv_rc_pingpong listens on $port: not seen"
echo "passed: listeners"

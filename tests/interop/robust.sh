#!/bin/sh
# Accidents, and what becomes of programs in them (docs/run.md lists the outcomes): a fork, queues run
# over and dry, posts behind which no poll comes, no memory, processes that come and go, an interface
# down and up, an MTU that changes under traffic. No hang, nothing left behind. (kill -9 is exec.sh's.)
# A second argument is the option by which the libraries were built with a sanitizer: then what a
# program does to itself alone.
set -eu
ripstop=$1
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
need cc python3 ib_write_bw
echo '#include <infiniband/verbs.h>' | cc -E - >/dev/null 2>&1 || skip "libibverbs-dev is not installed"

fail() {
	echo "FAILED: $*"
	exit 1
}

cc -O1 -Wall ${2-} -o "$tmp/robust" "$here/robust.c" -libverbs
for test in fork cq srq posts $([ -n "${2-}" ] || echo memory); do # a sanitizer needs much address space
	timeout 70 "$ripstop" exec --dev d=lo -- "$tmp/robust" $test >"$tmp/out" 2>&1 ||
		fail "$test: status $?: $(cat "$tmp/out")"
	echo "passed: $test"
done

[ -z "${2-}" ] || exit 0

# Others join and leave the port while two processes talk: next to nothing lands in a wrong process.
port=$((port + 1))
"$ripstop" exec -- ibv_rc_pingpong -d rs_lo -g 0 -p $port -n 1000000 >"$tmp/server" 2>&1 &
server=$!
pids="$pids $server"
wait_listen ""
"$ripstop" exec -- ibv_rc_pingpong -d rs_lo -g 0 -p $port -n 1000000 127.0.0.1 >"$tmp/client" 2>&1 &
pids="$pids $!"
for i in 1 2 3 4 5 6; do
	"$ripstop" exec -- sh -c 'ibv_devinfo >/dev/null & ibv_devinfo >/dev/null; wait'
done
"$ripstop" counters --json | python3 -c '
import json, sys
for d in json.load(sys.stdin)["devices"]:
    c = d["counters"]
    assert c["rx_packets"] > 100, c
    before = c["tx_stray"] + c["rx_stray"]
    assert before < c["rx_packets"] / 20, c' || fail "packets went astray: $("$ripstop" counters)"
kill $pids
wait
pids=
echo "passed: come and go"

[ -n "${RS_OWN_NET-}" ] && unshare -n true 2>/dev/null || skip "the rest: network namespaces cannot be made"
# The peer is a second namespace, named by a process that sleeps in it.
peer_namespace
host=10.78.0.1 dev=rs_robust
ip link add robust mtu 9000 type veth peer name robust netns $peer mtu 9000 || skip "veth cannot be made"
ip address add 10.78.0.2/24 dev robust
ip link set robust up
$in_server ip address add 10.78.0.1/24 dev robust
$in_server ip link set robust up

# traffic SECONDS OPTIONS...: ib_write_bw for so long, or as long as it lives; $client ends with its status
traffic() {
	port=$((port + 1))
	$in_server timeout 60 "$ripstop" exec -- ib_write_bw -d $dev -p $port -D "$@" >"$tmp/server" 2>&1 &
	server=$!
	wait_listen "$in_server"
	timeout 60 "$ripstop" exec -- ib_write_bw -d $dev -p $port -D "$@" $host >"$tmp/client" 2>&1 &
	client=$!
	pids="$peer $server $client"
	wait_traffic
}
# An accident that a long timeout (-u 18: 1 s, seven times) outlives, and a short one (67 ms) does not.
accident() {
	traffic 2 -u 18
	$2
	sleep 0.7
	$3
	wait $client || fail "$1 did not outlast 0.7 s: $(said "$tmp/client")"
	wait $server || fail "$1: the server: $(said "$tmp/server")"
	traffic 30 -u 14
	$2
	status=0
	wait $client || status=$?
	grep -q 'Failed status 12' "$tmp/client" || fail "$1 ended with $status: $(said "$tmp/client")"
	kill $server 2>/dev/null || :
	wait $server || :
	$3
	pair ib_write_bw -n 20
	echo "passed: $1"
}
down() {
	ip link set robust down
}
up() {
	ip link set robust up
}
small() {
	ip link set robust mtu 1500
}
large() {
	ip link set robust mtu 9000
}
accident "the interface goes down and up" down up
accident "the MTU shrinks under traffic" small large

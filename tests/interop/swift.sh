#!/bin/sh
# Swift in real time, over IPv4 and IPv6: two senders through a switch that delays and marks nothing, each host a
# network namespace. The same flows without congestion control come first: their windows stand in the switch's queue. With
# Swift the queue is a third of that or less, nothing is lost or sent again, and no CNP is sent. Swift is class 3's alone,
# and the flows are of it (DSCP 24). Needs to be root. The local ACK timeout is 8.6 s
# (-u 21): a receiver that has no core for one second on a busy machine is late, not lost.
set -eu
ripstop=$1
. "$(dirname "$0")/lib.sh"
need ip ib_send_bw jq

fail() {
	echo "FAILED: $*"
	tail -n 4 "$tmp"/end.*
	exit 1
}

around_switch rsw$$ 3 78

flow() { # FLOW MESSAGES: it waits for its server
	ip netns exec $sw-0 timeout 90 "$ripstop" exec -- ib_send_bw -d rs_eth0 -m 4096 -e -t 8 -u 21 --tclass=96 \
		-x $(($1 - 1)) -p $((port + $1)) -n $2 >"$tmp/end.server$1" 2>&1 &
	pids="$pids $!"
	ip netns exec $sw-$1 timeout 90 sh -c '
		i=0
		until '"'$ripstop'"' exec -- ib_send_bw -d rs_eth0 -m 4096 -e -t 8 -u 21 --tclass=96 -p '$((port + $1))' \
			-x '$(($1 - 1))' -n '$2' 10.78.0.1; do
			i=$((i + 1)); [ $i -lt 200 ] || exit 1; sleep 0.2
		done' >"$tmp/end.client$1" 2>&1 &
	pids="$pids $!"
}

# run NAME CC: both flows under it; the switch's last figures are in $tmp/switch.NAME, the first sender's in $tmp/counters.NAME
run() {
	export RIPSTOP_CC=$2 RIPSTOP_RATE=160M
	ip netns exec $sw "$ripstop" switch --rate 200M --json p0 p1 p2 >"$tmp/all" 2>"$tmp/end.switch" &
	switch=$!
	pids="$pids $switch"
	flow 1 1000
	long=$!
	flow 2 500
	wait $! || fail "$1: the shorter flow"
	ip netns exec $sw-1 "$ripstop" counters --json >"$tmp/counters.$1"
	wait $long || fail "$1: the longer flow"
	kill -INT $switch
	wait $switch || fail "$1: the switch's exit status"
	jq -es last "$tmp/all" >"$tmp/switch.$1"
	jq -e '.dropped == 0 and .no_room == 0' "$tmp/switch.$1" >/dev/null || fail "$1: packets were lost"
	port=$((port + 10))
}
# queue NAME: the mean of the full port's queue, bytes
queue() {
	jq '.ports[0].mean_queue | floor' "$tmp/switch.$1"
}
counter() { # RUN NAME
	jq --arg name $2 '[.devices[].counters[$name]] | add // 0' "$tmp/counters.$1"
}
run none none
run swift 3:swift,none
off=$(queue none) on=$(queue swift)
# a probe of what is not answered sends two packets again, at most
[ "$(counter swift retransmitted_packets)" -le $((2 * $(counter swift tail_probes))) ] || {
	cat "$tmp/counters.swift" "$tmp/switch.swift"
	for ns in $sw-0 $sw-1; do ip netns exec $ns grep Udp: /proc/net/snmp; done
	fail "packets were sent again: timeouts $(counter swift local_ack_timeout_err), NAKs $(counter swift packet_seq_err)"
}
[ "$(counter swift rp_cnp_handled)" = 0 ] || fail "CNPs came"
[ "$((3 * on))" -le "$off" ] || fail "the queue: $on bytes with Swift, $off without"
echo "passed: the queue was $on bytes with Swift, $off without congestion control; nothing lost"

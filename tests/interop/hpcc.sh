#!/bin/sh
# HPCC in real time: the stamps of `ripstop switch` come back in ACKs, and steer. Two senders through a port of 200 Mb/s,
# each host a network namespace, over IPv4 and IPv6. The same flows without congestion control come first. Then, in one run,
# HPCC towards a peer that has not agreed (it is sent no trailer, and the own port alone steers) and a flow of TIMELY. Nothing
# is lost or sent again. Needs to be root.
set -eu
ripstop=$1
. "$(dirname "$0")/lib.sh"
need ip ib_send_bw jq

fail() {
	echo "FAILED: $*"
	tail -n 4 "$tmp"/end.*
	exit 1
}

around_switch rsh$$ 3 78

flow() { # FLOW MESSAGES CC [CC OF THE RECEIVER]
	RIPSTOP_CC=${4:-$3} ip netns exec $sw-0 timeout 90 "$ripstop" exec -- ib_send_bw -d rs_eth0 -m 4096 -e -t 8 -u 21 \
		-x $(($1 - 1)) -p $((port + $1)) -n $2 >"$tmp/end.server$1" 2>&1 &
	pids="$pids $!"
	RIPSTOP_CC=$3 ip netns exec $sw-$1 timeout 90 sh -c '
		i=0
		until '"'$ripstop'"' exec -- ib_send_bw -d rs_eth0 -m 4096 -e -t 8 -u 21 -p '$((port + $1))' \
			-x '$(($1 - 1))' -n '$2' 10.78.0.1; do
			i=$((i + 1)); [ $i -lt 200 ] || exit 1; sleep 0.2
		done' >"$tmp/end.client$1" 2>&1 &
	pids="$pids $!"
}

# run NAME MESSAGES CC CC [CC OF THE RECEIVER]: the long flow of so many messages of 64 KiB, and a second of half as many; the
# switch's last figures are in $tmp/switch.NAME, the first sender's, time and again, in $tmp/counters.NAME
export RIPSTOP_RATE=160M
run() {
	ip netns exec $sw "$ripstop" switch --rate 200M --json p0 p1 p2 >"$tmp/all" 2>"$tmp/end.switch" &
	switch=$!
	pids="$pids $switch"
	flow 1 $2 $3 ${5:-}
	long=$!
	flow 2 $(($2 / 2)) $4
	short=$!
	: >"$tmp/counters.$1"
	while kill -0 $long 2>/dev/null; do
		ip netns exec $sw-1 "$ripstop" counters --json >>"$tmp/counters.$1"
		sleep 0.3
	done
	wait $short || fail "$1: the shorter flow"
	wait $long || fail "$1: the longer flow"
	kill -INT $switch
	wait $switch || fail "$1: the switch's exit status"
	jq -es last "$tmp/all" >"$tmp/switch.$1"
	jq -e '.dropped == 0 and .no_room == 0' "$tmp/switch.$1" >/dev/null || fail "$1: packets were lost"
	port=$((port + 10))
}
figure() { # RUN EXPRESSION
	jq "$2 | floor" "$tmp/switch.$1"
}
counter() { # RUN NAME
	jq -s --arg name $2 '[.[].devices[].counters[$name] // 0] | max // 0' "$tmp/counters.$1"
}
check() { # RUN: nothing was sent again but what probes are, two packets at most, and no CNP came
	[ "$(counter $1 retransmitted_packets)" -le $((2 * $(counter $1 tail_probes))) ] || fail "$1: packets were sent again"
	[ "$(counter $1 rp_cnp_handled)" = 0 ] || fail "$1: CNPs came"
}
run none 600 none none
off=$(figure none '.ports[0].mean_queue')
[ "$(figure none .stamped)" = 0 ] || fail "stamps without HPCC"
run hpcc 600 hpcc hpcc
check hpcc
on=$(figure hpcc '.ports[0].mean_queue')
[ $((3 * on)) -le "$off" ] || fail "the queue is $on bytes with HPCC, $off without"
[ "$(figure hpcc .stamped)" -gt 5000 ] || fail "$(figure hpcc .stamped) packets were stamped"
[ "$(counter hpcc rx_stamped)" -gt 500 ] || fail "$(counter hpcc rx_stamped) stamps came back"
run alone 100 hpcc timely none
[ "$(figure alone .stamped)" = 0 ] && [ "$(counter alone rx_stamped)" = 0 ] || fail "a peer that had not agreed was sent a trailer"
check alone
echo "passed: the queue was $on bytes with HPCC, $off without congestion control; nothing lost"

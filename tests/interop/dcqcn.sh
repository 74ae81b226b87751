#!/bin/sh
# DCQCN in real time, over IPv4 and IPv6: two senders through a switch that marks, each host a network
# namespace. No packet is lost, marks come, every CNP that is sent is handled, and both flows get their
# share where the machine has time enough for them to fill the port. Needs to be root.
set -eu
ripstop=$1
. "$(dirname "$0")/lib.sh"
need ip ib_send_bw jq

fail() {
	echo "FAILED: $*"
	[ ! -s "$tmp/switch" ] || jq -c . "$tmp/switch"
	tail -n 4 "$tmp"/end.*
	exit 1
}

around_switch rsd$$ 3 78

# Bad usage first: one line, exit status 2.
for bad in 'p0' 'p0 p0' 'p0 nosuch' '--rate 2 p0 p1' '--ecn 1kB p0 p1' '--ecn 2kB:1kB:1 p0 p1' \
	'--class 64=1 p0 p1' '--weight 1 p0 p1' '--pfc 8 p0 p1' '--buffer 0 p0 p1' 'p0=1k p1'; do
	status=0
	ip netns exec $sw "$ripstop" switch $bad >"$tmp/out" 2>"$tmp/err" || status=$?
	if [ $status != 2 ] || [ "$(wc -l <"$tmp/err")" -gt 2 ] || [ ! -s "$tmp/err" ]; then
		cat "$tmp/err"
		fail "switch $bad: exit status $status, not 2"
	fi
done

ip netns exec $sw "$ripstop" switch --rate 200M --ecn 12kB:50kB:0.1 --json \
	p0 p1 p2 >"$tmp/switch" 2>"$tmp/end.switch" &
switch=$!
pids="$pids $switch"

# One flow over IPv4, one over IPv6. A flow alone asks for less than the port's rate, both together for
# more. 512 KiB are on their way of each at most: less than the switch holds.
export RIPSTOP_RATE=160M
flow() { # FLOW MESSAGES
	ip netns exec $sw-0 timeout 60 "$ripstop" exec -- ib_send_bw -d rs_eth0 -m 4096 -e -t 8 -u 18 \
		-x $(($1 - 1)) -p $((port + $1)) -n $2 >"$tmp/end.server$1" 2>&1 &
	pids="$pids $!"
	ip netns exec $sw-$1 timeout 60 sh -c '
		i=0
		until '"'$ripstop'"' exec -- ib_send_bw -d rs_eth0 -m 4096 -e -t 8 -u 18 -p '$((port + $1))' \
			-x '$(($1 - 1))' -n '$2' 10.78.0.1; do
			i=$((i + 1)); [ $i -lt 20 ] || exit 1; sleep 0.2
		done' >"$tmp/end.client$1" 2>&1 &
	pids="$pids $!"
}
flow 1 1550
long=$!
flow 2 800
short=$!

figures() {
	kill -USR1 $switch
	sleep 0.2
}
sleep 1.2
figures
sleep 2.5
figures
wait $short || fail "the shorter flow"

# counter NAMESPACE NAME: of the device that has one queue pair still.
counter() {
	ip netns exec $1 "$ripstop" counters --json |
		jq --arg name $2 '[.devices[] | select(.qps > 0) | .counters[$name]] | add // 0'
}
i=0
until sent=$(counter $sw-0 np_cnp_sent) handled=$(counter $sw-1 rp_cnp_handled) &&
	[ "$sent" -gt 0 ] && [ "$sent" = "$handled" ]; do
	i=$((i + 1))
	[ $i -lt 20 ] || fail "$sent CNPs sent, $handled handled"
	sleep 0.1
done
marked=$(counter $sw-0 np_ecn_marked_roce_packets)
again=$(counter $sw-1 retransmitted_packets) probes=$(counter $sw-1 tail_probes) # of two packets at most
[ "$marked" -ge "$sent" ] || fail "$sent CNPs for $marked marked packets"
[ "$again" -le $((2 * probes)) ] || fail "$again packets were sent again, by $probes probes"
wait $long || fail "the longer flow"
kill -INT $switch
wait $switch || fail "the switch's exit status"

jq -es '.[2].dropped == 0 and .[2].no_room == 0 and .[2].unread == 0' "$tmp/switch" >/dev/null ||
	fail "packets were lost"
jq -es '.[1].ports[0].ecn_marked > .[0].ports[0].ecn_marked' "$tmp/switch" >/dev/null ||
	fail "no packet was marked"
# Shares, of a window in which the port was full.
shares=$(jq -s '[range(1; 3) as $i | .[1].ports[$i].rx_bytes - .[0].ports[$i].rx_bytes] as $b |
	{jain: (($b | add) * ($b | add) / (($b | length) * ($b | map(. * .) | add) + 1e-9)),
	mbps: (($b | add) * 8e-6 / .[1].seconds)}' "$tmp/switch")
jq -en "$shares | .jain >= 0.9 or .mbps < 140" >/dev/null || fail "shares: $shares"
echo "passed: $sent CNPs, all handled; $marked packets marked, none lost; $(echo $shares)"

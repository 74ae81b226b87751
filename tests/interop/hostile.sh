#!/bin/sh
# A hostile network between unmodified programs: `ripstop switch` loses, damages, doubles and holds back their packets,
# and each byte arrives right all the same. Needs to be root.
set -eu
ripstop=$1
. "$(dirname "$0")/lib.sh"
need ip rping jq

fail() {
	echo "FAILED: $*"
	[ ! -s "$tmp/switch" ] || jq -c . "$tmp/switch"
	for f in "$tmp"/end.*; do echo "== $f"; tail -n 4 "$f" | cut -c 1-150; done
	exit 1
}

# Bad usage first: one line, exit status 2.
for bad in '--drop 2' '--drop -0.1' '--drop' '--drop x' '--corrupt 101%' '--reorder 0.1:0' '--delay 5' '--delay 1m' \
	'--delay 20s' '--drop nosuch=0.1' '--duplicate =0.1'; do
	status=0
	"$ripstop" switch $bad lo lo >"$tmp/out" 2>"$tmp/err" || status=$?
	if [ $status != 2 ] || [ "$(wc -l <"$tmp/err")" -gt 2 ] || [ ! -s "$tmp/err" ]; then
		cat "$tmp/err"
		fail "switch $bad: exit status $status, not 2"
	fi
done

around_switch rsh$$ 2 79
ip netns exec $sw "$ripstop" switch --rate 2G --seed 3 --drop 2% --corrupt 3% --duplicate p0=5% --reorder 5%:2 \
	--delay 20us:20us --json p0 p1 >"$tmp/switch" 2>"$tmp/end.switch" &
switch=$!
pids="$pids $switch"
sleep 0.3

# rping's client sends a pattern that the server READs and WRITEs back, and compares it (-V). The server may end with an
# error: when the client is done, it answers no more.
ip netns exec $sw-0 timeout $limit "$ripstop" exec -- rping -s -a 10.79.0.1 -p $port -S 20000 -C 15 >"$tmp/end.server" 2>&1 &
server=$!
pids="$pids $server"
wait_cm $port
ip netns exec $sw-1 timeout $limit "$ripstop" exec -- rping -c -a 10.79.0.1 -p $port -S 20000 -C 15 -V >"$tmp/end.client" 2>&1 ||
	fail "the client"
kill $switch
wait $switch || fail "the switch"
jq -e '[.ports[].harmed] | (map(.dropped) | add) > 0 and (map(.corrupted) | add) > 0 and (map(.reordered) | add) > 0 and (map(.delayed) | add) > 0 and
	.[0].duplicated > 0 and .[1].duplicated == 0' "$tmp/switch" >"$tmp/out" || fail "what was harmed"
jq -c '[.ports[].harmed]' "$tmp/switch"

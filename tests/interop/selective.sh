#!/bin/sh
# Selective recovery between unmodified programs over a network that loses packets: only where both ends are told to
# (RIPSTOP_RECOVERY=selective), and not towards one that is not. Needs to be root.
set -eu
ripstop=$1
. "$(dirname "$0")/lib.sh"
need ip ib_write_bw jq

fail() {
	echo "FAILED: $*"
	for f in "$tmp"/end.*; do echo "== $f"; tail -n 4 "$f" | cut -c 1-150; done
	exit 1
}

around_switch rss$$ 2 78
ip netns exec $sw "$ripstop" switch --rate 2G --seed 3 --drop 1% --json p0 p1 >"$tmp/switch" 2>"$tmp/end.switch" &
switch=$!
pids="$pids $switch"
sleep 0.3


# between SERVER CLIENT PROGRAM...: $rate, MB/s
between() {
	for_server=$1 for_client=$2
	shift 2
	port=$((port + 1))
	RIPSTOP_RECOVERY=$for_server ip netns exec $sw-0 timeout 60 "$ripstop" exec -- "$@" -d rs_eth0 -p $port >"$tmp/end.server" 2>&1 &
	server=$!
	pids="$pids $server"
	wait_listen "ip netns exec $sw-0" || :
	RIPSTOP_RECOVERY=$for_client ip netns exec $sw-1 timeout 60 "$ripstop" exec -- "$@" -d rs_eth0 -p $port 10.78.0.1 >"$tmp/end.client" 2>&1 ||
		fail "$for_server to $for_client: $*"
	rate=$(awk '$1 ~ /^[0-9]+$/ && NF >= 5 { r = int($4) } END { print r + 0 }' "$tmp/end.client")
}

# Both: what is lost goes again, and no more; a busy machine hides it at times: three tries. gains TOOL WHAT
gains() {
	for try in 1 2 3; do
		between selective selective $1 -n 40 -s 1048576
		both=$rate
		between go-back-n go-back-n $1 -n 20 -s 1048576
		echo "1 % lost, $2: $both MB/s with selective recovery, $rate with go-back-N"
		[ $both -le $((rate * 5 / 4)) ] || return 0
	done
	fail "selective recovery of $2s gains nothing: $both and $rate MB/s"
}
gains ib_write_bw WRITE
# the lost responses alone are asked for again
gains ib_read_bw READ

# One alone: as go-back-N, and it works.
between selective go-back-n ib_write_bw -n 5 -s 65536
between go-back-n selective ib_write_bw -n 5 -s 65536
between selective go-back-n ib_read_bw -n 5 -s 65536
between go-back-n selective ib_read_bw -n 5 -s 65536

# Every verb.
between selective selective ib_send_bw -n 20 -s 65536
between selective selective ib_atomic_bw -n 10
between selective selective ib_write_lat -n 10 -s 64

status=0
RIPSTOP_RECOVERY=both "$ripstop" exec -- ibv_devices >"$tmp/out" 2>&1 || status=$?
grep -q "RIPSTOP_RECOVERY=both is neither" "$tmp/out" || {
	cat "$tmp/out"
	fail "a wrong RIPSTOP_RECOVERY is not refused"
}
kill $switch
wait $switch || fail "the switch"

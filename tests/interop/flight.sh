#!/bin/sh
# With the socket buffers of a process without rights (Linux's default, 212,992 bytes) nothing is lost:
# what is in flight stays within what the peer can hold. In a network namespace of its own, so that the
# counters are of this test's processes alone.
set -eu
if [ "${2:-}" != inside ]; then
	for how in 'unshare -n' 'unshare -rn'; do
		$how true 2>/dev/null && exec $how "$0" "$1" inside
	done
	echo "skipped: no network namespace can be made"
	exit 77
fi
ripstop=$1
. "$(dirname "$0")/lib.sh"
need ib_write_bw ip
ip link set lo up
export RIPSTOP_BUFFER=212992B RIPSTOP_SHM=off

# Datagrams that found a socket's buffer full, here and ever since.
dropped() { awk '/^Udp:/ && $2 ~ /^[0-9]/ { print $6 }' /proc/net/snmp; }

# once PROGRAM ARGS...: for a second of traffic, looked at while both sides are there. A timeout of 1 s (-u 18): what waits for a
# process without a core is not sent again. $lost: what was.
once() {
	port=$((port + 1))
	before=$(dropped)
	timeout $limit "$ripstop" exec -- "$@" -d $dev -p $port -D 1 -u 18 >"$tmp/server" 2>&1 &
	server=$!
	pids="$pids $server"
	wait_listen "" || :
	timeout $limit "$ripstop" exec -- "$@" -d $dev -p $port -D 1 -u 18 127.0.0.1 >"$tmp/client" 2>&1 &
	client=$!
	pids="$pids $client"
	: >"$tmp/seen"
	while kill -0 $client 2>/dev/null; do
		"$ripstop" counters --json >"$tmp/now" 2>/dev/null && cat "$tmp/now" >>"$tmp/seen"
		sleep 0.2
	done
	wait $client $server || {
		echo "FAILED: $*"
		tail -n 5 "$tmp/client" "$tmp/server"
		exit 1
	}
	grep -q '"tx_data_packets": [1-9][0-9][0-9][0-9]' "$tmp/seen" || lost="no traffic was seen"
	for counter in out_of_sequence packet_seq_err; do
		! grep -q "\"$counter\": [1-9]" "$tmp/seen" || lost="$counter is counted"
	done
	[ "$(dropped)" = "$before" ] || lost="$(($(dropped) - before)) datagrams found no room"
}
# lossless PROGRAM ARGS...: a peer that has no core for 250 ms is taken for one that does not answer (window/tuning.h), and
# its socket runs over then: three tries.
lossless() {
	for try in 1 2 3; do
		lost=
		once "$@"
		[ -n "$lost" ] || break
		echo "$*: $lost: try $try of 3"
	done
	[ -z "$lost" ] || {
		echo "FAILED: $*: $lost"
		exit 1
	}
	echo "passed: $* loses nothing"
}

lossless ib_write_bw -s 65536
lossless ib_write_bw -s 1048576 -m 1024
lossless ib_write_bw -s 2 -q 16
lossless ib_write_bw -s 32768 -q 32 -b
lossless ib_send_bw -s 8192 -q 4
# nobody acknowledges these
lossless ib_read_bw -s 65536
lossless ib_read_bw -s 1048576 -q 4 -b
lossless ib_write_bw -c UC -s 65536
lossless ib_send_bw -c UD -s 4096
pair ib_write_bw -a -n 20

status=0
RIPSTOP_BUFFER=1kB "$ripstop" exec -- ibv_devinfo -d rs_lo -v >"$tmp/out" 2>"$tmp/err" || status=$?
grep -q RIPSTOP_BUFFER "$tmp/err" || {
	echo "FAILED: a buffer too small gives $status: $(cat "$tmp/err")"
	exit 1
}
echo "passed: flight"

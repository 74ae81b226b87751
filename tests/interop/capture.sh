#!/bin/sh
# Between processes of one host packets pass through shared memory, unless somebody captures where
# they would be seen: then they are on the wire, and ripstop pcap finds them right.
set -eu
ripstop=$1
. "$(dirname "$0")/lib.sh"
need tcpdump ib_write_bw

[ "$(id -u)" = 0 ] || skip "capturing needs root"
fail() {
	echo "FAILED: $*"
	exit 1
}
sent() { awk '$1 == "Udp:" && $5 ~ /^[0-9]+$/ {print $5}' /proc/net/snmp; }

before=$(sent)
pair ib_write_bw -s 4096 -n 200 -F
others=$(($(sent) - before))
[ $others -lt 50 ] || fail "$others datagrams were sent, with nobody looking"

for interface in lo any; do
	tcpdump --immediate-mode -B 65536 -i $interface -s 0 -w "$tmp/wire.pcap" udp port 4791 2>"$tmp/tcpdump" &
	capture=$!
	pids="$pids $capture"
	i=0
	until grep -q listening "$tmp/tcpdump"; do
		i=$((i + 1))
		[ $i -lt 100 ] || fail "tcpdump: $(cat "$tmp/tcpdump")"
		sleep 0.05
	done
	pair ib_write_bw -s 4096 -n 200 -F
	sleep 0.5
	kill $capture
	wait $capture || :
	"$ripstop" pcap --quiet --json "$tmp/json" "$tmp/wire.pcap" || fail "$("$ripstop" pcap "$tmp/wire.pcap")"
	n=$(sed -n 's/^ *"roce": \([0-9]*\).*/\1/p' "$tmp/json" | head -n 1)
	[ "$n" -ge 200 ] || fail "$n RoCE packets captured on $interface"
	echo "passed: captured on $interface"
done

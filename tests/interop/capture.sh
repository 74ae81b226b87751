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

# look INTERFACE: what passes there goes to $tmp/wire.pcap, until look_away
look() {
	: >"$tmp/tcpdump"
	tcpdump --immediate-mode -B 65536 -i "$1" -s 0 -w "$tmp/wire.pcap" udp port 4791 2>"$tmp/tcpdump" &
	capture=$!
	pids="$pids $capture"
	i=0
	until grep -q listening "$tmp/tcpdump"; do
		i=$((i + 1))
		[ $i -lt 1200 ] || fail "tcpdump: $(cat "$tmp/tcpdump")"
		sleep 0.05
	done
}
look_away() {
	sleep 0.5
	kill $capture
	wait $capture || :
}

before=$(sent)
pair ib_write_bw -s 4096 -n 200 -F
others=$(($(sent) - before))
[ $others -lt 50 ] || fail "$others datagrams were sent, with nobody looking"

# A send of several packets is captured as one: 200 of 4 KiB are 14 sends at least, and on a busy machine not many more.
for interface in lo any; do
	look $interface
	pair ib_write_bw -s 4096 -n 200 -F
	look_away
	"$ripstop" pcap --quiet --json "$tmp/json" "$tmp/wire.pcap" || fail "$("$ripstop" pcap "$tmp/wire.pcap")"
	n=$(sed -n 's/^ *"roce": \([0-9]*\).*/\1/p' "$tmp/json" | head -n 1)
	[ "$n" -ge 14 ] || fail "$n RoCE packets captured on $interface"
	echo "passed: captured on $interface"
done

# ACKs have the DSCP that they are told to have, and what they answer has its own. BTH's opcode is the first byte behind UDP.
look lo
export RIPSTOP_ACK_DSCP=46
pair ib_write_bw -s 4096 -n 200 -F -R --tos 96
unset RIPSTOP_ACK_DSCP
look_away
counted() { tcpdump -nr "$tmp/wire.pcap" "udp port 4791 and $1" 2>/dev/null | wc -l; }
acks=$(counted 'udp[8] = 0x11') high=$(counted 'udp[8] = 0x11 and ip[1] & 0xfc = 184')
data=$(counted 'udp[8] >= 6 and udp[8] <= 11') own=$(counted 'udp[8] >= 6 and udp[8] <= 11 and ip[1] & 0xfc = 96')
[ "$acks" -gt 0 ] && [ "$high" = "$acks" ] || fail "$high of $acks ACKs have DSCP 46"
[ "$data" -ge 14 ] && [ "$own" = "$data" ] || fail "$own of $data WRITE packets have DSCP 24"
echo "passed: ACKs' own DSCP"

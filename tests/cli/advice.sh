#!/bin/sh
# ripstop nccl-env and ripstop explain, from outside.
set -eu
ripstop=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
status() {
	expected=$1
	shift
	got=0
	"$@" >"$tmp/out" 2>"$tmp/err" || got=$?
	[ "$got" = "$expected" ] || {
		echo "status $got, not $expected: $*"
		cat "$tmp/out" "$tmp/err"
		exit 1
	}
}
for h in gpu01 gpu02; do
	mkdir -p "$tmp/site/$h"
	cat >"$tmp/site/$h/mlnx_qos-eth2.txt" <<Q
Priority trust state: dscp
dscp2prio mapping:
	prio:5 dscp:47,46,45,44,43,42,41,40,
PFC configuration:
	priority    0   1   2   3   4   5   6   7
	enabled     0   0   0   0   0   1   0   0
Q
done
# an environment file: a shell takes it as it is, each value after its reason
status 0 "$ripstop" nccl-env --nccl 2.21.5 "$tmp/site"
grep -q '^# NCCL 2.21.5' "$tmp/out"
grep -q '^NCCL_IB_TC=160$' "$tmp/out"
(
	. "$tmp/out"
	[ "$NCCL_IB_TC" = 160 ]
)
status 0 "$ripstop" nccl-env --output "$tmp/env" "$tmp/site"
grep -q 'release of NCCL is not known' "$tmp/env"
grep -B 4 '^NCCL_IB_TC=' "$tmp/env" | grep -q '^# DSCP 40'
status 0 "$ripstop" nccl-env
status 0 "$ripstop" nccl-env --help
status 2 "$ripstop" nccl-env --nccl two "$tmp/site"
status 2 "$ripstop" nccl-env "$tmp/none"
status 2 "$ripstop" nccl-env --what
# a symptom: told, then walked over snapshots
status 0 "$ripstop" explain --list
grep -q '^timeouts ' "$tmp/out"
status 0 "$ripstop" explain '800G link but 500G goodput'
grep -q '^ 1. P01 pcie-path-rate' "$tmp/out"
status 0 "$ripstop" explain timeouts "$tmp/site"
grep -q '^0 found' "$tmp/out"
sed -i 's/state: dscp/state: pcp/' "$tmp/site/gpu02/mlnx_qos-eth2.txt"
status 1 "$ripstop" explain timeouts "$tmp/site"
grep -q '^  FOUND *X03' "$tmp/out"
grep -q 'fix on gpu02: mlnx_qos -i eth2 --trust dscp' "$tmp/out"
# a question that is no symptom is answered by what the files state, found or read
status 1 "$ripstop" explain 'is the trust mode right on eth2' "$tmp/site"
grep -q '^  FOUND *X03' "$tmp/out"
grep -q 'mlnx_qos-eth2.txt:[0-9]*: netdev/eth2 trust = pcp' "$tmp/out"
# what is asked for may have a word of a symptom: it is about its own words
for question in 'how many replicas?' 'what is the length of the cable?' 'what happened first?' 'what is the rate of the port?'; do
	"$ripstop" explain "$question" "$tmp/site" >"$tmp/out" 2>&1 || true
	if grep -qE '^(cnps-rising|link-flaps|latency|low-goodput):' "$tmp/out"; then
		echo "$question: $(head -1 "$tmp/out")" >&2
		exit 1
	fi
done
status 1 "$ripstop" explain 'the coffee is cold' "$tmp/site"
grep -q '^Found, in other words' "$tmp/out"
status 2 "$ripstop" explain 'the coffee is cold'
grep -q -- '--list' "$tmp/err"
status 2 "$ripstop" explain
status 2 "$ripstop" explain timeouts "$tmp/none"

# lines that no reader makes a fact of answer, too: what the file states is never "not seen"
printf '%s\n' 'Ethernet1/35' '    type is QSFP-DD-400G-FR4' '    max module temperature is 75 deg C' '' >"$tmp/optic.txt"
status 0 "$ripstop" explain 'what optic is in Ethernet1/35' "$tmp/optic.txt"
grep -q 'optic.txt:1: .*QSFP-DD-400G-FR4' "$tmp/out"
status 0 "$ripstop" explain 'how hot may the module get, which temperature' "$tmp/optic.txt"
grep -q 'optic.txt:3: .*75 deg C' "$tmp/out"
printf '  8589934592    2147483648     float     sum      -1    39000.1   220.3   413.0      0\n' >"$tmp/rows.txt"
status 0 "$ripstop" explain 'what busbw at 8 GB' "$tmp/rows.txt"
grep -q '413.0' "$tmp/out"

# a word or two that a symptom has, too, make no symptom of a question for a check
printf '%s\n' 'leaf1# show queuing interface ethernet 1/2' 'Egress Queuing for Ethernet1/2 [System]' '|   QOS GROUP 3   |' \
	'| WRED/AFD & Tail Drop Pkts |               0|             0|' '|       WD & Tail Drop Pkts |           71273|             0|' >"$tmp/drops.txt"
status 1 "$ripstop" explain 'tail drop' "$tmp/drops.txt"
grep -q '^  FOUND *S13 drops-and-pause' "$tmp/out"
grep -q 'drops.txt:5: .*71273' "$tmp/out"
printf '%s\n' 'leaf1# show ip bgp summary' \
	'Neighbor        V         AS   MsgRcvd   MsgSent   TblVer  InQ OutQ  Up/Down State/PfxRcd' \
	'10.1.0.3        4      65102         0         0        0    0    0    never       Active' >"$tmp/bgp.txt"
status 1 "$ripstop" explain 'BGP down?' "$tmp/bgp.txt"
sed -n 3p "$tmp/out" | grep -q '^  FOUND *S16 routing-neighbours'
printf '%s\n' '$ ulimit -l' '64' >"$tmp/lock.txt"
status 1 "$ripstop" explain 'memlock too small' "$tmp/lock.txt"
grep -q '^  FOUND *H05 memlock' "$tmp/out"
# a check that no reader had a fact for is open where the text has its words
printf '%s\n' 'switch-a > show something of ports' '  pause time of class 3 : 71827364500 us' >"$tmp/words.txt"
status 0 "$ripstop" explain 'pause storm' "$tmp/words.txt"
grep -q '^  in words C04 pause' "$tmp/out"
grep -q 'words.txt:2: pause time' "$tmp/out"

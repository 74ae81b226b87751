#!/bin/sh
# A simulated run's capture: tshark decodes every packet, none malformed. (tshark 4.0 shows the ICRC
# and does not check it: the golden tests do.)
set -eu
ripstop=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$ripstop" sim --quiet --no-diagnosis --pcap "$tmp/p.pcapng" --pcap-links all \
	--set 'workload[0].flows[0].bytes=200kB' scenarios/incast.yaml
# our own judge first
"$ripstop" pcap --json "$tmp/p.json" --quiet "$tmp/p.pcapng"
grep -q '"roce": [1-9]' "$tmp/p.json"
"$ripstop" pcap tests/golden/wire/rc-nak-seq-write.pcap | grep -q 'sent again.*after a NAK'
for capture in tests/golden/wire/*.pcap; do
	status=0
	"$ripstop" pcap --quiet "$capture" || status=$?
	case $capture in
	*rc-flush*) [ "$status" = 1 ] ;;
	*) [ "$status" = 0 ] ;;
	esac
done
status=0
"$ripstop" pcap --strict --quiet tests/golden/wire/rc-nak-seq-write.pcap || status=$?
[ "$status" = 1 ]
status=0
head -c 30 tests/golden/wire/rc-read.pcap >"$tmp/cut"
"$ripstop" pcap "$tmp/cut" 2>"$tmp/err" || status=$?
[ "$status" = 2 ]
# marks: what a reader of IP headers counts, at every link and at one
python3 tests/cli/pcap_marks.py "$ripstop" "$tmp/p.pcapng"
"$ripstop" sim --quiet --no-diagnosis --pcap "$tmp/v6.pcapng" --pcap-links all \
	--set fabric.transport.ipv6=true --set 'workload[0].flows[0].bytes=200kB' scenarios/incast.yaml
python3 tests/cli/pcap_marks.py "$ripstop" "$tmp/v6.pcapng"
python3 tests/cli/pcap_forms.py "$ripstop" tests/golden/wire
# a second capture is not written over
cp tests/golden/wire/rc-read.pcap "$tmp/a.pcap"
status=0
"$ripstop" pcap --json "$tmp/a.pcap" "$tmp/cut" 2>"$tmp/err" || status=$?
[ "$status" = 2 ] && cmp "$tmp/a.pcap" tests/golden/wire/rc-read.pcap
# the same bytes as the release build's, which tshark has read
[ -z "${RS_SMALL:-}" ] || exit 0
command -v tshark >/dev/null 2>&1 || {
	echo "tshark is not installed: the capture was written but not read"
	exit 77
}
tshark -r "$tmp/p.pcapng" --disable-protocol rpcordma -T fields -e infiniband.bth.opcode \
	-e _ws.malformed >"$tmp/fields" 2>/dev/null
[ "$(wc -l <"$tmp/fields")" -gt 1000 ]
! grep -v -P '^\d+\t$' "$tmp/fields" | head -n 3 | grep .

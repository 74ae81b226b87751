#!/bin/sh
# A simulated run's capture: tshark decodes every packet, none malformed. (tshark 4.0 shows the ICRC
# and does not check it: the golden tests do.)
set -eu
ripstop=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$ripstop" sim --quiet --no-diagnosis --pcap "$tmp/p.pcapng" --pcap-links all \
	--set 'workload[0].flows[0].bytes=200kB' scenarios/incast.yaml
command -v tshark >/dev/null 2>&1 || {
	echo "tshark is not installed: the capture was written but not read"
	exit 77
}
tshark -r "$tmp/p.pcapng" --disable-protocol rpcordma -T fields -e infiniband.bth.opcode \
	-e _ws.malformed >"$tmp/fields" 2>/dev/null
[ "$(wc -l <"$tmp/fields")" -gt 1000 ]
! grep -v -P '^\d+\t$' "$tmp/fields" | head -n 3 | grep .

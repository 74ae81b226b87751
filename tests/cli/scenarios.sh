#!/bin/sh
# Every scenario that the tree ships reads, converts and runs; what people read fits 100 columns and
# ends with the answer.
set -eu
ripstop=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
for f in scenarios/*.yaml; do
	"$ripstop" fabric check "$f" >"$tmp/check"
	"$ripstop" fabric convert "$f" >"$tmp/once.yaml"
	"$ripstop" fabric convert "$tmp/once.yaml" | cmp - "$tmp/once.yaml"
done
# under sanitizers, slower by ten, one with all that a report has; the others are other numbers
many="incast latency numa one-nic"
[ -z "${RS_SMALL:-}" ] || many=one-nic
for s in $many; do
	"$ripstop" sim "scenarios/$s.yaml" >"$tmp/$s"
	if awk 'length > 100 { exit 1 }' "$tmp/$s"; then :; else
		echo "$s: a line of more than 100 columns" >&2
		exit 1
	fi
	grep -q '^IN SHORT$' "$tmp/$s"
	! grep -q -- '-[0-9.]*%' "$tmp/$s"
done
# both sockets' GPUs through one: the hop is what is full, and the answer names it
grep -q 'the busiest link is h0 socket0->socket1 p2p' "$tmp/one-nic"
grep -q 'The best fix tried: a NIC on each socket' "$tmp/one-nic"

[ -z "${RS_SMALL:-}" ] || exit 0

# without a what-if list the tool has ideas of its own, and only such as change something
cat >"$tmp/plain.yaml" <<END
fabric:
  hosts: [{name: h, count: 2, like: $PWD/scenarios/hosts/h100-8.xml, cpu: spr, nvlink: {rate: 3600G}}]
  network: {kind: rail, leaves: 8, rate: 400G, delay: 500ns, mtu: 1024}
workload: [{collective: {op: all-reduce, bytes: 16MiB, channels: 1}}]
END
"$ripstop" sim "$tmp/plain.yaml" >"$tmp/plain"
grep -q "The best fix tried: a channel for each of a host's 8 NICs (proposed)" "$tmp/plain"
grep -q '^a path MTU of 4096 (proposed)' "$tmp/plain"
! grep -q 'no change to single hosts' "$tmp/plain"

# a step's gradients go round a ring a rail; the healthy hosts lose next to nothing, one bad slot much
set -- --set 'workload[0].train.simulate=1MiB' --set 'workload[0].train.bucket=8MiB'
"$ripstop" sim --no-diagnosis "$@" scenarios/midnight-healthy.yaml >"$tmp/healthy"
"$ripstop" sim --no-diagnosis "$@" scenarios/midnight-slot.yaml >"$tmp/slot"
grep -q 'ring over 8 groups of 8 ranks' "$tmp/healthy"
efficiency() { tr '\n' ' ' <"$1" | sed 's/.*compute is *\([0-9]*\).*/\1/'; }
[ "$(efficiency "$tmp/healthy")" -ge 95 ]
[ "$(efficiency "$tmp/slot")" -le 85 ]

# the documents' tables: one that is quick is what the page has, and a name that is not known is refused
tools/midnight-table --ripstop "$ripstop" one-nic | sed '1,2d; $d' >"$tmp/table"
grep -q '^| one dual-port NIC on socket 0 | 11.0 | 11.0 | 22.0 |' "$tmp/table"
sed -n '/<!-- table one-nic -->/,/<!-- end -->/p' docs/midnight.md | sed '1d; $d' >"$tmp/page"
diff "$tmp/page" "$tmp/table" || {
	echo "docs/midnight.md is behind the code: run tools/midnight-table --write one-nic"
	exit 1
}
! tools/midnight-table --ripstop "$ripstop" no-such-table 2>/dev/null

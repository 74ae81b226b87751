#!/bin/sh
# The tools that look at devices: infiniband-diags, ibverbs-utils, iproute2's rdma, srptools. What can work without
# the kernel's RDMA stack works; what cannot says so and ends, as docs/run-differs.md has it.
set -eu
ripstop=$1
. "$(dirname "$0")/lib.sh"
need ibstat ibstatus ibv_devinfo ibv_devices
"$ripstop" exec --dev mine=lo -- test -e /sys/class/infiniband/mine || skip "no view of /sys can be made here"

fail() {
	echo "FAILED: $*"
	cat "$tmp/out"
	exit 1
}
# works COMMAND... -- PATTERN...: ends with 0, and each pattern is in what it says
works() {
	words=
	while [ "$1" != -- ]; do
		words="$words $1"
		shift
	done
	shift
	# shellcheck disable=SC2086
	timeout 20 "$ripstop" exec --dev mine=lo -- $words >"$tmp/out" 2>&1 || fail "status $? of$words"
	for p; do
		grep -qE "$p" "$tmp/out" || fail "$words does not say $p"
	done
}
# cannot TOOL...: it is not in docs/run-differs.md's list of what works, and ends by itself with an error
cannot() {
	command -v "$1" >/dev/null || return 0
	status=0
	timeout 20 "$ripstop" exec --dev mine=lo -- "$@" >"$tmp/out" 2>&1 || status=$?
	[ $status != 0 ] && [ $status != 124 ] || fail "$*: status $status"
}

guid=$("$ripstop" exec --dev mine=lo -- cat /sys/class/infiniband/mine/node_guid | tr -d :)
works ibstat -- "^CA 'mine'" 'Number of ports: 1' 'State: Active' 'Physical state: LinkUp' 'Rate: 100' \
	"Node GUID: 0x$guid" 'Capability mask: 0x04010000' 'Link layer: Ethernet' 'Base lid: 0$'
works ibstat mine -- "^CA 'mine'"
works ibstat mine 1 -- 'State: Active'
works ibstat -s mine -- 'Node GUID'
works ibstat -l -- '^mine$'
works ibstat -p -- '^0x[0-9a-f]{16}$'
works ibstatus -- "device 'mine' port 1" 'default gid:.*ffff:7f00:0001' '4: ACTIVE' '5: LinkUp' 'Ethernet'
works ibstatus mine:1 -- 'ACTIVE'
works ibv_devices -- 'mine[[:space:]]+[0-9a-f]{16}'
works ibv_devinfo -v -- 'hca_id:.*mine' 'PORT_ACTIVE' 'GID\[ *0\]:.*127.0.0.1, RoCE v2'
[ "$(timeout 20 "$ripstop" exec --dev mine=lo --dev other=lo -- ibstat -l | sort | tr '\n' ' ')" = "mine other " ] ||
	fail "ibstat -l of two devices"

# management datagrams by umad, which needs the kernel's ib_umad
for t in ibaddr sminfo perfquery ibnetdiscover iblinkinfo ibhosts saquery "smpquery nodeinfo 0" "ibping 1" "ibroute 1" \
	"ibtracert 1 2" "ibportstate 0 1" "vendstat -N 1"; do
	# shellcheck disable=SC2086
	cannot $t
done
# netlink of the kernel's ib_core; and SRP, whose targets a subnet manager knows
for t in dev link resource system statistic; do
	cannot rdma $t
done
cannot ibsrpdm
echo "passed: ibstat, ibstatus, ibv_devinfo, ibv_devices; the others say that they cannot"

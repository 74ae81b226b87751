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

# a port's rate is RIPSTOP_RATE's, rounded up to one that there is; one that is none is refused when a device is opened
rate_is() {
	RIPSTOP_RATE=$1 works ibstatus -- "rate:[[:space:]]*$2"
	RIPSTOP_RATE=$1 works ibv_devinfo -v -- "active_width:[[:space:]]*$3X" "active_speed:[[:space:]]*$4 Gbps"
}
rate_is 1G '2.5 Gb/sec \(1X SDR\)' 1 2.5
rate_is 25G '25 Gb/sec \(1X EDR\)' 1 25.0
rate_is 90G '100 Gb/sec \(4X EDR\)' 4 25.0
rate_is 400G '400 Gb/sec \(4X NDR\)' 4 100.0

# topology: the loopback has no place on PCIe, and says so; what looks there goes on
works cat /sys/class/infiniband/mine/device/numa_node -- '^-1$'
if command -v lstopo-no-graphics >/dev/null; then
	works lstopo-no-graphics --of console -v -- '^Machine'
fi
if command -v ucx_info >/dev/null; then
	works ucx_info -d -- 'Device: mine:1' 'bandwidth: 11[0-9]{3}'
fi
if command -v fi_info >/dev/null; then
	works fi_info -p verbs -v -- 'speed: 100000000000' 'bus_type: FI_BUS_UNKNOWN'
fi

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

# Behind `unshare -n`, /sys still shows the interfaces of the namespace before: one of the same name lends nothing to a veth
hw=$(find /sys/class/net -mindepth 1 -maxdepth 1 | while read -r i; do [ ! -e "$i/device" ] || echo "${i##*/}"; done | head -n 1)
if [ -n "$hw" ] && unshare -n true 2>/dev/null; then
	# shellcheck disable=SC2016
	unshare -n sh -ec 'ip link set lo up
		ip link add "$1" type veth peer name rsp0
		ip address add 10.9.0.1/24 dev "$1"
		ip link set rsp0 up
		ip link set "$1" up
		exec "$2" exec --dev mine="$1" -- sh -c "cat /sys/class/infiniband/mine/ports/1/rate
			test -L /sys/class/infiniband/mine/device || echo no place"' sh "$hw" "$ripstop" >"$tmp/out" 2>&1 ||
		fail "a veth called $hw"
	{ grep -q '^no place' "$tmp/out" && grep -q '^100 Gb' "$tmp/out"; } || fail "a veth called $hw has another's hardware"
fi
echo "passed: ibstat, ibstatus, ibv_devinfo, ibv_devices; the others say that they cannot"

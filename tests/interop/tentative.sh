#!/bin/sh
# IPv6 addresses that Linux still looks for another holder of: a device is not opened before they can be sent from,
# unless it has others; one that another host has is no GID.
set -eu
ripstop=$1
. "$(dirname "$0")/lib.sh"
need ip ibv_ud_pingpong ibv_devinfo sysctl
[ -n "${RS_OWN_NET-}" ] && unshare -n true 2>/dev/null || skip "network namespaces cannot be made"

tentative() { # its addresses, of any scope or of the one named
	ip -6 address show dev v0 tentative ${1-} | grep -q inet6
}
fail() {
	echo "FAILED: $*"
	ip -6 address show dev v0
	exit 1
}
cable() {
	ip link del v0 2>/dev/null || :
	ip link add v0 type veth peer name w0 netns $peer || skip "veth cannot be made"
}
gids() {
	"$ripstop" exec -- ibv_devinfo -v -d rs_v0 >"$tmp/said" 2>&1 || fail "ibv_devinfo: $(cat "$tmp/said")"
}
peer_namespace
$in_server ip link set lo up

# what is sent at once arrives: by the kernel, not by shared memory
RIPSTOP_SHM=off
export RIPSTOP_SHM
cable
$in_server ip link set w0 up
ip link set v0 up
tentative || skip "addresses are in force at once here"
dev=rs_v0
in_server= pair ibv_ud_pingpong -g 0 -n 20
! tentative || fail "the address is not in force, and datagrams arrived"

# nobody waits for a link-local address beside another, nor without a carrier
cable
$in_server ip link set w0 up
sysctl -qw net.ipv6.conf.v0.dad_transmits=100
ip address add 10.79.0.1/24 dev v0
ip link set v0 up
gids
tentative || fail "a link-local address was waited for"
cable
sysctl -qw net.ipv6.conf.v0.dad_transmits=1
ip address add fd79::1/64 dev v0
ip link set v0 up
begun=$(date +%s)
gids
[ $(($(date +%s) - begun)) -lt 5 ] || fail "an interface without a carrier was waited for"
grep -q 'fd79::1,' "$tmp/said" || fail "its address is no GID"
echo "passed: what need not be waited for"

# another host has it
cable
$in_server ip address add fd79::2/64 dev w0 nodad
$in_server ip link set w0 up
ip address add fd79::2/64 dev v0
ip address add fd79::3/64 dev v0
ip link set v0 up
i=0
until ip -6 address show dev v0 dadfailed | grep -q inet6 || [ $i = 100 ]; do
	i=$((i + 1))
	sleep 0.1
done
gids
! grep -q 'fd79::2,' "$tmp/said" || fail "an address of another host's is a GID"
grep -q 'fd79::3,' "$tmp/said" || fail "its own address is no GID"
echo "passed: a duplicate is left out"

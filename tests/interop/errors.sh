#!/bin/sh
# What cannot work says why and what to do: no usable interface, an MTU too small, UDP port 4791
# taken, namespaces not allowed. Exit status 2, one message; environment only gets the same words.
set -eu
ripstop=$1
. "$(dirname "$0")/lib.sh"
need ip python3 ibv_devices
[ -n "${RS_OWN_NET-}" ] || skip "network namespaces cannot be made"

# refused WORDS COMMAND...: exit status 2, and the words, a regular expression, on standard error
refused() {
	words=$1
	shift
	status=0
	"$@" >"$tmp/out" 2>"$tmp/err" || status=$?
	[ $status = 2 ] && grep -Eq "$words" "$tmp/err" && [ "$(wc -l <"$tmp/err")" -le 3 ] || {
		echo "FAILED: $* gives $status, and not '$words':"
		cat "$tmp/err"
		exit 1
	}
	echo "passed: $words"
}

ip link set lo down
refused "no network interface is usable: .*'lo' is down.*ip link set lo up" "$ripstop" exec true
"$ripstop" devices >"$tmp/out" 2>"$tmp/err"
grep -q "'lo' is down" "$tmp/err"
refused "'lo' is down.*ip link set lo up" "$ripstop" exec --dev mine=lo true
ip link set lo up
ip link add small type veth peer name peer
ip address add 10.79.0.1/24 dev small
ip link set small mtu 1119 up
ip link set peer up
refused "'small' has an MTU too small for a path MTU of 1024 .1120 is needed." \
	"$ripstop" exec --dev mine=small true
ip link set small mtu 1120
"$ripstop" exec --dev mine=small true
# without a name for it: not the loopback, and not the one that has no IPv4 address
"$ripstop" exec --dev mine -- "$ripstop" devices >"$tmp/out"
grep -q '^mine *small ' "$tmp/out" || {
	echo "FAILED: --dev chose another interface:"
	cat "$tmp/out"
	exit 1
}

# Port 4791 held by a socket that does not share it, as the kernel's rdma_rxe does.
for family in AF_INET AF_INET6; do
	holds_port "s = socket.socket(socket.$family, socket.SOCK_DGRAM)
s.bind(('', 4791))"
	refused "cannot bind UDP port 4791: .*rdma_rxe.*ss -ulpn" "$ripstop" exec true
	LD_LIBRARY_PATH=$("$ripstop" libdir) ibv_devinfo -d rs_lo >"$tmp/out" 2>"$tmp/err" && exit 1
	grep -q "ripstop: cannot bind UDP port 4791" "$tmp/err"
	holds_no_more
done
"$ripstop" exec true

# the environment alone: the library says what is wrong with it
status=0
RIPSTOP_DEVICES=mine=none LD_LIBRARY_PATH=$("$ripstop" libdir) ibv_devices >"$tmp/out" 2>"$tmp/err" ||
	status=$?
[ $status != 0 ] && grep -q "ripstop: there is no network interface 'none'" "$tmp/err"
echo "passed: errors"

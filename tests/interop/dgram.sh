#!/bin/sh
# Datagrams over RDMA (rsocket(7)): Debian's udpong over the loopback and between two network namespaces
# whose path MTU is 1024, and each call by itself.
set -eu
ripstop=$1
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
need udpong cc

if echo '#include <rdma/rsocket.h>' | cc -E - >/dev/null 2>&1; then
	cc -O1 -Wall -o "$tmp/dgram" "$here/dgram.c" -lrdmacm
	for host in 127.0.0.1 ::1; do
		timeout 60 "$ripstop" exec -- "$tmp/dgram" $host >"$tmp/out" 2>&1 || {
			echo "FAILED: the calls over $host: status $?: $(cat "$tmp/out")"
			exit 1
		}
		echo "passed: the calls over $host"
	done
fi

# pong ADDRESS OPTIONS...: a server and a client of udpong, which ends by itself
pong() {
	address=$1
	shift
	port=$((port + 1))
	$in_server timeout 60 "$ripstop" exec -- udpong -b $address -p $port -T b >"$tmp/server" 2>&1 &
	server=$!
	pids="$pids $server"
	hex=$(printf ':%04X ' $port)
	i=0
	until $in_server cat /proc/net/udp /proc/net/udp6 | grep -q "$hex" || [ $i = 1200 ]; do
		i=$((i + 1))
		sleep 0.05
	done
	status=0
	timeout 60 "$ripstop" exec -- udpong -s $address -p $port "$@" >"$tmp/client" 2>&1 || status=$?
	kill $server 2>/dev/null || :
	wait $server 2>/dev/null || :
	[ $status = 0 ] && grep -q '^custom' "$tmp/client" || {
		echo "FAILED: udpong -s $address $*: $status"
		tail -n 4 "$tmp/client" "$tmp/server"
		exit 1
	}
	echo "passed: udpong -s $address $*"
}
for host in 127.0.0.1 ::1; do
	for how in b n a; do
		pong $host -C 100 -T $how -T e
		pong $host -C 100 -S 1500 -T $how
	done
done

[ -n "${RS_OWN_NET-}" ] && unshare -n true 2>/dev/null || skip "the rest: network namespaces cannot be made"
peer_namespace
ip link add dgram type veth peer name dgram netns $peer || skip "veth cannot be made"
ip address add 10.79.0.2/24 dev dgram
ip address add fd79::2/64 dev dgram nodad
ip link set dgram up
$in_server ip link set lo up
$in_server ip address add 10.79.0.1/24 dev dgram
$in_server ip address add fd79::1/64 dev dgram nodad
$in_server ip link set dgram up
for host in 10.79.0.1 fd79::1; do
	pong $host -C 100 -T e
	pong $host -C 100 -S 1500 -T b -T e # longer than the path MTU: by UDP
	pong $host -C 100 -S 64 -T a
done
echo "passed: datagrams"

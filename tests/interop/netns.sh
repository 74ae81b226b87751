#!/bin/sh
# Two network namespaces over veth: IPv4 and IPv6, a small and a large MTU. Needs to be root.
set -eu
ripstop=$1
. "$(dirname "$0")/lib.sh"
need ip ib_write_bw ibv_rc_pingpong

a=rsa$$ b=rsb$$
netns_exec || skip "ip netns exec is refused here"
ip netns add $a 2>/dev/null || skip "network namespaces cannot be made"
cleanup_netns() {
	ip netns del $a 2>/dev/null || :
	ip netns del $b 2>/dev/null || :
	cleanup
}
trap cleanup_netns EXIT
ip netns add $b
ip link add veth0 netns $a type veth peer name veth0 netns $b || skip "veth cannot be made"
n=1
for ns in $a $b; do
	ip -n $ns link set lo up
	ip -n $ns link set veth0 mtu 9000 up
	ip -n $ns address add 10.77.0.$n/24 dev veth0
	ip -n $ns address add fd77::$n/64 dev veth0 nodad
	n=$((n + 1))
done
in_server="ip netns exec $a" in_client="ip netns exec $b" host=10.77.0.1 dev=rs_veth0
pair ibv_rc_pingpong -g 0 -n 200 -c
pair ibv_rc_pingpong -g 1 -n 200 -c -s 300000 -m 4096
pair ib_write_bw -n 500
pair ib_read_bw -n 500
pair ib_send_lat -n 200
pair ib_atomic_bw -n 200
for ns in $a $b; do
	ip -n $ns link set veth0 mtu 1500
done
$in_server "$ripstop" devices | grep -q 'rs_veth0 veth0 *1500 *1024' || {
	echo "FAILED: at MTU 1500 the path MTU is not 1024"
	exit 1
}
pair ib_write_bw -n 200

# what is on the wire, judged by ripstop pcap: segments cut before the capture, as a NIC would
if command -v tcpdump >/dev/null && command -v ethtool >/dev/null; then
	for ns in $a $b; do
		ip netns exec $ns ethtool -K veth0 tx-udp-segmentation off >/dev/null
	done
	$in_server tcpdump -U --immediate-mode -B 65536 -i veth0 -s 0 -w "$tmp/wire.pcap" udp port 4791 2>"$tmp/tcpdump" &
	capture=$!
	pids="$pids $capture"
	i=0
	until grep -q listening "$tmp/tcpdump" || [ $i = 1200 ]; do
		i=$((i + 1))
		sleep 0.05
	done
	pair ib_write_bw -n 20 -s 20000
	pair ib_read_bw -n 20 -s 20000
	pair ib_send_bw -n 20 -s 333
	pair ib_atomic_bw -n 20
	sleep 0.5
	kill $capture
	wait $capture || :
	"$ripstop" pcap "$tmp/wire.pcap" >"$tmp/story" || {
		echo "FAILED: something is wrong on the wire"
		cat "$tmp/story"
		exit 1
	}
	grep -q '^Right: .* 0 with a wrong ICRC' "$tmp/story"
	cat "$tmp/story"; 	[ "$(grep -c ' RC 10.77.0' "$tmp/story")" -ge 4 ]
	echo "passed: the wire"
fi

for ns in $a $b; do
	ip -n $ns link set veth0 mtu 1000
done
status=0
$in_server "$ripstop" exec --dev d=veth0 -- true 2>"$tmp/err" || status=$?
if [ $status != 2 ] || ! grep -q 'MTU too small' "$tmp/err"; then
	echo "FAILED: an MTU of 1000 gives $status: $(cat "$tmp/err")"
	exit 1
fi
echo "passed: namespaces"

#!/bin/sh
# Programs of librdmacm, connections made by management datagrams on QP1: rdmacm-utils, perftest -R,
# qperf; over the loopback, and as root between two network namespaces over IPv4 and IPv6.
set -eu
ripstop=$1
. "$(dirname "$0")/lib.sh"
need python3 rping ucmatose udaddy mckey cmtime rdma_server rdma_client rdma_xserver rdma_xclient ib_write_bw

fail() {
	echo "FAILED: $*"
	tail -n 5 "$tmp/server"
	echo "-- client:"
	tail -n 5 "$tmp/client"
	exit 1
}

# wait_group mckey ... -m GROUP ...: wait until its process has joined the group, as the kernel's tables write it
joined() {
	$in_server cat /proc/net/igmp /proc/net/igmp6 | grep -qi "$1"
}
wait_group() {
	while [ "$1" != -m ]; do shift; done
	patient $limit joined "$(python3 -c '
import ipaddress, sys
a = ipaddress.ip_address(sys.argv[1]).packed
print((a[::-1] if len(a) == 4 else a).hex())' "$2")"
}

# serve COMMAND: start a server in the background and wait until it listens
serve() {
	$in_server timeout $limit "$ripstop" exec -- "$@" >"$tmp/server" 2>&1 &
	server=$!
	pids="$pids $server"
	case $1 in
	mckey) wait_group "$@" ;;
	qperf) wait_listen "$in_server" ;;
	udaddy) wait_cm 7174 ;;
	*) wait_cm $port ;;
	esac
}

# both SERVER... -- CLIENT...: both in time and with exit status 0
both() {
	words=
	while [ "$1" != -- ]; do
		words="$words $1"
		shift
	done
	shift
	serve $words
	client=0
	$in_client timeout $limit "$ripstop" exec -- "$@" >"$tmp/client" 2>&1 || client=$?
	status=0
	wait $server || status=$?
	[ $client = 0 ] && [ $status = 0 ] || fail "$words: $status; $*: $client"
	port=$((port + 1))
	echo "passed:$words"
}

# all HOST ANY: what works over any path; ANY is the family's wildcard
all() {
	both rping -s -a $1 -p $port -C 10 -v -- rping -c -a $1 -p $port -C 10 -v
	[ "$(grep -c 'ping data: rdma-ping-' "$tmp/client")" = 10 ] || fail "not ten pings"
	[ $2 = :: ] || both rdma_server -p $port -- rdma_client -s $1 -p $port # listens on IPv4
	both ucmatose -b $2 -p $port -c 4 -C 20 -- ucmatose -s $1 -p $port -c 4 -C 20
	both udaddy -b $2 -c 4 -C 10 -- udaddy -s $1 -c 4 -C 10 # -p is the port space
}

all 127.0.0.1 0.0.0.0
all ::1 ::
both rdma_xserver -p $port -- rdma_xclient -s 127.0.0.1 -p $port
both rdma_xserver -p $port -c x -- rdma_xclient -s 127.0.0.1 -p $port -c x

# multicast: two members of a group, a sender that only sends
both mckey -b 127.0.0.1 -m 239.7.7.2 -c 2 -- mckey -b 127.0.0.1 -m 239.7.7.2 -c 2 -s -o

# nobody listens: refused at once, not after retries
client=0
timeout $limit "$ripstop" exec -- rping -c -a 127.0.0.1 -p $port -C 1 >"$tmp/client" 2>&1 || client=$?
[ $client != 0 ] && grep -q EVENT_REJECTED "$tmp/client" || fail "rping to nobody: $client"

# a server that serves for ever, killed: the next takes its port
"$ripstop" exec -- rping -s -P -a 127.0.0.1 -p $port -C 3 >"$tmp/server" 2>&1 &
server=$!
pids="$pids $server"
wait_cm $port
for i in 1 2; do
	timeout $limit "$ripstop" exec -- rping -c -a 127.0.0.1 -p $port -C 3 >"$tmp/client" 2>&1 ||
		fail "rping to a persistent server"
done
kill -9 $server
wait $server 2>/dev/null || :
both rping -s -a 127.0.0.1 -p $port -C 3 -- rping -c -a 127.0.0.1 -p $port -C 3

# a hundred connections at once
serve cmtime -p $port
timeout $limit "$ripstop" exec -- cmtime -s 127.0.0.1 -p $port -c 100 >"$tmp/client" 2>&1 || fail "cmtime"
grep -q '^disconnect' "$tmp/client" || fail "cmtime has no table"
kill $server
wait $server 2>/dev/null || :
port=$((port + 1))
echo "passed: cmtime"

for p in ib_write_bw ib_write_lat ib_read_bw ib_read_lat ib_send_bw ib_send_lat ib_atomic_bw ib_atomic_lat; do
	command -v $p >/dev/null || continue
	both $p -R -p $port -n 100 -- $p -R -p $port -n 100 127.0.0.1
done
both ib_send_bw -R -q 4 -p $port -n 100 -- ib_send_bw -R -q 4 -p $port -n 100 127.0.0.1
both ib_send_lat -R -e -p $port -n 100 -- ib_send_lat -R -e -p $port -n 100 127.0.0.1
both ib_send_bw -R -c UD -p $port -n 100 -- ib_send_bw -R -c UD -p $port -n 100 127.0.0.1

if command -v qperf >/dev/null; then
	serve qperf -lp $port
	timeout $limit "$ripstop" exec -- qperf -lp $port 127.0.0.1 -cm1 -t 1 rc_bw rc_lat rc_rdma_read_bw quit \
		>"$tmp/client" 2>&1 || fail "qperf"
	[ "$(grep -c -e 'bw *=' -e 'latency *=' "$tmp/client")" = 3 ] || fail "qperf measured less than asked"
	port=$((port + 1))
	echo "passed: qperf"
fi

# between two namespaces
[ "$(id -u)" = 0 ] && command -v ip >/dev/null && netns_exec || {
	echo "passed: rdmacm (without namespaces: not root, or ip netns exec is refused)"
	exit 0
}
a=rca$$ b=rcb$$
ip netns add $a 2>/dev/null || {
	echo "passed: rdmacm (namespaces cannot be made)"
	exit 0
}
trap 'ip netns del $a 2>/dev/null; ip netns del $b 2>/dev/null; cleanup' EXIT
ip netns add $b
ip link add veth0 netns $a type veth peer name veth0 netns $b
n=1
for ns in $a $b; do
	ip -n $ns link set lo up
	ip -n $ns link set veth0 mtu 4200 up
	ip -n $ns address add 10.78.0.$n/24 dev veth0
	ip -n $ns address add fd78::$n/64 dev veth0 nodad
	n=$((n + 1))
done
in_server="ip netns exec $a" in_client="ip netns exec $b"
if command -v tcpdump >/dev/null && command -v ethtool >/dev/null; then
	# the datagrams on the wire, judged: segments are cut before the capture, as a NIC would
	for ns in $a $b; do
		ip netns exec $ns ethtool -K veth0 tx-udp-segmentation off >/dev/null
	done
	$in_server tcpdump -U --immediate-mode -B 65536 -i veth0 -s 0 -w "$tmp/wire.pcap" udp port 4791 \
		2>"$tmp/tcpdump" &
	capture=$!
	pids="$pids $capture"
	i=0
	until grep -q listening "$tmp/tcpdump" || [ $i = 1200 ]; do
		i=$((i + 1))
		sleep 0.05
	done
	both rping -s -a 10.78.0.1 -p $port -C 10 -v -- rping -c -a 10.78.0.1 -p $port -C 10 -v
	sleep 0.5
	kill $capture
	wait $capture || :
	"$ripstop" pcap "$tmp/wire.pcap" >"$tmp/story" || {
		cat "$tmp/story"
		fail "something is wrong on the wire"
	}
	grep -q '^Right: .* 0 with a wrong ICRC' "$tmp/story" || fail "$(cat "$tmp/story")"
	for ns in $a $b; do
		ip netns exec $ns ethtool -K veth0 tx-udp-segmentation on >/dev/null
	done
	echo "passed: the wire"
fi
all 10.78.0.1 0.0.0.0
all fd78::1 ::
# a group's datagrams come to the process that joined it, though another had a device open before
if command -v ibv_asyncwatch >/dev/null; then
	$in_server timeout 60 "$ripstop" exec -- ibv_asyncwatch -d rs_veth0 >"$tmp/watch" 2>&1 &
	pids="$pids $!"
	sleep 0.5
fi
both mckey -b 10.78.0.1 -m 239.7.7.3 -C 5 -- mckey -b 10.78.0.2 -m 239.7.7.3 -C 5 -s
both mckey -b fd78::1 -m ff05::77 -C 5 -- mckey -b fd78::2 -m ff05::77 -C 5 -s
both ib_write_bw -R -p $port -n 100 -- ib_write_bw -R -p $port -n 100 10.78.0.1
echo "passed: rdmacm"

#!/bin/sh
# Containers of one node, each with network, process, mount and user namespaces of its own, that have a directory in common
# (RIPSTOP_SHM_DIR): their packets go through shared memory, with data checked, and over the wire where one of the two does
# not take part. One that is killed, or has only the directory, harms nobody.
set -eu
ripstop=$(realpath "$1")
. "$(dirname "$0")/lib.sh"
need ibv_rc_pingpong ib_write_bw unshare nsenter ip python3
[ -n "${RS_OWN_NET-}" ] || skip "network namespaces cannot be made"

fail() {
	echo "FAILED: $*"
	exit 1
}

dir=$tmp/shared
mkdir "$dir"
chmod 755 "$tmp"
chmod 1777 "$dir"
two_pods
ip link add eth0 netns $pod1 type veth peer name eth0 netns $pod2 2>/dev/null || skip "veth cannot be made"
for k in 1 2; do
	in_pod $k ip address add 10.81.0.$k/24 dev eth0
	in_pod $k ip link set eth0 mtu 9000 up
done

# figures POD: counters of its devices, as Python sees them
shared() {
	in_pod $1 "$ripstop" counters --json | python3 -c 'import json, sys
print(sum(d["counters"]["rx_shared"] for d in json.load(sys.stdin)["devices"]))'
}
# over FOLDER1 FOLDER2 SECONDS: a ping-pong with checked data, then a stream, which is under way afterwards
over() {
	port=$((port + 1))
	RIPSTOP_SHM_DIR=$1 in_pod 1 timeout $limit "$ripstop" exec -- ibv_rc_pingpong -d rs_eth0 -g 0 -p $port -n 500 -c >"$tmp/server" 2>&1 &
	server=$!
	pids="$pids $server"
	wait_listen "in_pod 1" || :
	RIPSTOP_SHM_DIR=$2 in_pod 2 timeout $limit "$ripstop" exec -- ibv_rc_pingpong -d rs_eth0 -g 0 -p $port -n 500 -c 10.81.0.1 \
		>"$tmp/client" 2>&1 || fail "the client: $(said "$tmp/client")"
	wait $server || fail "the server: $(said "$tmp/server")"
	port=$((port + 1))
	RIPSTOP_SHM_DIR=$1 in_pod 1 timeout $limit "$ripstop" exec -- ib_write_bw -d rs_eth0 -p $port -s 65536 -D $3 >"$tmp/server" 2>&1 &
	server=$!
	pids="$pids $server"
	wait_listen "in_pod 1" || :
	RIPSTOP_SHM_DIR=$2 in_pod 2 timeout $limit "$ripstop" exec -- ib_write_bw -d rs_eth0 -p $port -s 65536 -D $3 10.81.0.1 >"$tmp/client" 2>&1 &
	client=$!
	pids="$pids $client"
	wait_traffic in_pod 2
}
shares() {
	packets=$(shared 1)
	[ "$packets" -gt 100 ]
}
over "$dir" "$dir" 6
patient 20 shares && [ "$packets" -gt 100 ] || fail "containers did not talk over shared memory: $packets packets"
# the client is killed in the middle: the server ends, with an error
kill -9 $(cat /proc/$client/task/$client/children) 2>/dev/null || kill -9 $client
echo "passed: containers over shared memory"

# A directory that is not writable is an error; one that only one of the two has is none.
status=0
RIPSTOP_SHM_DIR=/nosuch in_pod 1 "$ripstop" exec -- ibv_devinfo -d rs_eth0 -v >"$tmp/out" 2>&1 || status=$?
grep -q 'cannot make a socket in RIPSTOP_SHM_DIR=/nosuch' "$tmp/out" || fail "a directory that is not there: $(said "$tmp/out")"
wait $server 2>/dev/null || :
over "$dir" "" 3
sleep 1
packets=$(shared 1)
[ "$packets" = 0 ] || fail "one took part and the other did not: $packets packets"
wait $client || fail "ib_write_bw over the wire: $(said "$tmp/client")"
wait $server || fail "ib_write_bw over the wire: $(said "$tmp/server")"
echo "passed: over the wire where one does not take part"

# A stranger with nothing but the directory: words without the key, sockets of its own, links in the place of sockets.
port=$((port + 1))
RIPSTOP_SHM_DIR=$dir in_pod 1 timeout $limit "$ripstop" exec -- ibv_rc_pingpong -d rs_eth0 -g 0 -p $port -n 3000 -c >"$tmp/server" 2>&1 &
server=$!
wait_listen "in_pod 1" || :
python3 - "$dir" <<'STRANGER' &
import os, random, socket, sys, time
folder, end = sys.argv[1], time.time() + 60
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.setblocking(False)
r, w = os.pipe()
while time.time() < end:
    for name in os.listdir(folder):
        for n in (0, 16, 32, 88, 104, 4000):
            try:
                socket.send_fds(s, [random.randbytes(n)], [r, w], 0, os.path.join(folder, name))
            except OSError:
                pass
    time.sleep(0.001)
STRANGER
stranger=$!
pids="$pids $server $stranger"
RIPSTOP_SHM_DIR=$dir in_pod 2 timeout $limit "$ripstop" exec -- ibv_rc_pingpong -d rs_eth0 -g 0 -p $port -n 3000 -c 10.81.0.1 \
	>"$tmp/client" 2>&1 || fail "beside a stranger: $(said "$tmp/client")"
wait $server || fail "beside a stranger: $(said "$tmp/server")"
kill $stranger
# the killed client's socket is swept by the next that comes
[ -z "$(ls "$dir")" ] || fail "left behind: $(ls "$dir")"
echo "passed: beside a stranger, and nothing left behind"

#!/bin/sh
# One device of several sockets (RIPSTOP_SOCKETS): connected queue pairs are spread over them, each socket carries its share, and programs
# notice nothing else. Loopback and, as root, two network namespaces.
set -eu
ripstop=$1
. "$(dirname "$0")/lib.sh"
need ib_write_bw ib_send_bw ib_read_bw python3

fail() {
	echo "FAILED: $*"
	exit 1
}

# refused WANTED VARIABLES...: the program is not started, and one line says why
refused() {
	wanted=$1 status=0
	shift
	env "$@" "$ripstop" exec -- ib_write_bw -d rs_lo >"$tmp/out" 2>&1 || status=$?
	[ $status = 2 ] || fail "$*: status $status"
	[ "$(grep -c "^ripstop: .*$wanted" "$tmp/out")" = 1 ] || fail "$*: $(cat "$tmp/out")"
}
refused RIPSTOP_SOCKETS RIPSTOP_SOCKETS=0
refused RIPSTOP_SOCKETS RIPSTOP_SOCKETS=9
refused RIPSTOP_SOCKETS RIPSTOP_SOCKETS=two
refused RIPSTOP_RATE RIPSTOP_SOCKETS=2 RIPSTOP_RATE=1G
refused RIPSTOP_BUFFER RIPSTOP_BUFFER=1
echo "passed: what is refused"

# spread SOCKETS QPS PROGRAM ARGS...: while a stream is under way, as many sockets of one process as asked for have sent data, and each
# has its share of the queue pairs
spread() {
	sockets=$1 qps=$2
	shift 2
	export RIPSTOP_SOCKETS=$sockets RIPSTOP_SHM=off
	pair "$@" -q $qps &
	both=$!
	pids="$pids $both"
	i=0
	until $in_client "$ripstop" counters --json >"$tmp/json" 2>/dev/null && SOCKETS=$sockets QPS=$qps python3 - "$tmp/json" <<'PY'
import collections, json, os, sys
sockets, qps = int(os.environ["SOCKETS"]), int(os.environ["QPS"])
by = collections.defaultdict(list)
for d in json.load(open(sys.argv[1]))["devices"]:
    by[d["pid"]].append(d)
busy = [all(d["counters"]["tx_data_packets"] > 100 for d in of) for of in by.values()
        if len(of) == sockets and all(d["qps"] == qps // sockets for d in of)]
sys.exit(not any(busy))
PY
	do
		i=$((i + 1))
		[ $i -lt 100 ] && kill -0 $both 2>/dev/null || fail "$* on $sockets sockets: $(head -c 3000 "$tmp/json")"
		sleep 0.1
	done
	wait $both || fail "$* on $sockets sockets"
	unset RIPSTOP_SOCKETS RIPSTOP_SHM
	echo "passed: $qps queue pairs on $sockets sockets"
}
spread 1 8 ib_write_bw -s 65536 -D 4
spread 4 8 ib_write_bw -s 65536 -D 4
spread 2 4 ib_send_bw -s 8192 -e -n 60000
spread 8 8 ib_read_bw -s 65536 -D 4
# all on one core
if command -v taskset >/dev/null; then
	in_server="taskset -c 0" in_client="taskset -c 0"
	spread 4 4 ib_write_bw -s 4096 -D 4
	in_server= in_client=
fi

[ "$(id -u)" = 0 ] && netns_exec || {
	echo "passed: lanes"
	exit 0
}
peer_namespace
ip link add veth0 type veth peer name veth0 netns /proc/$peer/ns/net 2>/dev/null || {
	echo "passed: lanes"
	exit 0
}
for n in 1 2; do
	at=$([ $n = 1 ] && echo "nsenter -t $peer -n" || echo env)
	$at ip address add 10.78.9.$n/24 dev veth0
	$at ip link set veth0 mtu 9000 up
	$at ip link set lo up
done
host=10.78.9.1 dev=rs_veth0
spread 4 8 ib_write_bw -s 65536 -D 4
export RIPSTOP_SOCKETS=3
pair ib_atomic_bw -q 6 -n 200
pair ib_write_bw -a -q 3 -n 20
echo "passed: lanes"

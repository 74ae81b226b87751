#!/bin/sh
# Programs of verbs calls drawn from seeds, in two processes of which one may end at any moment or is killed; connections of
# which every second is refused; random datagrams meanwhile. Nothing crashes, hangs or is left: processes, descriptors, files
# of shared memory, leases of queue pair numbers. A second argument is the option by which the libraries were built with a
# sanitizer. SEEDS="5 6 7": other programs.
set -eu
ripstop=$1
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
need cc python3
printf '#include <infiniband/verbs.h>\n#include <rdma/rdma_cma.h>\n' | cc -E - >/dev/null 2>&1 || skip "librdmacm-dev is not installed"

fail() {
	echo "FAILED: $*"
	tail -n 20 "$tmp/out" "$tmp/server" 2>/dev/null | cut -c 1-200
	exit 1
}
cc -O1 -g -Wall ${2-} -o "$tmp/anything" "$here/anything.c" -libverbs
cc -O1 -g -Wall ${2-} -o "$tmp/refuse" "$here/refuse.c" -lrdmacm -libverbs
shm_files() { ls /dev/shm 2>/dev/null | grep -c ripstop || :; }
before=$(shm_files)

python3 - <<'EOF' &
import os, random, socket
draw, s = random.Random(1), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(200000):
    head = bytes([draw.choice([0, 4, 6, 10, 12, 17, 20, 100, draw.randrange(256)])]) + os.urandom(draw.randrange(1, 60))
    try:
        s.sendto(head, ("127.0.0.1", 4791))
    except OSError:
        pass
EOF
flood=$!
pids="$pids $flood"

for seed in ${SEEDS:-1 2}; do
	for how in RIPSTOP_SHM=on "RIPSTOP_SHM=off RIPSTOP_RECOVERY=selective"; do
		env $how timeout 80 "$ripstop" exec --no-view --dev d=lo -- "$tmp/anything" $seed ${CALLS:-1500} >"$tmp/out" 2>&1 ||
			fail "seed $seed, $how: status $?"
		# killed in the midst: the other one ends by itself
		env $how timeout -s KILL 0.$((seed % 4 + 2)) "$ripstop" exec --no-view --dev d=lo -- "$tmp/anything" $seed 100000 \
			>"$tmp/out" 2>&1 || :
	done
done
echo "passed: drawn programs"

port=$((port + 1))
timeout 60 "$ripstop" exec --no-view -- "$tmp/refuse" 127.0.0.1 $port 200 server >"$tmp/server" 2>&1 &
server=$!
wait_cm $port
timeout 60 "$ripstop" exec --no-view -- "$tmp/refuse" 127.0.0.1 $port 200 client >"$tmp/out" 2>&1 || fail "connections: the client"
wait $server || fail "connections: the server"
echo "passed: 100 connections, 100 refused"

kill $flood 2>/dev/null || :
i=0
while pgrep -f "$tmp/anything" >/dev/null && [ $i -lt 300 ]; do
	i=$((i + 1))
	sleep 0.1
done
[ $i -lt 300 ] || fail "a process is left"
"$ripstop" counters --json | python3 -c 'import json, sys; assert not json.load(sys.stdin)["devices"]' || fail "a lease is left"
after=$(shm_files)
[ "$after" -le $((before > 1 ? before : 1)) ] || fail "$before files of shared memory before, $after after: $(ls /dev/shm)"
echo "passed: nothing is left"

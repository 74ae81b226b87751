#!/bin/sh
# While CLOCK_MONOTONIC crosses 2^63 ps, 106.75 days after the machine's start, and far beyond: ripstop
# switch forwards, and programs talk, over rings and UDP, also with a peer whose clock stands elsewhere.
set -eu
ripstop=$1
. "$(dirname "$0")/lib.sh"
need ip python3 ib_write_bw ibv_rc_pingpong unshare nsenter
[ -n "${RS_OWN_NET-}" ] || skip "network namespaces cannot be made"
unshare --time --fork --monotonic 1000 true 2>/dev/null || skip "the kernel allows no time namespace"

fail() {
	echo "FAILED: $*"
	exit 1
}
# from SECONDS: an offset by which the clock crosses in so many seconds
from() {
	awk -v s="$1" '{ printf "%d", 9223372.036 - $1 - s }' /proc/uptime
}
at() {
	offset=$1
	shift
	unshare --time --fork --kill-child --monotonic "$offset" "$@"
}

# Programs: before, while and after; two years on; one of both only; peers in other times. An offset, or the
# seconds to the crossing, from each program's start on.
offset() {
	case $1 in -*) from "${1#-}" ;; *) echo "$1" ;; esac
}
talks() {
	what=$1 server_at=$2 client_at=$3 seconds=$4
	for RIPSTOP_SHM in on off; do
		export RIPSTOP_SHM
		port=$((port + 1))
		server_offset=$(offset "$server_at")
		client_offset=$(offset "$client_at")
		at "$server_offset" timeout $limit "$ripstop" exec -- ib_write_bw -d rs_lo -p $port -D $seconds \
			>"$tmp/server" 2>&1 &
		server=$!
		pids="$pids $server"
		wait_listen ""
		at "$client_offset" timeout $limit "$ripstop" exec -- ib_write_bw -d rs_lo -p $port -D $seconds 127.0.0.1 \
			>"$tmp/client" 2>&1 || fail "$what, rings $RIPSTOP_SHM: $(said "$tmp/client")"
		wait $server || fail "$what, rings $RIPSTOP_SHM: the server: $(said "$tmp/server")"
	done
	echo "passed: $what"
}
talks "both clocks cross" -3 -3 3
talks "one clock crosses" 0 -3 3
talks "two years on" 63072000 63072000 1

# The switch: the reproduction of the fault, three crossings' lengths on
unset RIPSTOP_SHM
peer_namespace
far=$peer
peer_namespace
near=$peer
ip link add p0 netns "$near" type veth peer name sa || skip "veth cannot be made"
ip link add p0 netns "$far" type veth peer name sb
for k in "$near 10.9.0.1" "$far 10.9.0.2"; do
	set -- $k
	nsenter -t "$1" -n ip address add "$2/24" dev p0
	nsenter -t "$1" -n ip link set p0 up
done
ip link set sa up
ip link set sb up
cat >"$tmp/echo.py" <<'ECHO'
import socket, sys, time

s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
if len(sys.argv) == 1:
    s.bind(("10.9.0.2", 7777))
    while True:
        d, a = s.recvfrom(2000)
        s.sendto(d, a)
s.settimeout(2)
out, end = "", time.time() + float(sys.argv[1])
while time.time() < end:
    s.sendto(b"x", ("10.9.0.2", 7777))
    try:
        s.recvfrom(2000)
        out += "."
        time.sleep(0.1)
    except OSError:
        out += "-"
print(out)
sys.exit("-" in out[3:] or "." not in out)
ECHO
nsenter -t "$far" -n python3 "$tmp/echo.py" &
pids="$pids $!"
for when in 3 -31536000; do
	at "$(from $when)" sh -c 'echo $$ >"$0"; exec "$@"' "$tmp/pid" "$ripstop" switch --rate 10G sa sb \
		>"$tmp/switch" 2>&1 &
	sleep 1
	switch=$(cat "$tmp/pid") # the kill of who made its namespace would not reach it
	pids="$pids $switch"
	nsenter -t "$near" -n python3 "$tmp/echo.py" 6 >"$tmp/out" ||
		fail "the switch, $when s before it crosses: $(cat "$tmp/out" "$tmp/switch")"
	kill $switch
	wait $! 2>/dev/null || :
done
echo "passed: uptime"

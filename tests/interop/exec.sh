#!/bin/sh
# ripstop exec: the program's exit status and signals are its own, nothing stays behind, errors say
# what to do; one process's crash does not harm the next.
set -eu
ripstop=$1
. "$(dirname "$0")/lib.sh"
need ibv_rc_pingpong

fail() {
	echo "FAILED: $*"
	exit 1
}
status=0
"$ripstop" exec -- sh -c 'exit 7' || status=$?
[ $status = 7 ] || fail "exit status $status, not 7"
status=0
"$ripstop" exec -- sh -c 'kill -TERM $$' || status=$?
[ $status = 143 ] || fail "after SIGTERM exit status $status, not 143"
status=0
"$ripstop" exec -- /no/such/program 2>"$tmp/err" || status=$?
[ $status = 127 ] || fail "exit status $status for a missing program"
for bad in '--dev a=no-such-if' '--dev a/b' '--dev a=lo --dev a=lo' '--unknown'; do
	status=0
	"$ripstop" exec $bad -- true 2>"$tmp/err" || status=$?
	[ $status = 2 ] || fail "exec $bad: exit status $status, not 2"
	[ -s "$tmp/err" ] || fail "exec $bad: no word on why"
done
"$ripstop" exec --dev mine=lo -- ibv_devinfo -l 2>&1 | grep -q mine || fail "no device 'mine'"
"$ripstop" devices | grep -q '^rs_lo *lo ' || fail "rs_lo is not among the devices"
LD_LIBRARY_PATH=$("$ripstop" libdir) ibv_devinfo -l | grep -q rs_lo || fail "libdir"

# kill -9 in the middle of traffic: the other side ends with an error, in time
port=$((port + 1))
timeout 60 "$ripstop" exec -- ibv_rc_pingpong -d rs_lo -g 0 -p $port -n 100000000 \
	>"$tmp/server" 2>&1 &
server=$!
wait_listen ""
"$ripstop" exec -- ibv_rc_pingpong -d rs_lo -g 0 -p $port -n 100000000 127.0.0.1 \
	>"$tmp/client" 2>&1 &
client=$!
pids="$pids $server $client"
sleep 1
kill -9 $client
status=0
wait $server || status=$?
[ $status = 1 ] || fail "the survivor ended with $status, not with pingpong's 1"
grep -q 'transport retry counter exceeded' "$tmp/server" || fail "$(cat "$tmp/server")"
pair ibv_rc_pingpong -g 0 -n 100 -c
echo "passed: exec"

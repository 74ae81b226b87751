#!/bin/sh
# ripstop exec: the program's exit status and signals are its own, nothing stays behind, errors say
# what to do; one process's crash does not harm the next.
set -eu
ripstop=$1
. "$(dirname "$0")/lib.sh"
need ibv_rc_pingpong ib_write_bw

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

# kill -9 in the middle of traffic: who has requests on their way ends with an error, in time. (Who
# only waits to receive waits on, as with hardware: RC has no keep-alive.)
port=$((port + 1))
"$ripstop" exec -- ib_write_bw -d rs_lo -p $port -D 50 >"$tmp/server" 2>&1 &
server=$!
wait_listen ""
timeout 60 "$ripstop" exec -- ib_write_bw -d rs_lo -p $port -D 50 127.0.0.1 >"$tmp/client" 2>&1 &
client=$!
pids="$pids $server $client"
wait_traffic # perftest measures the clock first
kill -9 $server
status=0
wait $client || status=$?
[ $status != 0 ] && [ $status != 124 ] || fail "the survivor ended with $status"
grep -q 'Failed status 12' "$tmp/client" || fail "$(cat "$tmp/client")" # IBV_WC_RETRY_EXC_ERR
pair ibv_rc_pingpong -g 0 -n 100 -c

# The last of a network namespace is killed, and the namespace goes: who comes next, anywhere, clears its file
# away, and no living one's.
if unshare -n true 2>/dev/null && [ -w /dev/shm ]; then
	echo 'ip link set lo up
	stat -Lc /dev/shm/ripstop-$(id -u)-%i- /proc/self/ns/net >$tmp/$1
	shift
	exec "$ripstop" exec -- "$@"' >"$tmp/elsewhere"
	export tmp ripstop
	there() {
		find /dev/shm -path "$(cat "$tmp/$1")*" -size +0 | grep -q .
	}
	port=$((port + 1))
	for who in dead alive; do
		unshare -n sh "$tmp/elsewhere" $who ibv_rc_pingpong -d rs_lo -g 0 -p $port >/dev/null 2>&1 &
		last=$!
		pids="$pids $last"
		i=0
		until [ -s "$tmp/$who" ] && there $who || [ $i = 1200 ]; do
			i=$((i + 1))
			sleep 0.05
		done
		[ $who = alive ] || {
			sleep 0.3
			kill -9 $last
			wait $last 2>/dev/null || :
			there dead || fail "nothing was left by who was killed"
		}
	done
	# The number of a namespace that is gone may be another's by now, this test's or one's that runs beside: its file stays.
	lives() {
		number=$(sed 's/.*ripstop-[0-9]*-\([0-9]*\)-.*/\1/' "$tmp/dead")
		stat -Lc %i /proc/[0-9]*/ns/net 2>/dev/null | grep -qx "$number"
	}
	for try in 1 2 3; do
		unshare -n sh "$tmp/elsewhere" third ibv_devinfo >/dev/null
		there dead && ! lives || break
	done
	! there dead || lives || fail "$(cat "$tmp/dead")* was left behind"
	there alive || fail "a living program's registry was cleared away"
	kill $last
	wait $last 2>/dev/null || :
	echo "passed: nothing left behind"
fi
# A program that unloads the library with a device open (libfabric at its end) keeps running: the device has threads.
cat >"$tmp/unload.py" <<'UNLOAD'
import ctypes, time
v = ctypes.CDLL("libibverbs.so.1")
v.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p)
v.ibv_open_device.restype = ctypes.c_void_p
v.ibv_open_device.argtypes = [ctypes.c_void_p]
if not v.ibv_open_device(v.ibv_get_device_list(None)[0]):
    raise SystemExit("no device")
unload = ctypes.CDLL(None).dlclose
unload.argtypes = [ctypes.c_void_p]
unload(v._handle)
time.sleep(0.2)
UNLOAD
"$ripstop" exec -- python3 "$tmp/unload.py" >"$tmp/out" 2>&1 || fail "unloaded with a device open: $? $(cat "$tmp/out")"
# The loopback comes last: who names no device gets one that reaches others.
if [ -n "${RS_OWN_NET-}" ] && ip link add rsx0 type veth peer name rsx1 2>/dev/null; then
	ip address add 10.79.0.1/24 dev rsx0
	ip link set rsx0 up && ip link set rsx1 up
	"$ripstop" devices --json | python3 -c 'import json, sys
names = [d["name"] for d in json.load(sys.stdin)["devices"]]
sys.exit(names[-1] != "rs_lo" or len(names) < 2)' || fail "the loopback is not the last device"
	ip link del rsx0
fi
echo "passed: exec"

#!/bin/sh
# Containers of a pod: one network namespace, and of their own each a process namespace, then a
# /dev/shm, then a user namespace as well. They talk over rings or UDP, twelve that start at once have
# one registry, and the dead leave their leases to the living, whatever number a process has where.
set -eu
ripstop=$1
. "$(dirname "$0")/lib.sh"
need ibv_rc_pingpong ib_write_bw unshare ip python3
[ -n "${RS_OWN_NET-}" ] || skip "network namespaces cannot be made"
unshare --mount --pid --fork --mount-proc true 2>/dev/null || skip "process namespaces cannot be made"

fail() {
	echo "FAILED: $*"
	exit 1
}
# What a container has of its own: $1, then a command.
apart() {
	what=$1
	shift
	case $what in
	pid) unshare --pid --fork --mount-proc sh -c "$*" ;;
	shm) unshare --mount --pid --fork --mount-proc sh -c "mount -t tmpfs none /dev/shm && $*" ;;
	none) unshare --mount --pid --fork --mount-proc sh -c "mount -t tmpfs -o ro none /dev/shm && $*" ;;
	user) unshare --user --map-root-user --mount --pid --fork --mount-proc \
		sh -c "mount -t tmpfs none /dev/shm && $*" ;;
	ids) setpriv --reuid 1234 --regid 1234 --clear-groups unshare --user --map-"$1"-user \
		--keep-caps --mount --pid --fork --mount-proc sh -c "mount -t tmpfs none /dev/shm && $2" ;;
	esac
}

# talk WHAT SERVER CLIENT...: a ping-pong with checked data
talk() {
	port=$((port + 1))
	apart "$1" $2 "timeout $limit $ripstop exec -- ibv_rc_pingpong -d rs_lo -g 0 -p $port -n 2000 -c" \
		>"$tmp/server" 2>&1 &
	server=$!
	pids="$pids $server"
	wait_listen "" || :
	apart "$1" $3 "timeout $limit $ripstop exec -- ibv_rc_pingpong -d rs_lo -g 0 -p $port -n 2000 -c 127.0.0.1" \
		>"$tmp/client" 2>&1 || fail "$1 apart: the client: $(said "$tmp/client")"
	wait $server || fail "$1 apart: the server: $(said "$tmp/server")"
	echo "passed: apart: $1${2:+, $2 and $3}${RIPSTOP_SHM:+, rings $RIPSTOP_SHM}"
}
for RIPSTOP_SHM in on off; do
	export RIPSTOP_SHM
	for what in pid shm none; do
		talk $what "" ""
	done
done
unset RIPSTOP_SHM
if unshare --user --map-root-user --mount --pid --fork --mount-proc true 2>/dev/null; then
	talk user "" ""
else
	echo "not tried: user namespaces cannot be made"
fi
# Rings carry it between all of these, whatever a process's number means to the other.
if unshare --user --map-root-user --mount --pid --fork --mount-proc true 2>/dev/null; then
	port=$((port + 1))
	for side in "" 127.0.0.1; do
		apart user "timeout $limit $ripstop exec -- ib_write_bw -d rs_lo -p $port -D 6 $side" >"$tmp/bw$side" 2>&1 &
		pids="$pids $!"
		last=$!
		[ -z "$side" ] || break
		server=$last # which wait_listen waits for
		wait_listen "" || :
	done
	# looked at while they run: on a busy machine they begin late
	i=0
	until RIPSTOP_SHM=on "$ripstop" counters --json | python3 -c '
import json, sys
all = [d["counters"] for d in json.load(sys.stdin)["devices"]]
sys.exit(len(all) != 2 or all[0]["rx_shared"] <= 100 or all[1]["rx_shared"] <= 100)'; do
		kill -0 $last 2>/dev/null && [ $i -lt 200 ] || fail "not over rings: $(said "$tmp/bw") $(said "$tmp/bw127.0.0.1") $("$ripstop" counters --json | head -n 60)"
		i=$((i + 1))
		sleep 0.05
	done
	echo "passed: rings between user and process namespaces"
	wait $last || fail "ib_write_bw: $(said "$tmp/bw127.0.0.1")"
fi
# one user, known as root in one container and as himself in the other
if [ "$(id -u)" = 0 ] && chmod a+rx "$tmp" && setpriv --reuid 1234 --regid 1234 --clear-groups \
	unshare --user --map-current-user --mount --pid --fork --mount-proc "$ripstop" --version >/dev/null 2>&1; then
	talk ids root current
	talk ids current current
else
	echo "not tried: another user cannot read $ripstop, or make namespaces"
fi

# Twelve at once, a /dev/shm each; one is killed, one more comes.
cat >"$tmp/open.py" <<'OPEN'
import ctypes, time

v = ctypes.CDLL("libibverbs.so.1")
v.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p)
v.ibv_open_device.restype = ctypes.c_void_p
v.ibv_open_device.argtypes = [ctypes.c_void_p]
time.sleep(0.5)
print("open" if v.ibv_open_device(v.ibv_get_device_list(None)[0]) else "refused", flush=True)
time.sleep(60)
OPEN
LD_LIBRARY_PATH=$("$ripstop" libdir)
export LD_LIBRARY_PATH
opens() {
	grep -hs open "$tmp"/opened.* | wc -l
}
comes() {
	unshare --mount --pid --fork --kill-child --mount-proc sh -c \
		"mount -t tmpfs none /dev/shm && exec python3 $tmp/open.py" >"$tmp/opened.$1" 2>&1 &
	eval "c$1=$!"
	pids="$pids $!"
}
wait_opens() {
	i=0
	until [ "$(opens)" = $1 ] || [ $i = 1200 ]; do
		i=$((i + 1))
		sleep 0.05
	done
	[ "$(opens)" = $1 ] || fail "$(opens) of $1 devices were opened: $(cat "$tmp"/opened.*)"
}
answering() {
	"$ripstop" counters --json | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["devices"]))'
}
for k in 1 2 3 4 5 6 7 8 9 10 11 12; do comes $k; done
wait_opens 12
# counters finds all of them, so they have one registry, in which no two have the same numbers
[ "$(answering)" = 12 ] || fail "of 12 devices $(answering) answer"
kill -9 $c3
wait $c3 2>/dev/null || :
comes 13
wait_opens 13
[ "$(answering)" = 12 ] || fail "after one was killed and one came $(answering) of 12 devices answer"
echo "passed: twelve at once"

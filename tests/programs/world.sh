#!/bin/sh
# One program in one world: `world.sh RIPSTOP WORLD NAME`, NAME.sh of this folder. tools/check-programs runs all of them.
#
# A world has two places, for a server and a client, and what NAME.sh may use:
#   at_server, at_client CMD...   run CMD there, as it is; on_server, on_client run it under `ripstop exec`, in time
#   $host $peer                   the server's and the client's address
#   $dev                          the device's name, the same at both
#   $tmp                          a folder that both see; $port a TCP port, $limit seconds that a command may take
#   serve CMD...                  on_server in the background, output in $tmp/server, waited for by served, ended by stop_server
# loopback:   one network namespace. veth: one each, joined by a veth of MTU 9000. containers: network, process, mount and
# user namespaces of their own, which share nothing but a folder, RIPSTOP_SHM_DIR.
set -eu
ripstop=$(realpath "$1") world=$2 program=$3
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../interop/lib.sh"
[ -n "${RS_OWN_NET-}" ] || skip "network namespaces cannot be made here"
export HOME="$tmp" XDG_RUNTIME_DIR="$tmp" # of the user in whose name all this runs, nothing is touched
chmod 755 "$tmp"

fail() {
	echo "FAILED: $*"
	for f in server client; do
		[ ! -s "$tmp/$f" ] || {
			echo "-- $f:"
			tail -n ${RS_TAIL:-12} "$tmp/$f"
		}
	done
	exit 1
}

case $world in
loopback)
	host=127.0.0.1 peer=127.0.0.1 dev=rs_lo at_client='' at_server=''
	;;
veth)
	peer_namespace
	ip link add eth0 mtu 9000 type veth peer name eth0 mtu 9000 netns $peer || skip "veth cannot be made"
	at_client='' at_server=$in_server
	;;
containers)
	two_pods
	ip link add eth0 mtu 9000 netns $pod1 type veth peer name eth0 mtu 9000 netns $pod2 || skip "veth cannot be made"
	mkdir "$tmp/shared"
	chmod 1777 "$tmp/shared"
	export RIPSTOP_SHM_DIR="$tmp/shared"
	at_server="nsenter -t $pod1 -U --preserve-credentials -n -m -p"
	at_client="nsenter -t $pod2 -U --preserve-credentials -n -m -p"
	;;
*)
	echo "usage: world.sh RIPSTOP loopback|veth|containers NAME" >&2
	exit 2
	;;
esac
if [ $world != loopback ]; then
	host=10.82.0.1 peer=10.82.0.2 dev=rs_eth0
	$at_server ip link set lo up
	$at_server ip address add $host/24 dev eth0
	$at_server ip link set eth0 up
	$at_client ip address add $peer/24 dev eth0
	$at_client ip link set eth0 up
fi
in_server=$at_server in_client=$at_client # for `pair` and `two` of interop/lib.sh
at_server() { $at_server "$@"; }
at_client() { $at_client "$@"; }
on_server() { $at_server timeout -k 3 $limit "$ripstop" exec -- "$@"; }
on_client() { $at_client timeout -k 3 $limit "$ripstop" exec -- "$@"; }
serve() {
	on_server "$@" >"$tmp/server" 2>&1 &
	server=$!
	pids="$pids $server"
}
# Ends it: what runs below the shell in the background, which would be left there
stop_server() {
	kill $(cat /proc/$server/task/$server/children 2>/dev/null) 2>/dev/null || : # it may have ended
	wait $server || :
}
served() { wait $server || fail "the server ended with $?"; }
# until_there SECONDS COMMAND...: waits until COMMAND is true
until_there() {
	n=$(($1 * 20))
	shift
	until "$@" >/dev/null 2>&1; do
		n=$((n - 1))
		[ $n -gt 0 ] || return 1
		sleep 0.05
	done
}
# Where the launcher of an MPI puts its second process: $rsh HOST COMMAND... runs COMMAND at HOST's place, from either place.
rsh=$tmp/rsh
remote_shell() {
	places=$(python3 -c 'import json, sys; print(json.dumps({sys.argv[1]: sys.argv[2].split(), sys.argv[3]: sys.argv[4].split()}))' \
		$host "$at_server" $peer "$at_client")
	python3 "$here/rsh.py" serve "$tmp/rsh.sock" "$places" &
	pids="$pids $!"
	printf '#!/bin/sh\nexec python3 %s %s "$@"\n' "$here/rsh.py" "$tmp/rsh.sock" >"$rsh"
	chmod +x "$rsh"
	until_there 10 test -S "$tmp/rsh.sock"
}
# all_bytes FILE HEX BYTES: the first BYTES of FILE are the pattern, again and again
all_bytes() {
	python3 - "$@" <<'CHECK'
import sys
n, pattern = int(sys.argv[3]), bytes.fromhex(sys.argv[2])
sys.exit(open(sys.argv[1], 'rb').read(n) != pattern * (n // len(pattern)))
CHECK
}
. "$here/$program.sh"

#!/bin/sh
# kill -9 at each step of a connection of rdma_cm, of either side (steps.c). A server goes on and serves the next client; a client
# has an event or a failed request, in time; nothing is left. All steps at once, each with a port of its own.
set -eu
ripstop=$1
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
need cc python3
echo '#include <rdma/rdma_cma.h>' | cc -E - >/dev/null 2>&1 || skip "librdmacm-dev is not installed"
cc -O1 -Wall ${2-} -o "$tmp/steps" "$here/steps.c" -lrdmacm -libverbs -lpthread
run() { timeout $limit "$ripstop" exec --no-view --dev d=lo -- "$tmp/steps" 127.0.0.1 "$@"; }

# is NAME WHO WANTED GOT
is() {
	[ "$3" = "$4" ] || {
		echo "FAILED: $1: $2 ended with $4, not $3: $(cat "$tmp/$1".* 2>/dev/null)"
		exit 1
	}
}
# A server is there when a client gets beyond a refusal.
client_killed() {
	name=client-$1 port=$2
	run $port server - 1 >"$tmp/$name.server" 2>&1 &
	server=$!
	wait_cm $port
	got=0
	run $port client $1 >"$tmp/$name.killed" 2>&1 || got=$?
	is $name "the one to be killed" 137 $got
	case $1 in
	d | g) ;; # the server had all that it waits for
	*)
		got=0
		run $port client - >"$tmp/$name.next" 2>&1 || got=$?
		is $name "the next client" 0 $got
		;;
	esac
	got=0
	wait $server || got=$?
	is $name "the server" 0 $got
	echo "passed: a client killed at $1"
}
server_killed() {
	name=server-$1 port=$2
	run $port server $1 1 >"$tmp/$name.killed" 2>&1 &
	server=$!
	wait_cm $port
	got=0
	run $port client - >"$tmp/$name.client" 2>&1 || got=$?
	is $name "the client" $([ $1 = d ] && echo 0 || echo 3) $got
	got=0
	wait $server || got=$?
	is $name "the one to be killed" 137 $got
	echo "passed: a server killed at $1"
}
each=
for step in a r c e m d g; do
	port=$((port + 1))
	client_killed $step $port &
	each="$each $!"
done
for step in q p e m d; do
	port=$((port + 1))
	server_killed $step $port &
	each="$each $!"
done
for one in $each; do wait $one || exit 1; done
"$ripstop" counters --json | python3 -c 'import json, sys; assert not json.load(sys.stdin)["devices"]' || {
	echo "FAILED: a lease is left"
	exit 1
}
echo "passed: nothing is left"

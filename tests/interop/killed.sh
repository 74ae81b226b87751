#!/bin/sh
# kill -9 of the peer of a program that only waits to receive (waits.c), on another host (a network namespace behind a veth): it
# hears RDMA_CM_EVENT_DISCONNECTED, whether another program lives there or none, at either end. One whose peer is stopped does not.
set -eu
ripstop=$1
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
need cc ip nsenter
echo '#include <rdma/rdma_cma.h>' | cc -E - >/dev/null 2>&1 || skip "librdmacm-dev is not installed"
[ -n "${RS_OWN_NET-}" ] || skip "network namespaces cannot be made"
cc -O1 -Wall ${2-} -o "$tmp/waits" "$here/waits.c" -lrdmacm -libverbs -lpthread

fail() {
	echo "FAILED: $*"
	exit 1
}
peer_namespace
ip link add eth0 type veth peer name eth0 netns $peer 2>/dev/null || skip "veth cannot be made"
for c in "ip" "$in_server ip"; do
	[ "$c" = ip ] && k=1 || k=2
	$c address add 10.82.0.$k/24 dev eth0
	$c address add fd82::$k/64 dev eth0 nodad
	$c link set eth0 up
done

# there NAME ARGS..., here NAME ARGS...: a program in the other namespace, in this one; its process is $last
there() { start "$in_server" "$@"; }
here() { start "" "$@"; }
start() {
	in=$1 name=$2
	shift 2
	: >"$tmp/$name"
	$in "$ripstop" exec --no-view -- "$tmp/waits" "$@" >"$tmp/$name" 2>&1 <"$tmp/input" &
	last=$!
	pids="$pids $last"
}
# says NAME WORD: its output has the word, soon
says() {
	i=0
	until grep -q $2 "$tmp/$1"; do
		i=$((i + 1))
		[ $i -lt 600 ] || fail "$1 never said $2: $(cat "$tmp/$1")"
		sleep 0.05
	done
}
# pair NAME SERVER CLIENT ADDRESS: connected: $server and $client, each `here` or `there`
pair() {
	port=$((port + 1))
	$2 $1.server $4 $port server
	server=$last
	says $1.server listens
	$3 $1.client $4 $port client
	client=$last
	says $1.client ESTABLISHED
	says $1.server ESTABLISHED
}
mkfifo "$tmp/input"
sleep 600 >"$tmp/input" &
pids="$pids $!"

# Another program lives there: it is one that says so.
there holds 10.82.0.2 19999 holds
holder=$last
says holds listens
pair neighbour.a there here 10.82.0.2
killed="$server"
pair neighbour.b here there 10.82.0.1
killed="$killed $client"
pair stopped there here 10.82.0.2
stopped=$server
pair six there here fd82::2
six=$server
sleep 1 # each was asked, and answered
kill -STOP $stopped
kill -9 $killed
says neighbour.a.client DISCONNECTED
says neighbour.b.server DISCONNECTED
echo "passed: a neighbour of the killed process tells"
sleep 2
kill -CONT $stopped
sleep 0.5
! grep -q DISCONNECTED "$tmp/stopped.client" "$tmp/stopped.server" || fail "a stopped peer was taken for a dead one"
echo "passed: a stopped peer is not gone"

# None is left there: the kernel tells.
kill -9 $holder $stopped $six
says stopped.client DISCONNECTED
says six.client DISCONNECTED
echo "passed: the kernel of a host without a process tells"

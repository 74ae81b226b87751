# Shared by the tests of unmodified programs. Sourced; $ripstop is the program under test.
# Exit status 77 skips: with the reason on standard output.

# perftest measures its clock anew for each report, and gives none where the machine took its core away meanwhile
# ("Correlation coefficient r^2"). That tells nothing of the library: such a test has two turns more.
if [ -z "${RS_TURN-}" ]; then
	RS_UNCLOCKED=$(mktemp -u) status=0
	export RS_TURN RS_UNCLOCKED
	for RS_TURN in 1 2 3; do
		status=0
		"$0" "$@" || status=$?
		rm "$RS_UNCLOCKED" 2>/dev/null && [ $status != 0 ] && [ $status != 77 ] || break
		echo "perftest could not measure its clock: turn $RS_TURN of 3"
	done
	exit $status
fi

# In a network namespace and with a /dev/shm of its own, where they can be: UDP port 4791 and the devices' shared
# memory are then this test's alone, whatever runs beside. An ordinary user gets them in a user namespace.
if [ -z "${RS_OWN_NET-}" ] && command -v ip >/dev/null; then
	for unshare in "unshare -nm" "unshare -Urnm" "unshare -n" "unshare -Urn"; do
		$unshare ip link set lo up 2>/dev/null || continue
		RS_OWN_NET=1 exec $unshare sh -c '
			ip link set lo up
			[ "$(readlink /proc/self/ns/mnt)" = "$(readlink /proc/$PPID/ns/mnt)" ] || mount -t tmpfs tmpfs /dev/shm || :
			exec "$@"' sh "$0" "$@"
	done
fi

tmp=$(mktemp -d)
pids=
cleanup() {
	for p in $pids; do kill "$p" 2>/dev/null || :; done
	! grep -qs -D skip -d skip 'Correlation coefficient' "$tmp"/* "$tmp"/*/* || : >"$RS_UNCLOCKED"
	rm -rf "$tmp"
}
trap cleanup EXIT

skip() {
	echo "skipped: $*"
	exit 77
}

need() {
	for p; do
		command -v "$p" >/dev/null || skip "$p is not installed"
	done
}

# ip netns exec mounts a /sys of the namespace, which it is refused where "/" is no mount point (a chroot).
netns_exec() {
	ip netns add rst$$ 2>/dev/null && ip netns exec rst$$ true 2>/dev/null && works=0 || works=1
	ip netns del rst$$ 2>/dev/null || :
	return $works
}

# A second namespace, named by a process that sleeps in it: $peer. $in_server runs a command there.
peer_namespace() {
	unshare -n sleep 600 &
	peer=$!
	pids="$pids $peer"
	i=0
	until [ "$(readlink /proc/$peer/ns/net)" != "$(readlink /proc/self/ns/net)" ] || [ $i = 1200 ]; do
		i=$((i + 1))
		sleep 0.05
	done
	in_server="nsenter -t $peer -n"
}

# around_switch NAME N NET: a namespace NAME for a switch, with ports p0 to p(N-1), and at each a namespace NAME-i: eth0
# has 10.NET.0.(i+1) and fdNET::(i+1). They go when the test ends.
around_switch() {
	sw=$1
	ends=$(seq 0 $(($2 - 1)))
	cleanup_netns() {
		cleanup
		ip netns del $sw 2>/dev/null || :
		for i in $ends; do ip netns del $sw-$i 2>/dev/null || :; done
	}
	trap cleanup_netns EXIT
	netns_exec || skip "ip netns exec is refused here"
	ip netns add $sw 2>/dev/null || skip "network namespaces cannot be made"
	for i in $ends; do
		ip netns add $sw-$i
		ip link add eth0 netns $sw-$i type veth peer name p$i netns $sw || skip "veth cannot be made"
		ip netns exec $sw sysctl -qw net.ipv6.conf.p$i.disable_ipv6=1 2>/dev/null || :
		ip -n $sw link set p$i mtu 9000 up
		ip -n $sw-$i link set eth0 mtu 9000 addrgenmode none up
		ip -n $sw-$i address add 10.$3.0.$((i + 1))/24 dev eth0
		ip -n $sw-$i address add fd$3::$((i + 1))/64 dev eth0 nodad
	done
}

# Two containers, each with user, network, mount and process namespaces and a /dev/shm of its own: $pod1 and $pod2, processes
# in them. `in_pod 1 COMMAND...` runs a command there.
two_pods() {
	unshare -Urnmp --fork --mount-proc true 2>/dev/null || skip "user namespaces cannot be made"
	cleanup_pods() {
		[ -z "${pod1-}${pod2-}" ] || kill -9 ${pod1-} ${pod2-} 2>/dev/null || :
		cleanup
	}
	trap cleanup_pods EXIT
	for k in 1 2; do
		unshare -Urnmp --fork --kill-child --mount-proc sh -c \
			"mount -t tmpfs tmpfs /dev/shm; ip link set lo up; echo up; exec sleep 900" >"$tmp/up$k" 2>/dev/null &
		pids="$pids $!"
		outer=$!
		i=0
		until [ -s "$tmp/up$k" ] || [ $i = 1200 ]; do
			i=$((i + 1))
			sleep 0.05
		done
		eval "pod$k=$(cat /proc/$outer/task/$outer/children)"
	done
	pod1=${pod1% } pod2=${pod2% }
}
in_pod() {
	eval "of=\$pod$1"
	shift
	nsenter -t $of -U --preserve-credentials -n -m -p "$@"
}

# holds_port STATEMENTS [COMMAND...]: a program, run by COMMAND, whose Python statements hold UDP port 4791: $holder
holds_port() {
	statements=$1
	: >"$tmp/ready"
	shift
	"$@" python3 -c "
import socket, time
$statements
print('ready', flush=True)
time.sleep(60)" >"$tmp/ready" &
	holder=$!
	pids="$pids $holder"
	i=0
	until grep -q ready "$tmp/ready" || [ $i = 1200 ]; do
		i=$((i + 1))
		sleep 0.05
	done
}
holds_no_more() {
	kill $holder
	wait $holder 2>/dev/null || :
}

limit=60 # seconds that a program may take
port=$((20000 + $$ % 10000)) # below those that the kernel gives out

# patient SECONDS COMMAND...: again and again until it succeeds, so long at most by the clock: on a loaded core a look takes
# longer than the pause between two. 0 where $server has ended, too.
patient() {
	read -r by _ </proc/uptime
	by=$((${by%.*} + $1))
	shift
	while ! "$@"; do
		kill -0 "$server" 2>/dev/null || return 0
		read -r now _ </proc/uptime
		[ "${now%.*}" -lt "$by" ] || return 1
		sleep 0.05
	done
}

# Wait until somebody in the server's namespace listens on TCP port $port, or the server has ended.
wait_listen() {
	patient $limit $1 grep -qs "$(printf ':%04X ' "$port")[0-9A-F]*:0000 0A" /proc/net/tcp /proc/net/tcp6
}

# wait_cm PORT [COMMAND...]: the same for a port of rdma_cm, which no table of the kernel has: its entry in the processes'
# registry (live/registry.h: space, port, slot, listening), which COMMAND sees.
wait_cm() {
	entry=$(printf '\(06\|11\|3f\)01%02x%02x..01' $(($1 & 255)) $(($1 >> 8)))
	shift
	patient $limit "$@" sh -c \
		'for f in /dev/shm/ripstop-*; do od -An -v -tx1 "$f"; done 2>/dev/null | tr -d " \n" | grep -q "$1"' sh "$entry"
}

# wait_traffic [COMMAND...]: wait until a device that COMMAND sees has sent 100 packets of data, or the server has ended.
sends() {
	"$@" "$ripstop" counters | grep -q 'tx_data_packets  *[0-9][0-9][0-9]'
}
wait_traffic() {
	patient $limit sends "$@"
}

# wait_server "ARGS": a server of perftest or of libibverbs' examples with these arguments is there
wait_server() {
	case " $1 " in
	*" -R "* | *" -z "*) wait_cm $port $in_server ;;
	*) wait_listen "$in_server" ;;
	esac
}

# A failed program's output: its errors come first, as its other output is buffered.
said() {
	sed -n '1,4p' "$1"
	[ "$(wc -l <"$1")" -lt 5 ] || tail -n 6 "$1"
}

# pair PROGRAM ARGS...: a server and a client over $dev, both in time and with exit status 0.
# $in_server, $in_client: prefixes (ip netns exec ...); $host: the server's address.
in_server= in_client= host=127.0.0.1 dev=rs_lo
pair() {
	program=$1
	shift
	port=$((port + 1))
	$in_server timeout $limit "$ripstop" exec -- "$program" -d $dev -p $port "$@" \
		>"$tmp/server" 2>&1 &
	server=$!
	pids="$pids $server"
	wait_server "$*" || {
		echo "FAILED: $program $*: the server does not listen"
		said "$tmp/server"
		exit 1
	}
	client=0
	$in_client timeout $limit "$ripstop" exec -- "$program" -d ${peer_dev:-$dev} -p $port "$@" $host \
		>"$tmp/client" 2>&1 || client=$?
	status=0
	wait $server || status=$?
	if [ $client != 0 ] || [ $status != 0 ]; then
		echo "FAILED: $program $*: client $client, server $status"
		said "$tmp/client"
		echo "-- server:"
		said "$tmp/server"
		exit 1
	fi
	echo "passed: $program $*"
}

# two SERVER CLIENT: two shell commands, each under ripstop exec, both in time and with exit status 0.
# The client starts when somebody listens on TCP port $port, or after $settle seconds where that is
# set. Their output: $tmp/server, $tmp/client. $with: options of ripstop exec.
settle= with=
two() {
	$in_server timeout $limit "$ripstop" exec $with -- sh -c "$1" >"$tmp/server" 2>&1 &
	server=$!
	pids="$pids $server"
	if [ -n "$settle" ]; then sleep "$settle"; else wait_listen "$in_server" || :; fi
	client=0
	$in_client timeout $limit "$ripstop" exec $with -- sh -c "$2" >"$tmp/client" 2>&1 || client=$?
	status=0
	wait $server || status=$?
	if [ $client != 0 ] || [ $status != 0 ]; then
		echo "FAILED: $2: client $client, server $status"
		tail -n 8 "$tmp/client"
		echo "-- server: $1"
		tail -n 8 "$tmp/server"
		exit 1
	fi
	echo "passed: $2"
}

#!/bin/sh
# Unmodified programs on drop-in libraries that are built with sanitizers: the run-time is preloaded,
# since the programs are not. ThreadSanitizer sees the library's threads (events), AddressSanitizer and
# UBSan its memory.
# usage: tests/house/programs.sh BUILD-DIRECTORY SANITIZERS: of a build that is made (make check's)
#        tests/house/programs.sh [BUILD-DIRECTORY]: makes BUILD-DIRECTORY/tsan and /asan, and tries both
set -eu
. "$(dirname "$0")/../interop/lib.sh"
cd "$(dirname "$0")/../.."
build=${1:-build/programs}
kinds="tsan asan"
case ${2-} in
'') ;;
*thread*) kinds=tsan ;;
*) kinds=asan ;;
esac
mkdir -p "$build"
build=$(cd "$build" && pwd)
need ibv_rc_pingpong ib_write_bw
failed=0

# both PROGRAM ARGS...: server and client over the loopback, both with status 0 and no report
both() {
	port=$((port + 1))
	env $options LD_PRELOAD="$preload" LD_LIBRARY_PATH="$dir" timeout 120 "$@" -d rs_lo -p $port \
		>"$tmp/server" 2>&1 &
	server=$!
	pids="$pids $server"
	wait_listen "" || :
	client=0 status=0
	env $options LD_PRELOAD="$preload" LD_LIBRARY_PATH="$dir" timeout 120 "$@" -d rs_lo -p $port \
		127.0.0.1 >"$tmp/client" 2>&1 || client=$?
	wait $server || status=$?
	if [ $client = 0 ] && [ $status = 0 ] &&
		! grep -q 'WARNING: ThreadSanitizer\|ERROR: \(Address\|Leak\)Sanitizer\|runtime error' \
			"$tmp/server" "$tmp/client"; then
		echo "$kind: $*: clean"
		return
	fi
	echo "$kind: $*: client $client, server $status: FAILED"
	head -n 40 "$tmp/server" "$tmp/client"
	failed=1
}

# alone PROGRAM ARGS...: by itself; status 1 for what it finds
alone() {
	out=$(mktemp "$tmp/alone.XXXXXX") status=0
	env $options LD_PRELOAD="$preload" LD_LIBRARY_PATH="$dir" timeout 120 "$@" >"$out" 2>&1 || status=$?
	name="$kind: $(basename "$1")"
	shift
	if [ $status = 0 ] && ! grep -q 'Sanitizer\|runtime error' "$out"; then
		echo "$name $*: clean"
		return 0
	fi
	echo "$name $*: $status: FAILED"
	head -n 60 "$out"
	return 1
}

# What the tests' own programs do: handles of a queue pair, datagram sockets, streams.
programs="xrc dgram rsocket_stream kinds"
for p in $programs; do
	cc -O1 -o "$tmp/$p" "tests/interop/$p.c" -lrdmacm -libverbs -lpthread
done

# made KIND: builds what is tried with these sanitizers
made() {
	case $1 in
	tsan) sanitize=thread ;;
	asan) sanitize=address,undefined ;;
	esac
	cmake -S . -B "$build/$1" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
		-DRS_SANITIZE=$sanitize >"$tmp/log" &&
		cmake --build "$build/$1" --target ibverbs rdmacm >>"$tmp/log" 2>&1 || {
		tail -n 20 "$tmp/log"
		exit 1
	}
}

for kind in $kinds; do
	at=$build
	[ -n "${2-}" ] || {
		made $kind
		at=$build/$kind
	}
	preload=$(cc -print-file-name=lib$kind.so)
	[ -e "$preload" ] || skip "the compiler has no lib$kind.so"
	dir=$at/lib/ripstop/verbs # as its `ripstop libdir` says
	options="TSAN_OPTIONS=exitcode=66 UBSAN_OPTIONS=halt_on_error=1"
	for p in rc uc ud srq xsrq; do
		both ibv_${p}_pingpong -g 0 -n 50 -e
	done
	both ibv_rc_pingpong -g 0 -n 100 -c -s 100000
	alone "$tmp/xrc" || failed=1
	alone "$tmp/dgram" 127.0.0.1 || failed=1
	alone "$tmp/dgram" ::1 || failed=1
	for how in blocking poll; do
		port=$((port + 1))
		alone "$tmp/rsocket_stream" 127.0.0.1 $port 2000000 $how server &
		server=$!
		sleep 2
		alone "$tmp/rsocket_stream" 127.0.0.1 $port 2000000 $how client || failed=1
		wait $server || failed=1
	done
	# a device of several sockets: each has a thread, and all of them the program's queues
	[ $kind != tsan ] || (
		export RIPSTOP_SOCKETS=3
		alone "$tmp/kinds" events threads leave
	) || failed=1
	# perftest itself leaks the list of devices and more
	options="$options ASAN_OPTIONS=detect_leaks=0"
	for p in write read atomic; do
		both ib_${p}_bw -n 20 -F
	done
	both ib_send_bw -n 50 -F -e
	both ib_write_bw -n 20 -F -q 4 -b
done
exit $failed

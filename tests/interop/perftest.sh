#!/bin/sh
# perftest over the loopback: every verb, service and style of posting, briefly. A second argument is
# the number of iterations of each test, for a longer run; RS_JOBS how many tests run at a time.
set -eu
ripstop=$1
n=${2:-20}
jobs=${RS_JOBS:-4}
. "$(dirname "$0")/lib.sh"
need ib_write_bw ib_read_lat
limit=240 # polling processes that share a core with others take their turns

# The tests, one a line. perftest uses the ibv_wr_* calls unless told otherwise.
tests() {
	for verb in write read send atomic; do
		echo "ib_${verb}_bw -n $n --use_old_post_send -b"
		echo "ib_${verb}_bw -n $n -q 16 $([ $verb = write ] || echo -e)"
		echo "ib_${verb}_bw -n $n -q 4 -c XRC"
		echo "ib_${verb}_lat -n $n"
		echo "ib_${verb}_lat -n $n --use_old_post_send"
	done
	echo "ib_write_lat -n $n -c XRC"
	echo "ib_write_bw -n $n -c UC -s 20000"
	echo "ib_send_lat -n $n -c UC"
	echo "ib_send_bw -n $n -c UD -b"
	echo "ib_send_bw -n $n -c UD -e -x 1"
	echo "ib_send_lat -n $n -c UD"
	echo "ib_write_bw -n 5 -a" # 2 bytes to 8 MiB
	for verb in read send; do
		echo "ib_${verb}_bw -n $n -s 2"
		echo "ib_${verb}_bw -n 5 -s 8388608"
	done
	for mtu in 256 512 1024 2048; do # the loopback's own is 4096
		echo "ib_write_bw -n $n -m $mtu -s 100000"
	done
	echo "ib_send_bw -n $n -m 256 -s 10000"
	echo "ib_read_bw -n $n -m 512 -s 10000"
	for test in write_bw read_lat send_lat; do # the loopback's IPv6 address; IPv4 is the default
		echo "ib_$test -n $n -x 1"
	done
	echo "ib_send_bw -n $n -r 64 --use-srq"
	echo "ib_send_bw -n $n -r 256 --use-srq -c UC"
	echo "ib_send_lat -n $n -r 64 --use-srq"
	echo "ib_write_lat -n $n -I 128 -s 128"
	echo "ib_send_lat -n $n -I 64 -s 64 -e"
	echo "ib_write_bw -n $n -l 5"
	echo "ib_write_bw -n $n -t 1"
	echo "ib_read_bw -n $n -o 1"
}

# Each job does every $jobs-th test, with ports and files of its own.
job() {
	port=$((port + 500 * $1)) tmp=$tmp/$1 line=0
	mkdir "$tmp"
	tests | while read -r test; do
		line=$((line + 1))
		[ $((line % jobs)) = "$1" ] || continue
		pair $test </dev/null
	done
}
workers=
for j in $(seq 0 $((jobs - 1))); do
	job $j &
	workers="$workers $!"
done
pids="$pids $workers"
status=0
for w in $workers; do
	wait $w || status=1
done
exit $status

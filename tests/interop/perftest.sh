#!/bin/sh
# perftest over the loopback: every verb, service and style of posting, briefly. A second argument is
# the number of iterations of each test, for a longer run; RS_JOBS how many tests run at a time.
set -eu
ripstop=$1
n=${2:-20}
jobs=${RS_JOBS:-4}
. "$(dirname "$0")/lib.sh"
need ib_write_bw ib_read_lat

# The tests, one a line. perftest uses the ibv_wr_* calls unless told otherwise.
tests() {
	for verb in write read send atomic; do
		echo "ib_${verb}_bw -n $n"
		echo "ib_${verb}_bw -n $n --use_old_post_send -b"
		echo "ib_${verb}_bw -n $n -c XRC -q 4"
		echo "ib_${verb}_bw -n $n -q 16 -e"
		echo "ib_${verb}_lat -n $n"
		echo "ib_${verb}_lat -n $n --use_old_post_send"
		echo "ib_${verb}_lat -n $n -c XRC"
	done
	for verb in write send; do # UC
		echo "ib_${verb}_bw -n $n -c UC -s 20000"
		echo "ib_${verb}_lat -n $n -c UC"
	done
	echo "ib_send_bw -n $n -c UD -b"
	echo "ib_send_bw -n $n -c UD -e"
	echo "ib_send_bw -n $n -c UD -x 1"
	echo "ib_send_lat -n $n -c UD"
	for verb in write read send; do # 2 bytes to 8 MiB
		echo "ib_${verb}_bw -a -n 5"
	done
	echo "ib_write_lat -a -n 5"
	for mtu in 256 512 1024 2048 4096; do
		echo "ib_write_bw -n $n -m $mtu -s 100000"
	done
	echo "ib_send_bw -n $n -m 256 -s 10000"
	echo "ib_read_bw -n $n -m 512 -s 10000"
	for gid in 0 1; do # the loopback's IPv4 and IPv6 address
		echo "ib_write_bw -n $n -x $gid"
		echo "ib_read_lat -n $n -x $gid"
		echo "ib_send_lat -n $n -x $gid"
	done
	echo "ib_send_bw -n $n -r 64 --use-srq"
	echo "ib_send_bw -n $n -r 256 --use-srq -q 4 -c UC"
	echo "ib_send_lat -n $n -r 64 --use-srq"
	echo "ib_send_lat -n $n -e"
	echo "ib_write_lat -n $n -I 128 -s 128"
	echo "ib_send_lat -n $n -I 64 -s 64"
	echo "ib_write_bw -n $n -I 220 -s 200"
	echo "ib_write_bw -n $n -l 16"
	echo "ib_write_bw -n $n -t 1"
	echo "ib_read_bw -n $n -o 1"
	echo "ib_read_bw -n $n -s 1000000 -b"
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

#!/bin/sh
# perftest over the loopback: every verb in both styles of posting, sizes of 2 bytes to 8 MiB.
set -eu
ripstop=$1
. "$(dirname "$0")/lib.sh"
need ib_write_bw ib_read_lat

for verb in write read send atomic; do
	pair ib_${verb}_bw -n 200
	pair ib_${verb}_lat -n 100
	pair ib_${verb}_bw -n 200 --use_old_post_send
done
for verb in write read send; do
	pair ib_${verb}_bw -a -n 20
done
pair ib_write_bw -n 100 -q 16
pair ib_write_bw -n 100 -b
pair ib_send_bw -n 100 -b
pair ib_send_bw -n 100 -e
pair ib_send_lat -n 50 -e
pair ib_write_lat -n 100 -I 128
pair ib_send_bw -n 50 -m 256
pair ib_write_bw -n 50 -x 1
pair ib_write_bw -n 50 -c UC
pair ib_send_bw -n 50 -c UC
pair ib_send_bw -n 50 -c UD
pair ib_send_lat -n 50 -c UD
pair ib_send_bw -n 50 -c UD -e
for verb in write read send atomic; do
	pair ib_${verb}_bw -n 50 -c XRC
done
pair ib_send_bw -n 100 -r 64 --use-srq

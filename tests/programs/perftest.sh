# program: perftest
# packages: perftest
# version: dpkg-query -W -f '${Package} ${Version}\n' perftest
# shows: WRITE, READ, SEND and atomics, bandwidth and latency, 1 and 4 queue pairs, events, both directions, rdma_cm
# data: none of its own; the other programs check theirs
need ib_write_bw ib_read_lat ib_send_bw ib_atomic_bw
for p in "ib_write_bw -n 500" "ib_write_bw -n 200 -b -q 4" "ib_write_lat -n 200" "ib_read_bw -n 500 -q 4" "ib_read_lat -n 200" \
	"ib_send_bw -n 500" "ib_send_lat -n 200 -e" "ib_send_bw -n 200 -c UD -s 1024" "ib_atomic_bw -n 200" "ib_atomic_lat -n 100" \
	"ib_write_bw -n 200 -R" "ib_write_bw -a -n 20"; do
	(pair $p) >"$tmp/said" || {
		cat "$tmp/said"
		exit 1
	}
done
echo "12 runs"

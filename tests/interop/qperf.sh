#!/bin/sh
# qperf's reliable tests, connected by rdma_cm. Its others cannot run on RoCE: it names no GID, and
# an address without one is refused, by hardware too.
set -eu
ripstop=$1
. "$(dirname "$0")/lib.sh"
need qperf
[ -e "$("$ripstop" libdir)/librdmacm.so.1" ] || skip "the drop-in librdmacm is not built"

tests="rc_lat rc_bw rc_rdma_write_bw rc_rdma_write_poll_lat rc_rdma_read_lat rc_compare_swap_mr"
port=$((port + 1))
two "exec qperf -lp $port" \
	"qperf -lp $port -cm 1 -t 1 127.0.0.1 $tests && exec qperf -lp $port 127.0.0.1 quit"
for test in $tests; do
	grep -A1 "^$test:" "$tmp/client" | grep -q '= *[1-9]' || {
		echo "FAILED: $test has no figure"
		cat "$tmp/client"
		exit 1
	}
done

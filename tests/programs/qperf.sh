# program: qperf
# packages: qperf
# version: dpkg-query -W -f '${Package} ${Version}\n' qperf
# shows: its reliable tests over rdma_cm
# data: none of its own
need qperf
tests="rc_lat rc_bw rc_bi_bw rc_rdma_write_bw rc_rdma_write_lat rc_rdma_read_bw rc_compare_swap_mr rc_fetch_add_mr ver_rc_compare_swap ver_rc_fetch_add"
port=$((port + 1))
(two "exec qperf -lp $port" "qperf -lp $port -cm 1 -t 1 $host $tests && exec qperf -lp $port $host quit") >"$tmp/said" || {
	cat "$tmp/said"
	exit 1
}
[ "$(grep -c '= *[1-9]' "$tmp/client")" -ge 8 ] || fail "tests without a figure"
echo "$(echo $tests | wc -w) tests"

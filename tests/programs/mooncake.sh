# program: Mooncake's transfer engine
# packages: python3
# build: RIPSTOP_MOONCAKE
# version: for d in "$RIPSTOP_MOONCAKE" "$RIPSTOP_MOONCAKE/.." "$RIPSTOP_MOONCAKE/../.."; do sed -n 's/^version *= *"\(.*\)"/\1/p' "$d/pyproject.toml" 2>/dev/null; done | head -1
# shows: rdma_large_mr_test and rdma_async_event_drain_test at the client's place; rdma_transport_test2 and transfer_engine_bench between two engines
# data: rdma_transport_test2 reads what it wrote and compares it; rdma_large_mr_test does so beyond a region's limit
te=$RIPSTOP_MOONCAKE/mooncake-transfer-engine
bench=$te/example/transfer_engine_bench
need "$bench" "$te/tests/rdma_large_mr_test" "$te/tests/rdma_async_event_drain_test" "$te/tests/rdma_transport_test2"
limit=120
export MC_METADATA_SERVER=P2PHANDSHAKE MC_MAX_MR_SIZE=67108864 # the size that the test asks for
passes() { # TEST ARGS...
	on_client "$te/tests/$@" >"$tmp/client" 2>&1 || fail "$1 ended with $?"
	grep -q '\[  PASSED  \]' "$tmp/client" || fail "$1: nothing passed"
	! grep -q SKIPPED "$tmp/client" || fail "$1 left something out"
}
passes rdma_large_mr_test
passes rdma_async_event_drain_test
common="--metadata_server=P2PHANDSHAKE --protocol=rdma --device_name=$dev --buffer_size=67108864"
serve "$bench" --mode=target --local_server_name=$host $common
until_there 30 grep -q 'listening on' "$tmp/server" || fail "the target does not listen"
segment=$(sed -n 's/.*listening on \([0-9.]*:[0-9]*\).*/\1/p' "$tmp/server" | head -1)
passes rdma_transport_test2 --metadata_server=P2PHANDSHAKE --device_name=$dev --local_server_name=$peer --segment_id="$segment"
for op in write read; do
	on_client "$bench" --mode=initiator --local_server_name=$peer --segment_id="$segment" --operation=$op --duration=2 --threads=1 \
		--batch_size=16 $common >"$tmp/client" 2>&1 || fail "$op ended with $?"
	grep -q 'Test completed: .*batch count [1-9]' "$tmp/client" || fail "$op moved nothing"
done
stop_server
echo "3 tests, writes and reads between two engines"

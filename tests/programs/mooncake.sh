# program: Mooncake's transfer engine
# packages: python3
# build: RIPSTOP_MOONCAKE
# version: for d in "$RIPSTOP_MOONCAKE" "$RIPSTOP_MOONCAKE/.." "$RIPSTOP_MOONCAKE/../.."; do sed -n 's/^version *= *"\(.*\)"/\1/p' "$d/pyproject.toml" 2>/dev/null; done | head -1
# shows: rdma_large_mr_test and rdma_async_event_drain_test at the client's place; transfer_engine_bench writes and reads between two engines
# data: rdma_large_mr_test compares what it wrote beyond a region's limit
te=$RIPSTOP_MOONCAKE/mooncake-transfer-engine
bench=$te/example/transfer_engine_bench
need "$bench" "$te/tests/rdma_large_mr_test" "$te/tests/rdma_async_event_drain_test"
limit=120
export MC_METADATA_SERVER=P2PHANDSHAKE MC_MAX_MR_SIZE=67108864 # the size that the test asks for
for t in rdma_large_mr_test rdma_async_event_drain_test; do
	on_client "$te/tests/$t" >"$tmp/client" 2>&1 || fail "$t ended with $?"
	grep -q '\[  PASSED  \]' "$tmp/client" || fail "$t: nothing passed"
	! grep -q SKIPPED "$tmp/client" || fail "$t left something out"
done
common="--metadata_server=P2PHANDSHAKE --protocol=rdma --device_name=$dev --buffer_size=67108864"
serve "$bench" --mode=target --local_server_name=$host $common
until_there 30 grep -q 'listening on' "$tmp/server" || fail "the target does not listen"
segment=$(sed -n 's/.*listening on \([0-9.]*:[0-9]*\).*/\1/p' "$tmp/server" | head -1)
for op in write read; do
	on_client "$bench" --mode=initiator --local_server_name=$peer --segment_id="$segment" --operation=$op --duration=2 --threads=1 \
		--batch_size=16 $common >"$tmp/client" 2>&1 || fail "$op ended with $?"
	grep -q 'Test completed: .*batch count [1-9]' "$tmp/client" || fail "$op moved nothing"
done
kill $server
echo "2 tests, writes and reads between two engines"

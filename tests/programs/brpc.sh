# program: brpc, over RDMA
# packages: g++ libgflags-dev libprotobuf-dev libleveldb-dev libssl-dev python3
# build: RIPSTOP_BRPC
# version: cat "$RIPSTOP_BRPC/RELEASE_VERSION"
# shows: client and server of its example rdma_performance; a client of ours with attachments of 1 B to 1 MiB
# data: each byte of the attachments that come back is compared
bench=$RIPSTOP_BRPC/example/rdma_performance/bld
lib=$RIPSTOP_BRPC/bld/output/lib/libbrpc.a
need g++ python3 "$bench/server" "$bench/client" "$lib"
limit=120
flags="--rdma_device=$dev --rdma_memory_pool_initial_size_mb=64 --rdma_memory_pool_increase_size_mb=64"
g++ -O0 -std=c++17 -D__const__=__unused__ -DNDEBUG -DBRPC_WITH_RDMA=1 -I"$RIPSTOP_BRPC/src" -I"$RIPSTOP_BRPC/bld" -I"$bench" -o "$tmp/brpc" \
	"$here/brpc.cc" "$bench/test.pb.cc" "$lib" -lgflags -lprotobuf -lleveldb -lprotoc -lssl -lcrypto -libverbs -ldl -lz -lrt \
	>"$tmp/client" 2>&1 || fail "brpc.cc does not build"
serve "$bench/server" --port=$port $flags
wait_listen "$in_server" || fail "the server does not listen"
on_client "$bench/client" --servers=$host:$port --dummy_port=$((port + 1)) --thread_num=2 --queue_depth=8 --attachment_size=4096 --echo_attachment=true \
	--test_seconds=3 $flags >"$tmp/client" 2>&1 || fail "rdma_performance's client ended with $?"
grep -q 'Throughput: [1-9]' "$tmp/client" || fail "rdma_performance moved nothing"

on_client "$tmp/brpc" $host:$port "$tmp" $flags >"$tmp/client" 2>&1 &
client=$!
pids="$pids $client"
until_there $limit test -e "$tmp/moved" || fail "the client moves nothing"
at_client "$ripstop" counters --json >"$tmp/counters"
: >"$tmp/counted"
wait $client || fail "the client ended with $?"
stop_server
# brpc goes over TCP where RDMA fails: the bytes must have been the device's, both ways
python3 - "$tmp/counters" "$tmp/client" $dev <<'CHECK' || fail "the device did not carry it"
import json, re, sys
seen = [d for d in json.load(open(sys.argv[1]))['devices'] if d['device'] == sys.argv[3]]
sent = int(re.search(r'calls, (\d+) bytes', open(sys.argv[2]).read())[1])
sys.exit(not seen or any(min(d['counters']['tx_bytes'], d['counters']['rx_bytes']) < sent for d in seen))
CHECK
echo "rdma_performance; $(tail -n 1 "$tmp/client")"

# program: NIXL
# packages: g++ python3
# build: RIPSTOP_NIXL
# version: python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["version"])' "$RIPSTOP_NIXL/meson-info/intro-projectinfo.json"
# shows: its UCX plugin over rc_verbs: nixl_test between two processes, transfers and notifications of its gtest between two agents of one
# data: nixl_test compares what arrives, and so do two programs of ours with 41 MB that are written and read again; gtest checks its notifications
info=$RIPSTOP_NIXL/meson-info/meson-info.json
nixl_test=$RIPSTOP_NIXL/test/nixl/nixl_test gtest=$RIPSTOP_NIXL/test/gtest/gtest
need g++ python3 "$nixl_test" "$gtest"
limit=120
# rc_v alone, without shared memory and TCP: what does not cross the device does not arrive
export NIXL_PLUGIN_DIR="$RIPSTOP_NIXL/src/plugins/ucx" UCX_NET_DEVICES=$dev:1 UCX_TLS=rc_v

serve "$nixl_test" target $host $port
wait_listen "$in_server" || fail "the target does not listen"
on_client "$nixl_test" initiator $host $port >"$tmp/client" 2>&1 || fail "the initiator ended with $?"
served
[ "$(grep -c 'UCX Transfer Success' "$tmp/server")" = 4 ] || fail "not all of the target's 4 threads had their data"

# RandomSizes, left out, moves 2.5 GB in each of the four
on_client "$gtest" --gtest_filter='ucx*/TestTransfer.*-*RandomSizes*' >"$tmp/client" 2>&1 || fail "gtest ended with $?"
passed=$(sed -n 's/\[  PASSED  \] \([0-9]*\) .*/\1/p' "$tmp/client")
[ "${passed:-0}" -gt 0 ] || fail "gtest: nothing passed"

source=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["directories"]["source"])' "$info")
core=$RIPSTOP_NIXL/src/core infra=$RIPSTOP_NIXL/src/infra
g++ -O1 -std=c++20 -I"$source/src/api/cpp" -o "$tmp/nixl" "$here/nixl.cc" "$core/libnixl.so" "$infra/libnixl_build.so" \
	-Wl,-rpath,"$core:$infra" -Wl,--allow-shlib-undefined >"$tmp/client" 2>&1 || fail "nixl.cc does not build"
serve "$tmp/nixl" server "$tmp"
on_client "$tmp/nixl" client "$tmp" >"$tmp/client" 2>&1 &
client=$!
pids="$pids $client"
until_there $limit test -e "$tmp/moved" || fail "the client moves nothing"
at_client "$ripstop" counters --json >"$tmp/counters"
: >"$tmp/counted"
wait $client || fail "the client ended with $?"
served
# half of the bytes went each way, and all of them over the device
python3 - "$tmp/counters" "$tmp/client" $dev <<'CHECK' || fail "the device did not carry it"
import json, re, sys
seen = [d for d in json.load(open(sys.argv[1]))['devices'] if d['device'] == sys.argv[3]]
half = int(re.search(r'rounds, (\d+) bytes', open(sys.argv[2]).read())[1]) // 2
sys.exit(not seen or any(min(d['counters']['tx_bytes'], d['counters']['rx_bytes']) < half for d in seen))
CHECK
echo "nixl_test; $passed of gtest; $(tail -n 1 "$tmp/client")"

#!/bin/sh
# ripstop counters while perftest runs: text, JSON and Prometheus agree, and name what mlx5 names;
# --watch repeats; without an open device it says so.
set -eu
ripstop=$1
. "$(dirname "$0")/lib.sh"
need ib_write_bw python3

"$ripstop" counters | grep -q 'No device is open'
[ "$("$ripstop" counters --json | python3 -c 'import json, sys; print(json.load(sys.stdin))')" = \
	"{'devices': []}" ]
[ -z "$("$ripstop" counters --prometheus)" ]

port=$((port + 1))
"$ripstop" exec -- ib_write_bw -d rs_lo -p $port -D 60 -q 2 >"$tmp/server" 2>&1 &
server=$!
wait_listen ""
"$ripstop" exec -- ib_write_bw -d rs_lo -p $port -D 60 -q 2 127.0.0.1 >"$tmp/client" 2>&1 &
client=$!
pids="$pids $server $client"
wait_traffic

"$ripstop" counters >"$tmp/text"
"$ripstop" counters --json >"$tmp/json"
"$ripstop" counters --prometheus >"$tmp/prometheus"
timeout 2.5 "$ripstop" counters --watch --json >"$tmp/watch" || :
python3 - "$tmp" $server $client <<'CHECK'
import json, re, sys

tmp, pids = sys.argv[1], {int(p) for p in sys.argv[2:]}
text = open(tmp + "/text").read()
devices = json.load(open(tmp + "/json"))["devices"]
assert {d["pid"] for d in devices} == pids, devices
mlx5 = """out_of_sequence packet_seq_err local_ack_timeout_err rnr_nak_retry_err duplicate_request
implied_nak_seq_err np_cnp_sent rp_cnp_handled np_ecn_marked_roce_packets req_cqe_error resp_cqe_error
req_remote_access_errors resp_remote_access_errors req_cqe_flush_error rx_icrc_encapsulated""".split()
for d in devices:
    assert d["device"] == "rs_lo" and d["interface"] == "lo" and d["qps"] == 2, d
    assert all(name in d["counters"] for name in mlx5), d["counters"].keys()
    assert len(d["qp"]) == 2 and all(q["state"] in ("RTR", "RTS") for q in d["qp"]), d["qp"]
    assert "process %d, 2 queue pairs" % d["pid"] in text
    assert all("QP 0x%06x to 0x%06x" % (q["qpn"], q["dest_qpn"]) in text for q in d["qp"])

# each metric's samples in one group under one TYPE line, none before it, none lower than the JSON's
samples, group, seen = {}, None, set()
for line in open(tmp + "/prometheus"):
    kind = re.fullmatch(r"# TYPE (\w+_total) counter\n", line)
    if kind:
        group = kind[1]
        assert group not in seen
        seen.add(group)
        continue
    m = re.fullmatch(r'(\w+)\{device="rs_lo",pid="(\d+)"(?:,qpn="(\d+)")?\} (\d+)\n', line)
    assert m and m[1] == group, line
    samples[m[1], int(m[2]), m[3]] = int(m[4])
for d in devices:
    for name, value in d["counters"].items():
        assert samples["ripstop_%s_total" % name, d["pid"], None] >= value, name
sent = [d["counters"]["tx_data_packets"] for d in devices]
assert max(sent) > 100, sent

rounds, at = [], 0
watch = open(tmp + "/watch").read()
while watch[at:].strip():
    watch = watch[at:].lstrip()
    value, at = json.JSONDecoder().raw_decode(watch)
    rounds.append(sum(d["counters"]["tx_packets"] for d in value["devices"]))
assert len(rounds) >= 2 and rounds == sorted(rounds), rounds
CHECK
echo "passed: counters"

"""What --observe keeps of each packet, against the capture of the same run: bytes of each port, and the percentiles
of the bytes that packets left behind them in the switch's queues. The table agrees with the JSON.
observe.py RIPSTOP"""
import csv
import json
import math
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from captured import is_pfc, read

RATE, DELAY = 100, 500  # Gb/s, ns
SCENARIO = f"""
fabric:
  network: {{kind: single-switch, hosts: 9, rate: {RATE}G, delay: {DELAY}ns, mtu: 1024}}
  qos: {{switch_latency: 0, cell: 1B}}
observe: {{exact: [all], interval: 2us}}
workload: [{{flows: [%s]}}]
"""
FLOWS = ", ".join(f"{{src: h{s}, dst: h{d}, bytes: {b}kB, start: {t}us}}"
                  for s, d, b, t in [(1, 0, 90, 0), (2, 0, 61, 1), (3, 0, 200, 2), (4, 5, 50, 0), (6, 5, 77, 3),
                                     (7, 8, 13, 0), (2, 8, 31, 1), (1, 5, 44, 9), (0, 8, 29, 4)])
HERE = "observe.py"


def packets(path):
    """(ns, from, to, bytes of the frame with FCS, is it PFC, the frame)"""
    names, seen = read(path)
    for when, i, size, frame in seen:
        yield when, *names[i].split("->"), size, is_pfc(frame), frame


def percentile(values, p):
    values = sorted(values)
    return values[max(math.ceil(p / 100 * len(values)), 1) - 1]


def check(what, got, want, slack=0):
    if abs(got - want) > slack:
        sys.exit(f"{HERE}: {what}: {got}, by the capture {want}")


ripstop = sys.argv[1]
with tempfile.TemporaryDirectory() as tmp:
    name = lambda n: os.path.join(tmp, n)
    open(name("s.yaml"), "w").write(SCENARIO % FLOWS)
    subprocess.run([ripstop, "sim", "--quiet", "--no-diagnosis", "--json", name("j"), "--series-csv", name("c"), "--pcap",
                    name("p"), "--pcap-links", "all", name("s.yaml")], check=True)
    run = json.load(open(name("j")))["runs"][0]
    table = list(csv.DictReader(open(name("c"))))
    seen = list(packets(name("p")))
series = run["series"]

# Arrivals at the switch, by who they are for: the frame is there when its last bit is. Departures: when they begin.
serial = lambda size: (size + 20) * 8 / RATE
events = {}
for when, source, to, size, pfc, frame in seen:
    if pfc:
        continue
    host = int.from_bytes(frame[30:34], "big") & 0xFFFF  # 10.x.y.z: told apart by the low bytes
    if to.startswith("h"):
        events.setdefault(to, []).append((when, 1, size, frame))
ways = {}
for host, list_ in events.items():
    for _, _, _, frame in list_:
        ways[frame[30:34]] = host
for when, source, to, size, pfc, frame in seen:
    if not pfc and source.startswith("h"):
        events[ways[frame[30:34]]].append((when + DELAY + serial(size), 0, size, frame))

ports = {p["name"].split(", to ")[1]: p for p in series["ports"] if not p["nic"]}
compared = 0
for host, list_ in events.items():
    waiting, behind = {}, {}
    for when, leaves, size, frame in sorted(list_, key=lambda e: (e[0], e[1])):
        tc = frame[15] >> 2
        waiting[tc] = waiting.get(tc, 0) + (-size if leaves else size)
        if leaves:
            behind.setdefault(tc, []).append(waiting[tc])
    kept = sorted((c["queue"]["samples"], c["queue"]) for c in ports[host]["classes"] if "queue" in c)
    found = sorted((len(v), v) for v in behind.values())
    check(f"{host}: packets of classes", [k[0] for k in kept] == [f[0] for f in found], True)
    for (n, got), (_, values) in zip(kept, found):
        for key, p in (("p50", 50), ("p90", 90), ("p99", 99), ("p99_9", 99.9)):
            want = percentile(values, p)
            # a time stamp is cut to 1 ns, so that arrivals and departures of one moment may change places
            check(f"{host}: {key} of {n} packets", got[key], want, max(want / 64, 1200))
            compared += want > 0
    total = sum(size + 20 for when, leaves, size, frame in list_ if leaves)
    check(f"{host}: bytes", sum(ports[host]["bytes"]) - total, 0, 84 * 40)  # PFC frames are not in the sum
check("percentiles above 0", compared >= 6, True)
check("hops", sum(p["data_packets"] for p in series["ports"]), run["counters"]["packet_hops"])

check("lines have all columns", all(None not in r.values() and None not in r for r in table), True)
check("bytes acknowledged in the table", sum(int(r["acked_bytes"] or 0) for r in table),
      sum(sum(f.get("acked_bytes", [])) for f in series["followed"]))
for p in series["ports"]:
    rows = [r for r in table if r["kind"] == "port" and r["name"] == p["name"]]
    for r in rows:
        b = round(float(r["time_ns"]) / series["interval_ns"])
        check(f"{p['name']}: queue in the table", int(r["queue_bytes"]), p.get("queue_peak_bytes", [0] * series["bins"])[b])
    check(f"{p['name']}: bins in the table", len(rows), sum(map(bool, p.get("bytes", []))))

# What waits when a bin begins is in that bin's longest queue.
longer = 0
for p in (p for p in series["ports"] if not p["nic"] and p["rows"]):
    for c in p["classes"]:
        for b, waiting in enumerate(c.get("queue_bytes", [])[:-1]):
            peak = p.get("queue_peak_bytes", [0] * series["bins"])[b + 1]
            check(f"{p['name']}: the longest queue of bin {b + 1}, at least {waiting}", peak >= waiting, True)
            longer += waiting > 0
check("queues at ends of bins", longer > 20, True)

# The report says where load and queues were, and who paused whom; a NIC that carried nothing is named.
with tempfile.TemporaryDirectory() as tmp:
    path = os.path.join(tmp, "s.yaml")
    open(path, "w").write("""
fabric: {network: {kind: single-switch, hosts: 6, rate: 100G, delay: 1us}, qos: {buffer: 1MiB, ecn: false}, cc: {kind: none}}
workload: [{flows: [{src: h0, dst: h4, bytes: 1MB}, {src: h1, dst: h4, bytes: 1MB}, {src: h2, dst: h4, bytes: 1MB}]}]
""")
    plain = subprocess.run([ripstop, "sim", "--no-diagnosis", path], check=True, capture_output=True, text=True).stdout
    text = subprocess.run([ripstop, "sim", "--no-diagnosis", "--observe", path], check=True, capture_output=True, text=True).stdout
for part in ("Busiest ports\n", "Longest queues\n", "Who paused whom\n", "2 of 6 NICs carried nothing: h3, h5.",
             "Beside an empty network flows took"):
    check(f"the report has {part!r}", part in text, True)
    check(f"not observed, it has {part!r}", part in plain, False)
busiest = text.split("Busiest ports\n")[1].splitlines()[1]
check("the busiest port", busiest.startswith("switch0 port 4, to h4"), True)
paused = text.split("Who paused whom\n")[1].splitlines()[1]
check("who was held by whom", paused.split()[:1] and paused.split()[0] in ("h0", "h1", "h2") and "switch0" in paused, True)

print(f"{len(seen)} packets, {compared} percentiles above 0 bytes, {len(table)} lines agree")

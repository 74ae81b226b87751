#!/usr/bin/env python3
"""Each value of --observe against an independent count. Drawn networks against the capture of the same run: bytes of ports and
classes, marks, drops, PAUSE frames and how long they held, bin by bin; queues' percentiles; connections' paths, bytes in flight and
acknowledged, packets sent again, rates by the gaps of packets. Hosts with an inside against closed forms: TLPs of each link.
observe_drawn.py RIPSTOP [FIRST COUNT]"""
import json
import math
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict

sys.dont_write_bytecode = True
from captured import is_pfc, read

SMALL = "RS_SMALL" in os.environ
ACK, CNP, READ = 0x11, 0x81, 0x0C
# how soon a port obeys a PAUSE: 802.3 annex 31B.3.7, in quanta of 512 bit times
RESPONSE = {100: 394, 400: 905}
seed = 0
compared = Counter()


def fail(what, got, want):
    sys.exit(f"observe_drawn.py: seed {seed}: {what}: {got}, counted {want}")


def check(what, got, want, slack=0):
    compared[what.split(":")[0]] += 1
    if got != want and (not slack or abs(got - want) > slack):
        fail(what, got, want)


def run(scenario, *options):
    with tempfile.TemporaryDirectory() as tmp:
        name = lambda n: os.path.join(tmp, n)
        with open(name("s.yaml"), "w") as f:
            f.write(scenario)
        done = subprocess.run([sys.argv[1], "sim", "--quiet", "--no-diagnosis", "--max-time", "20ms", "--json", name("j"),
                               "--pcap", name("p"), "--pcap-links", "all", *options, name("s.yaml")], capture_output=True, text=True)
        if done.returncode == 2 and "buffer" in done.stderr:
            return None  # drawn too small for its headroom
        if done.returncode not in (0, 1):
            sys.exit(f"observe_drawn.py: seed {seed}: {done.stderr}\n{scenario}")
        with open(name("j")) as f:
            report = json.load(f)
        return report["complete"], report["runs"][0], *read(name("p"))


# ---- Drawn networks ----


class Drawn:
    def __init__(self, r):
        self.rate, self.delay, self.latency = r.choice([100, 400]), r.choice([100, 500]), r.choice([0, 300])
        self.cell, self.cc = r.choice([1, 208]), r.choice(["none", "dcqcn", "swift", "hpcc"])
        self.loss = r.choice([0, 0, 0, 0.002])
        kind, hosts = r.choice([("leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 3", 6), ("single-switch, hosts: 5", 5),
                                ("leaf-spine, leaves: 3, spines: 1, hosts_per_leaf: 2", 6), ("fat-tree, k: 4", 16)])
        flows, self.sent = [], Counter()
        several = r.random() < 0.6
        for _ in range(r.randint(2, 8)):
            a, b = r.sample(range(hosts), 2)
            if r.random() < 0.6:
                a, b = max(a, 1), 0
            op, bytes_ = r.choice(["write", "send", "read"]) if several else "write", r.choice([1, 30, 100, 300])
            self.sent[b if op == "read" else a] += bytes_ * 1000
            flow = f"src: h{a}, dst: h{b}, bytes: {bytes_}kB, start: {r.randint(0, 8)}us"
            flows.append("{" + flow + (f", op: {op}, class: {r.choice([3, 4])}" if several else "") + "}")
        classes = "[{class: 3, lossless: true, ecn: true, dscp: 26, alpha_shift: -5}, {class: 4, lossless: false, dscp: 34}]"
        self.text = f"""
fabric:
  network: {{kind: {kind}, rate: {self.rate}G, delay: {self.delay}ns, mtu: {r.choice([1024, 4096])}{f', loss: {self.loss}' if self.loss else ''}}}
  qos: {{switch_latency: {self.latency}ns, cell: {self.cell}B, buffer: {r.choice(['3MiB', '16MiB'])}, pfc: {r.choice(['true', 'true', 'false'])},
    ecn: {r.choice(['true', 'false'])}, routing: {r.choice(['ecmp', 'ecmp', 'spray'])}{', classes: ' + classes if several else ''}}}
  cc: {self.cc}
  transport: {{ack_every: {r.choice([1, 8])}}}
observe: {{exact: [all], interval: {r.choice([1, 2, 5])}us}}
workload: [{{flows: [{', '.join(flows)}]}}]
"""

    def serial(self, size):
        return (size + 20) * 8 / self.rate


class Seen:
    """A run, with the frames of each port."""

    def __init__(self, drawn, complete, result, names, frames):
        self.drawn, self.complete, self.run, self.series = drawn, complete, result, result["series"]
        self.bins, self.bin = self.series["bins"], self.series["interval_ns"]
        # links between the same two nodes are in the same order in both
        node = lambda name: name.split(" port")[0].split("/")[0]
        ports = defaultdict(list)
        for p in sorted(self.series["ports"], key=lambda p: (p["nic"], p["node"], p["port"])):
            p["ends"] = tuple(map(node, p["name"].split(", to ")))
            ports[p["ends"]].append(p)
        order, of = Counter(), []
        for n in names:
            ends = tuple(map(node, n.split("->")))
            of.append(ports[ends][order[ends]])
            order[ends] += 1
        for p in self.series["ports"]:
            p["frames"] = []
        for when, i, size, frame in frames:
            of[i]["frames"].append((when, size, frame))

    def at(self, when):
        return min(int(when // self.bin), self.bins - 1)

    def row(self, row):
        return row if row else [0] * self.bins


def check_port(s, p):
    rows, classes, pauses, data = s.row(None), defaultdict(lambda: s.row(None)), [s.row(None) for _ in range(8)], 0
    for when, size, frame in p["frames"]:
        b = s.at(when)
        rows[b] += size + 20
        if is_pfc(frame):
            for c in range(8):
                pauses[c][b] += frame[17] >> c & 1 and frame[18 + 2 * c:20 + 2 * c] != b"\0\0"
            continue
        classes[frame[15] >> 2][b] += size
        data += frame[42] not in (ACK, CNP, READ)
    check("bytes of a port", s.row(p.get("bytes")), rows)
    check("all bytes of a port", p["total_bytes"], sum(rows))
    check("data packets of a port", p["data_packets"], data)
    told = p.get("classes", [])
    check("bytes of classes", sorted(c["bytes"] for c in told if any(c.get("bytes", []))), sorted(classes.values()))
    for c in told:
        check("PAUSE frames", s.row(c.get("pauses")), pauses[c["class"]])
    check("all PAUSE frames", p["total_pauses"], sum(map(sum, pauses)))


def held_rows(s, p, c):
    """How long the other end's PFC frames hold class c of a port."""
    d, rows, since, until = s.drawn, [0.0] * s.bins, None, 0
    quantum = 512 / d.rate

    def close(a, b):
        for i in range(s.bins):
            rows[i] += max(0, min(b, (i + 1) * s.bin if i < s.bins - 1 else math.inf) - max(a, i * s.bin))

    for when, size, frame in s.series["ports"][p["back"]]["frames"]:
        if not is_pfc(frame) or not frame[17] >> c & 1:
            continue
        when += d.serial(size) + d.delay + (0 if p["nic"] else d.latency)
        if since is not None and until <= when:
            close(since, until)
            since = None
        quanta = int.from_bytes(frame[18 + 2 * c:20 + 2 * c], "big")
        if quanta:
            since = when + RESPONSE[d.rate] * quantum if since is None else since
            until = when + quanta * quantum
        elif since is not None:
            close(since, when)
            since = None
    if since is not None:
        close(since, until)
    return rows


def check_held(s, p):
    for c in p.get("classes", []):
        if not any(c.get("paused_ns", [])) and not s.series["ports"][p["back"]]["total_pauses"]:
            continue
        for got, want in list(zip(s.row(c.get("paused_ns")), held_rows(s, p, c["class"])))[:-1]:
            check("time held", got, want, 60)  # some nanoseconds a pause are rounded


def percentile(values, p):
    values = sorted(values)
    return values[max(math.ceil(p / 100 * len(values)), 1) - 1]


def check_switch(s, name):
    """Each frame that came in, where it left, and what waited there. A frame that is sent again looks as the one before."""
    d, arrived, left = s.drawn, defaultdict(list), defaultdict(list)
    key = lambda f: (f[26:36], f[42], f[47:50], f[51:54], f[54:58] if f[42] == ACK else b"")
    for p in s.series["ports"]:
        for when, size, frame in p["frames"]:
            if is_pfc(frame):
                continue
            if p["ends"][1] == name:
                arrived[key(frame)].append((when + d.serial(size) + d.delay + d.latency, p, frame))
            if p["ends"][0] == name:
                left[key(frame)].append((when, p, size, frame))
    missing, marks, waits = Counter(), Counter(), defaultdict(list)
    for k, list_ in arrived.items():
        for when, p, frame in list_:
            missing[p["back"]] += 1
        gone = left.get(k, [])
        for (came, p, before), (when, out, size, frame) in zip(list_, gone):
            missing[p["back"]] -= 1
            marks[out["name"]] += frame[15] & 3 == 3 and before[15] & 3 != 3
            cells = -(-size // d.cell) * d.cell
            waits[out["name"], frame[15] >> 2] += [(came, 0, cells), (when, 1, -cells)]
    behind = defaultdict(list)
    for (out, dscp), list_ in waits.items():
        waiting, of = 0, []
        for _, leaves, cells in sorted(list_, key=lambda w: w[:2]):
            waiting += cells
            if leaves:
                of.append(max(waiting, 0))
        behind[out].append(of)
    for i, p in enumerate(s.series["ports"]):
        if p["ends"][0] != name:
            continue
        check("marks", p["total_marks"], marks[p["name"]])
        if s.complete:
            # an ACK may be on its way when the run has ended
            check("packets dropped or lost", p["total_drops"] + s.series["ports"][p["back"]]["total_lost"], missing[i], 1)
        told = sorted((c["queue"] for c in p.get("classes", []) if "queue" in c), key=lambda q: (q["samples"], q["p99"]))
        found = sorted(behind[p["name"]], key=lambda of: (len(of), percentile(of, 99)))
        check("packets of queues", [q["samples"] for q in told], [len(of) for of in found])
        for q, of in zip(told, found):
            for which, share in (("p50", 50), ("p90", 90), ("p99", 99)):
                want = percentile(of, share)
                # a time stamp is cut to 1 ns, so that arrivals and departures of one moment may change places
                check(f"queue: {which} of {p['name']}", q[which], want, max(want / 64, 4368))


def frames_of(s, port, connection):
    """Requests and what they bring, of a connection's only queue pair."""
    sport = connection["udp_source_port"].to_bytes(2, "big")
    mine = [x for x in port["frames"] if not is_pfc(x[2]) and x[2][34:36] == sport and x[2][42] not in (ACK, CNP)]
    return [x for x in mine if x[2][26:34] == mine[0][2][26:34] and x[2][47:50] == mine[0][2][47:50]]


def naks_of(s, c, mine):
    """Negative acknowledgements (AETH's syndrome, 9.7.5.1 of the InfiniBand specification) that came to the sender."""
    back = s.series["ports"][s.series["ports"][c["path"][0]]["back"]]
    who = mine[0][2][30:34] + mine[0][2][26:30]
    return sum(not is_pfc(f) and f[42] == ACK and f[26:34] == who and f[54] >> 5 & 3 for _, _, f in back["frames"])


def check_connection(s, c):
    ports = s.series["ports"]
    mine = frames_of(s, ports[c["path"][0]], c)
    if mine[0][2][42] == READ:
        return
    who = lambda f: (f[26:36], f[47:50])
    if c["ways"] == 1:
        passed = {i for i, p in enumerate(ports) if any(not is_pfc(f) and f[42] not in (ACK, CNP) and who(f) == who(mine[0][2]) for _, _, f in p["frames"])}
        check("path", passed - set(c["path"]), set())
    sizes, again = {}, s.row(None)
    for when, size, frame in mine:
        again[s.at(when)] += frame[51:54] in sizes
        sizes[frame[51:54]] = size
    check("packets sent again", s.row(c.get("resent")), again)
    why = [s.row(c.get(f"resent_{why}")) for why in ("timeout", "nak", "rnr", "reordered")]
    check("their reasons", [sum(x) for x in zip(*why)], again)
    told, counters = list(map(sum, why)), s.run["counters"]
    if not counters["drops"] + counters["link_losses"]:
        check("reasons where nothing was lost", told[1], 0)
    if not counters["timeouts"]:
        check("reasons where no timer ran out", told[0], 0)
    if not naks_of(s, c, mine):
        check("reasons where no NAK came", told[1:], [0, 0, 0])
    if s.complete:
        check("bytes acknowledged", sum(c.get("acked_bytes", [])), sum(sizes.values()))
    alone = sum(x["src"] == c["src"] and x["dst"] == c["dst"] for x in s.series["followed"]) == 1
    if not s.run["counters"]["retransmits"] and alone:
        check_flight(s, c, mine)


def check_flight(s, c, mine):
    total, acks = [0], []
    for _, size, _ in mine:
        total.append(total[-1] + size)
    first, (src, dst) = int.from_bytes(mine[0][2][51:54], "big"), (mine[0][2][26:30], mine[0][2][30:34])
    nic = s.series["ports"][c["path"][0]]
    for when, size, f in s.series["ports"][nic["back"]]["frames"]:
        if not is_pfc(f) and f[42] == ACK and (f[26:30], f[30:34]) == (dst, src):
            acks.append((when + s.drawn.serial(size) + s.drawn.delay, (int.from_bytes(f[51:54], "big") - first) % (1 << 24) + 1))
    for b in range(s.bins - 1):
        end = (b + 1) * s.bin
        sent = sum(when < end for when, _, _ in mine)
        acked = max((n for when, n in acks if when < end), default=0)
        if acked < len(mine):
            # what comes in the last nanosecond may count before or behind it: a packet, or what one ACK acknowledges
            check("bytes in flight", s.row(c.get("in_flight_bytes"))[b], total[sent] - total[acked], 8 * 4200)


def check_flows(s):
    for endpoint, bytes_ in enumerate(s.run["nic_bytes"]):
        if s.complete:
            check("payload of NICs", bytes_, s.drawn.sent[endpoint])
    for f in s.run["flows"]:
        if f["finish_ns"] is None:
            continue
        took = f["finish_ns"] - f["start_ns"]
        check("goodput", f["goodput_gbps"], f["bytes"] * 8 / took, 1e-4 * f["goodput_gbps"])
        check("slowdown", f["slowdown"], took / f["alone_ns"], 1e-3)
        check("no more than allowed", f["goodput_gbps"] <= f["allowed_gbps"] * 1.001, True)


def networks(first, count):
    global seed
    for seed in range(first, first + count):
        drawn = Drawn(random.Random(seed))
        got = run(drawn.text)
        if not got:
            continue
        s = Seen(drawn, *got)
        check("hops", sum(p["data_packets"] for p in s.series["ports"]), s.run["counters"]["packet_hops"])
        for p in s.series["ports"]:
            check_port(s, p)
            check_held(s, p)
        if not s.run["counters"]["retransmits"]:
            for name in {p["ends"][0] for p in s.series["ports"] if not p["nic"]}:
                check_switch(s, name)
        for c in s.series["followed"]:
            check_connection(s, c)
        check_flows(s)


# ---- Rates and windows ----

INCAST = """
fabric: {{network: {{kind: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 3, rate: 100G, delay: 500ns, mtu: 1024}},
  qos: {{switch_latency: 0, cell: 1B}}, cc: {0}}}
observe: {{interval: 8us}}
workload: [{{flows: [{{src: h0, dst: h3, bytes: {1}kB}}, {{src: h1, dst: h3, bytes: {1}kB}}, {{src: h2, dst: h3, bytes: {1}kB}}]}}]
"""


def rates():
    """Where the rate stays, the gap of the packets on both sides of a bin's end is that of the rate."""
    s = Seen(Drawn(random.Random(0)), *run(INCAST.format("dcqcn", 3000)))
    right = changed = 0
    for c in s.series["followed"]:
        mine = frames_of(s, s.series["ports"][c["path"][0]], c)
        for b, rate in enumerate(c["rate"][:-1]):
            before = [x for x in mine if x[0] < (b + 1) * s.bin][-1:]
            after = [x for x in mine if x[0] >= (b + 1) * s.bin][:1]
            if not before or not after or not 1e9 < rate < 60e9:
                continue
            gap = (before[0][1] + 20) * 8e9 / rate
            right += abs((after[0][0] - before[0][0]) / gap - 1) < 0.02
            changed += 1
    check("gaps of the rate", right >= 100 and 10 * right >= 9 * changed, True)
    check("no window", any("window_bytes" in c for c in s.series["followed"]), False)


def windows():
    """HPCC's rate is its window over the base round trip: 8 links, 4 of them with a packet of 1,128 bytes, 4 with an ACK."""
    s = Seen(Drawn(random.Random(0)), *run(INCAST.format("hpcc", 500)))
    for c in s.series["followed"]:
        trips = [w * 8e9 / r for w, r in zip(c["window_bytes"], c["rate"]) if w and r]
        for t in trips:
            check("windows over rates", t, trips[0], trips[0] / 500)
        check("base round trip", trips[0], 8 * 500 + 4 * 1148 * 0.08, 100)
        full = [(w, f) for w, f in zip(c["window_bytes"], c["in_flight_bytes"]) if f][3:-2]
        check("windows are full", 10 * sum(w - 2400 < f < w + 1200 for w, f in full) >= 9 * len(full), True)


# ---- Inside hosts ----


def inside(first, count):
    """Bytes of each link from the packets' sizes: TLPs of a write carry MPS bytes, requests of a read ask for MRRS, completions carry
    MPS and 256 bytes at most. Headers of 24, 24 and 20 bytes."""
    global seed
    pieces = lambda bytes_, mtu, of: bytes_ // mtu * -(-mtu // of) + -(-(bytes_ % mtu) // of)
    for seed in range(first, first + count):
        r = random.Random(seed)
        mps, mrrs, mtu = r.choice([128, 256, 512]), r.choice([256, 512, 1024, 4096]), r.choice([1024, 2048, 4096])
        flows = [(0, 1, r.randint(1, 400000)), (0, 2, r.randint(1, 100000)), (2, 1, r.randint(1, 100000))]
        got = run(f"""
fabric:
  hosts: [{{name: h, count: 3, cpu: spr, sockets: 2, nics: [{{name: nic0, on: socket0, pcie: {{gen: 4, lanes: {r.choice([8, 16])}, mps: {mps}B, mrrs: {mrrs}B}}}}]}}]
  network: {{kind: single-switch, rate: 100G, delay: 500ns, mtu: {mtu}}}
  cc: none
observe: {{interval: {r.choice([1, 5])}us}}
workload: [{{flows: [{', '.join(f'{{src: h{a}, dst: h{b}, bytes: {n}B}}' for a, b, n in flows)}]}}]
""")
        s = got[1]["series"]
        for l in s["inside"]:
            host, way = int(l["name"][1]), l["name"].split()[1]
            sent = [n for a, _, n in flows if a == host]
            came = [n for _, b, n in flows if b == host]
            if way == "nic0->socket0":
                want = sum(n + 24 * pieces(n, mtu, mps) for n in came) + sum(24 * pieces(n, mtu, mrrs) for n in sent)
            else:
                want = sum(n + 20 * pieces(n, mtu, min(mps, 256)) for n in sent)
            check("bytes inside", sum(l.get("bytes", [])), want)
            # a bin's time is cut to 1 ns, a TLP's to 1 ps
            check("time taken inside", sum(l.get("busy_ns", [])), want * 8e9 / l["rate"], s["bins"] + 2 + want / 1e5)
        for e in s["engines"]:
            check("outstanding", all(n <= e["reads_max"] for n in e.get("reads", [])) and all(n <= e["read_bytes_max"] for n in e.get("read_bytes", []))
                  and all(n <= e["credits_max"] for n in e.get("credits", [])), True)
            for n, bytes_ in zip(e.get("reads", []), e.get("read_bytes", [])):
                check("bytes of reads outstanding", n * mrrs - len(flows) * mtu <= bytes_ <= n * mrrs if mrrs <= mtu else bytes_ <= n * mtu, True)


inside(1, 3 if SMALL else 8)
rates()
windows()
networks(*(map(int, sys.argv[2:4]) if len(sys.argv) > 3 else (1, 4 if SMALL else 10)))
print(", ".join(f"{n} {what}" for what, n in compared.items()))

#!/usr/bin/env python3
"""ripstop expect --pairs: `expect_pairs.py RIPSTOP [--count N] [--seed S] [-v]`.

Random matrices: pairs of hosts of a random leaf-spine network are simulated, healthy or with a planted fault, with noise of
3 to 10 % and missing cells, in a random form. The right kind and place are to be found in 95 %; healthy ones accuse nothing.
Then forms that people have, pairs that failed, and what is refused.
"""
import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile

try:
    import jsonschema
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/schema/ripstop-expect-pairs-1.schema.json"),
              encoding="utf-8") as schema:
        SCHEMA = json.load(schema)
except ImportError:
    SCHEMA = None
RATE, BYTES, APART = 100, 1 << 20, 500_000  # Gb/s; a flow's bytes; ns between flows that are alone
KINDS = ("healthy", "host", "leaf", "collisions", "some-paths", "sends", "receives", "pair", "two hosts")


def fail(what):
    print(f"expect_pairs: {what}", file=sys.stderr)
    sys.exit(1)


def judge(ripstop, *args):
    p = subprocess.run([ripstop, "expect", "--pairs", "--quiet", "--json", "-", *args], capture_output=True,
                       text=True, timeout=120, check=False)
    if p.returncode not in (0, 1):
        fail(f"{args}: {p.returncode} {p.stderr}")
    d = json.loads(p.stdout)
    if (p.returncode == 1) != bool(d["faults"]):
        fail(f"{args}: exit status {p.returncode} with {d['faults']}")
    if SCHEMA:
        jsonschema.validate(d, SCHEMA)
    return d


class Case:
    """A network, a fault, and the matrix that the simulator gives."""

    def __init__(self, seed, kind):
        self.r, self.kind = random.Random(seed), kind
        r = self.r
        self.leaves, self.per_leaf, self.spines = r.randint(2, 4), r.randint(3, 4), r.choice((2, 4))
        if kind == "some-paths":
            self.leaves, self.per_leaf = 4, 4
        self.n = self.leaves * self.per_leaf
        self.noise, self.missing = r.choice((0.03, 0.05, 0.1)), r.choice((0, 0, 0.05, 0.15))
        self.given = r.random() < 0.5 or kind == "some-paths"
        self.host, self.other = r.sample(range(self.n), 2)
        self.leaf = r.randrange(self.leaves)
        self.factor = r.uniform(0.25, 0.7)
        self.names = [f"gpu{i + 1:02}" for i in range(self.n)]

    def changes(self):
        if self.kind in ("host", "two hosts"):
            hosts = (self.host, self.other) if self.kind == "two hosts" else (self.host,)
            return [f"{{link: h{h}, rate: {RATE * self.factor:.1f}G}}" for h in hosts]
        if self.kind == "leaf":
            return [f"{{link: [leaf{self.leaf}, spine{s}], rate: {RATE * self.factor:.1f}G}}" for s in range(self.spines)]
        if self.kind == "some-paths":
            return [f"{{link: [leaf{self.leaf}, spine0], rate: {RATE * 0.25:.1f}G}}"]
        return []

    def flows(self):
        """One pair at a time; for collisions rounds of half of the hosts, each with its own partner."""
        if self.kind != "collisions":
            pairs = [(i, k) for i in range(self.n) for k in range(self.n) if i != k]
            return [(t * APART, i, k) for t, (i, k) in enumerate(pairs)]
        n, out, t = self.n + self.n % 2, [], 0
        ring = list(range(n))
        for _ in range(n - 1):
            both = [(ring[i], ring[n - 1 - i]) for i in range(n // 2)]
            for way in (0, 1):
                for a, b in both:
                    if max(a, b) < self.n:
                        out.append((t, (a, b)[way], (b, a)[way]))
                t += 2 * APART
            ring = [ring[0], ring[-1], *ring[1:-1]]
        return out

    def simulate(self, ripstop, folder):
        path = os.path.join(folder, "net.yaml")
        flows = self.flows()
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"fabric:\n  network: {{kind: leaf-spine, leaves: {self.leaves}, spines: {self.spines}, hosts: {self.n}, "
                    f"rate: {RATE}G, delay: 100ns}}\n  cc: none\n  change: [{', '.join(self.changes())}]\n"
                    "workload:\n  - flows: flows.csv\n")
        with open(os.path.join(folder, "flows.csv"), "w", encoding="utf-8") as f:
            f.writelines(f"{t},{i},{k},{BYTES}\n" for t, i, k in flows)
        p = subprocess.run([ripstop, "sim", "--no-diagnosis", "--quiet", "--threads", "1", "--json", "-", path],
                           capture_output=True, text=True, timeout=120, check=False)
        if p.returncode:
            fail(f"{self.kind}: {p.stderr}")
        out = {}
        for flow, (_, i, k) in zip(json.loads(p.stdout)["runs"][0]["flows"], flows):
            out[i, k] = BYTES * 8 / (flow["finish_ns"] - flow["start_ns"])
        return out

    def matrix(self, ripstop, folder):
        m, r = self.simulate(ripstop, folder), self.r
        plants = {"sends": lambda i, k: i == self.host, "receives": lambda i, k: k == self.host,
                  "pair": lambda i, k: {i, k} == {self.host, self.other}}
        for (i, k) in m:
            if self.kind in plants and plants[self.kind](i, k):
                m[i, k] *= 0.3 if self.kind == "pair" else self.factor
        self.collided = sum(v < 0.75 * RATE for v in m.values())
        out = {}
        for key in sorted(m):
            # a pair that is planted is measured
            if r.random() >= self.missing or self.kind == "pair":
                out[key] = m[key] * math.exp(r.gauss(0, self.noise))
        return out

    def write(self, m, path):
        form = self.r.choice(("csv", "tsv", "list", "json", "records"))
        cell = lambda i, k: f"{m[i, k]:.2f}" if (i, k) in m else "-"
        with open(path, "w", encoding="utf-8") as f:
            if form in ("csv", "tsv"):
                s = "," if form == "csv" else "\t"
                f.write(s.join(["Gb/s" if form == "tsv" else "", *self.names]).replace("Gb/s", "host") + "\n")
                f.writelines(s.join([self.names[i], *(cell(i, k) for k in range(self.n))]) + "\n" for i in range(self.n))
            elif form == "list":
                f.writelines(f"{self.names[i]} -> {self.names[k]}: {v:.2f} Gb/s\n" for (i, k), v in m.items())
            elif form == "json":
                json.dump({"nodes": self.names, "matrix": [[m.get((i, k)) for k in range(self.n)] for i in range(self.n)]}, f)
            else:
                json.dump([{"src": self.names[i], "dst": self.names[k], "gbps": v} for (i, k), v in m.items()], f)

    def leaf_hosts(self, leaf):
        return {self.names[i] for i in range(leaf * self.per_leaf, (leaf + 1) * self.per_leaf)}

    def is_leaf(self, f):
        if f["kind"] == "between":
            return self.leaves == 2
        if f["kind"] != "leaf":
            return False
        if self.given:
            return self.leaves == 2 or f["what"] == f"leaf leaf{self.leaf}"
        named, own = set(f["what"].removeprefix("hosts ").split(", ")), self.leaf_hosts(self.leaf)
        return named in (own, set(self.names) - own)

    def right(self, faults):
        first = faults[0] if faults else {"kind": "", "what": ""}
        host, other = self.names[self.host], self.names[self.other]
        if self.kind == "healthy":
            return not faults
        if self.kind == "host":
            return first["kind"] == "host" and first["what"] == f"host {host}" and len(faults) == 1
        if self.kind == "two hosts":
            return {f["what"] for f in faults} == {f"host {host}", f"host {other}"}
        if self.kind in ("sends", "receives"):
            return first["kind"] == self.kind and host in first["what"] and len(faults) == 1
        if self.kind == "leaf":
            return self.is_leaf(first) and len(faults) == 1
        if self.kind == "pair":
            return 0 < len(faults) <= 2 and all(f["kind"] == "pair" and host in f["what"] and other in f["what"] for f in faults)
        if self.kind == "some-paths":
            return first["kind"] == "some-paths" and f"leaf leaf{self.leaf}" in first["what"]
        return bool(faults) and all(f["kind"] in ("collisions", "pair") for f in faults) or self.collided == 0 == len(faults)

    def args(self):
        if not self.given:
            return []
        out = []
        for leaf in range(self.leaves):
            out += ["--leaf", f"leaf{leaf}=" + ",".join(sorted(self.leaf_hosts(leaf)))]
        return out


def planted(ripstop, count, seed, verbose):
    right, tried, false_alarms = {}, {}, 0
    with tempfile.TemporaryDirectory() as folder:
        for i in range(count):
            c = Case(seed + i, KINDS[i % len(KINDS)])
            path = os.path.join(folder, "matrix")
            c.write(c.matrix(ripstop, folder), path)
            d = judge(ripstop, *c.args(), path)
            ok = c.right(d["faults"])
            tried[c.kind] = tried.get(c.kind, 0) + 1
            right[c.kind] = right.get(c.kind, 0) + ok
            false_alarms += c.kind == "healthy" and not ok
            if verbose and not ok:
                print(f"seed {seed + i} {c.kind} n {c.n} of {c.leaves} leaves noise {c.noise} missing {c.missing} "
                      f"given {c.given} factor {c.factor:.2f} host {c.names[c.host]} other {c.names[c.other]} leaf {c.leaf}: "
                      f"{[(f['kind'], f['what'], round(f['factor'], 2), f['slow'], f['pairs']) for f in d['faults']]} "
                      f"noise {d['noise']:.3f} level {d['level']:.1f}")
    if verbose:
        print(", ".join(f"{k} {right[k]}/{tried[k]}" for k in tried))
    if false_alarms or sum(right.values()) < 0.95 * count:
        fail(f"right in {sum(right.values())} of {count}; {false_alarms} healthy matrices accused: {right} of {tried}")


def mpigraph(names, value):
    """LLNL's mpiGraph: two tables; the second one's rows receive."""
    head = "".join(f"{n}:{i}\t" for i, n in enumerate(names))
    row = lambda a, b: f"{0 if a == b else value(a, b) * 100:.3f}\t"
    return ("START mpiGraph v1.5\nMsgSize\t16384\nTimes\t100\n\n1 of 5 (20.0%)\nGathering results\n\nSend max\t9770.0\n\n"
            f"Send\t{head}\n" + "".join(f"{a}:{i} to\t" + "".join(row(a, b) for b in names) + "\n" for i, a in enumerate(names)) +
            f"\nRecv max\t9770.0\n\nRecv\t{head}\n" +
            "".join(f"{a}:{i} from\t" + "".join(row(b, a) for b in names) + "\n" for i, a in enumerate(names)) + "END mpiGraph\n")


def nccl_run(a, b, busbw):
    return ("# nThread 1 nGpus 1 minBytes 1048576 maxBytes 1073741824 step: 2(factor)\n"
            f"#  Rank  0 Group  0 Pid 1 on {a:>8} device  0 [0000:1b:00] NVIDIA H100\n"
            f"#  Rank  1 Group  0 Pid 2 on {b:>8} device  0 [0000:1b:00] NVIDIA H100\n"
            f"   1048576  262144  float  sum  -1  40.0  26.2  {busbw * 0.5:.2f}  0  40.0  26.2  26.2  0\n"
            f"1073741824  268435456  float  sum  -1  22000.0  48.8  {busbw:.2f}  0  22000.0  48.8  48.8  0\n"
            f"# Avg bus bandwidth    : {busbw * 0.75:.2f}\n")


def programs(ripstop, write, names, pairs, value):
    """What mpiGraph, ClusterKit, OSU's tests and loops around perftest and nccl-tests leave; h3 is slow in each."""
    perf = (" local address: LID 0x02 QPN 0x0154 PSN 0x76f7ac\n"
            " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
            " 65536      5000             99.0              %.1f            0.1744\n")
    half = [(a, b) for a, b in pairs if a < b]
    kit = {"Testname": "bandwidth", "Units": "MB/s", "Nodes": {n: i for i, n in enumerate(names)},
           "Links": [[names.index(a), names.index(b), value(a, b) * 100] for a, b in half]}
    for text in (
            mpigraph(names, value),
            json.dumps(kit),
            "".join(f"=== {a} -> {b} ===\n{perf % value(a, b)}" for a, b in pairs),
            "".join(nccl_run(a, b, value(a, b)) for a, b in half),
            "| to | " + " | ".join(names) + " |\n|" + "---|" * 6 + "\n" + "".join(
                f"| {a} | " + " | ".join("-" if a == b else f"{value(a, b)}" for b in names) + " |\n" for a in names),
            "".join(f"{a} {b} {value(a, b)} Gb/s\n" if a < b else f"{a} {b} {value(a, b) * 1000:.0f} Mb/s\n" for a, b in pairs)):
        d = judge(ripstop, write("m", text))
        if [f["what"] for f in d["faults"]] != ["host h3"] or not 0.3 < d["faults"][0]["factor"] < 0.6:
            fail(f"{text}: {d}")
    # a list as people paste it; each pair once. The maintainers' answer there (nccl-tests, issue 106): node 644 is slow
    d = judge(ripstop, write("m", "n644,n699     49.36\nn632,n641     88.36 \nn284,n678     49.28  # across\n"
                             "n641,n644     49.30\nn404,n699     86.81  # across\n"))
    if [f["what"] for f in d["faults"]] != ["host n644", "the path from n284 to n678"] or d["pairs"] != 5:
        fail(f"a list of five: {d}")
    os.mkdir(os.path.dirname(write("x", "")) + "/osu")
    for a, b in half:
        folder = os.path.dirname(write(f"osu/{a}_{b}.txt", "# OSU MPI Latency Test v5.9\n# Size          Latency (us)\n"
                                       f"0   {100 / value(a, b):.2f}\n4096   {300 / value(a, b):.2f}\n"))
    d = judge(ripstop, folder)
    if [f["what"] for f in d["faults"]] != ["host h3"] or not d["latency"]:
        fail(f"OSU: {d}")
    # two links, both ways, that share no end: two pairs, no collisions
    slow = lambda a, b: 0.5 if {a, b} in ({"h1", "h2"}, {"h4", "h5"}) else 1
    d = judge(ripstop, write("m", "".join(f"{a} {b} {97 * slow(a, b)}\n" for a, b in pairs)))
    if {f["kind"] for f in d["faults"]} != {"pair"}:
        fail(f"two links: {d}")


def forms(ripstop):
    """The same matrix in each form; h3 is slow."""
    names = [f"h{i}" for i in range(1, 6)]
    value = lambda a, b: 48.0 if "h3" in (a, b) else 97.0 + (names.index(a) * 5 + names.index(b)) % 7 / 10
    with tempfile.TemporaryDirectory() as folder:
        def write(name, text):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write(text)
            return os.path.join(folder, name)
        rows = "".join(f"{a} " + " ".join("-" if a == b else f"{value(a, b):.1f}" for b in names) + "\n" for a in names)
        pairs = [(a, b) for a in names for b in names if a != b]
        perf = (" #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
                " 65536      5000             99.0              %.1f            0.1744\n")
        logs = os.path.join(folder, "logs")
        os.mkdir(logs)
        for a, b in pairs:
            write(f"logs/{a}_to_{b}.log", perf % value(a, b))
        for text in (
                "Send " + " ".join(names) + "\n" + rows,
                "# rates\n\n" + " ".join(names) + "\n" + rows,
                "from,to,gbps\n" + "".join(f"{a},{b},{value(a, b)}\n" for a, b in pairs),
                "".join(f"bandwidth {a} - {b} : {value(a, b)} Gbps\n" for a, b in pairs),
                json.dumps({a: {b: value(a, b) for b in names if a != b} for a in names}),
                json.dumps({"results": [{"client": a, "server": b, "busbw": value(a, b)} for a, b in pairs]}),
                json.dumps([{"client": a, "server": b, "bw_avg": value(a, b)} for a, b in pairs]),
                "client,size,server,bw_gbps,iterations\n" + "".join(f"{a},65536,{b},{value(a, b)},5000\n" for a, b in pairs)):
            d = judge(ripstop, write("m", text))
            if [f["what"] for f in d["faults"]] != ["host h3"]:
                fail(f"{text}: {d}")
        # lines in words of their own, each way of a pair
        for line in ("{a} <-> {b}: busbw {v} GB/s", "Testing {a} - {b} ... {v} Gbps OK", "{a}->{b} {v} Gb/sec",
                     "[pair {i}/20] nodes={a},{b} avg_busbw={v}", "2026-03-01 10:00:{i:02d} INFO pair {a} {b} bandwidth={v}Gb/s iters=20",
                     "  * `{a}` vs `{b}` => {v} GB/s (avg of 20)", "({a}, {b}) | {v} GB/s | PASS", "{b} from {a}, size 1048576: rate {v} Gb/s",
                     "RESULT src={a} dst={b} gbps={v}", "ib_write_bw {a} --> {b} = {v} Gb/s"):
            text = "".join(line.format(a=a, b=b, v=round(value(a, b), 1), i=i) + "\n" for i, (a, b) in enumerate(pairs))
            d = judge(ripstop, write("m", text))
            if [f["what"] for f in d["faults"]] != ["host h3"]:
                fail(f"{text}: {d}")
        if [f["what"] for f in judge(ripstop, logs)["faults"]] != ["host h3"]:
            fail("logs")
        programs(ripstop, write, names, pairs, value)
        bare = "".join(" ".join("0" if a == b else f"{value(a, b):.1f}" for b in names) + "\n" for a in names)
        if [f["what"] for f in judge(ripstop, write("m", bare))["faults"]] != ["host 2"]:
            fail("numbers alone")
        # latencies: less is better; NICs: one of a host
        late = "latency (us)\n" + "".join(f"{a} {b} {100 / value(a, b):.3f}\n" for a, b in pairs)
        if [f["what"] for f in judge(ripstop, write("m", late))["faults"]] != ["host h3"]:
            fail("latency")
        nics = [f"h{i}/mlx5_{k}" for i in range(4) for k in range(2)]
        text = "".join(f"{a} {b} {40 if 'h2/mlx5_1' in (a, b) else 97 + len(a + b) % 3}\n"
                       for a in nics for b in nics if a[:2] != b[:2])
        if [f["what"] for f in judge(ripstop, write("m", text))["faults"]] != ["NIC h2/mlx5_1"]:
            fail("a NIC")
        text = "client,client_dev,server,server_dev,bw_gbps\n" + "".join(
            f"{a[:2]},{a[3:]},{b[:2]},{b[3:]},{40 if 'h2/mlx5_1' in (a, b) else 97 + len(a + b) % 3}\n"
            for a in nics for b in nics if a[:2] != b[:2])
        if [f["what"] for f in judge(ripstop, write("m", text))["faults"]] != ["NIC h2/mlx5_1"]:
            fail("a list with columns of NICs")
        for text, status in (("nothing here\n", 2), ("a b c\nd 1 zwei\n", 2), ("h1 h2 90\n", 4), ("{\"a\": [", 2)):
            p = subprocess.run([ripstop, "expect", "--pairs", write("m", text)], capture_output=True, text=True, check=False)
            if p.returncode != status:
                fail(f"{text!r}: {p.returncode} {p.stderr}")


def several(ripstop):
    """Several hosts or leaves at once, and one way alone: each is named, whatever part of all pairs is slow."""
    def named(hosts):
        return ", ".join(f"h{i:02}" for i in hosts)

    def way(a, b, both=False):
        return lambda i, k: i in a and k in b or both and i in b and k in a

    def touches(slow):
        return lambda i, k: i in slow or k in slow

    def outside(leaves):
        return lambda i, k: i // 4 != k // 4 and (i // 4 in leaves or k // 4 in leaves)
    a, b, rest = range(4, 8), range(8, 12), [*range(4), *range(8, 16)]
    hosts = [(n, touches(slow), [f"host h{i:02}" for i in slow])
             for n, slow in ((4, (0, 1)), (6, (1, 3, 4)), (8, (0, 2, 5)), (8, (1, 2, 4, 7)), (8, (0, 1, 2, 3, 4)), (16, range(0, 12, 2)),
                             (16, range(8)), (12, range(5, 12)))]
    for n, slow, want in (
            *hosts,
            (16, way(a, rest), [f"what hosts {named(a)} send to the others"]),
            (16, way(rest, a), [f"what hosts {named(a)} receive from the others"]),
            (16, way(a, b), [f"hosts {named(a)} to hosts {named(b)}"]),
            (16, way(a, b, True), [f"hosts {named(a)} and hosts {named(b)}"]),
            (16, outside((1,)), [f"hosts {named(a)}"]),
            (20, outside((1, 2)), [f"hosts {named(a)}", f"hosts {named(b)}"]),
            (12, outside((0, 1, 2)), [f"hosts {named(range(4 * g, 4 * g + 4))}" for g in range(3)]),
            (16, lambda i, k: i in (2, 3, 9), [f"what host h{i:02} sends" for i in (2, 3, 9)]),
            (16, lambda i, k: False, [])):
        for seed in range(4):
            r = random.Random(seed)
            m = [["-" if i == k else f"{390 * (0.5 if slow(i, k) else 1) * math.exp(r.gauss(0, 0.02)):.1f}" for k in range(n)]
                 for i in range(n)]
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "m.csv")
                with open(path, "w", encoding="utf-8") as f:
                    f.write("," + ",".join(f"h{i:02}" for i in range(n)) + "\n")
                    f.writelines(f"h{i:02}," + ",".join(row) + "\n" for i, row in enumerate(m))
                got = [f["what"] for f in judge(ripstop, path)["faults"]]
            # two sides of a block have no order
            if sorted(got) != sorted(want) and not (len(got) == 1 and sorted(got[0].split(" and ")) == sorted(want[0].split(" and "))):
                fail(f"{n} hosts, seed {seed}: {want} expected, got {got}")


def failures(ripstop):
    """A pair that was tried and failed is the slowest there is, in each form; a cell that was not tried is none."""
    names = [f"rack7-n{i}" for i in range(1, 8)]
    bad = names[4]
    pairs = [(a, b) for a in names for b in names if a != b]
    half = [(a, b) for a, b in pairs if a < b]
    value = lambda a, b: 180 + (3 * names.index(a) + 5 * names.index(b)) % 7 / 5
    perf = (" #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
            " 65536      5000             199.0              %.1f            0.1744\n")
    refused = "Couldn't connect to {b}:18515\nFailed to exchange data between server and clients\n"

    def table(word, empty="-", is_bad=lambda a, b: bad in (a, b), s=","):
        cell = lambda a, b: empty if a == b else word if is_bad(a, b) else f"{value(a, b):.1f}"
        return s.join(["", *names]) + "\n" + "".join(s.join([a, *(cell(a, b) for b in names)]) + "\n" for a in names)

    def lines(form, word, ways=half, is_bad=lambda a, b: bad in (a, b)):
        return "".join((word if is_bad(a, b) else form).format(a=a, b=b, v=f"{value(a, b):.1f}") + "\n" for a, b in ways)
    one = lambda a, b: (a, b) == (names[1], names[5])
    with tempfile.TemporaryDirectory() as folder:
        def write(name, text):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write(text)
            return os.path.join(folder, name)

        def check(text, what, failed):
            path = text if os.path.isdir(text) else write("m", text)
            d = judge(ripstop, path)
            if [f["what"] for f in d["faults"]] != what or d["failed"] != failed or (
                    failed and any(f["failed"] != f["slow"] or f["factor"] for f in d["faults"])):
                fail(f"{text}: {what}, {failed} failed expected, got {d}")
            p = subprocess.run([ripstop, "expect", "--pairs", path], capture_output=True, text=True, check=False)
            if p.returncode != bool(what) or ("failed" in p.stdout) != bool(failed):
                fail(f"{text}: {p.returncode} {p.stdout}")
        host, path = [f"host {bad}"], [f"the path from {names[1]} to {names[5]}"]
        for word in ("0", "0.00", "-1", "FAILED", "timeout", "error", "Connection refused"):
            check(table(word), host, 12)
            check(table(word, is_bad=one), path, 1)
        for word in ("", "-", "x", "nan", "n/a"):
            check(table(word), [], 0)
        check(table("0", empty="0", s="\t"), host, 12)
        check("\n".join(" ".join("0" if 3 in (i, k) or i == k else f"{90 + (i + 2 * k) % 5 / 5}" for k in range(6)) for i in range(6)),
              ["host 3"], 10)
        # the half of a table that was not filled
        check(table("0", is_bad=lambda a, b: a > b), [], 0)
        check(table("0", is_bad=lambda a, b: a < b), [], 0)
        check(table("0", is_bad=lambda a, b: a > b or one(a, b)), path, 1)
        for form, word in (("{a} -> {b}: {v} Gb/s", "{a} -> {b}: ERROR connection timed out"), ("{a} {b} {v}", "{a} {b} 0"),
                           ("{a} {b} {v}", "{a} {b} Couldn't connect to {b}:18515"), ("{a} {b} {v} Gb/s", "{a} {b} FAILED"),
                           ("{a},{b},{v}", "{a},{b},failed"), ("{a};{b};{v}", "{a};{b};no route to host"),
                           ("[{a}] Testing {a} - {b} ... {v} Gbps OK", "[{a}] Testing {a} - {b} ... timed out after 60 s"),
                           ("pair {a} {b} bandwidth={v}Gb/s", "pair {a} {b} could not connect to {b}:18515")):
            check(lines(form, word), host, 6)
            check(lines(form, word, [*reversed(half)]), host, 6)
            check(lines(form, word, is_bad=one), path, 1)
        check("src,dst,gbps\n" + lines("{a},{b},{v}", "{a},{b},FAIL"), host, 6)
        check("client,size,server,bw_gbps,error\n" + lines("{a},65536,{b},{v},", "{a},65536,{b},,connection refused"), host, 6)
        # a line that names no pair
        check(lines("{a} {b} {v}", "", half, lambda a, b: False) + "2 pairs failed\nsummary: errors failed\n", [], 0)
        for form in ("{a} {b} {v} no error", "{a} to {b}: {v} Gb/s, errors 0", "pair {a} {b} bandwidth={v} error=0 timeout: 0"):
            check(lines(form, "", is_bad=lambda a, b: False), [], 0)
        cells = lambda word: [[None if a == b else word if bad in (a, b) else value(a, b) for b in names] for a in names]
        for word, want, n in (("failed", host, 12), (0, host, 12), (-1, host, 12), (None, [], 0)):
            check(json.dumps({"nodes": names, "matrix": cells(word)}), want, n)
        check(json.dumps([{"src": a, "dst": b, **({"error": "connection refused"} if bad in (a, b) else {"gbps": value(a, b)})}
                          for a, b in half]), host, 6)
        run = lambda a, b: f"{b}: Test NCCL failure all_reduce.cu:12 'remote process exited'\n" if bad in (a, b) else nccl_run(a, b, value(a, b))
        check("".join(f"--- {a} {b} ---\n{run(a, b)}" for a, b in half), host, 6)
        run = lambda a, b: refused.format(b=b) if bad in (a, b) else perf % value(a, b)
        check("".join(f"--- {a} {b} ---\n{run(a, b)}" for a, b in half), host, 6)
        os.mkdir(os.path.join(folder, "logs"))
        for a, b in half:
            write(f"logs/{a}_to_{b}.log", run(a, b))
        check(os.path.join(folder, "logs"), host, 6)
        check(lines("", "{a} {b} FAILED", is_bad=lambda a, b: True), ["all pairs"], 21)
    three(ripstop)


def three(ripstop):
    """Of three hosts one pair is much faster: the host of the slow two is named, and that the matrix cannot tell."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m")
        for values, want in (((97.1, 40.2, 39.8), ["host c3"]), ((40.2, 97.1, 39.8), ["host b2"]), ((39.8, 40.2, 97.1), ["host a1"]),
                             ((97.1, 96.2, 98.0), []), ((97.1, 60.2, 24.8), [])):
            with open(path, "w", encoding="utf-8") as f:
                f.writelines(f"{a} {b} {v}\n" for (a, b), v in zip((("a1", "b2"), ("a1", "c3"), ("b2", "c3")), values))
            got = [f["what"] for f in judge(ripstop, path)["faults"] if f["kind"] == "host"]
            if got != want:
                fail(f"three hosts, {values}: {want} expected, got {got}")


def numbers(ripstop):
    """Commas between thousands, and commas as decimal points."""
    names = [f"w{i}" for i in range(1, 6)]
    pairs = [(a, b) for a in names for b in names if a != b]
    value = lambda a, b: 9612.25 if "w2" in (a, b) else 24011.5 + (names.index(a) * 5 + names.index(b)) % 7 * 10
    german = lambda v: f"{v:,.2f}".translate(str.maketrans(",.", ".,"))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m")
        for text in ("".join(f"{a} {b} {value(a, b):,.2f} MB/s\n" for a, b in pairs),
                     "".join(f"{a} {b} {value(a, b):,.0f} MB/s\n" for a, b in pairs),
                     "".join(f"{a} -> {b}: {value(a, b):,.1f}\n" for a, b in pairs),
                     "".join(f"Testing {a} - {b} ... {value(a, b):,.2f} MB/s OK\n" for a, b in pairs),
                     "".join(f"{a};{b};{value(a, b):.1f}\n".replace(".", ",") for a, b in pairs),
                     "".join(f"{a};{b};{german(value(a, b))}\n" for a, b in pairs),
                     *(s.join(["", *names]) + "\n" + "".join(s.join([a, *("-" if a == b else g(value(a, b)) for b in names)]) + "\n"
                                                             for a in names)
                       for s in (";", "\t") for g in (german, lambda v: f"{v:.3f}".replace(".", ",")))):
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            d = judge(ripstop, path)
            if [f["what"] for f in d["faults"]] != ["host w2"] or not 0.35 < d["faults"][0]["factor"] < 0.45 or not 24000 < d["level"] < 24100:
                fail(f"{text}: {d}")


if __name__ == "__main__":
    a = argparse.ArgumentParser()
    a.add_argument("ripstop")
    a.add_argument("--count", type=int, default=18)
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("-v", action="store_true")
    o = a.parse_args()
    forms(o.ripstop)
    several(o.ripstop)
    failures(o.ripstop)
    numbers(o.ripstop)
    planted(o.ripstop, o.count, o.seed, o.v)

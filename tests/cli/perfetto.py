"""The trace of `ripstop sim --perfetto` against the published form (Trace Event Format, Google) and the JSON of the same
run: every event has what its kind needs, bars of a thread lie inside or beside each other, jobs, flows, messages, steps and
pauses have the report's times to the nanosecond, counters the series' values, names those of `ripstop fabric show`; limits
hold. Random scenarios are those of tools/fuzz-scenarios.
perfetto.py RIPSTOP FUZZ_SCENARIOS [COUNT [SEED]]"""
import collections
import importlib.machinery
import importlib.util
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile

HERE = "perfetto.py"
RANKS = """{"fabric": {"network": {"kind": "rail", "rate": "100G"}, "hosts": [{"name": "n", "count": 4, "cpu": "spr", "sockets": 1,
 "nics": [{"name": "nic0", "on": "socket0", "pcie": "gen5x16"}, {"name": "nic1", "on": "socket0", "pcie": "gen5x16"}],
 "gpus": [{"name": "gpu0", "on": "socket0", "pcie": "gen5x16"}, {"name": "gpu1", "on": "socket0", "pcie": "gen5x16"}]}]},
 "workload": [{"name": "reduce", "collective": {"op": "all-reduce", "bytes": "2MiB", "channels": 2}},
              {"name": "all", "collective": {"op": "all-to-all", "bytes": "1MiB"}}]}"""
STEP = """{"fabric": {"network": {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 4, "spines": 2, "rate": "100G"},
 "qos": {"ecn": false}, "cc": {"kind": "none"}}, "workload": [
 {"name": "step", "train": {"parameters": 4e8, "tokens": 4096, "flops": 200e12, "bucket": "2MiB", "simulate": "4MiB"}},
 {"name": "incast", "flows": [{"src": "h%d", "dst": "h0", "bytes": "4MB"}, {"src": "h6", "dst": "h0", "bytes": "4MB"}]}]}"""


def fail(what):
    sys.exit(f"{HERE}: {what}")


def ns(ts):
    """A time in microseconds as whole nanoseconds: it has no more."""
    n = round(ts * 1000)
    if abs(ts * 1000 - n) > 1e-3 or n < 0:
        fail(f"a time of {ts} us")
    return n


def floor_ns(x):
    return math.floor(x + 1e-6)


class Trace:
    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            t = json.load(f)
        if set(t) != {"traceEvents", "displayTimeUnit", "otherData"} or t["displayTimeUnit"] != "ns":
            fail("members of the trace")
        self.about = t["otherData"]
        self.process, self.thread = {}, {}
        self.bars = collections.defaultdict(list)
        self.counters = collections.defaultdict(list)
        for e in t["traceEvents"]:
            self.take(e)
        for pid, tid in self.bars:
            if (pid, tid) not in self.thread or pid not in self.process:
                fail(f"thread {tid} of process {pid} has no name")

    def take(self, e):
        if not isinstance(e["pid"], int) or e["pid"] < 1:
            fail(f"process of {e}")
        if e["ph"] == "M":
            if e["name"] == "process_name":
                if self.process.setdefault(e["pid"], e["args"]["name"]) != e["args"]["name"]:
                    fail(f"two names of process {e['pid']}")
            elif e["name"] == "thread_name":
                if (e["pid"], e["tid"]) in self.thread:
                    fail(f"two names of {e}")
                if e["args"]["name"] in (name for (pid, _), name in self.thread.items() if pid == e["pid"]):
                    fail(f"two threads of a name: {e}")
                self.thread[e["pid"], e["tid"]] = e["args"]["name"]
            elif e["name"] not in ("process_sort_index", "thread_sort_index"):
                fail(f"metadata {e}")
        elif e["ph"] == "X":
            self.bars[e["pid"], e["tid"]].append((ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]), e["name"], e["args"]))
        elif e["ph"] == "C":
            (unit, value), = e["args"].items()
            if not isinstance(value, (int, float)) or not math.isfinite(value):
                fail(f"counter {e}")
            self.counters[e["pid"], e["name"], unit].append((ns(e["ts"]), value))
        else:
            fail(f"phase of {e}")

    def check_nesting(self):
        for who, bars in self.bars.items():
            open_to = []
            for start, end, name, _ in sorted(bars, key=lambda b: (b[0], -b[1])):
                while open_to and open_to[-1] <= start:
                    open_to.pop()
                if open_to and open_to[-1] < end:
                    fail(f"{self.thread[who]}: '{name}' at {start} ns begins inside a bar and ends after it")
                open_to.append(end)
        for who, values in self.counters.items():
            if any(a[0] >= b[0] for a, b in zip(values, values[1:])):
                fail(f"counter {who}: not in the order of time")

    def of(self, process, thread=""):
        return [(self.thread[k], b) for k, bars in self.bars.items() for b in bars
                if self.process[k[0]] == process and self.thread[k].startswith(thread)]


def expect(what, got, want):
    if got != want:
        fail(f"{what}: the trace has {got}, the report {want}")


def check_jobs(t, run):
    end = floor_ns(run["sim_time_ns"])
    for i, job in enumerate(run["jobs"]):
        mine = [b for who, b in t.of(t.process[1]) if who == f"job {job['name']}" and b[3].get("kind") == job["kind"]]
        finish = end if job["finish_ns"] is None else floor_ns(job["finish_ns"])
        if (floor_ns(job["start_ns"]), finish) not in [b[:2] for b in mine]:
            fail(f"job {job['name']}: {mine}, in the report from {job['start_ns']} to {job['finish_ns']}")
        if t.process.get(2 + i) != f"job {job['name']}":
            fail(f"process of job {job['name']}")
        if job["kind"] != "train" or not job["done"]:
            continue
        steps = [b for who, b in t.of(t.process[1]) if who == f"job {job['name']}: one training step"]
        if (0, floor_ns(job["step_ns"])) not in [b[:2] for b in steps]:
            fail(f"step of {job['name']}: {steps}, {job['step_ns']} in the report")
        busy = [b for who, b in t.of(t.process[1]) if who == f"job {job['name']}: communication"]
        if len({j["name"] for j in run["jobs"]}) == len(run["jobs"]):
            expect("buckets", len(busy) + t.about["buckets_left_out"], job["buckets"])
            if len(busy) == job["buckets"] and abs(sum(b[1] - b[0] for b in busy) - job["communication_ns"]) > len(busy) + 1:
                fail(f"communication of {job['name']}")


def check_flows(t, run, endpoints):
    seen = {}
    for (pid, _), bars in t.bars.items():
        for b in bars:
            if "flow" in b[3]:
                seen[b[3]["flow"]] = b
    expect("flows", len(seen) + t.about["flows_left_out"], len(run["flows"]))
    for i, b in seen.items():
        w = run["flows"][i]
        finish = floor_ns(run["sim_time_ns"] if w["finish_ns"] is None else w["finish_ns"])
        expect(f"flow {i}", b[:3], (floor_ns(w["start_ns"]), finish, f"{endpoints[w['src']]} -> {endpoints[w['dst']]}"))
        expect(f"bytes of flow {i}", b[3]["bytes"], w["bytes"])


def check_spans(t, run):
    want = collections.Counter((2 + s["job"], floor_ns(s["from_ns"]), floor_ns(s["to_ns"]), s["kind"], s["rank"], s["step"])
                               for s in run["series"]["spans"])
    got = collections.Counter((pid, b[0], b[1], b[2], b[3]["rank"], b[3]["message" if b[2] == "message" else "step"])
                              for (pid, _), bars in t.bars.items() for b in bars if "rank" in b[3])
    if got - want or sum((want - got).values()) != t.about["bars_left_out"]:
        fail(f"bars of ranks: {list((got - want).items())[:3]} are not in the report, {list((want - got).items())[:3]} not here")


def at(values, when):
    """A counter's value at a time: the last that was set."""
    now = 0
    for ts, v in values:
        if ts > when:
            break
        now = v
    return now


def check_ports(t, run, names):
    s = run["series"]
    seen = left = 0
    for p in s["ports"]:
        process = f"host {p['name'].split(',')[0].split('/')[0]}" if p["nic"] else f"switch {p['name'].split(' port ')[0]}"
        pid = next((k for k, v in t.process.items() if v == process), None)
        mine = {k[1][len(p["name"]) + 2:]: v for k, v in t.counters.items() if k[0] == pid and k[1].startswith(p["name"] + ": ")}
        paused = [b for who, b in t.of(process, f"{p['name']}: class ")]
        if not any(p.get("bytes", [])) and not paused:
            continue
        if p["total_bytes"] and not mine:
            left += 1
            continue
        seen += 1
        if process.split(" ", 1)[1] not in names:
            fail(f"{process} is not in `fabric show`")
        for what, row in (("longest queue", "queue_peak_bytes"), ("marked", "marks"), ("dropped", "drops")):
            for b, v in enumerate(p.get(row, [])):
                expect(f"{p['name']}, {what}, bin {b}", at(mine.get(what, []), floor_ns(b * s["interval_ns"])), v)
        held = sum(sum(c.get("paused_ns", [])) for c in p["classes"])
        if abs(sum(b[3]["held_ns"] for b in paused) - held) > sum(len(c.get("paused_ns", [])) for c in p["classes"]):
            fail(f"{p['name']}: paused {[b[3] for b in paused]}, {held} ns in the report")
        for b in paused:
            if b[3]["held_ns"] > b[1] - b[0] + 1:
                fail(f"{p['name']}: held {b[3]['held_ns']} ns within {b[1] - b[0]} ns")
    if left != t.about["ports_left_out"]:
        fail(f"{left} ports have no counters, {t.about['ports_left_out']} by the trace")
    if s["ports"] and not seen and any(p["total_bytes"] for p in s["ports"]):
        fail("no port has a counter")


def shown(ripstop, scenario):
    """Names of hosts and switches as `fabric show` prints them: one by one, and "leaf0 to leaf3"."""
    p = subprocess.run([ripstop, "fabric", "show", scenario], capture_output=True, text=True)
    if p.returncode:
        fail(p.stderr)
    names = set(re.findall(r"[\w.-]+", p.stdout))
    for stem, first, last in re.findall(r"([A-Za-z][\w.-]*?)(\d+) to \1(\d+)", p.stdout):
        names |= {f"{stem}{i}" for i in range(int(first), int(last) + 1)}
    return names


def check(ripstop, text, tmp):
    scenario, trace, report = (os.path.join(tmp, n) for n in ("s.json", "trace.json", "report.json"))
    with open(scenario, "w", encoding="utf-8") as f:
        f.write(text)
    p = subprocess.run([ripstop, "sim", "--no-diagnosis", "--quiet", "--max-time", "20ms", "--perfetto", trace, "--json", report,
                        scenario], capture_output=True, text=True, timeout=120)
    if p.returncode not in (0, 1):
        print(p.stderr, end="")
        return False
    with open(report, encoding="utf-8") as f:
        run = json.load(f)["runs"][0]
    t = Trace(trace)
    t.check_nesting()
    names = shown(ripstop, scenario)
    endpoints = {p["node"]: p["name"].split(", to ")[0] for p in run["series"]["ports"] if p["nic"]}
    check_jobs(t, run)
    check_flows(t, run, endpoints)
    check_spans(t, run)
    check_ports(t, run, names)
    return True


def main():
    ripstop, count = sys.argv[1], int((sys.argv[3:] or ["10"])[0])
    seed = int((sys.argv[4:] or ["1"])[0])
    loader = importlib.machinery.SourceFileLoader("fuzz_scenarios", sys.argv[2])
    spec = importlib.util.spec_from_loader("fuzz_scenarios", loader)
    fuzz = importlib.util.module_from_spec(spec)
    loader.exec_module(fuzz)
    done = 0
    with tempfile.TemporaryDirectory() as tmp:
        for text in (RANKS, STEP % 5):
            if not check(ripstop, text, tmp):
                fail("a scenario of this test does not run")
        for number in range(seed, seed + 10 * count):
            done += check(ripstop, json.dumps(fuzz.scenario(number)), tmp)
            if done == count:
                break
    if done < count:
        fail(f"{done} random scenarios ran")
    print(f"{HERE}: {count + 2} traces are well formed and agree with their reports")


main()

"""ripstop compare: figures against closed forms and against ripstop sim of the same settings, ranks, equal variants,
sweeps, every choice that the program has, the same on one thread and three, and what is refused. compare.py RIPSTOP ROOT"""
import csv
import json
import math
import os
import random
import subprocess
import sys
import tempfile

RIPSTOP, ROOT = sys.argv[1:3]
FRAME, PAYLOAD = 1024 + 14 + 20 + 8 + 12 + 4 + 4 + 20, 1024  # Ethernet, IPv4, UDP, BTH, ICRC, FCS; preamble and gap


def call(*args, status=0):
    p = subprocess.run([RIPSTOP, *args], capture_output=True, text=True)
    assert p.returncode == status, f"{args}: status {p.returncode}: {p.stderr}"
    return p


def scenario(folder, name, network, flows, **more):
    path = os.path.join(folder, f"{name}.json")
    fabric = {"network": {"kind": "single-switch", "hosts": 4, "rate": "100G", "delay": "1us", "mtu": 1024, **network},
              "cc": {"kind": "none"}, **more.pop("fabric", {})}
    with open(path, "w") as f:
        json.dump({"fabric": fabric, "workload": [{"flows": flows}], **more}, f)
    return path


def compare(path, *args):
    return json.loads(call("compare", "--json", "-", *args, path).stdout)


def mean(v, figure):
    return v["figures"][figure]["mean"]


def settings(j, v):
    for a, k in zip(j["axes"], v["choices"]):
        for s in a["choices"][k]["set"]:
            yield "--set"
            yield f"{s['path']}={s['value']}"


def is_sims(j, path, v, seed):
    """A variant is ripstop sim with its settings."""
    s = json.loads(call("sim", "--no-diagnosis", "--observe", "--json", "-", "--seed", str(seed), *settings(j, v), path).stdout)
    run, at = s["runs"][0], seed - j["seed"]
    c = run["counters"]
    assert math.isclose(s["job_times_ns"][0], v["figures"]["completion_ns"]["runs"][at], rel_tol=1e-9), v["name"]
    for figure, counter in (("marks", "ecn_marked"), ("resent", "retransmits"), ("queue_max_bytes", "max_queue_bytes")):
        assert v["figures"][figure]["runs"][at] == c[counter], (v["name"], figure)
    took = sorted(f["finish_ns"] - f["start_ns"] for f in run["flows"])
    for figure, p in (("flow_p50_ns", 0.5), ("flow_p99_ns", 0.99), ("flow_max_ns", 1)):
        assert math.isclose(v["figures"][figure]["runs"][at], took[math.ceil(p * len(took)) - 1], rel_tol=1e-9), figure
    peaks = sorted(q for p in run["series"]["ports"] if not p["nic"] and p["rows"] and p["total_bytes"]
                   for b, q in zip(p["bytes"], p.get("queue_peak_bytes", [0] * len(p["bytes"]))) if b)
    exact = peaks[math.ceil(0.99 * len(peaks)) - 1]
    assert exact <= v["figures"]["queue_p99_bytes"]["runs"][at] <= exact * 1.01 + 1, (exact, v["figures"]["queue_p99_bytes"])


def closed_forms(folder):
    flows = [{"src": "h1", "dst": "h0", "bytes": "10.24MB"}, {"src": "h2", "dst": "h3", "bytes": "10.24MB"}]
    path = scenario(folder, "closed", {}, flows)
    j = compare(path, "--vary", "fabric.network.rate=50G,100G,400G", "--vary", "fabric.qos.routing=ecmp,spray", "--seeds", "2")
    assert [a["name"] for a in j["axes"]] == ["fabric.network.rate", "fabric.qos.routing"] and len(j["variants"]) == 6
    for i, v in enumerate(j["variants"]):
        gbps = (50, 100, 400)[i // 2]
        least = 10000 * FRAME * 8 / gbps
        assert least < mean(v, "completion_ns") < least * 1.001 + 20000, v["name"]
        assert math.isclose(mean(v, "goodput_bps"), 10240000 * 8e9 / mean(v, "completion_ns"), rel_tol=1e-6)
        assert mean(v, "fairness") == 1 and mean(v, "lost") == mean(v, "resent") == 0
        # two NICs of four send all the time; the others only ACKs
        assert 0.45 < mean(v, "utilisation") < 0.56 and 0.9 < mean(v, "busiest_link") <= 1.001
        assert v["rank"] == (5, 3, 1)[i // 2] and v["shared"]
        assert v["same_as"] == i // 2 * 2, "one switch has no paths to choose from"
        assert v["figures"]["completion_ns"]["low"] == v["figures"]["completion_ns"]["high"] == mean(v, "completion_ns")
    text = call("compare", "--vary", "fabric.qos.routing=ecmp,spray", "--seeds", "2", path).stdout
    assert "Equal in every figure: fabric.qos.routing ecmp; fabric.qos.routing spray." in " ".join(text.split()), text
    # unequal flows: Jain's index of 1, 2, 3 shares of one link's time
    flows = [{"src": f"h{i}", "dst": "h0", "bytes": "1.024MB"} for i in (1, 2, 3)]
    flows.append({"src": "h4", "dst": "h5", "bytes": "1.024MB"})
    v = compare(scenario(folder, "jain", {"hosts": 6}, flows), "--over", "cc", "--seeds", "1")["variants"]
    v = next(x for x in v if x["name"] == "cc none")
    x = [1 / 3, 1 / 3, 1 / 3, 1]
    assert math.isclose(mean(v, "fairness"), sum(x) ** 2 / 4 / sum(y * y for y in x), rel_tol=0.03), mean(v, "fairness")


def recovery(folder):
    """The only link is down: what is sent in that time is lost, and a NAK brings the rate back when it is up again."""
    flows = [{"src": "h0", "dst": "h1", "bytes": "60MB"}]
    path = scenario(folder, "events", {}, flows, fabric={"events": [{"at": "1ms", "link": ["h0", "switch0"], "down": "300us"}]})
    args = ("--vary", "fabric.network.rate=50G,100G", "--seeds", "1")
    for v, gbps in zip(compare(path, *args)["variants"], (50, 100)):
        assert 0 <= mean(v, "recovery_ns") < 50e3, v["figures"]["recovery_ns"]
        assert math.isclose(mean(v, "lost"), 300e3 * gbps / 8 / FRAME, rel_tol=0.01)
        assert mean(v, "resent") >= mean(v, "lost")
    assert "recovers in" in call("compare", *args, path).stdout


def choices(folder):
    """All congestion controls, and all names that the description takes."""
    flows = [{"src": f"h{i}", "dst": "h0", "bytes": "200kB"} for i in range(1, 8)]
    path = scenario(folder, "over", {"kind": "leaf-spine", "hosts": 8, "leaves": 2, "spines": 4}, flows)
    p = call("sim", "--set", "fabric.qos.routing=none-such", path, status=2).stderr
    j = compare(path, "--over", "cc,routing,transport", "--seeds", "2")
    cc, routing, transport = ([c["label"] for c in a["choices"]] for a in j["axes"])
    assert set(cc) >= {"dcqcn", "hpcc", "swift", "none"} and set(routing) >= {"ecmp", "spray", "adaptive", "flowlet", "round-robin"}
    assert set(transport) >= {"go-back-n", "selective"}
    for r in routing:
        assert r in p, f"{r} is not among the names of: {p}"
    assert len(j["variants"]) == len(cc) * len(routing) * len(transport) == len(j["order"]) == len(set(j["order"]))
    ran = [v for v in j["variants"] if v["refused"] is None]
    assert len(ran) >= 40
    for v in random.Random(5).sample(ran, 4):
        for seed in (1, 2):
            is_sims(j, path, v, seed)
    ranks = [j["variants"][i]["rank"] for i in j["order"] if j["variants"][i]["rank"]]
    assert ranks[0] == 1 and ranks == sorted(ranks) and all(r == k + 1 or r == ranks[k - 1] for k, r in enumerate(ranks))
    times = [mean(j["variants"][i], "completion_ns") for i in j["order"] if j["variants"][i]["rank"]]
    assert times == sorted(times)
    return path, j


def transports(folder):
    """Of a scenario over Ultra Ethernet the recoveries are RoCE's, too."""
    flows = [{"src": f"h{i}", "dst": f"h{i + 4}", "bytes": "200kB"} for i in range(4)]
    net = {"kind": "leaf-spine", "hosts": 8, "leaves": 2, "spines": 4}
    uet = scenario(folder, "uet", net, flows, fabric={"transport": {"kind": "uet", "uet": {"balance": "reps"}}})
    roce = scenario(folder, "roce", net, flows)
    from_uet, from_roce = ({v["name"]: v for v in compare(p, "--over", "transport", "--seeds", "2")["variants"]} for p in (uet, roce))
    for name in ("transport go-back-n", "transport selective"):
        assert from_uet[name]["figures"]["completion_ns"] == from_roce[name]["figures"]["completion_ns"], name
        assert mean(from_uet[name], "completion_ns") != mean(from_uet["transport uet"], "completion_ns")


def fabrics(folder):
    flows = [{"src": f"h{i}", "dst": f"h{(i + 5) % 16}", "bytes": "200kB"} for i in range(16)]
    path = scenario(folder, "fabric", {"kind": "leaf-spine", "hosts": 16, "leaves": 4, "spines": 2}, flows)
    j = compare(path, "--over", "fabric", "--seeds", "2")
    v = {x["name"]: x for x in j["variants"]}
    assert len(v) == 5 and all(x["refused"] is None for x in j["variants"]), [x["refused"] for x in j["variants"]]
    assert min(v, key=lambda n: mean(v[n], "completion_ns")) == "fabric single switch"
    assert mean(v["fabric leaf-spine 1:1"], "completion_ns") <= mean(v["fabric leaf-spine 2:1"], "completion_ns")


def same_everywhere(folder, path, j):
    """On one thread and on three; and the CSV has what the JSON has."""
    def cleaned(c):
        for v in c["variants"]:
            del v["figures"]["cpu_s"]
        return {k: x for k, x in c.items() if k != "engine"}

    args = ("--over", "cc,routing,transport", "--seeds", "2")
    table = os.path.join(folder, "out.csv")
    other = compare(path, *args, "--threads", "1", "--csv", table, "--quiet")
    assert cleaned(other) == cleaned(j), "threads"
    with open(table) as f:
        rows = list(csv.DictReader(f))
    assert len(rows) == len(other["variants"])
    for row, v in zip(rows, other["variants"]):
        assert row["rank"] == ("" if v["rank"] is None else str(v["rank"]))
        for name, f in v["figures"].items():
            for column, what in ((name, "mean"), (f"{name}_low", "low"), (f"{name}_high", "high")):
                assert math.isclose(float(row[column]), math.inf if f[what] is None else f[what], rel_tol=1e-9), column
    return other


def intervals(j):
    """Mean and Student's t over two seeds: 12.706 standard errors."""
    for v in j["variants"]:
        for name, f in v["figures"].items():
            if None in f["runs"]:
                continue
            a, b = f["runs"]
            half = 12.706 * abs(a - b) / 2
            assert math.isclose(f["low"], max((a + b) / 2 - half, 0), rel_tol=1e-6, abs_tol=1e-9 * abs(a)), name
            assert math.isclose(f["mean"], (a + b) / 2, rel_tol=1e-9) and math.isclose(f["high"] - f["mean"], half, rel_tol=1e-6, abs_tol=1e-9 * abs(a)), name


def never(folder):
    """What does not finish has no rank, and says so."""
    path = scenario(folder, "never", {}, [{"src": "h1", "dst": "h0", "bytes": "10MB"}])
    j = compare(path, "--vary", "fabric.network.rate=10G,400G", "--max-time", "1ms", "--seeds", "1")
    slow, fast = j["variants"]
    assert slow["rank"] is None and slow["ended"] == 0 and mean(slow, "completion_ns") is None and fast["rank"] == 1
    text = call("compare", "--vary", "fabric.network.rate=10G,400G", "--max-time", "1ms", "--seeds", "1", path).stdout
    assert "1 of 2 variants did not finish" in text and "never" in text, text


def refused(folder):
    path = scenario(folder, "refused", {}, [{"src": "h1", "dst": "h0", "bytes": "100kB"}])
    for args, word in [(("--over", "colour"), "--over takes cc, routing, transport, fabric and what-if, not 'colour'"),
                       (("--over", "cc,cc"), "'cc' is compared twice"),
                       (("--vary", "fabric.network.rate"), "PATH=VALUE"),
                       (("--vary", "fabric.network.rate=100G,fast"), "--vary fabric.network.rate:1:1: rate: expected a rate"),
                       (("--vary", "fabric.network.rate=100G,,200G"), "value 2 of 3 is empty"),
                       (("--vary", "fabric.network.rate=100G,100G"), "'100G' stands twice"),
                       (("--vary", "fabric.networks.rate=100G"), "networks"),
                       (("--seeds", "0"), "--seeds takes a number"), (("--seeds", "many"), "--seeds takes a number"),
                       (("--json", "-", "--csv", "-"), "only one file"), (("--max-time", "5"), "--max-time"), (("--ove", "x", "--nothing"), "--nothing"),
                       (("--vary", "fabric.cc={kind: none},{kind: nothing}"), "nothing"),
                       (("--vary", "fabric.transport.timeout=" + ",".join(str(i) for i in range(32)), "--vary", "a=" + ",".join(str(i) for i in range(4096))), "more than 65536 variants")]:
        p = call("compare", *args, path, status=2)
        assert word in p.stderr, f"{args}: {p.stderr}"
    assert "which FILE?" in call("compare", status=2).stderr
    assert "none.yaml" in call("compare", "none.yaml", status=2).stderr
    # a value may have commas of its own, and one choice of --over may be impossible
    j = compare(path, "--vary", "fabric.cc={kind: dcqcn, preset: mlx5},{kind: none}", "--seeds", "1")
    assert [c["label"] for c in j["axes"][0]["choices"]] == ["{kind: dcqcn, preset: mlx5}", "{kind: none}"]
    path = scenario(folder, "half", {}, [{"src": "h1", "dst": "h0", "bytes": "100kB"}], fabric={"transport": {"recovery": "selective", "in_flight": 64}})
    j = compare(path, "--over", "transport", "--seeds", "1")
    gone = [v for v in j["variants"] if v["refused"]]
    assert gone and all(v["rank"] is None and not v["figures"] for v in gone) and "recovery" in gone[0]["refused"]


def schema(j):
    try:
        import jsonschema
    except ImportError:
        return
    with open(os.path.join(ROOT, "docs/schema/ripstop-compare-1.schema.json")) as f:
        jsonschema.validate(j, json.load(f))


def main():
    with tempfile.TemporaryDirectory() as folder:
        closed_forms(folder)
        recovery(folder)
        path, j = choices(folder)
        schema(j)
        intervals(j)
        same_everywhere(folder, path, j)
        transports(folder)
        fabrics(folder)
        never(folder)
        refused(folder)


main()

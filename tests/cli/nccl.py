#!/usr/bin/env python3
"""Plans against what NCCL printed on real systems (tests/data/nccl-plan), line for line: `nccl.py RIPSTOP DATA`. A
line of each kind that is changed must be told as different. With --score: systems, those that are equal, lines."""
import csv
import json
import os
import re
import subprocess
import sys
import tempfile

RIPSTOP, DATA = sys.argv[1], sys.argv[2]
EACH = 4 if "RS_SMALL" in os.environ else 1  # sanitizers, slower by ten: of the systems one in four
PREFIX = "node0:1:1 [0] NCCL INFO "
FORMS = {"ring": "Channel {0:02d}/{1:02d} : {2}", "tree": "Trees [{0}] {2}", "nvls_head": "NVLS Head {0:2d}: {2}",
         "ring_local": "Ring {0:02d} : {2}", "graph": "{2}", "line": "{2}"}


def ran(*args, status=0):
    done = subprocess.run([RIPSTOP, "nccl", *args], capture_output=True, text=True, timeout=120)
    assert done.returncode in (status if isinstance(status, tuple) else (status,)), (args, done.returncode, done.stdout[-2000:], done.stderr)
    return done


def log_of(system, rows):
    """The facts as lines of a log."""
    channels = [int(r["channel"]) for r in rows if r["what"] in ("ring", "tree", "ring_local")]
    n = max(channels) + 1 if channels else 0
    plan = json.loads(ran("plan", *options(system), "--json", xml(system)).stdout)
    n = max(n, plan["channels"])
    lines = [PREFIX + f"comm 0x1 rank 0 nRanks {system['ranks']} - Init START"]
    for r in rows:
        channel = int(r["channel"]) if r["channel"] else 0
        lines.append(PREFIX + FORMS[r["what"]].format(channel, n, r["value"]))
    return lines


def xml(system):
    return os.path.join(DATA, system["system"] + ".xml")


def options(system):
    gpus = open(xml(system), encoding="utf-8").read().count("0x030200\"") - nvlinks(system)
    o = ["--nccl", system["nccl"], "--nodes", str(int(system["ranks"]) // gpus)]
    for v in system["env"].split():
        o += ["--env", v]
    return o + system["options"].split()


def nvlinks(system):
    return open(xml(system), encoding="utf-8").read().count("tclass=\"0x030200\"")


def compared(system, lines, status):
    with tempfile.NamedTemporaryFile("w", suffix=".log") as f:
        f.write("\n".join(lines) + "\n")
        f.flush()
        return json.loads(ran("compare", *options(system), "--json", xml(system), f.name, status=status).stdout)


def changed(line):
    """The last number of a line, one more."""
    m = list(re.finditer(r"\d+", line))[-1]
    return line[:m.start()] + str(int(m[0]) + 1) + line[m.end():]


def score(systems, facts):
    equal = total = 0
    for system in systems:
        rows = [r for r in facts if r["system"] == system["system"]]
        found = compared(system, log_of(system, rows), (0, 1)).values()
        equal += all(k["lines"] == k["same"] for k in found)
        total += sum(k["lines"] for k in found)
    print(len(systems), equal, total)


def main():
    systems = list(csv.DictReader(open(os.path.join(DATA, "systems.csv"), encoding="utf-8")))
    facts = list(csv.DictReader(open(os.path.join(DATA, "lines.csv"), encoding="utf-8")))
    assert len(systems) >= 11
    if "--score" in sys.argv:
        return score(systems, facts)
    for system in systems[::EACH]:
        rows = [r for r in facts if r["system"] == system["system"]]
        assert rows, system
        lines = log_of(system, rows)
        found = compared(system, lines, 0)
        assert sum(k["lines"] for k in found.values()) == len(rows), (system, found, len(rows))
        assert all(k["lines"] == k["same"] for k in found.values())
        for i in {r["what"]: i + 1 for i, r in enumerate(rows)}.values():
            if "via" in lines[i]:
                wrong = lines[i].replace("via P2P", "via SHM").replace("via NET", "via NOT")
            else:
                wrong = changed(lines[i])
            found = compared(system, lines[:i] + [wrong] + lines[i + 1:], 1)
            assert sum(k["lines"] - k["same"] for k in found.values()) == 1, (wrong, found)
        drawn_again(system)
    many_chunks()
    pairs_in_turn()
    early_messages()
    one_process()
    one_core()
    return refused()


def drawn_again(system):
    """A plan's lines are a log: the host that it draws gives the same lines."""
    first = ran("plan", *options(system), "--graph", xml(system)).stdout
    with tempfile.NamedTemporaryFile("w", suffix=".log") as f:
        f.write(first)
        f.flush()
        o = options(system)
        again = ran("plan", *o[:2], *o[4:], "--graph", f.name).stdout
        assert first == again, system
        found = json.loads(ran("compare", *o[:2], *o[4:], "--json", f.name, f.name).stdout)
        assert all(k["lines"] == k["same"] for k in found.values()) and len(found) >= 7, found


def refused():
    """Bad input: status 2, with the place."""
    with tempfile.TemporaryDirectory() as d:
        def file(name, text):
            path = os.path.join(d, name)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            return path
        gpu = '<pci busid="0000:01:00.0" class="0x030200"><gpu dev="0" sm="80" rank="0"/></pci>'
        one = file("one.xml", f'<system version="1">\n<cpu numaid="0">\n{gpu}</cpu></system>')
        for text, words in ((f'<system>\n<cpu>\n<pci class="0x06"/></cpu></system>', "bad.xml:3:1: a <pci> without busid"),
                            ('<system><cpu/></system>', "no GPU"), ("<graphs/>", "no topology"), ("<system", "not XML"),
                            (f'<system>\n<cpu numaid="x">{gpu}</cpu></system>', "bad.xml:2:1: numaid")):
            assert words in ran("plan", file("bad.xml", text), status=2).stderr, words
        assert "no NIC" in ran("plan", "--nodes", "2", one, status=2).stderr
        assert "NCCL_CROSS_NIC takes" in ran("plan", "--env", "NCCL_CROSS_NIC=7", one, status=2).stderr
        assert "GPU 3" in ran("plan", "--gpus", "3", one, status=2).stderr
        assert "no line of NCCL's log" in ran("compare", one, file("l", "hello\n"), status=2).stderr
        ran("plan", "--nccl", "2.99", one, status=2)
        ran("plan", one)


def job_of(text):
    """The one job of a description, simulated."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        f.write(text)
        f.flush()
        done = subprocess.run([RIPSTOP, "sim", "--no-diagnosis", "--quiet", "--json", "-", f.name], capture_output=True, text=True,
                              timeout=120, check=True)
    return json.loads(done.stdout)["runs"][0]["jobs"][0]


def many_chunks():
    """Twice the bytes of a send-recv take twice the time, also past 64 chunks a connection."""
    host = os.path.abspath(os.path.join(DATA, "../scoreboard/hosts/hgx-h100.xml"))
    text = ("fabric:\n  hosts:\n    - {name: h, count: 1, like: %s}\n  pairing: nearest\n  network: {kind: rail, leaves: 8}\n"
            "workload:\n  - {name: job, collective: {op: send-recv, bytes: %dMiB, ranks: [h0/gpu0, h0/gpu1]}}\n")
    times = [job_of(text % (host, mib))["time_ns"] for mib in (1536, 3072)]
    assert 1.9 < times[1] / times[0] < 2.1, times


def pairs_in_turn():
    """Queue pairs that take messages in turn bring the same bytes as those that split each, in about the time."""
    host = os.path.abspath(os.path.join(os.path.dirname(DATA), "hosts", "h100-8.xml"))
    text = ("fabric:\n  hosts:\n    - {name: h, count: 2, like: %s}\n  network: {kind: single-switch, rate: 400G}\n"
            "workload:\n  - {name: job, collective: {op: all-reduce, bytes: 16MiB, nccl: {env: {NCCL_ALGO: ring, NCCL_IB_QPS_PER_CONNECTION: 3, "
            "NCCL_IB_SPLIT_DATA_ON_QPS: %d}}}}\n")
    jobs = [job_of(text % (host, split)) for split in (0, 1)]
    turns, parts = (j["time_ns"] for j in jobs)
    assert turns != parts and 0.7 < turns / parts < 1.4, (turns, parts)


def early_messages():
    """Over Slingshot 8 receives of a ring are posted ahead. Without GDRCopy each message of a ring that has more, here 9, costs 5 us more."""
    host = os.path.abspath(os.path.join(DATA, "h100-1-far-nic.xml"))
    text = ("fabric:\n  hosts:\n    - {name: h, count: %d, like: %s}\n  network: {kind: single-switch, rate: 200G}\n"
            "workload:\n  - {name: job, collective: {op: all-gather, bytes: 10080B, nccl: {net: cxi, env: {NCCL_ALGO: ring, NCCL_PROTO: LL, "
            "FI_HMEM_CUDA_USE_GDRCOPY: %d}}}}\n")
    for hosts, more in (9, 0), (10, 9 * 5000):
        without, beside = (job_of(text % (hosts, host, copy))["finish_ns"] for copy in (0, 1))
        assert without - beside == more, (hosts, without, beside)


def one_process():
    """Among the GPUs of one process 8 channels of a ring are faster; all pairs of RCCL 2.20 need a process for each GPU."""
    hosts = os.path.abspath(os.path.join(DATA, "../scoreboard/hosts"))
    text = ("fabric:\n  hosts:\n    - {name: h, count: 1, like: %s/%s.xml}\n  pairing: nearest\n  network: {kind: rail, leaves: 8}\n"
            "workload:\n  - {name: job, collective: {op: %s, bytes: %dMiB, nccl: {version: %s, gpus_per_thread: %d, env: {%s}}}}\n")
    ring = "NCCL_ALGO: ring, NCCL_PROTO: simple, NCCL_MAX_NCHANNELS: 8"
    for op, least, most in ("all-gather", 0.4, 0.7), ("all-reduce", 0.6, 0.85), ("reduce-scatter", 0.999, 1.001):
        many, one = (job_of(text % (hosts, "hgx-h100", op, 256, "2.18.3", gpus, ring))["time_ns"] for gpus in (1, 8))
        assert least < one / many < most, (op, many, one)
    for version, gpus, pairs in ("2.20.5", 8, False), ("2.20.5", 1, True), ("2.21.5", 8, True):
        job = job_of(text % (hosts, "mi300x", "all-reduce", 4, version, gpus, ""))
        assert ("AllPairs" in json.dumps(job)) == pairs, (version, gpus, job)


def one_core():
    """8 proxies of a core post by turns; 8 cores are as many as proxies."""
    host = os.path.abspath(os.path.join(DATA, "../scoreboard/hosts/hgx-h100.xml"))
    text = ("fabric:\n  hosts:\n    - {name: h, count: 2, like: %s}\n  pairing: nearest\n  network: {kind: rail, leaves: 8, rate: 400G}\n"
            "workload:\n  - {name: job, collective: {op: all-reduce, bytes: 16MiB, nccl: {version: 2.21.5, gpus_per_thread: 8%s}}}\n")
    own, one, eight = (job_of(text % (host, c))["time_ns"] for c in ("", ", cores: 1", ", cores: 8"))
    assert own == eight and 1.3 < one / own < 3, (own, one, eight)


def tuned():
    """The choice as a tuner's file, read again, is the same choice; bad files are refused."""
    nodes = ("--nodes", "2", "--gpu", "H100", "--nic", "400G")
    topo = os.path.join(os.path.dirname(DATA), "hosts", "h100-8.xml")
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "tuner.conf")
        plain = ran("tune", *nodes, topo).stdout
        ran("tune", *nodes, "--csv", "--output", path, topo)
        again = ran("tune", *nodes, "--tuner", path, topo).stdout
        def pick(text):
            return [x.split()[:5] for x in text.split("model us")[1].splitlines() if x.strip()]
        assert pick(plain) == pick(again) and len(pick(plain)) > 15, again
        assert again.count("(tuner)") == len(pick(again)), again
        only = ran("tune", *nodes, "--env", "NCCL_ALGO=ring", "--env", "NCCL_PROTO=Simple", topo).stdout
        assert all(x[2:4] == ["Ring", "Simple"] for x in pick(only)), only
        with open(path, "w", encoding="utf-8") as f:
            f.write("# a comment\nallreduce,0,1,rang,ll,1,1,1\n")
        assert "tuner.conf:2: expected an algorithm" in ran("tune", *nodes, "--tuner", path, topo, status=2).stderr
        assert "no algorithm 'torus'" in ran("tune", *nodes, "--env", "NCCL_ALGO=torus", topo, status=2).stderr
        ran("plan", "--csv", topo, status=2)
    rate = "NICs of 10 Gb/s"  # of a topology that tells none, where hosts are joined by them
    assert rate in ran("tune", *nodes[:4], topo).stderr
    assert rate not in ran("tune", *nodes, topo).stderr + ran("tune", topo).stderr


tuned()
main()

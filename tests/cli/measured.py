#!/usr/bin/env python3
"""ripstop sim --measured: `measured.py RIPSTOP`.

Logs in the forms of nccl-tests and perftest are written from runs of a changed description; the
report must name the change that was planted. A log that does not fit is refused with its place.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

RIPSTOP = sys.argv[1]
RING = """fabric:
  network: {kind: %s, hosts: 4, nics: 2, rate: 100G, delay: 500ns}
  cc: {kind: none}
workload:
  - collective: {op: all-reduce, algorithm: ring, bytes: 1MiB}
"""
PAIR = """fabric:
  hosts: [{name: h, count: 2, nics: [{name: nic0, on: socket0, model: ConnectX-5, pcie: gen3x16}],
    sockets: 1}]
  network: {kind: single-switch, rate: 100G, delay: 100ns}
  cc: {kind: none}
workload:
  - flows: [{src: h0, dst: h1, bytes: 1B}]
"""
STREAM = PAIR.replace("sockets: 1", "sockets: 1, gpus: [{name: gpu0, on: socket0, pcie: gen3x16}]") \
    .replace("flows: [{src: h0, dst: h1, bytes: 1B}]", "collective: {op: broadcast, ranks: 2}")
SIZES = [8, 1024, 65536, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 25]


def fail(what):
    print(f"measured: {what}", file=sys.stderr)
    sys.exit(1)


HOST = """fabric:
  hosts: [{name: h, count: 1, like: %s}]
  network: {kind: single-switch, rate: 400G}
workload:
  - {name: job, collective: {op: all-reduce, bytes: 1MiB, nccl: {version: 2.21.5}}}
"""


def run(*args):
    return subprocess.run([RIPSTOP, "sim", *args], capture_output=True, text=True, timeout=300,
                          check=False)


def us(path, settings):
    args = ["--no-diagnosis", "--quiet", "--json", "-"]
    for s in settings:
        args += ["--set", s]
    p = run(*args, path)
    if p.returncode:
        fail(p.stderr)
    d = json.loads(p.stdout)["runs"][0]
    return d["flows"][0] if d["flows"] else d["jobs"][0]["time_ns"] / 1000


def nccl(path, op, ranks, rows, before="", old=False):
    """As nccl-tests prints it; old: without root and the head's operation, before 2.10."""
    with open(path, "w", encoding="utf-8") as f:
        f.write("# nccl-tests version 2.17.8\n" +
                ("" if old else f"# Collective test starting: {op}_perf\n") + "# Using devices\n")
        for r in range(ranks):
            f.write(f"{before}#   Rank {r:2} Group  0 Pid  1 on a device  0 [0x00] H100\n")
        for size, t in rows:
            bw = size / t / 1000
            f.write(f"{before}{size:12}  {size // 4:12}     float     sum  " +
                    ("" if old else "    -1  ") +
                    f"{t:8.2f}  {bw:6.2f}  {bw:6.2f}      0  {t:8.2f}  {bw:6.2f}  {bw:6.2f}  N/A\n")
        f.write("# Out of bounds values : 0 OK\n")


def planted(tmp, kind, change, expected, **form):
    """A log of the description with a change; the report names it."""
    scenario, log = os.path.join(tmp, "ring.yaml"), os.path.join(tmp, "log")
    with open(scenario, "w", encoding="utf-8") as f:
        f.write(RING % kind)
    rows = [(s, us(scenario, [f"workload[0].collective.bytes={s}B", *change])) for s in SIZES]
    nccl(log, "all_reduce", 8, rows, **form)
    p = run("--measured", log, scenario)
    verdict = " ".join(p.stdout.split("\n\n")[-1].split())
    if p.returncode or not re.search(expected, verdict):
        fail(f"{kind} {change}: expected '{expected}', found:\n{p.stdout}{p.stderr}")
    return p.stdout


def plantings(tmp):
    single, leaves = "single-switch", "leaf-spine, leaves: 2, spines: 2"
    planted(tmp, single, [], "agrees with the log within a tenth")
    out = planted(tmp, single, ["fabric.network.rate=40G"], r"agree.*links at 4[0-9.]* Gb/s")
    if "rate part" not in out or "latency part" not in out:
        fail(f"parts are missing:\n{out}")
    planted(tmp, single, ["fabric.network.rate=50G"], r"agree.*(half their rate|links at 50 Gb/s)",
            before="0: ")
    planted(tmp, single, ["fabric.network.rate=200G"], r"agree.*links at (19|20)\d Gb/s", old=True)
    planted(tmp, single, ["workload[0].collective.step_latency=7us"],
            r"agree.*software a step of (6\.9|7)", before="[1,0]<stdout>:")
    planted(tmp, single, ["workload[0].collective.algorithm=tree"], "agree.*algorithm: tree")
    planted(tmp, single, ["workload[0].collective.channels=1"], "agree.*1 channel")
    planted(tmp, single, ["fabric.network.rate=60G", "workload[0].collective.step_latency=9us"],
            r"agree.*links at [56]\d[0-9.]* Gb/s and software of [89][0-9.]* us a step")
    planted(tmp, leaves, ["fabric.network.delay=4us"], "agree.*links with a delay of (3.9|4)")
    one_thread(tmp)


def one_thread(tmp):
    """A log of one process for all GPUs of a host says so, and NCCL's release stays."""
    scenario, log = os.path.join(tmp, "host.yaml"), os.path.join(tmp, "log")
    hosts = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data/hosts/h100-8.xml")
    with open(scenario, "w", encoding="utf-8") as f:
        f.write(HOST % hosts)
    change = ["workload[0].collective.nccl.gpus_per_thread=8"]
    sizes = [1 << 10, 1 << 14, 1 << 17, 1 << 22, 1 << 25]
    rows = [(s, us(scenario, [f"workload[0].collective.bytes={s}B", *change])) for s in sizes]
    if not 35 < rows[0][1] < 37:
        fail(f"8 starts of 4.5 us: {rows}")
    nccl(log, "all_reduce", 8, rows, before=" 0: ")
    p = run("--measured", log, scenario)
    if p.returncode or not re.search(r"agree[^.]*one\s+thread\s+that\s+starts\s+the\s+kernels\s+of\s+8", p.stdout):
        fail(f"one thread: {p.stdout}{p.stderr}")


def perftest(tmp):
    scenario, log = os.path.join(tmp, "pair.yaml"), os.path.join(tmp, "log")
    head = " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]\n"
    with open(scenario, "w", encoding="utf-8") as f:
        f.write(PAIR)
    with open(log, "w", encoding="utf-8") as f:
        f.write("                    RDMA_Write Latency Test\n" + head)
        for size in (2, 1024, 4096, 65536):
            flow = us(scenario, [f"workload[0].flows[0].bytes={size}B"])
            t = flow.get("delivered_ns", flow.get("fct_ns")) / 1000
            f.write(f" {size}       1000          {t / 2:.2f}  {t * 9:.2f}  {t:.2f}  {t * 2:.2f}\n")
    p = run("--measured", log, scenario)
    if p.returncode or "agrees with the log within a tenth" not in p.stdout:
        fail(f"latency: {p.stdout}{p.stderr}")
    with open(scenario, "w", encoding="utf-8") as f:
        f.write(STREAM)
    with open(log, "w", encoding="utf-8") as f:
        f.write(" #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
                " 65536      5000             11000.00            10900.00            0.1744\n"
                " 1048576    5000             11100.00            10950.00            0.010950\n")
    p = run("--measured", log, scenario)
    times = re.findall(r"^ *(?:64KiB|1MiB) +([\d.]+)", p.stdout, re.M)
    want = [f"{size / 1048576 / bw * 1e6:.2f}" for size, bw in ((65536, 10900), (1048576, 10950))]
    if p.returncode or times != want:
        fail(f"bandwidth: expected {want}, found {times}:\n{p.stdout}{p.stderr}")


def refused(tmp):
    scenario, log = os.path.join(tmp, "ring.yaml"), os.path.join(tmp, "log")
    row = " 1024  256  float  sum  -1  {}  0.02  0.03  0  20.0  0.02  0.03  0\n"
    start = "# Collective test starting: all_reduce_perf\n"
    with open(scenario, "w", encoding="utf-8") as f:
        f.write(RING % "single-switch")
    for text, expected in (
            ("", "log:1:1: expected a table of nccl-tests or perftest"),
            ("hello\nworld\n", "log:2:1: expected a table"),
            (row.format("fast"), "log:1:29: expected time, algbw and busbw"),
            (row.format("0.0"), "log:1:2: expected a time above 0"),
            (row.format("nan"), "log:1:29: expected time"),
            (row.format("20.0") * 2, "log:2:2: 1024 bytes after 1024"),
            (start + row.format("20.0") + start, "log:3:.*a second test begins here"),
            (start.replace("all_reduce", "gather") + row.format("20.0"), "gather_perf is not"),
            ("# Rank  2 Group\n" + row.format("20.0"), "has 3 ranks, the first job of .* 8"),
            (" #bytes #iterations  BW average[parsec]\n", "log:1:.*expected .Gb/sec. or .MB/sec."),
            (" #bytes #iterations  t_min[usec]\n", "log:1:.*expected a column 'BW average'"),
            ("RDMA_Read BW Test\n #bytes #iterations BW peak[Gb/sec] BW average[Gb/sec]\n 2 1000 3.0 2.0 1.0\n",
             "log: perftest's reads and atomics"),
            (" #bytes #iterations BW peak[Gb/sec] BW average[Gb/sec]\n 2 1000 3.0 x\n",
             "log:2:13: expected a number above 0 in column 4"),
            (" #bytes #iterations BW peak[Gb/sec] BW average[Gb/sec]\n 2 1000 3.0 2.0 1.0\n",
             "first job is to be a collective of two ranks")):
        with open(log, "w", encoding="utf-8") as f:
            f.write(text)
        p = run("--measured", log, scenario)
        if p.returncode != 2 or not re.search(expected, " ".join(p.stderr.split())):
            fail(f"{text!r}: expected '{expected}', status {p.returncode}: {p.stdout}{p.stderr}")
    p = run("--measured", os.path.join(tmp, "none"), scenario)
    if p.returncode != 2 or "none: No such file" not in p.stderr:
        fail(f"no log: {p.returncode} {p.stderr}")
    p = run("--measured", log, "--json", "-", scenario)
    if p.returncode != 2 or "--measured prints a report" not in p.stderr:
        fail(f"--json: {p.returncode} {p.stderr}")


def main():
    with tempfile.TemporaryDirectory() as tmp:
        plantings(tmp)
        perftest(tmp)
        refused(tmp)


main()

"""Answers of ConWeave's ns-3 for IRN: irn.csv of tests/data/irn-truth. tools/validate reads it."""
import csv
import json
import os
import subprocess

PACKET = 83  # ns, of 1048 bytes at 100 Gb/s, as ns-3 cuts it
SCENARIO = """fabric:
  preset: ns-3
  network: {{kind: leaf-spine, hosts: 128, leaves: 8, spines: 8, rate: 100G, uplink_rate: 100G, oversubscription: 2, delay: 1us}}
  qos: {{ecn: false, pfc: false, buffer: 64MB}}
  cc: none
  transport: {{recovery: selective, in_flight: 104, rto_low: 100us, rto_high: 320us, reorder: 0us}}
workload:
  - flows: [{flows}]
"""
HEAD = "| case | flows | mean us | here | | last us | here | | furthest flow | |\n|" + "---|" * 10


class Bad(Exception):
    """Input that cannot be compared: a message with the file's name."""


def is_truth(folder):
    return os.path.isfile(os.path.join(folder, "irn.csv"))


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def read(folder):
    """case -> [(source, destination, bytes, start in us, time in ns)]"""
    path, cases = os.path.join(folder, "irn.csv"), {}
    with open(path, newline="") as f:
        reader = csv.DictReader(f)
        for row in reader:
            try:
                flow = tuple(int(row[k]) for k in ("source", "destination", "bytes", "start_us", "fct_ns"))
                cases.setdefault(row["case"], []).append(flow)
            except (TypeError, ValueError, KeyError):
                raise Bad(f"{path}:{reader.line_num}: expected a case, two hosts, bytes, a start and a time") from None
    return cases


def run(program, folder, case, flows):
    text = ", ".join(f"{{src: {s}, dst: {d}, bytes: {b}B, start: {at}us}}" for s, d, b, at, _ in flows)
    path = os.path.join(folder, f"irn-{case}.yaml")
    with open(path, "w") as f:
        f.write(SCENARIO.format(flows=text))
    done = subprocess.run([program, "sim", "--quiet", "--no-diagnosis", "--threads", "1", "--json", "-", path],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise Bad(done.stderr.strip() or f"{path}: ripstop ended with {done.returncode}")
    return [round(f["finish_ns"] - f["start_ns"]) for f in json.loads(done.stdout)["runs"][0]["flows"]]


def show(program, folder, dirs, only, pool, as_markdown, put):
    """The table, by put(line); how many cases failed. A flow alone: to 1 ns. Others: the last to one packet, the mean and each flow to
    0.2 %, or two packets where that is more: who comes first of the same nanosecond ns-3 does not tell."""
    failed = n = 0
    put(HEAD if as_markdown else "IRN beside ConWeave's ns-3")
    cases = [(c, r) for d in dirs for c, r in read(d).items() if only(c)]
    for (case, flows), ours in zip(cases, pool.map(lambda c: run(program, folder, *c), cases)):
        theirs = [f[4] for f in flows]
        apart = max(abs(a - b) for a, b in zip(theirs, ours))
        one = len(flows) == 1
        allowed = 1 if one else max(2 * PACKET, 0.002 * max(theirs))
        ok = apart <= allowed and abs(max(theirs) - max(ours)) <= (1 if one else PACKET)
        failed, n = failed + (not ok), n + 1
        a, b = mean(theirs) / 1000, mean(ours) / 1000
        last, here = max(theirs) / 1000, max(ours) / 1000
        if as_markdown:
            put(f"| {case} | {len(flows)} | {a:,.2f} | {b:,.2f} | {100 * (b / a - 1):+.3f} % | {last:,.2f} | {here:,.2f} | "
                f"{100 * (here / last - 1):+.3f} % | {apart} ns | {'passed' if ok else 'failed'} |")
        else:
            put(f"{case} ({len(flows)} flows)\n  there {a:,.2f} {last:,.2f} us\n  here  {b:,.2f} {here:,.2f} us\n"
                f"    {'passed' if ok else 'FAILED'}: furthest flow {apart} ns (within {allowed:.0f} ns)")
    put(f"{n} cases of IRN, {failed} failed")
    return failed

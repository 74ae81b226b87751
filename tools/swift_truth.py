"""Answers of htsim's Swift: swift.csv of tests/data/swift-truth. tools/validate reads it."""
import csv
import json
import math
import os
import subprocess

HEADER, PACKET = 64, 4000  # bytes; htsim counts a packet whole
WINDOW = 120              # packets: the first
TARGET = "38.3206us"       # 20 us and 6 links of 20/6.55
SCENARIO = """fabric:
  network: {{kind: fat-tree, k: 4, rate: 100G, delay: 1us}}
  qos: {{switch_latency: 0ns, pfc: false, ecn: false, buffer: 0}}
  transport: {{framing: htsim, payload: {payload}B, ack_every: 1, timeout: 0}}
  cc: {{kind: swift, target: {target}, fs_range: 100us, packet: {packet}B}}
workload:
  - flows: [{flows}]
"""
HEAD = ("| case | runs | mean us | here | | first us | here | last us | here | | |\n|" + "---|" * 11)


class Bad(Exception):
    """Input that cannot be compared: a message with the file's name."""


def is_truth(folder):
    return os.path.isfile(os.path.join(folder, "swift.csv"))


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def deviation(values):
    m = mean(values)
    return math.sqrt(sum((v - m) ** 2 for v in values) / max(len(values) - 1, 1))


def read(folder):
    """case -> [(sources, packets, (mean, first, last))]"""
    path, cases = os.path.join(folder, "swift.csv"), {}
    with open(path, newline="") as f:
        reader = csv.DictReader(f)
        for row in reader:
            try:
                sources = [int(s) for s in row["sources"].split()]
                times = tuple(float(row[k]) for k in ("mean_us", "first_us", "last_us"))
                cases.setdefault(row["case"], []).append((sources, int(row["packets"]), times))
            except (TypeError, ValueError, KeyError):
                raise Bad(f"{path}:{reader.line_num}: expected a case, sources, packets and three times") from None
    return cases


def run(program, folder, case, k, sources, packets):
    size = packets * (PACKET - HEADER)
    flows = ", ".join(f"{{src: {s}, dst: 15, bytes: {size}B}}" for s in sources)
    path = os.path.join(folder, f"swift-{case}-{k}.yaml")
    with open(path, "w") as f:
        f.write(SCENARIO.format(payload=PACKET - HEADER, packet=PACKET, target=TARGET, flows=flows))
    done = subprocess.run([program, "sim", "--quiet", "--no-diagnosis", "--threads", "1", "--seed", str(k + 1), "--json", "-", path],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise Bad(done.stderr.strip() or f"{path}: ripstop ended with {done.returncode}")
    t = sorted(f["finish_ns"] / 1000 for f in json.loads(done.stdout)["runs"][0]["flows"])
    return mean(t), t[0], t[-1]


def judge(theirs, ours, flows, packets):
    """One flow 1 %; the mean 3 % and the last finish 2 %, or two deviations of a mean of so many runs of theirs. Flows of four first
    windows hardly leave the start, where htsim times each packet and we one a round trip: 8 %."""
    lines = []
    short = packets <= 5 * WINDOW
    for what, i, percent in (("mean", 0, 8 if short else 3), ("last finish", 2, 8 if short else 2)):
        a, b = mean(t[i] for t in theirs), mean(t[i] for t in ours)
        spread = 200 * deviation([t[i] for t in theirs]) / a / math.sqrt(len(theirs)) if len(theirs) > 1 else 0
        allowed = 1 if flows == 1 else max(percent, spread)
        off = 100 * (b / a - 1)
        lines.append((abs(off) <= allowed, f"{what} {off:+.2f} % (within {allowed:.2g} %)"))
    return lines


def show(program, folder, dirs, only, pool, as_markdown, put):
    """The table, by put(line); how many cases failed."""
    failed = n = 0
    put(HEAD if as_markdown else "Swift beside htsim")
    for case, rows in ((c, r) for d in dirs for c, r in read(d).items()):
        if not only(case):
            continue
        theirs = [times for _, _, times in rows]
        ours = list(pool.map(lambda k, rows=rows, case=case: run(program, folder, case, k, *rows[k][:2]), range(len(rows))))
        lines = judge(theirs, ours, len(rows[0][0]), rows[0][1])
        ok = all(good for good, _ in lines)
        failed, n = failed + (not ok), n + 1
        a, b = ([mean(t[i] for t in x) for i in range(3)] for x in (theirs, ours))
        if as_markdown:
            put(f"| {case} | {len(rows)} | {a[0]:,.0f} | {b[0]:,.0f} | {100 * (b[0] / a[0] - 1):+.2f} % | {a[1]:,.0f} | {b[1]:,.0f} | "
                f"{a[2]:,.0f} | {b[2]:,.0f} | {100 * (b[2] / a[2] - 1):+.2f} % | {'passed' if ok else 'failed'} |")
        else:
            put(f"{case} ({len(rows)} runs)\n  there {a[0]:,.1f} {a[1]:,.1f} {a[2]:,.1f} us\n  here  {b[0]:,.1f} {b[1]:,.1f} {b[2]:,.1f} us")
            put("\n".join(f"    {'passed' if good else 'FAILED'}: {words}" for good, words in lines))
    put(f"{n} cases of Swift, {failed} failed")
    return failed

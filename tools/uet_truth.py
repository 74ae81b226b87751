"""The Ultra Ethernet Consortium's simulator beside this one: what tools/validate does with folders
that hold GROUP/VARIANT/case.txt. Distributions over seeds are compared; the bars follow the noise of
its own seeds. docs/validation.md says what is judged.
"""
import csv
import itertools
import json
import math
import os
import re
import subprocess


ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SAME_TIME = os.path.join(ROOT, "tests", "data", "uet-truth", "orders.csv")


class Bad(Exception):
    """Input that cannot be compared."""


def is_truth(folder):
    return bool(cases_in(folder))


def cases_in(folder):
    """GROUP/VARIANT folders below this one, or this one itself."""
    if os.path.exists(os.path.join(folder, "case.txt")):
        return [folder]
    found = []
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        inside = os.path.join(folder, name)
        if os.path.isdir(inside) and (os.path.exists(os.path.join(inside, "case.txt")) or
                                      os.path.exists(os.path.join(inside, "flows.csv"))):
            found += cases_in(inside)
    return found


def number(path, line, text):
    try:
        return float(text)
    except ValueError:
        raise Bad(f"{path}:{line}: expected a number, found '{text}'") from None


class Case:
    def __init__(self, folder):
        self.folder, self.group = folder, os.path.dirname(os.path.abspath(folder))
        self.name = "/".join(os.path.abspath(folder).split(os.sep)[-2:])
        self.key = re.sub(r"[^\w.+-]", "_", os.path.abspath(folder))[-100:]
        self.text, self.degraded = {}, []
        self.read_case(os.path.join(folder, "case.txt"))
        self.read_flows(os.path.join(self.group, "flows.csv"))
        self.read_topology(os.path.join(folder, self.text["topology"].split()[0]),
                           os.path.join(self.group, self.text["topology"].split()[0]))
        self.truth = self.read_summary(os.path.join(folder, "summary.csv"))
        self.orders = self.read_orders()

    def read_case(self, path):
        for line in open(path):
            m = re.match(r"(\w+): *(.*?) *(#.*)?$", line.strip())
            if not m:
                continue
            if m[1] == "degraded_link":
                self.degraded.append(tuple(int(x) for x in re.findall(r"\d+", m[2])[:2]))
            else:
                self.text[m[1]] = m[2]
        for key in ("topology", "arguments", "mtu_bytes", "header_bytes"):
            if key not in self.text:
                raise Bad(f"{path}: expected a line '{key}: ...'")
        words = self.text["arguments"].split()
        self.argument = {w: (words[i + 1] if i + 1 < len(words) else "")
                         for i, w in enumerate(words) if w.startswith("-")}

    def read_flows(self, path):
        with open(path, newline="") as f:
            self.flows = [(int(float(r["start_ns"])), int(r["src"]), int(r["dst"]),
                           int(r["bytes"])) for r in csv.DictReader(f)]
        if not self.flows:
            raise Bad(f"{path}: no flows")

    def read_topology(self, *paths):
        path = next((p for p in paths if os.path.exists(p)), None)
        if not path:
            raise Bad(f"{self.folder}: no topology {paths[0]}")
        self.links = []
        for n, line in enumerate(open(path), 1):
            word = line.split("#")[0].split()
            if not word:
                continue
            if {"hosts": 2, "switches": 2, "link": 5}.get(word[0]) != len(word):
                raise Bad(f"{path}:{n}: expected hosts N, switches N or link A B RATE DELAY")
            if word[0] == "link":
                self.links.append([int(w) for w in word[1:]])
            else:
                setattr(self, word[0], int(word[1]))
        self.tiers()

    def tiers(self):
        """Switches by how far from hosts they are, each tier in the order of its numbers."""
        pairs = [(a, b) for a, b, _, _ in self.links]
        pairs += [(b, a) for a, b in pairs]
        tor = {b for a, b in pairs if a < self.hosts}
        agg = {b for a, b in pairs if a in tor and b >= self.hosts} - tor
        core = {b for a, b in pairs if a in agg} - tor - agg
        self.agg, self.core = sorted(agg), sorted(core)

    def read_summary(self, path):
        with open(path, newline="") as f:
            return {r["metric"]: (number(path, i, r["mean"]), number(path, i, r["sd_pct"] or "0"),
                                  number(path, i, r["min"]), number(path, i, r["max"]))
                    for i, r in enumerate(csv.DictReader(f), 2)}

    def read_orders(self):
        """{metric: its means there where what happens in one picosecond comes in other orders}"""
        out = {}
        with open(SAME_TIME, newline="") as f:
            for i, r in enumerate(csv.DictReader(f), 2):
                if r["case"] == self.name:
                    out.setdefault(r["metric"], []).append(number(SAME_TIME, i, r["mean"]))
        return out

    def there(self, metric, ours):
        """What is to be met: the mean of its seeds, or where its orders were measured the nearest between them and it."""
        mean_of = self.truth[metric][0]
        both = self.orders.get(metric, []) + [mean_of]
        return min(max(ours, min(both)), max(both))

    def of_seeds(self, metric):
        with open(os.path.join(self.folder, "seeds.csv"), newline="") as f:
            return {int(r["seed"]): float(r[metric]) for r in csv.DictReader(f)}

    def fct(self, seed):
        with open(os.path.join(self.folder, f"fct-{seed}.csv"), newline="") as f:
            return [float(r["fct_ns"]) for r in csv.DictReader(f)]

    # ---- As a description ----

    def credits(self):
        return "-receiver_cc_only" in self.argument or "-receiver_cc" in self.argument

    def window(self):
        if "-receiver_cc_only" in self.argument:
            return "none"
        return self.argument.get("-sender_cc_algo", "nscc")

    def trims(self):
        return not self.text.get("trimming", "on").startswith("off")

    def pinned(self):
        return os.path.exists(os.path.join(self.folder, "paths-1.csv"))

    def uet(self):
        paths = int(self.text.get("entropy_values", "64").split()[0])
        balance = self.argument.get("-load_balancing_algo", "mixed")
        s = {"window": self.window(), "credits": str(self.credits()).lower(),
             "balance": "fixed" if paths == 1 else balance, "paths": paths,
             "sleek": "true" if self.text.get("sleek") == "on" else "false"}
        for key, name in (("ack_bytes", "sack_threshold_bytes"), ("credit", "credit_per_pull_bytes")):
            if name in self.text:
                s[key] = f"{self.text[name].split()[0]}B"
        if "min_rto_us" in self.text:
            s["rto"] = f"{round(float(self.text['min_rto_us'].split()[0]) * 1e6)}ps"
        if "nscc_network_rtt" in self.text:
            s["base_rtt"] = f"{self.text['nscc_network_rtt'].split()[0]}ps"
        if "nscc_target_Qdelay" in self.text and self.window() == "nscc":
            s["target"] = f"{self.text['nscc_target_Qdelay'].split()[0]}ps"
        return s

    def payload(self):
        return int(self.text["mtu_bytes"].split()[0]) - int(self.text["header_bytes"].split()[0])

    def skipped(self):
        """Why it is not run, or None."""
        rates = {r for a, b, r, _ in self.links if min(a, b) < self.hosts}
        speed = float(self.text.get("link_speed_gbps", "0").split()[0])
        if speed and rates != {int(speed * 1e9)}:
            return "its NICs are faster or slower than their links"
        if self.text["header_bytes"].split()[0] != "64":
            return "headers of another length than framing htsim's"
        for option in ("-conn_reuse", "-strat", "-q"):
            if option in self.argument:
                return f"{option} is not there"
        return None

    def write(self, folder, seed):
        """A description; only pinned paths depend on the seed."""
        path = os.path.join(folder, f"{self.key}-{seed if self.pinned() else 0}.yaml")
        if os.path.exists(path):
            return path

        def node(i):
            return f"h{i}" if i < self.hosts else f"s{i - self.hosts}"
        slow = {(self.core[c], self.agg[a]) for c, a in self.degraded}
        text = ["fabric:", "  network:", "    kind: explicit", "    hosts: ["
                + ", ".join(node(i) for i in range(self.hosts)) + "]", "    switches: ["
                + ", ".join(node(self.hosts + i) for i in range(self.switches)) + "]", "    links:"]
        for a, b, rate, delay in self.links:
            there = rate // 4 if (a, b) in slow else rate
            back = rate // 4 if (b, a) in slow else rate
            text.append(f"      - {{a: {node(a)}, b: {node(b)}, rate: {there}bps, "
                        f"rate_back: {back}bps, delay: {delay}ns}}")
        text += ["  transport:", "    kind: uet", "    framing: htsim",
                 f"    payload: {self.payload()}B",
                 "    uet: {" + ", ".join(f"{k}: {v}" for k, v in self.uet().items()) + "}",
                 f"  qos: {{switch_latency: 0ns, trim: {str(self.trims()).lower()}"
                 + (f", queue_bdp: {self.argument['-queue_size_bdp_factor']}"
                    if "-queue_size_bdp_factor" in self.argument else "")
                 + (f", trim_bytes: {self.text['trimmed_bytes'].split()[0]}B"
                    if self.text.get("trimmed_bytes", "").split()[:1] else "") + "}"]
        text += ["workload:", "  - {" + ", ".join(self.job(folder, seed)) + "}"]
        with open(path, "w") as f:
            f.write("\n".join(text) + "\n")
        return path

    def job(self, folder, seed):
        flows = os.path.join(folder, f"{self.key}-{seed}-flows.csv")  # runs share no file: they write it at once
        with open(flows, "w") as f:
            f.writelines(f"{s},{a},{b},{n}\n" for s, a, b, n in self.flows)
        job = [f"flows: {json.dumps(flows)}"]
        if not self.pinned():
            return job
        with open(os.path.join(self.folder, f"paths-{seed}.csv"), newline="") as f:
            taken = list(csv.DictReader(f))
        for key, column in (("paths", "data_nodes"), ("ack_paths", "ack_nodes")):
            name = os.path.join(folder, f"{self.key}-{seed}-{key}.csv")
            with open(name, "w") as f:
                f.write("flow,nodes\n")
                f.writelines(f"{i},{r[column]}\n" for i, r in enumerate(taken))
            job.append(f"{key}: {json.dumps(name)}")
        return job


class Run:
    def __init__(self, seed, fct, counters):
        n = len(fct)
        ordered = sorted(fct)
        self.seed, self.fct, self.counters = seed, fct, counters
        self.mean = sum(fct) / n
        self.p50, self.p99 = (ordered[max(0, math.ceil(s * n) - 1)] for s in (0.5, 0.99))
        self.last = ordered[-1]
        self.rtx, self.trims = counters["retransmits"], counters["trimmed"]
        self.acks = counters["ack_packets"] - counters["naks"]
        self.marks = counters["ecn_marked"] + counters["ecn_marked_again"]
        self.rto, self.queue = counters["timeouts"], counters["max_queue_bytes"]


def run(program, case, folder, seed):
    command = [program, "sim", "--quiet", "--no-diagnosis", "--threads", "1", "--seed", str(seed),
               "--json", "-", case.write(folder, seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise Bad(done.stderr.strip() or f"{case.name}: ripstop ended with {done.returncode}")
    result = json.loads(done.stdout)["runs"][0]
    flows = sorted(result["flows"], key=lambda f: f["id"])
    if any(f["finish_ns"] is None for f in flows):
        raise Bad(f"{case.name}, seed {seed}: a flow did not finish")
    return Run(seed, [f["finish_ns"] - f["start_ns"] for f in flows], result["counters"])


# ---- Bars ----

def mean(values):
    values = list(values)
    return sum(values) / len(values)


class Judge:
    def __init__(self, good):
        self.lines, self.good = [], good

    def check(self, passed, words):
        self.lines.append((bool(passed), words))

    def near(self, what, ours, theirs, must, good):
        off = 100 * (ours / theirs - 1)
        bar = good if self.good else must
        self.check(abs(off) <= bar + 1e-9, f"{what} {off:+.2f} % (within {bar:.3g} %)")

    def count(self, what, ours, theirs, percent):
        room = max(percent / 100 * theirs, 3 if theirs < 10 else 0)
        self.check(abs(ours - theirs) <= room,
                   f"{what} {ours:,.1f}, there {theirs:,.1f} (within {room:,.1f})")


def bars(case, metric, floor):
    """must and good, in per cent: one and a half or three quarters of the noise of a run there."""
    sd = case.truth[metric][1]
    if case.credits() and sd < 0.1:
        return 0.3, 0.1
    return max(floor, 1.5 * sd), max(floor / 2, 0.75 * sd)


def judge(case, runs, good):
    j = Judge(good)
    truth = {k: v[0] for k, v in case.truth.items()}
    if case.truth["mean_ns"][1] == 0 and case.truth["last_ns"][1] == 0:
        theirs = case.fct(1)
        off = max(abs(a - b) for r in runs for a, b in zip(r.fct, theirs))
        j.check(off < 0.001, f"each flow to the picosecond: {off * 1000:.0f} ps off")
        return j
    if case.pinned():
        pinned(case, runs, j)
    else:
        j.near("mean", mean(r.mean for r in runs), truth["mean_ns"], *bars(case, "mean_ns", 1))
        if len(case.flows) >= 100:
            j.near("p50", mean(r.p50 for r in runs), truth["p50_ns"], *bars(case, "mean_ns", 1))
        j.near("last", mean(r.last for r in runs), truth["last_ns"], *bars(case, "last_ns", 2))
    if case.trims() and not truth["rto"]:
        worst = max(abs(r.rtx - r.trims) - r.rto for r in runs)
        j.check(worst <= 0, f"one resend a trim, and one a timeout: {max(worst, 0)} off")
    j.count("resent", mean(r.rtx for r in runs), truth["rtx"],
            max(5, 1.5 * case.truth["rtx"][1]) if not good else 0.75 * case.truth["rtx"][1])
    acks = mean(r.acks for r in runs)
    j.count("ACKs", acks, case.there("acks", acks), 1 if good else 3)
    j.count("marks", mean(r.marks for r in runs), truth["marks"], 4 if good else 8)
    most = max(truth[k] for k in truth if k.startswith("qmax_"))
    limit = float(case.text.get("switch_queue_bytes", most).split()[0])
    j.check(max(r.queue for r in runs) <= limit, f"longest queue {max(r.queue for r in runs):,.0f} "
            f"B (at most {limit:,.0f})")
    return j


def pinned(case, runs, j):
    theirs, last = case.of_seeds("mean_ns"), case.of_seeds("last_ns")
    for what, ours, there, must, good in (
            ("mean", [r.mean / theirs[r.seed] for r in runs], "mean", 1.5, 0.7),
            ("last", [r.last / last[r.seed] for r in runs], "last", 6, 4)):
        worst = max(ours, key=lambda x: abs(x - 1))
        j.near(f"each seed's {what}, the worst", worst, 1, must, good)
    j.near("mean over seeds", mean(r.mean / theirs[r.seed] for r in runs), 1, 0.5, 0.2)


ORDERS = {"perm128": ("mean", ("mixed", "bitmap"), ("reps",), ("rccc-oblivious", "nscc-oblivious"),
                      ("dctcp-oblivious",), ("ecmp",)),
          "perm128-failed4": ("p99", ("mixed", "bitmap"), ("reps",), ("nscc-oblivious",))}


def orders(done):
    """Which is faster than which must come out as there, in every seed."""
    out, failed = [], 0
    for group, (metric, *ranks) in ORDERS.items():
        of = {c.name.split("/")[1]: runs for c, runs in done if c.name.split("/")[0] == group}
        for faster, slower in zip(ranks, ranks[1:]):
            for a, b in itertools.product(faster, slower):
                x = next((of[v] for v in of if v.endswith(a)), None)
                y = next((of[v] for v in of if v.endswith(b)), None)
                if not x or not y:
                    continue
                wrong = sum(getattr(p, metric) >= getattr(q, metric) for p, q in zip(x, y))
                failed += wrong > 0
                out.append(f"    {'FAILED' if wrong else 'passed'}: {group}: {metric} of {a} below "
                           f"{b}'s in {len(x) - wrong} of {len(x)} seeds")
    return out, failed


# ---- The table ----

HEAD = ("| case / variant | seeds | mean us | here | | p50 us | here | | p99 us | here | | last us | "
        "here | | resent | here | ACKs | here | marks | here | |\n|" + "---|" * 21)
TIMES = (("mean", "mean_ns"), ("p50", "p50_ns"), ("p99", "p99_ns"), ("last", "last_ns"))
COUNTS = (("rtx", "rtx"), ("acks", "acks"), ("marks", "marks"))


def markdown(case, runs, verdict):
    cells = [case.name.replace("/", " / "), str(len(runs))]
    for attribute, metric in TIMES:
        ours, theirs = mean(getattr(r, attribute) for r in runs), case.truth[metric][0]
        cells += [f"{theirs / 1000:,.2f}", f"{ours / 1000:,.2f}", f"{100 * (ours / theirs - 1):+.2f} %"]
    for attribute, metric in COUNTS:
        cells += [f"{case.truth[metric][0]:,.0f}", f"{mean(getattr(r, attribute) for r in runs):,.0f}"]
    return "| " + " | ".join(cells + [verdict]) + " |"


def plain(case, runs, j):
    out = [case.name]
    for label, of in (("there", lambda a, m: case.truth[m][0]),
                      (f"here ({len(runs)})", lambda a, m: mean(getattr(r, a) for r in runs))):
        out.append(f"  {label:<10}" + "".join(f"{of(a, m) / 1000:>12,.2f}" for a, m in TIMES)
                   + "".join(f"{of(a, m):>11,.0f}" for a, m in COUNTS))
    return out + [f"    {'passed' if ok else 'FAILED'}: {words}" for ok, words in j.lines]


def show(program, folder, dirs, only, seeds, pool, as_markdown, good):
    """Prints the table; how many cases failed."""
    cases = [c for d in dirs for c in map(Case, cases_in(d)) if re.search(only, c.name)]
    work, done, failed = [], [], 0
    for case in cases:
        why = case.skipped()
        if why:
            print(f"{case.name}: skipped, {why}")
            continue
        case.write(folder, 1)
        # paths are pinned seed by seed, and known for those seeds alone
        n = len(case.of_seeds("mean_ns")) if case.pinned() else seeds or 20
        work.append((case, [pool.submit(run, program, case, folder, s + 1) for s in range(n)]))
    print(HEAD if as_markdown else " " * 12 + "".join(f"{h:>12}" for h in (
        "mean us", "p50", "p99", "last")) + "".join(f"{h:>11}" for h in ("resent", "ACKs", "marks")))
    for case, submitted in work:
        runs = [s.result() for s in submitted]
        j = judge(case, runs, good)
        bad = not all(ok for ok, _ in j.lines)
        print(markdown(case, runs, "failed" if bad else "passed") if as_markdown
              else "\n".join(plain(case, runs, j)), flush=True)
        failed += bad
        done.append((case, runs))
    out, wrong = orders(done)
    if out and not as_markdown:
        print("\n".join(["Which is faster:"] + out))
    print(f"{len(work)} cases judged, {failed} failed" + (f", {wrong} orders wrong" if wrong else ""))
    return failed + wrong

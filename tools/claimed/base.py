"""Runs of scenarios, figures with their interval over seeds, and the verdict that follows from figures."""
import concurrent.futures
import functools
import json
import math
import os
import shlex
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SEEDS = 5

# Student's t, 97.5 %, by degrees of freedom
T = [None, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
     2.120, 2.110, 2.101, 2.093]


class Program:
    """The program that runs, and how often: set once by the command line."""
    path = os.path.join(ROOT, "build/release/bin/ripstop")
    seeds = SEEDS
    pool = None


def words(scenario, sets, verb="sim", more=()):
    out = ["ripstop", verb, *more]
    for s in sets:
        out += ["--set", s]
    return " ".join(shlex.quote(w) for w in out + [f"scenarios/{scenario}.yaml"])


def call(args, what):
    # status 1: a job did not finish, which is a result
    p = subprocess.run([Program.path, *args], cwd=ROOT, capture_output=True, text=True)
    if p.returncode not in (0, 1):
        raise RuntimeError(f"{what}: {p.stderr.strip()}")
    return p.stdout


@functools.lru_cache(maxsize=None)
def sim(scenario, *sets, seed=1):
    """One run of a scenario, changed, as its JSON has it."""
    args = ["sim", "--no-diagnosis", "--threads", "1", "--seed", str(seed), "--json", "-", "--quiet"]
    for s in sets:
        args += ["--set", s]
    return json.loads(call([*args, f"scenarios/{scenario}.yaml"], words(scenario, sets)))["runs"][0]


def latencies(run, job):
    """Of each flow of a job, in microseconds, from the post until the receiver's memory shows it."""
    first = sum(j.get("flows_done", 0) for j in run["jobs"][:job])
    flows = run["flows"][first:first + run["jobs"][job]["flows_done"]]
    return sorted((f["delivered_ns"] - f["start_ns"]) / 1000 for f in flows)


def rate(run):
    """Gb/s of the 64 MB of scenarios/numa.yaml, the latency of its 8 bytes taken off."""
    took = latencies(run, 1)[0] - latencies(run, 0)[0]
    return run["flows"][1]["bytes"] * 8 / took / 1000


def placed(scenario):
    """The claims' own scenarios are in a folder."""
    own = f"claims/{scenario}"
    return own if os.path.exists(os.path.join(ROOT, "scenarios", own + ".yaml")) else scenario


class Runs:
    """A scenario with settings, run with each seed. What was asked for once is kept."""

    def __init__(self, scenario, *sets, seeds=None, max_time=None):
        self.scenario, self.sets = placed(scenario), sets
        self.seeds = seeds or Program.seeds
        self.base = ["--max-time", max_time] if max_time else []

    def command(self):
        return words(self.scenario, self.sets, more=self.base)

    @functools.lru_cache(maxsize=None)
    def one(self, seed):
        args = ["sim", "--no-diagnosis", "--threads", "1", "--seed", str(seed), "--json", "-", "--quiet", *self.base]
        for s in self.sets:
            args += ["--set", s]
        return json.loads(call([*args, f"scenarios/{self.scenario}.yaml"], self.command()))["runs"][0]

    def of(self, f):
        """f of each seed's run."""
        return [f(r) for r in Program.pool.map(self.one, range(1, self.seeds + 1))]

    def counter(self, name):
        return self.of(lambda r: r["counters"][name])

    def time(self, job=0):
        """Of a job, in ns; infinite where it did not finish."""
        return self.of(lambda r: r["jobs"][job]["finish_ns"] - r["jobs"][job]["start_ns"] if r["jobs"][job]["done"]
                       else math.inf)

    @functools.lru_cache(maxsize=None)
    def compared(self):
        sets = []
        for s in self.sets[:-1]:
            sets += ["--set", s]
        # compare wants an axis: what is set last is one of one value
        last = ["--vary", self.sets[-1]] if self.sets else ["--over", "what-if"]
        text = call(["compare", "--threads", "1", "--seeds", str(self.seeds), *self.base, "--json", "-", "--quiet", *sets, *last,
                     f"scenarios/{self.scenario}.yaml"], self.command())
        return json.loads(text)["variants"][0]

    def figure(self, name):
        """A figure of `ripstop compare`, of each seed."""
        v = self.compared()
        if v["refused"]:
            raise RuntimeError(f"{self.command()}: {v['refused']}")
        return v["figures"][name]["runs"]

    @functools.lru_cache(maxsize=None)
    def rates(self, interval="5us", flow=0, seed=1):
        """[(ns, Gb/s)] of a flow, as congestion control sets it."""
        args = ["sim", "--no-diagnosis", "--threads", "1", "--seed", str(seed), "--rates-csv", "-", "--rate-interval", interval,
                "--quiet", *self.base]
        for s in self.sets:
            args += ["--set", s]
        rows = (line.split(",") for line in call([*args, f"scenarios/{self.scenario}.yaml"], self.command()).splitlines()[1:])
        return [(float(t), float(g)) for t, f, g in rows if int(f) == flow]


def ratio(a, b):
    """Seed by seed."""
    return [x / y if y else math.inf for x, y in zip(a, b)]


def scale(values, by):
    return [v * by for v in values]


def text_of(v):
    if math.isinf(v):
        return "never"
    if v and abs(v) < 0.01:
        return f"{v:.2g}"
    return f"{v:.0f}" if abs(v) >= 100 else f"{v:.3g}"


class Figure:
    """A label, a value of each seed, a unit, and the range in which the claim would be right; without one it is only shown."""

    def __init__(self, label, values, unit="", claim=None):
        self.label, self.unit, self.claim = label, unit, claim
        self.values = list(values) if isinstance(values, (list, tuple)) else [values]
        n = len(self.values)
        self.mean = sum(self.values) / n
        if n > 1 and not math.isinf(self.mean):
            s = math.sqrt(sum((v - self.mean) ** 2 for v in self.values) / (n - 1))
            self.half = T[min(n - 1, len(T) - 1)] * s / math.sqrt(n)
        else:
            self.half = 0.0

    def holds(self):
        """True, False, or None where the interval over seeds crosses the edge of the range."""
        low, high = self.claim
        # a run's exact zero spread must not fail at an edge by the last bit
        eps = 1e-9 * max(abs(self.mean), 1.0) if not math.isinf(self.mean) else 0.0
        if self.mean - self.half >= low - eps and self.mean + self.half <= high + eps:
            return True
        if self.mean + self.half < low or self.mean - self.half > high:
            return False
        return None

    def text(self):
        t = f"{self.label} {text_of(self.mean)}"
        if self.half > 0.005 * abs(self.mean):
            t += f" ± {text_of(self.half)}"
        if self.unit and not math.isinf(self.mean):
            t += f" {self.unit}"
        if self.claim:
            low, high = self.claim
            if math.isinf(high) and math.isinf(-low):
                wanted = "any"
            elif math.isinf(high):
                wanted = f"at least {text_of(low)}"
            elif math.isinf(-low) or (low == 0 and high != 0):
                wanted = f"at most {text_of(high)}"
            elif low == high:
                wanted = text_of(low)
            else:
                wanted = f"{text_of(low)} to {text_of(high)}"
            t += f" ({wanted}: {({True: 'yes', False: 'no', None: 'open'})[self.holds()]})"
        return t


def at_least(v):
    return (v, math.inf)


def at_most(v):
    return (-math.inf, v)


HOLDS, FAILS, CONDITIONS, OPEN = "holds", "fails", "holds with conditions", "open: seeds disagree"
DOCUMENTS, NOT_MODELLED = "by documents", "not modelled"


def verdict_of(figures):
    judged = [f.holds() for f in figures if f.claim]
    if all(j is True for j in judged):
        return HOLDS
    if all(j is False for j in judged):
        return FAILS
    if True in judged and False in judged:
        return CONDITIONS
    return OPEN


class Claim:
    """id, the claim in words, the verdict that its author gave, what to add to it, and how it is found: a function that returns
    (figures, Runs or a command). A claim without a function is not decided by runs; `note` says why."""

    def __init__(self, id, words, verdict, note="", how=None):
        self.id, self.words, self.verdict, self.note, self.how = id, words, verdict, note, how

    def run(self):
        figures, command = self.how() if self.how else ([], "")
        if isinstance(command, Runs):
            command = command.command()
        found = verdict_of(figures) if self.how else self.verdict
        return figures, command, found

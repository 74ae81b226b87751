"""ECN, PFC and congestion control: C056 to C092, C140."""
import json
import math
import os
import re
import subprocess
from .base import (ROOT, Claim, Figure, Runs, call, at_least, at_most, ratio, scale, HOLDS, FAILS, CONDITIONS, OPEN, DOCUMENTS, NOT_MODELLED)

NO_CC = "fabric.cc={kind: none}"
PAPER = "fabric.cc={kind: dcqcn, preset: paper}"


def ecn(kmin, kmax, pmax="100%", more=""):
    return f"fabric.qos.classes=[{{class: 3, lossless: true, kmin: {kmin}, kmax: {kmax}, pmax: {pmax}{more}}}]"


def net(rate):
    return f"fabric.network.rate={rate}"


def senders(n, size="10MB", to=16):
    return "workload=[{flows: [" + ", ".join(f"{{src: {i}, dst: {to}, bytes: {size}}}" for i in range(n)) + "]}]"


def kb(values):
    return scale(values, 1e-3)


# ---- ECN's thresholds ----

def c056():
    out = []
    for rate in ("100G", "400G", "800G"):
        for n in (2, 16):
            size = senders(n, "20MB" if n == 2 else "5MB")
            a = Runs("incast", ecn("20kB", "200kB"), net(rate), size)
            b = Runs("incast", ecn("150kB", "1500kB"), net(rate), size)
            out.append(Figure(f"{rate}, {n} senders: last finish, 20/200 kB over 150/1500 kB", ratio(a.time(), b.time()), "", at_most(1.02)))
    a = Runs("incast", ecn("20kB", "200kB"))
    b, c = Runs("incast", ecn("150kB", "1500kB")), Runs("incast", ecn("2MB", "10MB"))
    for name, r in (("20/200 kB", a), ("150/1500 kB", b), ("2/10 MB", c)):
        out.append(Figure(f"400G, 16 senders, {name}: queue p99", scale(r.figure("queue_p99_bytes"), 1e-6), "MB"))
    return out, a


def c057():
    return [Figure("jumbo frames of 9000 bytes in 20 kB", 20000 / 9000, "", (1.3, 1.7))], ""


def c058():
    tenth, usual = Runs("incast", ecn("6.4MB", "12.8MB")), Runs("incast", ecn("150kB", "1500kB"))
    few = senders(4, "40MB")
    t4, u4 = Runs("incast", ecn("6.4MB", "12.8MB"), few), Runs("incast", ecn("150kB", "1500kB"), few)
    return [Figure("4 senders, Kmin 6.4 of 64 MB: time in the queue, p99, times that with 150 kB",
                   ratio(t4.figure("queue_p99_bytes"), u4.figure("queue_p99_bytes")), "", at_most(1)),
            Figure("16 senders: the same", ratio(tenth.figure("queue_p99_bytes"), usual.figure("queue_p99_bytes")), "", at_most(1)),
            Figure("4 senders: last finish, times that with 150 kB", ratio(t4.time(), u4.time()), "")], t4


def c059():
    burst = "workload=[{flows: {load: 30%, time: 1ms, bytes: 32kB}}]"
    r = Runs("permutation", ecn("20kB", "200kB"), burst)
    usual = Runs("permutation", ecn("150kB", "1500kB"), burst)
    two = Runs("incast", ecn("20kB", "200kB"), senders(2, "64kB"))
    share = lambda x: x["counters"]["data_marked"] / x["counters"]["data_packets"]
    return [Figure("messages of 32 kB at a load of 30 %: packets marked, of all", r.of(share), "", at_most(0.001)),
            Figure("two messages of 64 kB at once: marked", two.of(share), "", at_most(0.001)),
            Figure("with 150/1500 kB, at the load", usual.of(share), "")], r


def c060():
    share = lambda x: x["counters"]["data_marked"] / x["counters"]["data_packets"]
    below = Runs("incast", ecn("0kB", "64MB"), NO_CC, senders(4))
    above = Runs("incast", ecn("1kB", "9kB"), NO_CC, senders(4))
    return [Figure("queues between Kmin and Kmax only: marked, of all (probabilistic above Kmax would be none here)", below.of(share), "", at_most(0.01)),
            Figure("queues above Kmax but for the first: marked", above.of(share), "", at_most(0.9))], below


# ---- PFC ----

def by(job):
    return lambda x: x["jobs"][job]["finish_ns"]


# XOFF well below Kmin, and ECN's usual place: thresholds of 1/8 of what is free
FIRST_PFC = ("fabric.qos.buffer=16MB", ecn("8MB", "12MB", more=", alpha_shift: -3"))
FIRST_ECN = ("fabric.qos.buffer=16MB", ecn("150kB", "1500kB", more=", alpha_shift: 0"))


def c061():
    a, b = Runs("bystander", *FIRST_PFC), Runs("bystander", *FIRST_ECN)
    alone = Runs("bystander", "workload[0].flows[0].bytes=1kB", "workload[0]=null").time(0)
    return [Figure("PFC first: the bystander's time, of that with ECN first", ratio(a.time(1), b.time(1)), "", at_most(1)),
            Figure("PFC first: pauses, times those with ECN first", [(x + 0.0) / max(y, 1) for x, y in zip(a.figure("pauses"), b.figure("pauses"))], "", at_most(1)),
            Figure("last finish of the incast, PFC first over ECN first", ratio(a.time(0), b.time(0)), "")], a


def c062():
    part = lambda n, slot: f"{{count: {n}, sockets: 1, nics: [{{name: nic0, on: socket0, pcie: {slot}}}]}}"
    slow = (f"fabric.hosts=[{part(2, 'gen5x16')}, {part(1, 'gen3x8')}]",
            "workload=[{flows: [{src: 0, dst: 2, bytes: 20MB}]}]", "fabric.network.hosts=null")
    out = []
    usual = Runs("incast", "fabric.qos.buffer=16MB", ecn("2MB", "10MB", more=", alpha_shift: -3"))
    low = Runs("incast", "fabric.qos.buffer=16MB", ecn("20kB", "200kB", more=", alpha_shift: -3"))
    out.append(Figure("an incast, Kmin and Kmax from 2/10 MB to 20/200 kB: pauses left, of all", ratio(low.figure("pauses"), usual.figure("pauses")), "", at_most(0.5)))
    a, b = Runs("incast", *slow, ecn("150kB", "1500kB")), Runs("incast", *slow, ecn("5kB", "20kB"))
    out.append(Figure("a receiver behind Gen3 x8, from 150/1500 to 5/20 kB: pauses left, of all", ratio(b.figure("pauses"), a.figure("pauses")), "", at_most(0.5)))
    return out, b


def c063():
    ring = Runs("rail")
    a2a = Runs("rail", "workload=[{collective: {op: all-to-all, bytes: 16MiB}}]")
    rate = lambda x: x["counters"]["cnps"] / (x["sim_time_ns"] * 1e-9)
    return [Figure("rings on their rails: CNPs a second", ring.of(rate), "", at_most(0)),
            Figure("an all-to-all: CNPs a second", a2a.of(rate), "", at_most(0))], a2a


def c064():
    out = []
    base = ("fabric.qos.buffer=6MB",)
    for rec, rsets in (("go-back-N", ()), ("selective", ("fabric.transport.recovery=selective",))):
        full = Runs("incast", *base, *rsets).time()
        for name, sets in (("ECN without PFC", ("fabric.qos.pfc=false",)), ("PFC without ECN", ("fabric.qos.ecn=false",)),
                           ("neither", ("fabric.qos.pfc=false", "fabric.qos.ecn=false"))):
            r = Runs("incast", *base, *rsets, *sets)
            out.append(Figure(f"{rec}, {name}: last finish, times that with both", ratio(r.time(), full), "", at_least(1.1)))
    return out, Runs("incast", *base, "fabric.qos.pfc=false")


SMALL = "fabric.qos.buffer=8MB"


def c065():
    on, off = Runs("bystander", SMALL, NO_CC), Runs("bystander", SMALL, NO_CC, "fabric.qos.pfc=false", max_time="100ms")
    free = Runs("bystander", "fabric.qos.buffer=0", NO_CC)
    return [Figure("PFC: packets dropped", on.counter("drops"), "", at_most(0)),
            Figure("without PFC: dropped", off.counter("drops"), ""),
            Figure("without blocking: the bystander's time with PFC, of that without a full buffer", ratio(on.time(1), free.time(1)), "", at_most(1.05))], on


def c066():
    pfc = Runs("bystander", SMALL, NO_CC)
    cc = Runs("bystander", "fabric.qos.buffer=64MB", "fabric.cc={kind: dcqcn, preset: mlx5}")
    free = Runs("bystander", "fabric.qos.buffer=0", NO_CC)
    return [Figure("PFC alone: the bystander's time, of that undisturbed", ratio(pfc.time(1), free.time(1)), "", at_least(1.2)),
            Figure("DCQCN: the same", ratio(cc.time(1), free.time(1)), "", at_most(1.05))], pfc


def c067():
    stuck = Runs("circle", max_time="1s")
    dcqcn = Runs("circle", "fabric.qos.ecn=true", "fabric.cc={kind: dcqcn}", ecn("5kB", "20kB"), max_time="1s")
    mild = Runs("circle", "fabric.qos.ecn=true", "fabric.cc={kind: dcqcn}", ecn("150kB", "1500kB"), max_time="1s")
    five, legal = Runs("pentagon", max_time="1s"), Runs("pentagon", "fabric.network.routes=up-down", max_time="1s")
    dog = Runs("circle", "fabric.qos.watchdog=200us", max_time="1s")
    clos = Runs("permutation", "fabric.qos.buffer=5MB", "fabric.qos.ecn=false")
    stands = lambda x: len(x["deadlock"]) > 0
    ends = lambda x: all(j["done"] for j in x["jobs"])
    return [Figure("a circle of buffers: runs that deadlock, of all", [float(v) for v in stuck.of(stands)], "", at_least(1)),
            Figure("five switches in a circle, shortest routes: the same", [float(v) for v in five.of(stands)], "", at_least(1)),
            Figure("up-down routes there", [float(v) for v in legal.of(stands)], "", at_least(1)),
            Figure("with DCQCN and marks from 5 kB on: deadlock", [float(v) for v in dcqcn.of(stands)], "", at_most(0)),
            Figure("with marks from 150 kB on, as is usual: deadlock", [float(v) for v in mild.of(stands)], "", at_most(0)),
            Figure("needs a reset: with a watchdog of 200 us, runs that do not end", [1.0 - v for v in dog.of(ends)], "", at_least(1)),
            Figure("any fabric: leaf and spine, up then down, full of pauses: deadlock", [float(v) for v in clos.of(stands)], "", at_least(1))], stuck


def c068():
    long, short = Runs("incast", SMALL, NO_CC), Runs("incast", SMALL, NO_CC, "fabric.qos.pause_quanta=1953")
    return [Figure("2.5 us of quanta (1953 at 400G), not 65535: last finish", ratio(short.time(), long.time()), "", at_most(0.99)),
            Figure("PAUSE frames, times", ratio(short.figure("pauses"), long.figure("pauses")), ""),
            Figure("time paused", ratio(short.figure("paused_ns"), long.figure("paused_ns")), "", at_most(0.9)),
            Figure("dropped", short.counter("drops"), "")], short


def slow_rank(share):
    return (f"fabric.events=[{{at: 0us, nic: h5, rate: {share}}}]",)


def c069():
    whole = Runs("ring").figure("completion_ns")
    out = []
    for name, rate, times in (("200G", "200G", 2), ("40G", "40G", 10)):
        r = Runs("ring", *slow_rank(rate), "fabric.qos.buffer=8MB")
        out.append(Figure(f"one of 16 NICs at {name}: the all-reduce takes, times", ratio(r.figure("completion_ns"), whole), "", at_least(0.9 * times)))
        out.append(Figure("timeouts there", r.counter("timeouts"), "", at_least(1)))
    return out, r


def c070():
    return c068()


def steps(rates):
    """The rates of a flow, each new one once."""
    out = []
    for _, g in rates:
        if not out or g != out[-1]:
            out.append(g)
    return out


def cuts(cc, n):
    """Rates of a flow of an incast behind its first cuts, of its line rate."""
    r = Runs("incast", cc, net("100G"), senders(16, "4MB"), max_time="1ms")
    s = steps(r.rates("1us"))
    i = next(i for i, g in enumerate(s) if g < s[0])
    return r, [g / s[0] for g in s[i:i + n]]


def c071():
    # the paper's preset: alpha is 1 until it was left alone for 55 us; a second cut comes 50 us later
    r, got = cuts(PAPER, 2)
    # g large enough to see: each CNP raises alpha from its start of 0.5 by g of what lacks; R(1 - alpha/2)
    r2, tuned = cuts("fabric.cc={kind: dcqcn, preset: paper, alpha_initial: 0.5, g: 0.25, alpha_timer: 1s, increase_timer: 1s, byte_counter: 1GB}", 3)
    a, want, rate = 0.5, [], 1.0
    for _ in range(3):
        rate *= 1 - a / 2
        a = 0.75 * a + 0.25
        want.append(rate)
    out = [Figure("the first cut, alpha 1: rate left", got[0], "", (0.499, 0.501))]
    for i, (g, w) in enumerate(zip(tuned, want)):
        out.append(Figure(f"alpha from 0.5, g 1/4, cut {i + 1}: rate over that of the formula", g / w, "", (0.999, 1.001)))
    return out, r2


def recovery(cc, share=0.95, rate=400):
    """ms from the end of 15 of 16 flows until the last one has 95 % of the line rate. The last one is long enough."""
    flows = ", ".join(f"{{src: {i}, dst: 16, bytes: 2MB}}" for i in range(15))
    r = Runs("incast", cc, f"workload=[{{flows: [{flows}]}}, {{flows: [{{src: 15, dst: 16, bytes: 3GB}}]}}]", max_time="45ms")
    ends = r.one(1)["jobs"][0]["finish_ns"] or math.inf
    for t, g in r.rates("100us", flow=15):
        if t > ends and g >= share * rate:
            return r, (t - ends) / 1e6
    return r, math.inf


def c072():
    out, r = [], None
    ai = lambda a, h: f"fabric.cc={{kind: dcqcn, preset: mlx5, rate_ai: {a}Mb/s, rate_hai: {h}Mb/s}}"
    for name, cc in (("AI 5 Mb/s (firmware)", ai(5, 50)), ("AI 50 Mb/s", ai(50, 50)), ("AI 100 Mb/s", ai(100, 50)), ("AI 50, HAI 500 Mb/s", ai(50, 500)),
                     ("AI 5, byte counter 32 KiB", "fabric.cc={kind: dcqcn, preset: mlx5, byte_counter: 32KiB}"), ("the paper's preset", PAPER)):
        r, ms = recovery(cc)
        out.append(Figure(f"{name}: 95 % of 400G after", ms, "ms"))
    base = out[0].mean
    out.append(Figure("AI 50 decides: AI 50 over AI 5", out[1].mean / base, "", at_most(0.5)))
    out.append(Figure("AI 100 over AI 5", out[2].mean / base, "", at_most(0.5)))
    return out, r


def c073():
    only_timer = recovery("fabric.cc={kind: dcqcn, preset: mlx5, byte_counter: 1GB}")[1]
    r, only_bytes = recovery("fabric.cc={kind: dcqcn, preset: mlx5, increase_timer: 1s}")
    both = recovery("fabric.cc={kind: dcqcn, preset: mlx5}")[1]
    return [Figure("time to 95 % of 400G by timer alone", only_timer, "ms"), Figure("by byte counter alone", only_bytes, "ms"),
            Figure("by both", both, "ms"),
            Figure("by byte counter alone, over both (the timer should not matter at first)", only_bytes / both, "", (0.9, 1.1))], r


def c074():
    out, r = [], None
    for name, cc, limit in (("paper", PAPER, 49), ("mlx5", "fabric.cc={kind: dcqcn, preset: mlx5}", 49)):
        r = Runs("incast", cc, senders(2, "40MB"))
        # of each flow, how much of its life a CNP has for itself
        out.append(Figure(f"{name}, two flows at 400G: of a flow's life a CNP has", r.of(lambda x: x["sim_time_ns"] * 2e-3 / max(x["counters"]["cnps"], 1)),
                          "us", at_least(limit)))
    for by in ("qp", "ip", "port"):
        r = Runs("incast", f"fabric.transport.cnp_moderation={by}")
        out.append(Figure(f"16 senders, mlx5, moderation by {by}: queue p99", scale(r.figure("queue_p99_bytes"), 1e-6), "MB"))
    return out, r


def cut_by(c):
    return f"fabric.cc={{kind: dcqcn, preset: mlx5, fixed_cut: {c}}}"


def c075():
    out, base, r = [], None, None
    for c in (0.5, 0.25, 0.125, 0.0625):
        r = Runs("incast", net("800G"), senders(8, "20MB"), cut_by(c))
        took = r.time()
        base = base or took
        out.append(Figure(f"8 senders at 800G, each cut {c}: last finish, of that with 0.5", ratio(took, base), ""))
        out.append(Figure("queue p99", scale(r.figure("queue_p99_bytes"), 1e-6), "MB"))
    alpha = Runs("incast", net("800G"), senders(8, "20MB"), "fabric.cc={kind: dcqcn, preset: mlx5}").time()
    eighth = Runs("incast", net("800G"), senders(8, "20MB"), cut_by(0.125)).time()
    for c in (0.25, 0.0625):
        out.append(Figure(f"0.125 is best: its last finish, of that with {c}",
                          ratio(eighth, Runs("incast", net("800G"), senders(8, "20MB"), cut_by(c)).time()), "", at_most(1.0)))
    out.append(Figure("of that with DCQCN's alpha", ratio(eighth, alpha), "", at_most(1.0)))
    return out, r


def c076():
    # the first cut of one goes to 90 % of the line's rate, of the other to 10 %; a CNP, and a cut of 1/8, a round trip
    cc = lambda rate: (f"{{kind: dcqcn, preset: mlx5, fixed_cut: 0.125, first_rate: {rate}Gb/s, cnp_interval: 8us, reduce_period: 8us}}")
    r = Runs("incast", "workload=[{flows: [" + ", ".join(f"{{src: {i}, dst: 16, bytes: 400MB, cc: {cc(g)}}}" for i, g in ((0, 360), (1, 40))) + "]}]",
             max_time="18ms")
    jain = lambda a, b: (a + b) ** 2 / 2 / (a * a + b * b)
    after, until = [], []
    for seed in range(1, r.seeds + 1):
        one, two = dict(r.rates("8us", flow=0, seed=seed)), dict(r.rates("8us", flow=1, seed=seed))
        fair = [jain(one[t], two[t]) for t in sorted(one) if t in two]
        begin = next(i for i, f in enumerate(fair) if f < 0.75)
        after.append(fair[begin + 4])
        until.append(next((i for i, f in enumerate(fair[begin:]) if f >= 0.99), math.inf))
    return [Figure("from 90:10, 4 round trips of 8 us later: Jain's index of the rates", after, "", at_least(0.99)),
            Figure("round trips until it is 0.99", until, "", at_most(4)),
            Figure("in closed form: imbalance left after 4 cuts, where steps up refill evenly", (1 - 0.125) ** 4, "", at_most(0.1))], r


def c077():
    # payload that a link of 400 Gb/s carries in frames of 4096 bytes of it: 4096 / 4178 with preamble and gap
    out = []
    for n, size in ((2, 40), (4, 20), (16, 10)):
        r = Runs("incast", "fabric.cc={kind: hp-dcqcn}", senders(n, f"{size}MB"))
        out.append(Figure(f"{n} senders of {size} MB: of the receiver's link used", [n * size * 1e6 * 8 * 4178 / 4096 / 400 / t for t in r.time()], "",
                          at_least(0.95) if n > 2 else None))
    return out, r


def c092():
    folder = os.path.join(ROOT, "tests/data/gids")
    names = sorted(n for n in os.listdir(folder) if os.path.isdir(os.path.join(folder, n)))
    above = first = good = v2 = 0
    for n in names:
        with open(os.path.join(folder, n, "show_gids.txt"), encoding="utf-8") as f:
            rows = [(int(w[2]), w[-2]) for w in map(str.split, f) if len(w) > 4 and w[2].isdigit()]
        first += (0, "v1") in rows
        above += sum(i > 0 for i, _ in rows)
        v2 += sum(i > 0 and v == "v2" for i, v in rows)
        told = json.loads(call(["audit", "--json", "-", f"tests/data/gids/{n}"], n))
        good += not any(x["id"] == "R02" and x["verdict"] == "FAIL" for x in told["findings"])
    return [Figure(f"tables of {len(names)} public reports whose entry 0 is RoCE v1", first / len(names), "", (1, 1)),
            Figure("entries above 0 that are RoCE v2", v2 / above, "", (1, 1)),
            Figure("machines on which index 3 is right, by ripstop audit", good / len(names), "", (1, 1))], \
        "ripstop audit tests/data/gids/nccl-1573"


def c085():
    told = json.loads(call(["audit", "--json", "-", "tests/data/dscp/host"], "C085"))
    by = {x["id"]: x for x in told["findings"] if x["verdict"] == "FAIL"}
    dscp = float(re.search(r"NCCL_IB_TC unset\), DSCP (\d+)", by["N06"]["title"])[1])
    price = by["R05"]["price"]
    return [Figure("a map that leads DSCP 26 to a lossless priority, and a job without NCCL_IB_TC: DSCP that it sends, by ripstop audit", dscp, "", (26, 26)),
            Figure("goodput of an incast of it, of that with NCCL_IB_TC=104", price["as_is"] / price["fixed"], "", at_least(0.95))], \
        "ripstop audit tests/data/dscp/host"


def c091():
    folder = os.path.join(ROOT, "tests/data/gids")
    names = [n for n in sorted(os.listdir(folder)) if os.path.isdir(os.path.join(folder, n))]
    alike = 0
    for n in names:
        with open(os.path.join(folder, n, "show_gids.txt"), encoding="utf-8") as f:
            rows = [w for w in map(str.split, f) if len(w) > 4 and w[2].isdigit()]
        alike += any(w[0] == w[-1] for w in rows)
    try:
        p = subprocess.run(["rdma", "statistic", "show", "-a"], capture_output=True, text=True)
    except FileNotFoundError:
        raise RuntimeError("C091 runs iproute2's rdma, which is not here") from None
    return [Figure("options that iproute2's rdma does not know in `rdma stat show -a`", float("Unknown option" in p.stderr), "", (0, 0)),
            Figure(f"tables of {len(names)} public reports in which a netdev has its RDMA device's name", alike / len(names), "", (1, 1))], \
        "rdma statistic show -a"


def burst(size):
    return senders(16, size)


CCS = (("DCQCN", "fabric.cc={kind: dcqcn}"), ("HPCC", "fabric.cc={kind: hpcc}"), ("Swift", "fabric.cc={kind: swift}"), ("TIMELY", "fabric.cc={kind: timely}"))


def c078():
    out, r = [], None
    for size in ("64kB", "1MB", "10MB"):
        base = Runs("incast", CCS[0][1], burst(size))
        for name, cc in CCS[1:3]:
            r = Runs("incast", cc, burst(size))
            out.append(Figure(f"{size}: queue p99, DCQCN over {name}", ratio(base.figure("queue_p99_bytes"), r.figure("queue_p99_bytes")), "", at_least(2)))
            out.append(Figure("last finish", ratio(base.time(), r.time()), ""))
        r = Runs("incast", "fabric.transport.kind=uet", burst(size))
        out.append(Figure(f"{size}: queue p99, DCQCN over NSCC", ratio(base.figure("queue_p99_bytes"), r.figure("queue_p99_bytes")), "", at_least(2)))
    return out, Runs("incast", CCS[0][1], burst("1MB"))


def c079():
    out, first = [], None
    for n, buffer in ((16, "64MB"), (16, "2MB"), (64, "64MB"), (64, "2MB")):
        flows = ", ".join(f"{{src: {i}, dst: 64, bytes: 1MB}}" for i in range(n))
        r = Runs("incast", "fabric.cc={kind: hpcc}", "fabric.qos.pfc=false", "fabric.network.hosts=65", f"fabric.qos.buffer={buffer}",
                 f"workload=[{{flows: [{flows}]}}]")
        first = first or r
        out.append(Figure(f"{n} senders, {buffer} of buffer, no PFC: dropped", r.counter("drops"), "", at_most(0)))
    return out, first


def c081():
    r = Runs("permutation", "fabric.qos.buffer=5MB", "fabric.qos.ecn=false")
    inc = Runs("bystander", "fabric.qos.buffer=8MB", "fabric.qos.ecn=false")
    stands = lambda x: float(len(x["deadlock"]) > 0)
    return [Figure("leaf and spine, no marks at all: runs that deadlock", r.of(stands), "", at_least(1)),
            Figure("an incast over a spine: the same", inc.of(stands), "", at_least(1)),
            Figure("pauses there", inc.figure("pauses"), "")], inc


def c082():
    out, r, first = [], None, None
    fill = Runs("incast", net("800G"), NO_CC, senders(2, "2MB"))
    # two senders at 800G: the queue grows by 800 Gb/s
    out.append(Figure("2 senders of 2 MB at 800G, no control: longest queue", scale(fill.figure("queue_max_bytes"), 1e-6), "MB"))
    base = Runs("incast", net("800G"), "fabric.cc={kind: dcqcn, preset: mlx5}")
    for name, us in (("50 us", 50), ("300 us", 300), ("1.5 ms", 1500)):
        r = Runs("incast", net("800G"), f"fabric.cc={{kind: dcqcn, preset: mlx5, cnp_interval: {us}us, reduce_period: {us}us}}")
        out.append(Figure(f"a cut each {name}, not each 4 us: longest queue, times", ratio(r.figure("queue_max_bytes"), base.figure("queue_max_bytes")), "", at_least(1.1)))
    return out, r


# ---- Classes ----

def c084():
    good = Runs("bystander", SMALL, NO_CC, "fabric.transport.recovery=selective")
    bad = Runs("bystander", SMALL, NO_CC, "fabric.transport.recovery=selective", "fabric.qos.tiers={leaf: {dscp: {26: 0}}}")
    def at(place):
        return lambda x: sum(d["packets"] for d in x["drops"] if place in d["place"])
    one = Runs("bystander", SMALL, NO_CC, "fabric.transport.recovery=selective", "fabric.change=[{switch: leaf1, qos: {dscp: {26: 0}}}]")
    return [Figure("all agree: dropped", good.counter("drops"), "", at_most(0)),
            Figure("leaf1 puts DSCP 26 into class 0: dropped at leaf1", one.of(at("leaf1")), "", at_least(1)),
            Figure("elsewhere", [a - b for a, b in zip(one.counter("drops"), one.of(at("leaf1")))], "", at_most(0))], one


def c086():
    # the uplinks carry no tag: what a spine takes in has no PCP, and goes to class 0; so does what leaves it for a leaf
    sack = "fabric.transport.recovery=selective"
    shrink = ("fabric.network.uplink_rate=1600G", SMALL, NO_CC, sack)
    good, bad = Runs("bystander", *shrink), Runs("bystander", *shrink, "fabric.qos.tiers={spine: {dscp: {26: 0}}}", "fabric.change=[{switch: leaf1, qos: {dscp: {26: 0}}}]")
    return [Figure("untagged uplinks, so class 0 there: dropped", bad.counter("drops"), "", at_most(0)),
            Figure("DSCP trusted everywhere: dropped", good.counter("drops"), "")], bad


DCQCN = "fabric.cc={kind: dcqcn}"
TWO = "fabric.qos.classes=[{class: 4, lossless: true, ecn: true, kmin: 150kB, kmax: 1500kB, dscp: 24, weight: 1}]"


def storage(cls, sources, size):
    """Behind the ring of 16 hosts: writes into its last one."""
    flows = ", ".join(f"{{src: {s}, dst: 15, bytes: {size}, class: {cls}}}" for s in sources)
    return f"workload[+]={{name: storage, flows: [{flows}]}}"


def c087():
    alone, out = Runs("ring", DCQCN), []
    shared = None
    for name, sources, size, limit in (("one write of 2 MB", (5,), "2MB", 1.1), ("four of 16 MB", (1, 5, 9, 12), "16MB", 1.1)):
        shared, apart = Runs("ring", DCQCN, storage(3, sources, size)), Runs("ring", DCQCN, TWO, storage(4, sources, size))
        out.append(Figure(f"{name} in the class of an all-reduce: it takes, times", ratio(shared.time(), alone.time()), ""))
        out.append(Figure("over that with storage in a class of its own", ratio(shared.time(), apart.time()), "", at_most(limit)))
    return out, shared


def c088():
    # h3 holds its switch by PAUSEs for 1 ms while it sends into an incast: CNPs to it wait where their class is paused, too
    storm = "fabric.events=[{at: 50us, nic: h3, pause: 1ms}]"
    flows = ", ".join(f"{{src: {i}, dst: 16, bytes: 10MB}}" for i in range(4))
    sets = (storm, f"workload=[{{flows: [{flows}]}}]", "fabric.transport.timeout=18")
    free = Runs("incast", *sets)
    held = Runs("incast", *sets, "fabric.qos.classes=[{class: 6, lossless: true, dscp: 48, weight: 0}]")
    last = lambda r: [[g for t, g in r.rates("10us", flow=3, seed=s) if t < 1040e3][-1] / 400 for s in range(1, r.seeds + 1)]
    return [Figure("h3 after 1 ms of a pause storm: its rate, of the line's, where CNPs are paused, too", last(held), "", at_least(0.9)),
            Figure("where they are not", last(free), "", at_most(0.6))], held


def c140():
    r, got = cuts("fabric.cc={kind: dcqcn, preset: paper, cnp_interval: 4us, reduce_period: 4us}", 5)
    return [Figure(f"rate after cut {i + 1}, of the line's", g, "", (0.49, 1)) for i, g in enumerate(got)], r


CLAIMS = [
    Claim("C056", "NVIDIA recommends Kmin 20 kB, Kmax 200 kB for AI fabrics", CONDITIONS, "what NVIDIA recommends is a fact of documents (its default is 150 kB, 1.5 MB); here: is 20/200 kB no worse in an incast", c056),
    Claim("C057", "20 kB are about 1.5 jumbo frames", FAILS, "arithmetic", c057),
    Claim("C058", "set Kmin to 10 % of the buffer", FAILS, "the queue stands at what it is told to", c058),
    Claim("C059", "Kmin 20 kB does not mark micro-bursts", FAILS, "at a third of the load, too", c059),
    Claim("C060", "Kmax is where marking becomes probabilistic", FAILS, "between Kmin and Kmax it is, above it is certain", c060),
    Claim("C061", "PFC should act before ECN", FAILS, "the incast ends sooner, others wait", c061),
    Claim("C062", "frequent pauses mean that ECN's thresholds are too high", CONDITIONS, "a slow receiver pauses with any thresholds", c062),
    Claim("C063", "CNP counters stay at 0 under normal load", CONDITIONS, "without fan-in; else not", c063),
    Claim("C064", "PFC and ECN are both mandatory", CONDITIONS, "for go-back-N PFC is; a NIC with selective repeat and a limit of a BDP in flight needs neither", c064),
    Claim("C065", "PFC prevents drops, without blocking others", CONDITIONS, "drops it prevents; a bystander waits", c065),
    Claim("C066", "PFC stops a whole class, DCQCN slows one flow", HOLDS, "", c066),
    Claim("C067", "DCQCN prevents PFC deadlocks; one needs a reset", CONDITIONS, "a circle is needed, thresholds below the buffers' share keep it away, and a watchdog ends it", c067),
    Claim("C068", "keep a pause shorter than 2.5 us", FAILS, "a PAUSE ends with the RESUME; a short one is sent more often", c068),
    Claim("C069", "timeouts in an all-reduce: PFC behind one slow node", CONDITIONS, "a ring runs at its slowest member; nothing times out", c069),
    Claim("C070", "so shorten the pauses", FAILS, "as C068", c070),
    Claim("C071", "a CNP cuts R to R(1 - alpha/2), alpha goes to (1 - g) alpha + g", HOLDS, "", c071),
    Claim("C072", "additive increase of 50 or 100 Mb/s a step", FAILS, "what firmware, paper and ns-3 set differs (5, 40, 50 Mb/s); here: does it matter", c072),
    Claim("C073", "recovery by byte counter first, then by timer", FAILS, "both run at once, and hyper increase needs both", c073),
    Claim("C074", "at most one CNP in 50 us a flow", CONDITIONS, "the paper's preset; firmware allows one in 4 us or less, and by port if told so: then most senders hear nothing", c074),
    Claim("C075", "a cut of 0.5 is too much at 800G, 0.125 is best", CONDITIONS, "as DCQCN's default 0.5 it is no fact: alpha is a state, and its first cut takes a half", c075),
    Claim("C076", "a cut of 0.125 converges in about 4 round trips", FAILS, "cuts even out slowly, and mlx5's recovery more so", c076),
    Claim("C078", "DCQCN is slow for bursts", CONDITIONS, "not against Swift with 1 MB; 64 kB are out before any feedback", c078),
    Claim("C079", "HPCC removes loss without PFC", CONDITIONS, "while all first windows fit into the buffer", c079),
    Claim("C081", "a Kmin that is too high leads to deadlock", FAILS, "PFC works more, and a network without circles of buffers does not stop", c081),
    Claim("C082", "at 800G control must act in microseconds", HOLDS, "", c082),
    Claim("C084", "DSCP 26 must mean the same class at every hop", HOLDS, "", c084),
    Claim("C086", "trust PCP between switches", FAILS, "an uplink without a tag has no PCP", c086),
    Claim("C087", "storage may share the class of RoCE", CONDITIONS, "while it is little; bursts of storage cost the all-reduce its half", c087),
    Claim("C088", "control traffic must not be paused", HOLDS, "the sender that is paused does not hear of its cuts", c088),
    Claim("C077", "HP-DCQCN keeps more than 95 % utilisation", FAILS, "no algorithm of that name is published, so a rate meter of ours was run (95 % is HPCC's eta)", c077),
    Claim("C080", "HPCC++ is Li et al., SIGCOMM 2025", DOCUMENTS, "fails: HPCC is SIGCOMM 2019, HPCC++ is an IETF draft; who wrote what leaves no trace in a run"),
    Claim("C083", "DCQCN's alpha is computed in software", DOCUMENTS, "fails: firmware parameters of the NIC set it; where it is computed moves no packet of a run"),
    Claim("C085", "DSCP 26 is NCCL's default", FAILS, "NCCL_IB_TC is 0 unless set (NCCL's sources); DSCP 26 is 104", c085),
    Claim("C089", "`mlnx_qos -p 3 --pfc 1` enables PFC on priority 3", DOCUMENTS, "fails: the vendor's program refuses it (a run of it, below); `--pfc 0,0,0,1,0,0,0,0` does, and `-p` maps priorities to classes"),
    Claim("C090", "CNP and ECN counters by `ethtool -S`", DOCUMENTS, "fails: they are under hw_counters (np_cnp_sent, rp_cnp_handled); PFC's are in ethtool. A driver's tables say which; no ConnectX is here"),
    Claim("C091", "`rdma stat show -a`, `perfquery` on RoCE, a netdev named mlx5_0", FAILS, "perfquery asks InfiniBand's management, which RoCE does not have (documents)", c091),
    Claim("C092", "GID index 0 is RoCEv1, all others v2; always set 3", FAILS, "types alternate by address, pods have other indices, and NCCL from 2.21 on chooses", c092),
    Claim("C140", "a CNP halves the rate, so the fabric fails to half", CONDITIONS, "one does; repeated ones go on to the least rate", c140),
]

"""Routing, topology, failure, sharing: C093 to C116."""
import math
from .base import Claim, Figure, Runs, at_least, at_most, ratio, scale, HOLDS, FAILS, CONDITIONS, OPEN, NOT_MODELLED

SACK = "fabric.transport.recovery=selective"
DCQCN = "fabric.cc={kind: dcqcn}"


def routing(name):
    return f"fabric.qos.routing={name}"


def ideal():
    """The permutation on one switch, where no two flows meet."""
    return Runs("permutation", "fabric.network={kind: single-switch, hosts: 64, rate: 400G, delay: 1.25us}").time()


def used(r):
    """Of the fabric, by completion: what an ideal run takes of this one's time."""
    return ratio(ideal() * (r.seeds // len(ideal()) or 1), r.time())


def split(qps, bytes="4MB", hosts=64, shift=8):
    """Each pair's data over so many queue pairs, each with a port of its own."""
    each = int(float(bytes[:-2]) * 1e6) // qps
    flows = ", ".join(f"{{src: {i}, dst: {(i + shift) % hosts}, bytes: {each}B}}" for i in range(hosts) for _ in range(qps))
    return f"workload=[{{flows: [{flows}]}}]"


def c093():
    static, adaptive = Runs("permutation"), Runs("permutation", routing("adaptive"), SACK)
    eight = Runs("permutation", split(8))
    return [Figure("ECMP, one queue pair a flow: of the fabric used", used(static), "", (0.60, 0.80)),
            Figure("ECMP, eight queue pairs", used(eight), "", (0.60, 0.80)),
            Figure("adaptive, NICs that take packets out of order", used(adaptive), "", (0.90, 1.0)),
            Figure("flowlets", used(Runs("permutation", routing("flowlet"), SACK)), ""),
            Figure("adaptive, go-back-N", used(Runs("permutation", routing("adaptive"))), "")], adaptive


def c094():
    base = Runs("permutation", routing("adaptive"), SACK)
    out, r = [], None
    for t in ("50ns", "1us", "10us"):
        r = Runs("permutation", routing("adaptive"), SACK, f"fabric.qos.ar_sample={t}")
        out.append(Figure(f"queues looked at each {t}: last finish, times that with each packet", ratio(r.time(), base.time()), "",
                          at_most(1.05) if t == "50ns" else at_least(1.05)))
    return out, r


def c095():
    out, one = [], Runs("permutation", seeds=20).time()
    r = None
    for n in (2, 4, 8, 16, 32):
        r = Runs("permutation", split(n, "4MB"), seeds=20)
        out.append(Figure(f"{n} queue pairs: last finish, of that with one", ratio(r.time(), one), "", at_most(0.75) if n in (8, 16) else None))
    return out, Runs("permutation")


def c096():
    out = []
    for name in ("spray", "round-robin"):
        r = Runs("permutation", routing(name), SACK)
        u = r.compared()["figures"]
        out.append(Figure(f"{name}: busiest link between switches, over the mean", ratio(u["busiest_link"]["runs"], u["utilisation"]["runs"]), "",
                          at_most(1.01)))
        flows = ", ".join(f"{{src: {8 + i}, dst: 0, bytes: 2MB}}" for i in range(16))
        crowd = f"workload=[{{flows: [{flows}]}}]"
        a, b = Runs("permutation", routing(name), SACK, crowd), Runs("permutation", SACK, crowd)
        out.append(Figure(f"{name}, 16 to 1: longest queue, of that with ECMP", ratio(a.figure("queue_max_bytes"), b.figure("queue_max_bytes")), "",
                          at_most(0.5)))
    return out, r


def c097():
    one = "workload=[{flows: [{src: 0, dst: 8, bytes: 16MB}]}]"
    rate = lambda x: x["flows"][0]["bytes"] * 8 / (x["flows"][0]["finish_ns"] - x["flows"][0]["start_ns"]) / 392
    out, r = [], None
    for name, sets in (("out of order", (SACK,)), ("go-back-N", ())):
        r = Runs("permutation", routing("spray"), *sets, one)
        out.append(Figure(f"one flow over 8 paths, {name}: of what its link carries", r.of(rate), "", at_least(0.95)))
    full = Runs("permutation", routing("spray"), SACK, "fabric.cc={kind: none}")
    out.append(Figure("64 flows over 8 paths, out of order: of the fabric used", used(full), "", at_least(0.95)))
    return out, Runs("permutation", routing("spray"), SACK, one)


DEAD = "fabric.events=[{at: 200us, link: [leaf0, spine3], down: true}]"


def c098():
    longer = split(1, "40MB")
    back = lambda x: (x["events"][0]["to_95_percent_ns"] if x["events"][0]["to_95_percent_ns"] is not None else math.inf) / 1e6
    uet = Runs("permutation", "fabric.transport.kind=uet", DEAD, longer, max_time="20ms")
    roce = Runs("permutation", DEAD, longer, "fabric.failover={detect: 1s, converge: 1s}", max_time="20ms")
    ended = lambda x: 1 - sum(f["finish_ns"] is not None for f in x["flows"]) / 64
    return [Figure("Ultra Ethernet, sprayed: 95 % of the rate left after", uet.of(back), "ms", at_most(10)),
            Figure("RoCE over ECMP while routes stay: flows that stand still for 20 ms, of all", roce.of(ended), "")], uet


def hops(x):
    """Hops of a data packet beyond the two of one leaf, in pairs: the share that crosses a spine."""
    return (x["counters"]["packet_hops"] / x["counters"]["data_packets"] - 2) / 2


def c102():
    one = Runs("rail")
    two = Runs("rail", "fabric.network.leaves=8", "fabric.network.hosts_per_group=8")
    a2a = Runs("rail", "workload=[{collective: {op: all-to-all, bytes: 4MiB}}]")
    return [Figure("one group of 16 hosts: share of packets that pass a spine", one.of(hops), "", at_most(0)),
            Figure("two groups of 8", two.of(hops), "", at_most(0)),
            Figure("an all-to-all of 64 NICs, no NVLink to the right rail", a2a.of(hops), "", at_most(0))], two


def over(n):
    """So much oversubscription at each leaf of 4 hosts: fewer spines."""
    return (f"fabric.network.spines={4 // n}", f"fabric.network.oversubscription={n}", "fabric.network.links=1")


def c103():
    out = []
    a2a = "workload=[{collective: {op: all-to-all, bytes: 16MiB}}]"
    full, ring = Runs("ring", a2a, routing("spray"), SACK).time(), Runs("ring").time()
    r = None
    for n in (2, 4):
        r = Runs("ring", a2a, *over(n), routing("spray"), SACK)
        out.append(Figure(f"all-to-all, {n}:1: takes, times", ratio(r.time(), full), "", at_least(1.3)))
    for n in (2, 4):
        out.append(Figure(f"ring in order, {n}:1: takes, times", ratio(Runs("ring", *over(n)).time(), ring), "", at_least(1.3)))
    return out, r


def c104():
    ring = Runs("ring").figure("completion_ns")
    half = Runs("ring", "fabric.change=[{link: h5, rate: 200G}]")
    up = Runs("ring", "fabric.change=[{link: [leaf0, spine0], rate: 200G}, {link: [leaf0, spine1], rate: 200G}, {link: [leaf0, spine2], rate: 200G}, "
              "{link: [leaf0, spine3], rate: 200G}]")
    a2a = "workload=[{collective: {op: all-to-all, bytes: 16MiB}}]"
    return [Figure("a NIC's link at half its rate: the all-reduce of 16 takes, times", ratio(half.figure("completion_ns"), ring), "", at_least(1.1)),
            Figure("the uplinks of one leaf at half: times", ratio(up.figure("completion_ns"), ring), "", at_least(1.1)),
            Figure("an all-to-all with that NIC: times", ratio(Runs("ring", a2a, "fabric.change=[{link: h5, rate: 200G}]").figure("completion_ns"),
                                                              Runs("ring", a2a).figure("completion_ns")), "", at_least(1.1))], half


def c105():
    leafy = "fabric.network={kind: leaf-spine, hosts: 16, nics: 4, leaves: 4, spines: 4, hosts_per_leaf: 4, links: 4, rate: 400G, delay: 500ns}"
    out, r = [], None
    for name, w in (("rings of a rail", ()), ("an all-to-all", ("workload=[{collective: {op: all-to-all, bytes: 16MiB}}]",))):
        calm = ("fabric.cc={kind: none}", routing("spray"), SACK, *w)
        rail, leaf = Runs("rail", "fabric.network.spines=4", *calm), Runs("rail", leafy, *calm)
        out.append(Figure(f"{name}: rail's time, of that with leaves of 4 hosts", ratio(rail.time(), leaf.time()), "", at_most(1.0)))
        r = rail
    return out, r


def c114():
    dead = "fabric.change=[{link: [leaf0, spine0], down: true}]"
    a2a = "workload=[{collective: {op: all-to-all, bytes: 16MiB}}]"
    fine = (routing("spray"), SACK)
    ring = ratio(Runs("ring", dead, *fine).time(), Runs("ring", *fine).time())
    all_ = ratio(Runs("ring", dead, a2a, *fine).time(), Runs("ring", a2a, *fine).time())
    return [Figure("one of 4 uplinks of a leaf is dead: a ring takes, times", ring, "", at_least(1.05)),
            Figure("an all-to-all takes, times", all_, "", at_least(1.05))], Runs("ring", dead, a2a, *fine)


def c116():
    out = []
    alone = Runs("ring", DCQCN).time()
    flows = ", ".join(f"{{src: {s}, dst: {(s + 7) % 16}, bytes: 4MB, class: C}}" for s in range(0, 16, 4))
    own = "fabric.qos.classes=[{class: 4, lossless: true, ecn: true, kmin: 150kB, kmax: 1500kB, dscp: 24, weight: 1}, {class: 3, weight: 8}]"
    shared = Runs("ring", DCQCN, "workload[+]={name: storage, flows: [" + flows.replace("C", "3") + "]}")
    apart = Runs("ring", DCQCN, own, "workload[+]={name: storage, flows: [" + flows.replace("C", "4") + "]}")
    out.append(Figure("4 of 16 hosts write 4 MB in the same class: the all-reduce takes, times", ratio(shared.time(), alone), "", at_least(1.1)))
    strict = Runs("ring", DCQCN, own.replace("weight: 8", "weight: 0"), "workload[+]={name: storage, flows: [" + flows.replace("C", "4") + "]}")
    out.append(Figure("in a class of weight 1 beside 8: times", ratio(apart.time(), alone), "", at_least(1.1)))
    out.append(Figure("the all-reduce strictly first: times", ratio(strict.time(), alone), "", at_least(1.1)))
    return out, shared


CLAIMS = [
    Claim("C093", "static ECMP is fatal; adaptive routing lifts the fabric's use from 70 to 94 %", CONDITIONS, "ECMP with one flow a path is worse than 70 %, and adaptive routing needs NICs that take packets out of order", c093),
    Claim("C094", "a switch must choose again within 50 ns", HOLDS, "later looks cost; what a product does in 50 ns, and its 85 %, is not published", c094),
    Claim("C095", "8 to 16 queue pairs a connection help ECMP", HOLDS, "with less gain each time; the NIC must split the data and hash the port", c095),
    Claim("C096", "spraying avoids congestion entirely", CONDITIONS, "round-robin balances the core; no spraying helps the last hop", c096),
    Claim("C097", "one flow over 8 paths keeps links 99 % full", CONDITIONS, "one flow alone does; 64 at once reach less", c097),
    Claim("C098", "Ultra Ethernet fails over in less than 10 ms", HOLDS, "a path's own timeout finds it", c098),
    Claim("C102", "a rail's ring never touches a spine", CONDITIONS, "within a group; two groups and all-to-alls use it", c102),
    Claim("C103", "no oversubscription at the leaf, since all send at once", CONDITIONS, "for all-to-alls; a ring in order does not mind", c103),
    Claim("C104", "one slow link slows the whole job", HOLDS, "a ring is as fast as its slowest link", c104),
    Claim("C105", "a rail a switch is the best topology", HOLDS, "over spines without oversubscription, so that all-to-alls do not pay; no NVLink here", c105),
    Claim("C114", "a ring or an all-to-all proves bisection", CONDITIONS, "an all-to-all does, a ring in order crosses an uplink once", c114),
    Claim("C116", "storage and compute need networks of their own", CONDITIONS, "or a class of its own, behind the other", c116),
]

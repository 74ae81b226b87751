"""Sockets, PCIe and NUMA: C001 to C022."""
from .base import (Claim, Figure, Runs, at_least, at_most, latencies, rate, sim, words, HOLDS, FAILS, CONDITIONS, NOT_MODELLED)

NO_CC = "fabric.cc={kind: none}"
BACK_TO_BACK = ("fabric.network.delay=52ns", "fabric.qos.switch_latency=0ns")


def at(values, percent):
    return values[min(int(percent * len(values) / 100), len(values) - 1)]


def step(run):
    return run["jobs"][0]["step_ns"] / 1e9


def numa(*sets):
    return ("numa", *sets)


def gpu_on(place):
    return f"fabric.hosts[0].gpus[0].on={place}"


def cpu_of(name):
    return f"fabric.hosts[0].cpu={name}"


def net(value):
    return f"fabric.network.rate={value}"


FAR = gpu_on("socket1")
ONE_FAR = "fabric.change=[{host: h3, move: {nic0: socket1}}]"


# GPT-3 175B in 8 x 16 tensor and pipeline shards, 1536 sequences: the data-parallel ring of one shard
def shard(hosts):
    return (f"fabric.hosts[0].count={hosts}", "what-if=[]", "workload=[{train: {parameters: 1.3671875e9, "
            "tokens: 3145728, overlap: 0, bucket: 32MiB, simulate: 64MiB}}]")


SD = ("fabric.hosts[0].nics[0].pcie=gen5x8", "fabric.hosts[0].nics[0].on2=socket1",
      "fabric.hosts[0].nics[0].pcie2=gen5x8", "fabric.hosts[0].nics[0].on=socket0")
# a second NIC, its DMA in the far socket's memory: 64 MB beside the far GPU's 64 MB
TWO_NICS = ("fabric.hosts[0].nics=[{name: nic0, on: socket0, pcie: gen5x16}, {name: nic1, on: socket0, pcie: gen5x16}]",
            "fabric.pairing=index", NO_CC, "workload[0].flows[0].src=h0/nic1", "workload[0].flows[0].dst=h1/nic1",
            "workload[0].memory=far", "workload[1].flows[0].src=h0/nic0", "workload[1].flows[0].dst=h1/nic0")
BESIDE = ("workload[0].flows[0].bytes=64MB", "workload[0].flows[0].start=100us")


def pix_to_sys(cpu="spr"):
    return latencies(sim(*numa(cpu_of(cpu), FAR)), 0)[0] - latencies(sim(*numa(cpu_of(cpu))), 0)[0]


def loss(cpu, port, place="socket1", cc=(NO_CC,)):
    return 100 * (1 - rate(sim(*numa(cpu_of(cpu), net(port), gpu_on(place), *cc))) / rate(sim(*numa(cpu_of(cpu), net(port), *cc))))


def c001():
    out = []
    for n in (8, 64):
        for label, way in (("all", FAR), ("one", ONE_FAR)):
            for name, cc in (("DCQCN", ()), ("no congestion control", (NO_CC,))):
                seeds = 1 if cc else 3  # without congestion control nothing is drawn
                good, bad = Runs("numa", *shard(n), *cc, seeds=seeds), Runs("numa", *shard(n), way, *cc, seeds=seeds)
                out.append(Figure(f"data degree {n}, {label} far, {name}: efficiency, of near ones'",
                                  [x / y for x, y in zip(good.of(step), bad.of(step))], "", (0.79, 0.85)))
    return out, words("numa", (*shard(64), FAR))


def c002():
    calm = sim("latency")
    out = [Figure(f"idle, GPU memory, PIX to SYS at both ends, {c}: more by", pix_to_sys(c), "us", at_least(3.3)) for c in ("spr", "genoa")]
    near, far = at(latencies(calm, 7), 50), at(latencies(calm, 8), 50)
    return out + [Figure("median in the gradient phase, near", near, "us"), Figure("far", far, "us"),
                  Figure("far less near", far - near, "us", at_least(3.3))], words("numa", (FAR,))


def c005():
    r = sim("latency", *BACK_TO_BACK)
    return [Figure("back to back, 8 bytes of host memory: near", latencies(r, 0)[0], "us", (0.8, 1.4)),
            Figure("far", latencies(r, 1)[0], "us", (2.5, 3.1))], words("latency", BACK_TO_BACK)


def c006():
    host, far = sim(*numa(*SD, "workload[0].memory=host")), sim(*numa(*SD, "workload[0].memory=far"))
    d = abs(latencies(far, 0)[0] - latencies(host, 0)[0]) * 1000
    return [Figure("one NIC, x8 to each socket: memory of one against the other", d, "ns", at_most(30))], \
        words("numa", (*SD, "workload[0].memory=far"))


def c007():
    out = []
    host = ("workload[0].memory=host", "workload[1].memory=host")
    for lanes in ("8", "16"):
        sd = tuple(s.replace("x8", f"x{lanes}") for s in SD)
        for name, cc in (("no congestion control", (NO_CC,)), ("DCQCN", ())):
            out.append(Figure(f"one 400G port, memory of one socket, x{lanes}, {name}", rate(sim(*numa(*sd, *host, *cc))), "Gb/s", (90, 110)))
    return out, words("numa", (*SD, *host, NO_CC))


def c010():
    out = []
    for cpu in ("skl", "spr", "genoa"):
        both = sim(*numa(cpu_of(cpu), *TWO_NICS, *BESIDE, FAR))
        gpu = sim(*numa(cpu_of(cpu), *TWO_NICS, FAR))
        other = sim(*numa(cpu_of(cpu), *TWO_NICS, *BESIDE, FAR, "workload[1].flows[0].bytes=64B"))
        out.append(Figure(f"{cpu}: a far GPU's flow beside another NIC's DMA in far memory, of it alone",
                          latencies(gpu, 1)[0] / latencies(both, 1)[0], ""))
        out.append(Figure("the other NIC's, of it alone", latencies(other, 0)[0] / latencies(both, 0)[0], "", at_most(0.95)))
    return out, words("numa", (cpu_of("skl"), *TWO_NICS, *BESIDE, FAR))


def c012():
    return [Figure("8 bytes of GPU memory, PIX: back to back", latencies(sim(*numa(*BACK_TO_BACK)), 0)[0], "us", at_most(1)),
            Figure("through one switch", latencies(sim(*numa()), 0)[0], "us", at_most(1))], words("numa", ())


def c013():
    return [Figure(f"a crossing, PIX to SYS, {c}", pix_to_sys(c) / 3 * 1000, "ns", (200, 500)) for c in ("skl", "spr", "genoa", "gnr")], \
        words("numa", (FAR,))


def c014():
    cases = [("genoa", "200G"), ("icx", "200G"), ("spr", "400G"), ("emr", "400G"), ("gnr", "400G")]
    return [Figure(f"{c} {p}, {name}: lost between PIX and SYS", loss(c, p, cc=cc), "%", at_least(10))
            for c, p in cases for name, cc in (("no congestion control", (NO_CC,)), ("DCQCN", ()))], \
        words("numa", (cpu_of("icx"), net("200G"), FAR, NO_CC))


def c015():
    cases = [(c, p) for c in ("spr", "genoa") for p in ("200G", "400G")]
    return [Figure(f"{c} {p}, {name}: lost between PIX and PHB", loss(c, p, "socket0", cc), "%", at_least(2))
            for c, p in cases for name, cc in (("no congestion control", (NO_CC,)), ("DCQCN", ()))], \
        words("numa", (gpu_on("socket0"), NO_CC))


def c018():
    out = [Figure("an 800G port in Gen5 x16, PIX", rate(sim(*numa(net("800G"), NO_CC))), "Gb/s", at_least(500))]
    for cpu in ("spr", "gnr", "genoa"):
        out.append(Figure(f"SYS, {cpu}", rate(sim(*numa(cpu_of(cpu), net("800G"), FAR, NO_CC))), "Gb/s", (450, 550)))
    return out, words("numa", (net("800G"), NO_CC))


def c020():
    return [Figure("GPU and NIC on one node", rate(sim(*numa())), "Gb/s"),
            Figure("on two sockets", rate(sim(*numa(FAR))), "Gb/s", at_most(0))], words("numa", (FAR,))


def c021():
    places = [("PIX", "sw0"), ("PXB", "sw1"), ("PHB", "socket0"), ("SYS", "socket1")]
    out = []
    for cpu in ("spr", "genoa"):
        got = [rate(sim(*numa(cpu_of(cpu), gpu_on(p), NO_CC))) for _, p in places]
        for (a, _), (b, _), x, y in zip(places, places[1:], got, got[1:]):
            out.append(Figure(f"{cpu}: {b} over {a}", y / x, "", at_most(1)))
    return out, words("numa", (gpu_on("sw1"), NO_CC))


def c022():
    b = lambda *sets: Runs(*sets, seeds=3).of(lambda r: r["jobs"][0]["busbw_gbps"])
    good = b("midnight-healthy")
    return [Figure("GPU 0 of one host shares its neighbour's NIC: busbw, of healthy hosts'",
                   [x / y for x, y in zip(b("midnight-far", "fabric.pairing=nearest"), good)], "", at_most(0.6)),
            Figure("keeps a far NIC of its own", [x / y for x, y in zip(b("midnight-far"), good)], "", at_most(0.6))], \
        words("midnight-far", ("fabric.pairing=nearest",))


CLAIMS = [
    Claim("C001", "crossing the socket link cost a run 18 % of its scaling efficiency", CONDITIONS,
          "at data degree 64 with one far NIC and DCQCN; nothing hides communication here, CPU spr", c001),
    Claim("C002", "latency rises from 1.2 to 4.5 us because of the hop", FAILS, "load does it, not the hop", c002),
    Claim("C003", "GPU and NIC on two sockets: every packet crosses the link", HOLDS,
          "1.000 bytes over the hop a byte of payload, by a test: `ctest -R test_path`; no PXN in this scenario"),
    Claim("C004", "Socket-Direct splits an x16 in two x8", NOT_MODELLED, "what a card is built as; either is described by `on2`, `pcie2`"),
    Claim("C005", "local socket 1.1 us, remote 2.8 us", CONDITIONS, "local holds, remote fails", c005),
    Claim("C006", "Socket-Direct: the same latency on both sockets", HOLDS, "", c006),
    Claim("C007", "Socket-Direct gives each socket 100 Gb/s", FAILS, "", c007),
    Claim("C008", "the card's ports and rate", NOT_MODELLED, "an inventory fact"),
    Claim("C009", "the card speaks RoCEv2 and InfiniBand", NOT_MODELLED, "only RoCEv2 is here"),
    Claim("C010", "the hop takes bandwidth from other traffic and adds jitter", CONDITIONS, "where the hop is narrow", c010),
    Claim("C011", "Socket-Direct: a firmware setting shows two functions", NOT_MODELLED, "firmware"),
    Claim("C012", "same PCIe switch: below a microsecond", FAILS, "end to end", c012),
    Claim("C013", "SYS adds 200 to 500 ns over PIX", HOLDS, "for a crossing; a WRITE between GPUs has three", c013),
    Claim("C014", "a far GPU loses 30 % of the throughput", CONDITIONS, "it loses 0 to 55 % by CPU and port", c014),
    Claim("C015", "the root complex or a NUMA boundary loses throughput", CONDITIONS, "on Xeon at 400G, not on EPYC", c015),
    Claim("C016", "SYS pollutes the processors' caches", NOT_MODELLED, "no caches in the model"),
    Claim("C017", "GB200: NIC and GPU always PIX", NOT_MODELLED, "an inventory fact; C2C links can be described"),
    Claim("C018", "500 Gb/s on an 800G port: a crossing", FAILS, "the slot does it, and crossings give less", c018),
    Claim("C019", "pin interrupts to near cores", NOT_MODELLED, "completions are polled"),
    Claim("C020", "GPUDirect needs GPU and NIC on one node", FAILS, "it works, slower", c020),
    Claim("C021", "PIX at least PHB at least NODE at least SYS", HOLDS, "NODE is a crossing like SYS in the model", c021),
    Claim("C022", "a GPU on another GPU's NIC: performance collapses", HOLDS, "to less than half; no PXN in this scenario", c022),
]

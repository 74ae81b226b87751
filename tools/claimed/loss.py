"""Loss: C046 to C048, and the rate of a pair, C144."""
from .base import Claim, Figure, Runs, at_least, at_most, ratio, scale, HOLDS, FAILS, CONDITIONS

SACK = "fabric.transport.recovery=selective"


def loss(p):
    return f"fabric.network.loss={p}"


def drop(skip):
    """The packet of this number is lost on the link of the sender."""
    return f"fabric.events=[{{at: 0us, link: h0, drop: 1, skip: {skip}}}]"


LAST = 15624  # of 64 MB in packets of 4096 bytes, from 0


def c046():
    clean, out = {}, []
    for name, sets in (("go-back-N", ()), ("selective", (SACK,))):
        clean[name] = Runs("pair", *sets).time()
        for p in ("0.001%", "0.01%", "0.1%", "1%"):
            kept = ratio(clean[name], Runs("pair", *sets, loss(p)).time())
            out.append(Figure(f"{name}, {p} lost: rate kept", kept, "", at_most(0.95)))
    ring, tail = Runs("ring"), Runs("ring", "fabric.events=[{at: 0us, link: h3, drop: 1, skip: 7679}]", "fabric.transport.timeout=20")
    out.append(Figure("all-reduce of 16 hosts with a last packet lost, timeout 20: times as long", ratio(tail.time(), ring.time()), "",
                      at_least(2)))
    return out, Runs("pair", loss("0.1%"))


def c047():
    clean = Runs("pair").time()
    out = []
    for name, skip, sets in (("in the middle", LAST // 2, ()), ("the last, timeout 14", LAST, ()),
                             ("the last, timeout 20", LAST, ("fabric.transport.timeout=20",))):
        more = [a - b for a, b in zip(Runs("pair", drop(skip), *sets).time(), clean)]
        out.append(Figure(f"one packet lost {name}: later by", scale(more, 1e-3), "us", at_least(10000)))
    return out, Runs("pair", drop(LAST // 2))


def c048():
    # every link clean: what is sent again here tells of a full buffer
    lossy = ("fabric.qos.pfc=false", "fabric.qos.buffer=4MB")
    crowd = Runs("incast", *lossy)
    # an error rate of 1e-13 behind FEC is legal: of a frame of 4178 bytes it loses 3.3e-9. The run has 10^5 times as much
    legal, run = 4178 * 8 * 1e-13, 3.34e-4
    frames = 4 * 3600 * 400e9 / (8 * 4198)
    seen = Runs("pair", loss("0.0334%"), "workload[0].flows[0].bytes=640MB").counter("link_losses")
    return [Figure("healthy cables, an incast without PFC: packets sent again", crowd.counter("retransmits"), "", at_most(0)),
            Figure("lost in 4 hours at 400 Gb/s and a legal error rate of 1e-13, scaled from 1e-8",
                   [n / 156250 * legal / run * frames for n in seen], "frames", at_most(0))], crowd


def c144():
    r = Runs("pair")
    first = r.of(lambda x: x["flows"][0]["bytes"] * 8 / (x["flows"][0]["finish_ns"] - x["flows"][0]["start_ns"]))
    return [Figure("payload of one queue pair, MTU 4096", first, "Gb/s", (385, 400))], r


CLAIMS = [
    Claim("C046", "packet loss is the worst killer of collective performance", CONDITIONS,
          "from 1e-3 on for go-back-N, and for any last packet; not below, and hardly for selective repeat", c046),
    Claim("C047", "one dropped packet stalls the whole transfer for a full timeout", CONDITIONS,
          "only the last packet of what is posted; another costs a round trip", c047),
    Claim("C048", "any retransmission in 4 hours means a bad cable", FAILS, "a full buffer sends again, too, and a legal link loses frames", c048),
    Claim("C144", "400 Gb/s a port, InfiniBand and RoCE alike", HOLDS, "RoCE only; InfiniBand is not modelled", c144),
]

#!/usr/bin/env python3
"""Sweeps K_min, the queue length at which switches begin to mark, under an incast and beside it an all-reduce:
what does marking earlier cost the one and give the other?

    python3 examples/sweep.py [--senders N] [--kmin kB,kB,...] [--plot FILE.png]

Writes CSV to standard output: a row a value. With --plot and matplotlib it draws the two curves.
"""
import argparse
import sys

import ripstop


def fabric(senders):
    f = ripstop.Fabric.leaf_spine(leaves=4, spines=4, hosts=16, rate="100G", delay="500ns")
    f.set_cc("dcqcn")
    f.add_flows([(src, 15, 1 << 20) for src in range(senders)], name="incast")
    f.add_collective(bytes="2MiB", name="all-reduce")
    return f


def measure(f, kmin):
    f.set_class(3, kmin=kmin * 1000, kmax=4 * kmin * 1000)
    r = ripstop.simulate(f, seed=1)
    incast, collective = r.jobs()
    c = r.counters()
    return {"kmin_kB": kmin, "incast_us": incast.time / ripstop.US, "all_reduce_us": collective.time / ripstop.US,
            "marked": c["data_marked"], "max_queue_kB": c["max_queue"] / 1000, "pauses": c["pauses"]}


def plot(rows, path):
    try:
        import matplotlib
    except ImportError:
        sys.exit("sweep: --plot needs matplotlib (python3-matplotlib)")
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, left = pyplot.subplots()
    right = left.twinx()
    x = [r["kmin_kB"] for r in rows]
    left.plot(x, [r["incast_us"] for r in rows], "o-", label="incast")
    left.plot(x, [r["all_reduce_us"] for r in rows], "s-", label="all-reduce")
    right.plot(x, [r["max_queue_kB"] for r in rows], "^:", color="gray", label="longest queue")
    left.set_xlabel("K_min, kB")
    left.set_ylabel("time, us")
    left.set_xscale("log")
    right.set_ylabel("longest queue, kB")
    figure.legend()
    figure.savefig(path, dpi=150)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--senders", type=int, default=12)
    p.add_argument("--kmin", default="10,25,50,100,200,400,800", help="values in kB, with commas between")
    p.add_argument("--plot", metavar="FILE.png")
    a = p.parse_args()
    f = fabric(a.senders)
    rows = []
    for kmin in (int(k) for k in a.kmin.split(",")):
        rows.append(measure(f, kmin))
        if len(rows) == 1:
            print(",".join(rows[0]))
        print(",".join(f"{v:.1f}" if isinstance(v, float) else str(v) for v in rows[-1].values()))
    if a.plot:
        plot(rows, a.plot)


if __name__ == "__main__":
    main()

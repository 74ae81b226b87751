#!/usr/bin/env python3
"""ripstop expect: `expect.py RIPSTOP ROOT`. Figures, ranges, limits, what is asked for."""
import json
import os
import random
import subprocess
import sys
import tempfile

RIPSTOP, ROOT = sys.argv[1:3]
SMALL = "RS_SMALL" in os.environ  # sanitizers
H100 = os.path.join(ROOT, "tests/data/scoreboard/hosts/hgx-h100.xml")
IBSTAT = """CA 'mlx5_0'
\tCA type: MT4129
\tNumber of ports: 1
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: %s
\t\tLink layer: InfiniBand
"""
TOPO = """	GPU0	GPU1	NIC0	NIC1	CPU Affinity	NUMA Affinity
GPU0	 X 	NV12	PIX	SYS	0-31	0
GPU1	NV12	 X 	SYS	PIX	32-63	1
NIC0	PIX	SYS	 X 	SYS
NIC1	SYS	PIX	SYS	 X

NIC Legend:

  NIC0: mlx5_0
  NIC1: mlx5_1
"""


def fail(what):
    print(f"expect: {what}", file=sys.stderr)
    sys.exit(1)


def run(*args, status=0):
    p = subprocess.run([RIPSTOP, "expect", *args], capture_output=True, text=True, timeout=300, check=False)
    if p.returncode != status:
        fail(f"{args}: exit status {p.returncode}, not {status}\n{p.stdout}{p.stderr}")
    return p.stdout + p.stderr


def figures(*args):
    d = json.loads(run("--quiet", "--json", "-", *args))
    for f in d["figures"]:
        if not 0 < f["low"] <= f["value"] <= f["high"]:
            fail(f"{args}: out of its own range: {f}")
    return d


def one(d, test, size, hosts=2):
    for f in d["figures"]:
        if (f["test"], f["bytes"], f["hosts"]) == (test, size, hosts):
            return f
    fail(f"no {test} of {size} on {hosts} hosts in {d}")


def near(f, want, share, what):
    if abs(f["value"] / want - 1) > share:
        fail(f"{what}: {f['value']} where {want} was measured: {f}")


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def ports(tmp):
    """The figures of one port follow its rate, slot and MTU; docs/host.md's rows measured 195.9 at 200G."""
    for gbps, want in ((100, 97.5), (200, 195.9))[SMALL:]:
        path = write(os.path.join(tmp, "ibstat.txt"), IBSTAT % gbps)
        d = figures("--test", "perftest", "--sizes", "1MiB", path)
        f = one(d, "ib_write_bw", 1 << 20)
        near(f, want, 0.02, f"{gbps}G")
        if f["limit"] != f"the port, {gbps} Gb/s":
            fail(f"{gbps}G: held back by {f['limit']}")
        both = one(d, "ib_write_bw -b", 1 << 20)
        near(both, 2 * want, 0.03, "both ways")
        near(one(d, "ib_read_bw", 1 << 20), want, 0.03, "reads")
    small = figures("--test", "perftest", "--sizes", "64KiB", "--given", "mtu=256", path)
    if "the path MTU, 256 B costs" not in one(small, "ib_write_bw", 65536)["limit"]:
        fail(f"MTU: {small}")


def slots(tmp):
    """A narrow slot is named, and its figure is that of docs/host.md's table of slots."""
    lspci = ("17:00.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]\n"
             "\tCapabilities: [60] Express (v2) Endpoint, MSI 00\n"
             "\t\tDevCtl:\tCorrErr+ NonFatalErr+ FatalErr+ UnsupReq-\n"
             "\t\t\tMaxPayload 256 bytes, MaxReadReq 4096 bytes\n"
             "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported\n"
             "\t\tLnkSta:\tSpeed 16GT/s (downgraded), Width x8 (downgraded)\n")
    path = write(os.path.join(tmp, "lspci-vv.txt"), lspci)
    f = one(figures("--test", "perftest", "--sizes", "1MiB", "--given", "rate=400", path),
            "ib_write_bw", 1 << 20)
    near(f, 111.8, 0.05, "Gen4 x8")
    if "slot" not in f["limit"] or "Gen4 x8" not in f["limit"]:
        fail(f"slot: held back by {f['limit']}")


def nccl():
    """Two systems of the scoreboard: one host by NVLink, two by NICs."""
    if SMALL:
        schema(figures("--test", "nccl", "--sizes", "1MiB", "--given", "version=2.26.2", H100))
        return
    d = figures("--test", "nccl", "--sizes", "256MiB", "--given", "version=2.26.2", H100)
    near(one(d, "all_reduce", 1 << 28), 268.4 * 15 / 8 / 1.29616, 0.15, "2 hosts")  # h100-8n: 1296 us
    if "NVLink" not in one(d, "all_reduce", 1 << 28, 1)["limit"]:
        fail(f"one host: {d}")
    more = figures("--test", "nccl", "--collective", "all-to-all", "--sizes", "1MiB", "--hosts", "3", H100)
    if one(more, "alltoall", 1 << 20, 3)["ranks"] != 24:
        fail(f"3 hosts: {more}")
    schema(more)


LSPCI = """17:00.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]
\tCapabilities: [60] Express (v2) Endpoint, MSI 00
\t\tDevCtl:\tCorrErr+ NonFatalErr+ FatalErr+ UnsupReq-
\t\t\tMaxPayload 256 bytes, MaxReadReq 4096 bytes
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed %s, Width x%d
"""


def perftest_log(path, rows, mtu=4096, device=""):
    head = ("                    RDMA_Write BW Test\n"
            f" Dual-port       : OFF\t\tDevice         : {device}\n"
            " Number of qps   : 1\t\tTransport type : IB\n"
            f" Mtu             : {mtu}[B]\n"
            " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n")
    return write(path, head + "".join(f" {b}  5000  {v * 1.01:.2f}  {v:.2f}  0.1\n" for b, v in rows))


def measured(tmp):
    """Faults that are planted by what is read are named, through noise of 3 %; none where there is none."""
    draw, sizes = random.Random(7), "4KiB,64KiB"
    good = write(os.path.join(tmp, "good.txt"), LSPCI % ("32GT/s", 16))
    base = ["--test", "perftest", "--sizes", sizes, "--given", "switch=230", "--given", "delay=100"]
    plants = [("32GT/s", 16, 400, 4096, None), ("8GT/s", 16, 400, 4096, "slot at Gen3 x16"),
              ("32GT/s", 16, 400, 512, None)]
    for speed, width, gbps, mtu, want in plants if not SMALL else plants[1:2]:
        bad = write(os.path.join(tmp, "bad.txt"), LSPCI % (speed, width))
        d = figures(*base, "--given", f"rate={gbps}", "--given", f"mtu={mtu}", bad)
        rows = [(f["bytes"], f["value"] * draw.uniform(0.97, 1.03)) for f in d["figures"]
                if f["test"] == "ib_write_bw"]
        log = perftest_log(os.path.join(tmp, "bw.log"), rows, mtu)
        args = ["--given", "rate=400", "--given", "switch=230", "--given", "delay=100", "--measured", log]
        p = subprocess.run([RIPSTOP, "expect", "--quiet", "--json", "-", *args, good], capture_output=True,
                           text=True, timeout=300, check=False)
        m = json.loads(p.stdout)["measured"][0]
        schema(json.loads(p.stdout))
        why = [c["what"] for c in m["causes"] if c["explains"]]
        if (p.returncode, m["met"]) != ((1, False) if want else (0, True)):
            fail(f"{want}: {p.returncode} {m}")
        if want and not any(want in w for w in why):
            fail(f"{want}: explained by {why}")
    # an MTU that the log does not tell is found; a table that is no perftest's is refused
    small = [(r[0], r[1]) for r in ((f["bytes"], f["value"]) for f in figures(
        *base, "--given", "rate=400", "--given", "mtu=256", good)["figures"] if f["test"] == "ib_write_bw")]
    log = perftest_log(os.path.join(tmp, "bw.log"), small, 0)
    out = run("--given", "rate=400", "--measured", log, good, status=1)
    if "MTU of 256 B" not in " ".join(out.split()):
        fail(f"MTU of 256: {out}")
    run("--measured", good, good, status=2)


def host_text(width, mtu, state="Active"):
    """A ConnectX-6 of 200 Gb/s in a slot of Gen4 x16 that trained to some width."""
    link = (f"\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported\n"
            f"\t\tLnkSta:\tSpeed 16GT/s (ok), Width x{width}{' (downgraded)' if width < 16 else ' (ok)'}\n")
    caps = "\t\tDevCap:\tMaxPayload 512 bytes, PhantFunc 0\n\t\tDevCtl:\tCorrErr+\n\t\t\tMaxPayload 512 bytes, MaxReadReq 512 bytes\n"
    return ("root@x:~# lspci -vvv\n"
            "0f:00.0 PCI bridge: Intel Corporation Root Port (rev 04) (prog-if 00 [Normal decode])\n\tNUMA node: 0\n"
            "\tBus: primary=0f, secondary=10, subordinate=10, sec-latency=0\n"
            f"\tCapabilities: [60] Express (v2) Root Port (Slot+), MSI 00\n{caps}{link}"
            "10:00.0 Infiniband controller: Mellanox Technologies MT28908 Family [ConnectX-6]\n\tNUMA node: 0\n"
            f"\tCapabilities: [60] Express (v2) Endpoint, MSI 00\n{caps}{link}"
            "root@x:~# ibdev2netdev -v\n"
            "0000:10:00.0 mlx5_0 (MT4123 - MCX653105A) ConnectX-6 fw 20.39.1002 port 1 (ACTIVE) ==> eth0 (Up)\n"
            "root@x:~# ibv_devinfo\nhca_id:\tmlx5_0\n\tvendor_part_id:\t\t\t4123\n\tphys_port_cnt:\t\t\t1\n\t\tport:\t1\n"
            f"\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n\t\t\tactive_mtu:\t\t{mtu} ({mtu.bit_length() - 8})\n\t\t\tlink_layer:\t\tEthernet\n"
            "root@x:~# ibstat\n" + (IBSTAT % 200).replace("InfiniBand", "Ethernet").replace("Active", state))


def found(tmp):
    """What the audit found is simulated with and without: the slot that trained down explains the figures, another finding not."""
    for width, mtu, check, gain in ((8, 4096, "P01", 0.5), (16, 1024, "R03", 0.03), (16, 4096, None, 0))[:1 if SMALL else 3]:
        hosts = [write(os.path.join(tmp, f"{n}.txt"), host_text(w, mtu)) for n, w in (("n1", width), ("n2", 16))]
        rows = [(f["bytes"], f["value"]) for f in figures("--test", "perftest", "--sizes", "64KiB,1MiB", *hosts)["figures"]
                if f["test"] == "ib_write_bw"]
        log = perftest_log(os.path.join(tmp, "bw.log"), [(b, v * r) for (b, v), r in zip(rows, (0.99, 1.01))], mtu)
        d = json.loads(run("--quiet", "--json", "-", "--measured", log, *hosts))
        schema(d)
        m = d["measured"][0]
        top = [c for c in m["causes"] if c["explains"]][:1]
        if check and not (top and top[0]["check"] == check and top[0]["as_read"] and top[0]["gain"] > gain and
                          m["mended_apart"] > m["apart"] and m["mended_value"] > rows[-1][1]):
            fail(f"{check}: {m}")
        if not check and top:
            fail(f"nothing is wrong: {top}")
    if SMALL:
        return
    out = run("--measured", log, *[write(os.path.join(tmp, f"{n}.txt"), host_text(8, 4096)) for n in ("n1", "n2")], status=0)
    if "better" not in out:
        fail(f"measured after the slot was mended: {out}")


def lacking(tmp):
    """Nothing is guessed: what to run next is named."""
    log = write(os.path.join(tmp, "nccl.log"),
                "gpu01:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>\n")
    d = figures("--test", "perftest", "--sizes", "64KiB", "--given", "rate=100", log)
    near(one(d, "ib_write_bw", 65536), 97.5, 0.03, "NICs of NCCL's log")
    verbs = write(os.path.join(tmp, "ibv_devinfo-v.txt"), """hca_id:\tmlx5_0
\tvendor_part_id:\t\t\t4123
\t\tport:\t1
\t\t\tstate:\t\t\tPORT_ACTIVE (4)
\t\t\tactive_mtu:\t\t4096 (5)
\t\t\tlink_layer:\t\tInfiniBand
\t\t\tactive_width:\t\t4X (2)
\t\t\tactive_speed:\t\t25.0 Gbps (32)
""")
    near(one(figures("--test", "perftest", "--sizes", "64KiB", verbs), "ib_write_bw", 65536), 98.5, 0.03, "4 lanes of 25")
    empty = write(os.path.join(tmp, "notes.txt"), "the job is slow since Monday\n")
    if "ripstop audit --collect" not in run(empty, status=4):
        fail("nothing read")
    given = ["--given", "rate=400", "--given", "nic=ConnectX-7", "--given", "gpu=H100"]
    near(one(figures("--test", "perftest", "--sizes", "1MiB", *given, empty), "ib_write_bw", 1 << 20), 360, 0.05, "given alone")
    table = write(os.path.join(tmp, "lone.txt"), """#       size         count      type   redop    root     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)
    33554432       8388608     float     sum      -1     4050    8.28    8.28      0
""")
    out = run("--test", "nccl", *given, "--measured", table, empty, status=1)
    if "1 of 1 sizes are worse than expected" not in out:
        fail(f"one GPU a host is no collective of one host: {out}")
    topo = write(os.path.join(tmp, "topo.txt"), TOPO)
    out = run("--test", "perftest", topo, status=4)
    if "Run next: ibstat" not in out:
        fail(f"topo -m alone: {out}")
    d = figures("--test", "nccl", "--sizes", "256MiB", topo)
    if [f["hosts"] for f in d["figures"]] != [1] or "A100" not in json.dumps(d["assumed"]):
        fail(f"two A100 by topo -m: {d}")
    for args in (("--given", "rate=fast"), ("--sizes", "4GB,x"), ("--nic", "mlx5_9"), ("--hosts", "0"),
                 ("--given", "colour=red"), ("--test", "mpi"), ("--collective", "gather")):
        run(*args, write(os.path.join(tmp, "ibstat.txt"), IBSTAT % 200), status=2)


def told(tmp):
    """A port's rate and its kind are known in whatever form they were read; GPUs by nvidia-smi -L."""
    netdevs = "$ ibdev2netdev\nmlx5_0 port 1 ==> %s (Up)\n"
    ethtool = "$ ethtool %s\nSettings for %s:\n\tSpeed: 200000Mb/s\n\tDuplex: Full\n\tLink detected: yes\n"
    mlxlink = ("$ mlxlink -d mlx5_0\nOperational Info\n----------------\nState                              : Active\n"
               "Physical state                     : LinkUp\nSpeed                              : %s\n"
               "Width                              : 4x\n")
    lspci = ("$ lspci -vvv -s 3b:00.0\n3b:00.0 %s controller: Mellanox Technologies MT2910 Family [ConnectX-7]\n"
             "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM L1\n\t\tLnkSta:\tSpeed 32GT/s, Width x16\n")
    log = "n5:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/%s [RO]; OOB eth0:10.0.0.1<0>\n"
    eth = netdevs % "ens1f0np0" + ethtool % ("ens1f0np0", "ens1f0np0")
    for text, port in ((eth, 200), (mlxlink % "200G", 200), (mlxlink % "IB-NDR", 400), (mlxlink % "IB-HDR", 200),
                       (lspci % "Infiniband" + IBSTAT.replace("InfiniBand", "Ethernet") % 100, 100),
                       (lspci % "Ethernet" + ethtool % ("ens1f0np0", "ens1f0np0"), 200), (log % "RoCE" + eth, 200),
                       (netdevs % "ibs1" + lspci % "Infiniband", None)):
        d = figures("--test", "perftest", "--sizes", "1MiB", write(os.path.join(tmp, "told.txt"), text))
        names = " ".join(a["what"] for a in d["assumed"])
        ib = any("230 ns" in a["value"] for a in d["assumed"])
        if ("rate of" in names) != (port is None) or "InfiniBand or Ethernet" in names:
            fail(f"{text}: assumed are {names}")
        if ib != ("IB-" in text or "ibs1" in text) or (
                port and not any(f"the port, {port} Gb/s" == f["limit"] for f in d["figures"])):
            fail(f"{text}: {d}")
    # devices of two rates tell nothing of a third that has no name
    two = IBSTAT % 100 + (IBSTAT % 200).replace("mlx5_0", "mlx5_1")
    d = figures("--test", "perftest", "--sizes", "1MiB", write(os.path.join(tmp, "told.txt"), lspci % "Infiniband" + two))
    if "rate of" not in " ".join(a["what"] for a in d["assumed"]):
        fail(f"two rates: {d['assumed']}")
    gpus = "$ nvidia-smi -L\n" + "".join(f"GPU {i}: NVIDIA H100 80GB HBM3 (UUID: GPU-{i})\n" for i in range(2))
    # GPUs without a NIC: what is missing is said, with the command that tells it
    none = run("--test", "nccl", write(os.path.join(tmp, "told.txt"), gpus), status=4)
    if "no NIC is known" not in none or "Run next: ibstat\n" not in none:
        fail(f"GPUs without a NIC: {none}")
    # a fault that was found and explains most is named, though something else fits the rest better; InfiniBand has no PFC
    slow = lspci % "Infiniband" + IBSTAT % 400
    slow = slow.replace("LnkSta:\tSpeed 32GT/s", "LnkSta:\tSpeed 16GT/s (downgraded)")
    rows = "".join(f" {n}       5000             {g}             {g}                0.1\n" for n, g in
                   ((4096, 149), (65536, 206), (1048576, 206.5)))
    table = (" Dual-port       : OFF\t\tDevice         : mlx5_0\n Connection type : RC\t\tUsing SRQ      : OFF\n"
             " Mtu             : 4096[B]\n Link type       : IB\n"
             " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n")
    head = "                    RDMA_Write BW Test\n"
    text = run("--measured", write(os.path.join(tmp, "slow.log"), head + table + rows),
               write(os.path.join(tmp, "told.txt"), slow))
    if "explained by what was found: P01" not in " ".join(text.split()) or "PFC" in text:
        fail(f"a slot below its capability: {text}")
    d = figures("--test", "nccl", "--sizes", "1MiB", write(os.path.join(tmp, "told.txt"), IBSTAT % 400 + gpus))
    if d["hosts"][0]["gpus"] != 2 or "model of the GPUs" in json.dumps(d["assumed"]):
        fail(f"nvidia-smi -L: {d['hosts']} {d['assumed']}")


def host_of_gpus(n, up=None):
    """A host of n H100 with a NIC of 400 Gb/s each, by topo -m and ibstat; up: so many of its ports are."""
    head = "\t" + "\t".join([f"GPU{i}" for i in range(n)] + [f"NIC{i}" for i in range(n)]) + "\tCPU Affinity\tNUMA Affinity\n"
    gpus = "".join(f"GPU{i}\t" + "\t".join([" X " if k == i else "NV18" for k in range(n)] + ["PIX" if k == i else "NODE" for k in range(n)])
                   + "\t0-63\t0\n" for i in range(n))
    nics = "".join(f"NIC{i}\t" + "\t".join(["PIX" if k == i else "NODE" for k in range(n)] + [" X " if k == i else "NODE" for k in range(n)])
                   + "\n" for i in range(n))
    names = "\nNIC Legend:\n\n" + "".join(f"  NIC{i}: mlx5_{i}\n" for i in range(n))
    ibstat = "".join((IBSTAT % 400).replace("mlx5_0", f"mlx5_{i}").replace("Active", "Active" if i < (up or n) else "Down") for i in range(n))
    return "$ nvidia-smi topo -m\n" + head + gpus + nics + names + "$ ibstat\n" + ibstat


def nccl_log(path, ranks, rows, lines=""):
    """all_reduce_perf on two hosts of so many ranks; rows: size, busbw."""
    rank = "".join(f"#  Rank {i:2d} Group  0 Pid {70 + i} on n{i * 2 // ranks} device {i % (ranks // 2)} [0x{16 + i:02x}] NVIDIA H100 80GB HBM3\n"
                   for i in range(ranks))
    factor = 2 * (ranks - 1) / ranks
    table = "".join(f" {b:12d} {b // 4:12d} float sum -1 {b * factor / v / 1000:.1f} {v / factor:.2f} {v:.2f} 0\n" for b, v in rows)
    return write(path, "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n"
                 + rank + lines + "#       size         count      type   redop    root     time   algbw   busbw #wrong\n" + table)


def own_words(tmp):
    """What a log says of itself comes first: its release, its list of NICs, sockets; a rate of 0 is a run that failed."""
    host, sizes = write(os.path.join(tmp, "h100.txt"), host_of_gpus(4)), (1 << 29,)
    text = ",".join(f"{s >> 20}MiB" for s in sizes)
    fast = [(b, one(figures("--test", "nccl", "--sizes", text, host), "all_reduce", b)["value"]) for b in sizes]
    log = os.path.join(tmp, "ar.log")

    def compared(rows, lines, status):
        d = json.loads(run("--quiet", "--json", "-", "--measured", nccl_log(log, 8, rows, lines), host, status=status))
        schema(d)
        return d["measured"][0]
    # a release that was not told does not widen the range to a third; the log's own counts as a given one
    half = [(b, v / 2) for b, v in fast]
    m = compared(half, "", 1)
    told_low = compared(half, "n0:70:71 [0] NCCL INFO NCCL version 2.22.3+cuda12.5\n", 1)
    given = one(figures("--test", "nccl", "--sizes", text, "--given", "version=2.22.3", host), "all_reduce", sizes[0])
    low = lambda m: m["rows"][0]["low"]
    if m["met"] or m["release"] or told_low["release"] != "2.22.3" or low(m) < 0.85 * low(told_low) or abs(low(told_low) / given["low"] - 1) > 0.01:
        fail(f"half of the rate: {m['met']} {m['rows']} {told_low['release']} {told_low['rows']} {given}")
    # the log's own list of NICs
    few = write(os.path.join(tmp, "few.txt"), host_of_gpus(4, 2))
    rows = [(b, one(figures("--test", "nccl", "--sizes", text, few), "all_reduce", b)["value"] * 1.02) for b in sizes]
    if not rows[-1][1] < 0.7 * fast[-1][1]:
        fail(f"2 NICs of 4 are no slower: {rows} {fast}")
    m = compared(rows, "n0:70:71 [0] NCCL INFO NCCL_IB_HCA set to =mlx5_0,mlx5_1\n", 0)
    first = m["causes"][0]
    if not (first["explains"] and first["found"] and first["as_read"]) or "2 NICs left out" not in first["what"] or first["gain"] < 0.4:
        fail(f"NCCL_IB_HCA in the log: {m}")
    if compared(rows, "n0:70:71 [0] NCCL INFO NCCL_IB_HCA set to =mlx5_0,mlx5_1,mlx5_2,mlx5_3\n", 1)["causes"][0]["found"]:
        fail("a list of all NICs leaves some out")
    # what no run shows
    for line, want in (("Using network Socket", "TCP sockets"), 
                       ("GPU Direct RDMA Disabled for GPU 1b000 / HCA 0 (distance 9 > 5)", "no GPUDirect RDMA"),
                       ("Using network IB", None)):
        slow = nccl_log(log, 8, [(b, v / 20) for b, v in fast], f"n0:70:71 [0] NCCL INFO {line}\n")
        out = " ".join(run("--measured", slow, host, status=1).split())
        if bool(want) != ("The log itself explains it" in out) or (want and (want not in out or "Nothing that was tried" in out)):
            fail(f"{line}: {out}")
        if SMALL:
            break


def doubtful(tmp):
    """Inside a range that is wide, and yet a fault explains it: status 1. What was not read explains another: status 0."""
    host = write(os.path.join(tmp, "ib.txt"), IBSTAT % 400)
    # 200 Gb/s are those of a slower port; the slot was not read, and Gen4 would give 222
    for gbps, status in ((197, 1), (222, 0)):
        log = perftest_log(os.path.join(tmp, "bw.log"), [(65536, gbps), (1048576, gbps)])
        d = json.loads(run("--quiet", "--json", "-", "--measured", log, host, status=status))
        m = d["measured"][0]
        if m["doubtful"] != bool(status) or not all(r["met"] for r in m["rows"]):
            fail(f"{gbps}: {m}")
    out = run(*["--measured", perftest_log(os.path.join(tmp, "bw.log"), [(65536, 196), (1048576, 197)]), host], status=1)
    if "and yet the longest is 5" not in " ".join(out.split()):
        fail(out)


def zeros(tmp):
    """perftest's 0.00: of a small message it was rounded, of a large one the run failed."""
    host = write(os.path.join(tmp, "zero.txt"), LSPCI % ("32GT/s", 16))
    args = ["--given", "rate=400"]
    for rows, status, zero, n in (([(65536, 0), (1048576, 0)], 1, 1, 0), ([(65536, 360), (1048576, 0)], 1, 1, 1),
                                  ([(2, 0), (65536, 360), (1048576, 360)], 0, 0, 2)):
        log = perftest_log(os.path.join(tmp, "zero.log"), rows)
        d = json.loads(run("--quiet", "--json", "-", *args, "--measured", log, host, status=status))
        schema(d)
        m = d["measured"][0]
        if (m["zero"], len(m["rows"]), m["met"]) != (zero, n, not status):
            fail(f"{rows}: {m}")
        out = run(*args, "--measured", log, host, status=status)
        if bool(status) != ("the run failed" in " ".join(out.split())):
            fail(f"{rows}: {out}")


def schema(d):
    try:
        import jsonschema
    except ImportError:
        return
    with open(os.path.join(ROOT, "docs/schema/ripstop-expect-1.schema.json"), encoding="utf-8") as f:
        jsonschema.validate(d, json.load(f))


with tempfile.TemporaryDirectory() as folder:
    ports(folder)
    slots(folder)
    nccl()
    measured(folder)
    found(folder)
    lacking(folder)
    told(folder)
    doubtful(folder)
    zeros(folder)
    own_words(folder)

#!/usr/bin/env python3
"""Logs of NCCL's Inspector: drawn jobs as traces, whose time is that of their gaps; --measured; what is refused."""
import json
import os
import random
import subprocess
import sys
import tempfile

ripstop = sys.argv[1]
HOSTS = 2
EACH = 4  # GPUs, and processes, of a host
RANKS = HOSTS * EACH
OPS = {"all": list(range(RANKS)), **{f"pair{i}": [i, i + 1] for i in range(0, RANKS, 2)},
       **{f"side{i}": [i, i + EACH] for i in range(EACH)}}
FABRIC = f"""
fabric: {{network: {{kind: single-switch, hosts: {HOSTS * EACH}, rate: 400G, delay: 500ns}}}}
"""


class Job:
    """What each rank's process writes, by a clock of its own."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.now = [0.0] * RANKS  # us: when a rank has done all that it began
        self.clock = [self.draw.randrange(10**9, 10**15) for _ in range(RANKS)]
        self.lines = [[] for _ in range(RANKS)]
        self.count = {}

    def write(self, rank, comm, perf, start, stop):
        members = OPS[comm]
        hosts = len({m // EACH for m in members})
        event = {"channel_id": 0, "kernel_start_ts": int(self.clock[rank] + start), "kernel_stop_ts": int(self.clock[rank] + stop)}
        later = {"channel_id": 1, "kernel_start_ts": int(self.clock[rank] + start) + 1, "kernel_stop_ts": int(self.clock[rank] + stop) - 1}
        perf["event_trace_ts"] = {"coll_start_ts": 1, "coll_stop_ts": 2, "kernel_events": [later, event]}
        kind = "coll_perf" if "coll" in perf else "p2p_perf"
        self.lines[rank].append(json.dumps({
            "header": {"id": hex(0xd0000000000 + list(OPS).index(comm)), "comm_name": comm, "rank": members.index(rank),
                       "n_ranks": len(members), "nnodes": hosts},
            "metadata": {"inspector_output_format_version": "v4.0", "git_rev": "", "rec_mechanism": "nccl_profiler_interface",
                         "dump_timestamp_us": 1, "hostname": f"node{rank // EACH}", "pid": 4000 + rank % EACH},
            kind: perf}))

    def collective(self, comm, op, bytes_, gaps, took=30):
        """Ranks begin when they have computed, and end together."""
        sn = self.count[comm, op] = self.count.get((comm, op), -1) + 1
        begins = [self.now[r] + g for r, g in zip(OPS[comm], gaps)]
        end = max(begins) + took
        for rank, begin in zip(OPS[comm], begins):
            self.write(rank, comm, {"coll": op, "coll_sn": sn, "coll_msg_size_bytes": bytes_,
                                    "coll_exec_time_us": int(end - begin), "coll_timing_source": "kernel_gpu"}, begin, end)
            self.now[rank] = end

    def message(self, comm, source, target, bytes_, gap):
        """A send does not wait for its receiver: a small message is in its buffer before."""
        begin = {source: self.now[source] + gap, target: self.now[target] + 1}
        ends = {source: begin[source] + 20, target: max(begin.values()) + 20}
        for rank, name, peer in ((source, "Send", target), (target, "Recv", source)):
            sn = self.count[rank, "p2p"] = self.count.get((rank, "p2p"), 0) + 1
            self.write(rank, comm, {"p2p": name, "p2p_sn": sn, "p2p_peer": OPS[comm].index(peer), "p2p_msg_size_bytes": bytes_,
                                    "p2p_exec_time_us": int(ends[rank] - begin[rank])}, begin[rank], ends[rank])
            self.now[rank] = ends[rank]

    def save(self, folder, ranks=range(RANKS)):
        files = []
        for r in ranks:
            files.append(os.path.join(folder, f"node{r // EACH}-pid{4000 + r % EACH}.log"))
            with open(files[-1], "w", encoding="utf-8") as f:
                f.write("\n".join(self.lines[r]) + "\n")
        return files


def sim(folder, *args):
    return subprocess.run([ripstop, "sim", "--no-diagnosis", *args, os.path.join(folder, "fabric.yaml")],
                          capture_output=True, text=True, check=False)


def traced(folder, files):
    out = os.path.join(folder, "out.json")
    ran = sim(folder, "--json", out, *(x for f in files for x in ("--trace", f)))
    if ran.returncode:
        sys.exit(f"{files}: {ran.stderr}")
    with open(out, encoding="utf-8") as f:
        text = f.read()
    return json.loads(text)["runs"][0]["jobs"][0]["time_ns"] / 1e3, ran.stdout


def refused(folder, files, *says):
    ran = sim(folder, *(x for f in files for x in ("--trace", f)))
    if ran.returncode != 2 or not all(s in ran.stderr for s in says):
        sys.exit(f"expected a refusal with {says}: {ran.returncode} {ran.stderr}")


def drawn(seed):
    job = Job(seed)
    job.collective("all", "AllReduce", 8192, [0] * RANKS)  # what ranks did before their first one is not known
    for _ in range(job.draw.randrange(5, 40)):
        comm = job.draw.choice(list(OPS))
        if comm != "all" and job.draw.random() < 0.4:
            source, target = job.draw.sample(OPS[comm], 2)
            job.message(comm, source, target, job.draw.randrange(1, 65536), job.draw.randrange(0, 5000))
            continue
        op = job.draw.choice(["AllReduce", "AllGather", "ReduceScatter", "AlltoAll"])  # a broadcast's root does not wait
        job.collective(comm, op, 4 * job.draw.randrange(1, 4096), [job.draw.randrange(0, 5000) for _ in OPS[comm]])
    job.collective("all", "AllReduce", 8192, [job.draw.randrange(0, 5000) for _ in range(RANKS)])
    return job


with tempfile.TemporaryDirectory() as d:
    with open(os.path.join(d, "fabric.yaml"), "w", encoding="utf-8") as f:
        f.write(FABRIC)
    for seed in range(12):
        job = drawn(seed)
        files = job.save(d)
        job.draw.shuffle(files)
        took, said = traced(d, files)
        # each operation takes 30 or 20 us of the log, and some us here
        logged, operations = max(job.now), sum(map(len, job.lines))
        if not logged - 30 * operations < took < logged + 30 * operations or "left out" in said:
            sys.exit(f"seed {seed}: {took} us, logged {logged} us, {operations} operations\n{said}")

    # at once: what two communicators do side by side takes its gap once
    job = Job(99)
    job.collective("all", "AllReduce", 4096, [0] * RANKS)
    for name in ("pair0", "side0", "pair0"):
        rest = list(job.now)
        job.collective(name, "AllGather", 4096, [50000, 50000], took=40000)
        job.now = rest
    job.now = [90000.0 + 30] * RANKS
    job.collective("all", "AllReduce", 4096, [0] * RANKS)
    took, _ = traced(d, job.save(d))
    if not 50000 < took < 100000:
        sys.exit(f"three gaps of 50 ms at once: {took} us")

    job = drawn(5)
    files = job.save(d)
    job.lines[3].pop()
    job.save(d)
    if "7 operations are not in the logs of all their ranks" not in traced(d, files)[1]:
        sys.exit("an operation that a rank lacks is not told")
    job = drawn(5)
    job.save(d)
    refused(d, files[:-1], "8 ranks", "expected the logs of all processes")
    refused(d, files + files[:1], "twice")
    refused(d, [files[0], os.path.join(d, "fabric.yaml")], "fabric.yaml:")
    other = drawn(6)
    with open(files[0], "a", encoding="utf-8") as f:
        f.write(other.lines[1][-1].replace('"pid": 4001', '"pid": 77') + "\n")
    refused(d, files, "two processes")
    job.save(d)
    for r in range(RANKS):
        job.lines[r] = [line.replace("event_trace_ts", "event_trace_sn") for line in job.lines[r]]
    refused(d, job.save(d), "NCCL_INSPECTOR_DUMP_VERBOSE=1")
    with open(files[0], "a", encoding="utf-8") as f:
        f.write("{\n{}\n")
    refused(d, files[:1], os.path.basename(files[0]) + f":{len(job.lines[0]) + 1}")

    # --measured: all logs in one, beside the prediction of the same collective
    job = Job(7)
    for size in (65536, 1 << 20, 1 << 24):
        for i in range(5):
            job.collective("all", "AllReduce", size, [job.draw.randrange(0, 3000) for _ in range(RANKS)], took=size // 20000 + 20 + i)
    with open(os.path.join(d, "all.log"), "w", encoding="utf-8") as f:
        f.writelines(line + "\n" for lines in job.lines for line in lines)
    ran = sim(d, "--set", "workload=[{collective: {op: all-reduce, algorithm: ring, bytes: 1MiB}}]", "--measured", os.path.join(d, "all.log"))
    if ran.returncode or "16MiB" not in ran.stdout or "860" not in ran.stdout:
        sys.exit(f"--measured: {ran.returncode} {ran.stderr} {ran.stdout}")

    # several operations in the log: the description's first job, or --collective, says which
    for i in range(5):
        job.collective("all", "AllGather", 1 << 20, [0] * RANKS, took=500 + i)
    with open(os.path.join(d, "all.log"), "w", encoding="utf-8") as f:
        f.writelines(line + "\n" for lines in job.lines for line in lines)
    host = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data/scoreboard/hosts/h100-4-slingshot.xml")
    for args, says in ((["--collective", "all-gather"], "all_gather, busbw"), ([], "several collectives")):
        ran = subprocess.run([ripstop, "expect", *args, "--measured", os.path.join(d, "all.log"), host], capture_output=True, text=True,
                             check=False)
        if says not in ran.stdout + ran.stderr:
            sys.exit(f"expect {args}: {ran.returncode} {ran.stderr} {ran.stdout}")

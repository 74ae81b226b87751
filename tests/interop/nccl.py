"""One rank of nccl.sh: each collective at sizes from 4 bytes to 16 MiB, its result checked, its time printed."""
import os
import sys
import time

import torch
import torch.distributed as dist

rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.cuda.set_device(0)
dist.init_process_group("nccl")


def own(count):
    """What this rank puts in: a number that names the rank and the place."""
    return torch.arange(count, device="cuda", dtype=torch.float32) % 1024 + rank


def all_reduce(n):
    x = own(n)
    dist.all_reduce(x)
    return torch.equal(x, ranks * (torch.arange(n, device="cuda") % 1024).float() + ranks * (ranks - 1) / 2)


def all_gather(n):
    x = own(n)
    out = torch.empty(n * ranks, device="cuda")
    dist.all_gather_into_tensor(out, x)
    return all(torch.equal(out[r * n:(r + 1) * n], x - rank + r) for r in range(ranks))


def reduce_scatter(n):
    out = torch.empty(n, device="cuda")
    dist.reduce_scatter_tensor(out, own(n * ranks))
    mine = torch.arange(rank * n, (rank + 1) * n, device="cuda") % 1024
    return torch.equal(out, ranks * mine.float() + ranks * (ranks - 1) / 2)


def all_to_all(n):
    out = torch.empty(n * ranks, device="cuda")
    dist.all_to_all_single(out, own(n * ranks))
    mine = (torch.arange(rank * n, (rank + 1) * n, device="cuda") % 1024).float()
    return all(torch.equal(out[r * n:(r + 1) * n], mine + r) for r in range(ranks))


def broadcast(n):
    x = own(n)
    dist.broadcast(x, ranks - 1)
    return torch.equal(x, own(n) - rank + ranks - 1)


wrong = 0
for collective in (all_reduce, all_gather, reduce_scatter, all_to_all, broadcast):
    for size in (4, 1024, 65536, 1 << 20, 16 << 20):
        n = max(1, size // 4)
        if collective is not all_reduce and collective is not broadcast:
            n = max(1, n // ranks)
        right = collective(n)
        torch.cuda.synchronize()
        began = time.time()
        for _ in range(3):
            right &= collective(n)
        torch.cuda.synchronize()
        wrong += not right
        if rank == 0:
            print("nccl: %-14s %9d B %10.0f us %s" % (collective.__name__, size, (time.time() - began) / 3e-6,
                                                  "right" if right else "WRONG"), flush=True)
dist.destroy_process_group()
sys.exit(wrong != 0)

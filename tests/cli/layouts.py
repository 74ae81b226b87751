#!/usr/bin/env python3
"""Bytes that a training step sends, for each purpose, against volumes worked out here from the layout alone:
fifteen layouts of tensor, context, pipeline, expert and data groups, ZeRO 0 to 3. And requests' keys and values.
usage: layouts.py RIPSTOP"""
import json
import os
import subprocess
import sys
import tempfile

RIPSTOP = sys.argv[1]
# ranks and the keys of `train`
LAYOUTS = [
    (16, dict(layers=4, hidden=256, heads=8, ffn=1024, sequence=128, microbatches=4, tp=2, pp=2, zero=1, vocab=1000)),
    (8, dict(layers=3, hidden=128, heads=4, kv_heads=2, ffn=384, gated=True, sequence=64, microbatches=2, zero=3, vocab=512)),
    (8, dict(layers=4, hidden=256, heads=8, ffn=512, sequence=128, microbatches=3, tp=4, pp=2, sequence_parallel=True,
             vocab=2048)),
    (8, dict(layers=2, hidden=256, heads=8, kv_heads=4, ffn=512, sequence=256, microbatches=2, cp=4, tp=2, recompute=True)),
    (16, dict(layers=4, hidden=128, heads=4, ffn=512, sequence=64, microbatches=2, experts=8, top_k=2, expert_ffn=64,
              shared_experts=1, dense_layers=1, ep=4, pp=2, zero=1, dispatch=1)),
    (8, dict(layers=8, hidden=128, heads=4, ffn=256, sequence=64, microbatches=4, pp=4, chunks=2, schedule="interleaved",
             zero=2, vocab=256)),
    (8, dict(layers=2, hidden=128, heads=8, kv_heads=2, ffn=256, sequence=128, microbatches=2, cp=2, context="all-gather",
             tp=4)),
    (16, dict(layers=4, hidden=256, heads=8, ffn=512, sequence=128, microbatches=2, micro_batch=2, tp=2, cp=2, pp=2, zero=3,
              gated=True, type="float")),
    (8, dict(layers=2, hidden=128, heads=4, ffn=256, sequence=64, microbatches=2, experts=4, top_k=1, expert_ffn=128, ep=4,
             tp=2, sequence_parallel=True, recompute=True, vocab=128)),
    (12, dict(layers=6, hidden=192, heads=6, ffn=768, sequence=96, microbatches=6, tp=3, pp=2, schedule="gpipe", zero=1,
              vocab=300)),
    # tokens of a scattered sequence meet at their experts, split over the tensor group, or over none of it
    (16, dict(layers=4, hidden=128, heads=8, ffn=256, sequence=64, microbatches=2, experts=8, top_k=2, expert_ffn=64, ep=4,
              tp=4, sequence_parallel=True, dense_layers=1, shared_experts=1, zero=1, dispatch=1, vocab=128)),
    (16, dict(layers=3, hidden=128, heads=8, ffn=256, sequence=64, microbatches=2, experts=16, top_k=4, expert_ffn=32, ep=8,
              expert_tp=1, tp=2, cp=2, pp=1, sequence_parallel=True, recompute=True, zero=3, gradients="float")),
    (16, dict(layers=2, hidden=128, heads=8, ffn=256, sequence=64, microbatches=2, experts=8, top_k=2, expert_ffn=32, ep=4,
              expert_tp=2, tp=4, sequence_parallel=True, gated=True)),
    # the embedding and the output layer count as layers: chunks of none
    (8, dict(layers=14, hidden=128, heads=4, ffn=256, sequence=64, microbatches=4, pp=4, tp=2, chunks=4, schedule="interleaved",
             zero=1, vocab=512, ends=1, gradients="float")),
    (8, dict(layers=6, hidden=128, heads=4, ffn=256, sequence=64, microbatches=3, pp=4, zero=3, vocab=512, ends=1)),
]


def share(n):
    """Of a buffer, what a rank sends in a reduce-scatter or all-gather round a ring, or an all-to-all."""
    return (n - 1) / n


def volumes(n, c):
    def key(k, default=1):
        return c.get(k, default)

    tp, cp, pp, ep = key("tp"), key("cp"), key("pp"), key("ep")
    etp = key("expert_tp", tp)  # ranks that share an expert
    scattered = tp > 1 and ep > 1 and key("sequence_parallel", False)  # each has tokens of its own
    both, of_stage = n // (tp * pp), n / pp
    hidden, heads, width = c["hidden"], c["heads"], c["hidden"] // c["heads"]
    kv, matrices, vocab = key("kv_heads", heads), 3 if key("gated", False) else 2, key("vocab", 0)
    tokens, batches, zero = c["sequence"] * key("micro_batch") / cp, c["microbatches"], key("zero", 0)
    forwards = 2 if key("recompute", False) else 1
    activation = tokens * hidden * 2
    sent = dict.fromkeys(("tensor", "pipeline", "context", "expert", "data", "weights"), 0)
    for layer in range(c["layers"]):
        experts = key("experts", 0) if layer >= key("dense_layers", 0) else 0
        # two parts of a layer, each with an all-reduce, or an all-gather and a reduce-scatter
        parts = 1 if experts and scattered and not key("shared_experts", 0) else 2
        sent["tensor"] += parts * 2 * share(tp) * activation * (forwards + 1) * batches * of_stage
        # n - 1 times its keys and values; backward their gradients, too
        sent["context"] += ((cp - 1) * 2 * tokens * max(kv, tp) * width / tp * 2) * (forwards + 2) * batches * of_stage
        if experts:
            one = tokens * c["top_k"] * hidden / (tp if scattered else 1) * ((key("dispatch", 2) + 2) * forwards + 2 + 2)
            sent["expert"] += one * share(ep) * batches * of_stage
            if scattered:  # those that share an expert gather what came, and add up what goes back
                sent["tensor"] += one * etp * share(etp) * batches * of_stage
        mlp = key("shared_experts", 0) * matrices * hidden * c["expert_ffn"] + hidden * experts if experts \
            else matrices * hidden * c["ffn"]
        ends = ((layer == 0) + (layer == c["layers"] - 1)) * vocab * hidden
        size = 4 if key("type", "") == "float" else 2
        dense = (hidden * width * (2 * heads + 2 * kv) + mlp + ends) / tp * size
        apart = experts / ep * matrices * hidden * key("expert_ffn", 0) / etp * size
        once = share(both) * dense + share(tp // etp * both // ep) * apart
        sent["data"] += (4 if key("gradients", "") == "float" else size) / size * once * (1 if zero else 2) * (batches if zero == 3 else 1) * of_stage
        if zero:
            sent["weights"] += once * (2 * batches if zero == 3 else 1) * of_stage
    if vocab:
        sent["tensor"] += 2 * 2 * share(tp) * activation * batches * of_stage
    if pp > 1:
        part = tp if key("sequence_parallel", False) else 1
        sent["pipeline"] = 2 * (pp * key("chunks") - 1) * batches * activation / part * of_stage
    return sent


def run(job, n, folder):
    path, out = os.path.join(folder, "l.yaml"), os.path.join(folder, "l.json")
    with open(path, "w") as f:
        f.write(f"fabric: {{network: {{kind: single-switch, hosts: {n}, rate: 400G}}}}\nworkload: [{job}]\n")
    subprocess.run([RIPSTOP, "sim", "--quiet", "--no-diagnosis", "--json", out, path], check=True)
    with open(out) as f:
        return json.load(f)["runs"][0]["jobs"][0]


def flow(c):
    words = {True: "true", False: "false"}
    return "{" + ", ".join(f"{k}: {words[v] if isinstance(v, bool) else v}" for k, v in c.items()) + "}"


wrong = 0
with tempfile.TemporaryDirectory() as folder:
    for n, c in LAYOUTS:
        ring = dict(c, bucket="64kB", flops="1e14", collective="{algorithm: ring, channels: 1}")
        got = run(f"{{train: {flow(ring)}}}", n, folder)["sent_bytes"]
        for why, want in volumes(n, c).items():
            # a message has whole bytes, a bucket whole layers
            if abs(got.get(why, 0) - want) > 0.001 * want + 100:
                print(f"{n} ranks, {flow(c)}: {why}: {got.get(why, 0)} bytes, expected {want:.0f}")
                wrong += 1
    for prefill, decode, pieces in ((1, 1, 1), (3, 2, 7), (2, 4, 80)):
        serve = dict(prefill=prefill, decode=decode, rate=2000, requests=20, kv="3MB", pieces=pieces, prefill_time="1ms")
        job = run(f"{{serve: {flow(serve)}}}", prefill + decode, folder)
        if job["sent_bytes"] != {"KV cache": 20 * 3000000}:
            print(f"{flow(serve)}: {job['sent_bytes']}, expected 20 times 3 MB")
            wrong += 1
sys.exit(wrong > 0)

#!/usr/bin/env python3
"""Flows that are drawn, simulated: 32 sources that send single packets by Poisson processes into one port wait there
as in an M/D/1 queue, rho S / (2 (1 - rho)) in the mean; what is drawn is the same on 1 and 3 threads, and when it
is written out and read again. drawn.py RIPSTOP"""
import json
import os
import subprocess
import sys
import tempfile

SMALL = "RS_SMALL" in os.environ
SOURCES, COUNT, BYTES, RATE = 32, 700 if SMALL else 1500, 4096, 100e9
# on the wire: Ethernet, IPv4, UDP, BTH, RETH, ICRC and FCS, preamble and gap
FRAME = BYTES + 14 + 20 + 8 + 12 + 16 + 4 + 4 + 8 + 12


def scenario(load, extra=""):
    hosts = ", ".join(f"h{i}" for i in range(SOURCES))
    return (f"fabric:\n  network: {{kind: single-switch, hosts: {SOURCES + 1}, rate: 100G}}\n  cc: none\n"
            f"workload:\n  - flows: {{load: {load}, count: {COUNT}, bytes: {BYTES}B, src: [{hosts}], "
            f"dst: [h{SOURCES}]{extra}}}\n")


def run(ripstop, text, *args):
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "s.yaml")
        with open(path, "w") as f:
            f.write(text)
        done = subprocess.run([ripstop, *args, path], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"drawn.py: {' '.join(args)}: status {done.returncode}: {done.stderr}")
        return done.stdout


def simulate(ripstop, text, *args):
    return run(ripstop, text, "sim", "--quiet", "--no-diagnosis", *args)


def main(ripstop):
    service = FRAME * 8 / RATE * 1e9
    for load, draw in ((0.01, 1), (0.02, 2), (0.025, 3))[1 if SMALL else 0:2 if SMALL else 3]:
        report = json.loads(simulate(ripstop, scenario(load, f", draw: {draw}"), "--json", "-"))
        times = [f["finish_ns"] - f["start_ns"] for f in report["runs"][0]["flows"]]
        assert len(times) == SOURCES * COUNT, len(times)
        rho = SOURCES * load * FRAME / BYTES
        want = rho * service / (2 * (1 - rho))
        got = sum(times) / len(times) - min(times)
        # the mean wait of so many packets is itself a draw; at 80 % neighbours wait alike
        assert abs(got / want - 1) < 0.12, (load, got, want)
        print(f"load {rho:.3f}: packets wait {got:.0f} ns; M/D/1 {want:.0f}")
    mixed = ("fabric:\n  network: {kind: leaf-spine, leaves: 4, spines: 2, hosts_per_leaf: 4, rate: 100G}\n"
             "workload:\n  - flows: {load: 30%, count: 20, sizes: hadoop, pairs: permutation}\n"
             "  - flows: {load: 10%, time: 50us, bytes: [64B, 9kB], arrivals: regular, draw: 7}\n")
    one = simulate(ripstop, mixed, "--threads", "1", "--flows-csv", "-")
    assert one.count("\n") > 300
    assert simulate(ripstop, mixed, "--threads", "3", "--flows-csv", "-") == one
    assert simulate(ripstop, run(ripstop, mixed, "fabric", "convert"), "--flows-csv", "-") == one


main(sys.argv[1])

#!/usr/bin/env python3
"""Figures that pages take from the tree: `test_figures.py ROOT`. Each is counted or read where it comes from, and every
page that gives it must agree. A page with a wrong figure, planted, is found."""
import glob
import os
import re
import sys


def read(root, name):
    with open(os.path.join(root, name), encoding="utf-8") as f:
        return f.read()


def lines(root, name):
    return [t for t in read(root, name).splitlines() if t and not t.startswith("#")]


def counted(root):
    """What is counted: name, count, and the pages with the words around it ({} is the figure)."""
    claims = len(re.findall(r"^\| C\d\d\d ", read(root, "docs/claims.md"), re.M))
    return [
        ("checks of the audit", len(lines(root, "tests/data/audit-checks.txt")), [
            ("README.md", r"(\d+) checks of this host")]),
        ("measured rows of hosts", len(lines(root, "tests/data/host-truth.csv")), [
            ("README.md", r"of (\d+) measured rows"), ("docs/host.md", r"runs (\d+) measured rows")]),
        ("variants of the ground truth", len(glob.glob(os.path.join(root, "tests/data/sim-truth/*/fct-*.csv"))), [
            ("docs/testing.md", r"7 of (\d+) variants")]),
        ("claims", claims, [("README.md", r"(\d+) common claims")]),
    ]


def cpus(root):
    """Of each CPU class: raw rate in GB/s, latency in ns, peer-to-peer rate in GB/s."""
    row = re.compile(r'\{"(\w+)", "[^"]*", ([\d.]+) \* ([\d.]+) \* GB8, (\d+) \* RS_NS, (-1|(\d+) \* GB8),')
    return {m[1]: (float(m[2]) * float(m[3]), int(m[4]), m[6]) for m in row.finditer(read(root, "src/host/model.c"))}


def cells(text, heading):
    """The rows of the first table behind a heading, each a list of cells."""
    part = text.split(f"\n## {heading}\n", 1)[1]
    for line in part[part.index("\n|"):].strip().splitlines():
        if not line.startswith("|"):
            return
        yield [c.strip() for c in line.strip("|").split("|")]


def tables(root, page):
    """docs/models.md and docs/host.md beside src/host/model.c."""
    cpu, seen = cpus(root), set()
    for row in cells(page("docs/models.md"), "Sockets"):
        for name in row[0].split(", "):
            if name in cpu:
                seen.add(name)
                if (float(row[2]), int(row[3])) != (round(cpu[name][0], 1), cpu[name][1]):
                    yield f"docs/models.md: {name} is {row[2]} GB/s and {row[3]} ns; src/host/model.c has {cpu[name][:2]}"
    for name in sorted(set(cpu) - seen):
        yield f"docs/models.md: the table of sockets lacks {name}"
    for row in cells(page("docs/host.md"), "Peer to peer"):
        for name in row[0].split(", "):
            rate = cpu[name][2] if name in cpu else None
            if name in cpu and not row[2].startswith(rate or "the links"):
                yield f"docs/host.md: {name} passes {row[2]} between sockets; src/host/model.c has {rate}"


def faults(root, page):
    for what, n, places in counted(root):
        for name, words in places:
            m = re.search(words, page(name))
            if not m:
                yield f"{name} does not give the number of {what} as '{words}'"
            elif int(m[1]) != n:
                yield f"{name} gives {m[1]} {what}; there are {n}"
    yield from tables(root, page)


PLANTED = [("README.md", " checks of this host", "1 checks of this host"), ("docs/models.md", "| 288 | 150 |", "| 288 | 15 |"),
           ("docs/host.md", "| 22 |", "| 23 |")]


def main():
    root = sys.argv[1]
    said = list(faults(root, lambda name: read(root, name)))
    for where, old, new in PLANTED:
        if old not in read(root, where):
            said.append(f"{where} has no '{old}' to plant a fault in")
        elif not list(faults(root, lambda name: read(root, name).replace(old, new, 1) if name == where else read(root, name))):
            said.append(f"a wrong figure in {where} is not found")
    for s in said:
        print(f"test_figures: {s}")
    sys.exit(1 if said else 0)


main()

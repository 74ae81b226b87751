#!/usr/bin/env python3
"""The include law is written three times (docs/design.md, tools/check-layers, CMakeLists.txt), and this
holds each against the tree: `test_rooms.py ROOT`. A copy with a fault planted must fail."""
import os
import re
import shutil
import subprocess
import sys
import tempfile


def read(root, name):
    with open(os.path.join(root, name), encoding="utf-8") as f:
        return f.read()


def of_layers(root):
    """{room: rooms that it may include}, as tools/check-layers enforces it."""
    said = subprocess.run([os.path.join(root, "tools/check-layers"), "--law", root], check=True,
                          capture_output=True, text=True).stdout
    return {room: set(may.split()) for room, may in (line.split(":") for line in said.splitlines())}


def of_design(root):
    """The same, as the table of docs/design.md has it."""
    rows = {}
    for line in read(root, "docs/design.md").splitlines():
        m = re.match(r"\| `([a-z/-]+)/` \|.*\|([^|]*)\|$", line)
        if m:
            rows[m.group(1)] = m.group(2).strip()
    law = {}
    for room, may in rows.items():
        if may == "nothing":
            law[room] = set()
        elif may.startswith("all but"):
            law[room] = set(rows) - {room} - set(re.findall(r"`([a-z/-]+)/`", may))
        else:
            law[room] = set(may.replace("`", "").replace("/ ", " ").rstrip("/").split())
    return law


def of_cmake(root):
    """The rooms that are libraries; cli/ and verbs/ are a program and shared libraries."""
    law = {}
    for name, rest in re.findall(r"rs_room\(([^\s)]+)([^)]*)\)", read(root, "CMakeLists.txt")):
        m = re.search(r"DEPS([^A-Z]*)", rest)
        law[name] = set(m.group(1).split()) if m else set()
    return law


def compare(what, a, b):
    out = [f"{what}: {r}/ is in one and not in the other" for r in sorted(set(a) ^ set(b))]
    for r in sorted(set(a) & set(b)):
        if a[r] != b[r]:
            out.append(f"{what}: {r}/ may include {' '.join(sorted(a[r]))} or {' '.join(sorted(b[r]))}")
    return out


def faults(root):
    layers, design, cmake = of_layers(root), of_design(root), of_cmake(root)
    src = os.path.join(root, "src")
    tree = {d for d in os.listdir(src) if os.path.isdir(os.path.join(src, d))}
    tops = {r.split("/")[0] for r in design}
    out = [f"src/{r} has no row in docs/design.md" for r in sorted(tree - tops)]
    out += [f"docs/design.md has a row for {r}/, and there is no src/{r}" for r in sorted(design)
            if not os.path.isdir(os.path.join(src, r))]
    out += compare("docs/design.md and tools/check-layers", design, layers)
    libraries = {r: may for r, may in layers.items() if r in cmake or r not in ("cli", "verbs", "lib")}
    return out + compare("tools/check-layers and CMakeLists.txt", libraries, cmake)


def plant(root, name, old, new):
    with tempfile.TemporaryDirectory() as copy:
        for f in ("docs/design.md", "tools/check-layers", "CMakeLists.txt"):
            os.makedirs(os.path.dirname(os.path.join(copy, f)) or copy, exist_ok=True)
            shutil.copy(os.path.join(root, f), os.path.join(copy, f))
        for d in os.listdir(os.path.join(root, "src")):
            if os.path.isdir(os.path.join(root, "src", d)):
                shutil.copytree(os.path.join(root, "src", d), os.path.join(copy, "src", d))
        text = read(copy, name)
        assert old in text, f"{name} has no {old!r} to plant a fault in"
        with open(os.path.join(copy, name), "w", encoding="utf-8") as f:
            f.write(text.replace(old, new, 1))
        return faults(copy)


def main():
    root = sys.argv[1]
    said = faults(root)
    if not plant(root, "docs/design.md", "| `cc/` |", "| `dd/` |"):
        said.append("a room without a row is not found")
    if not plant(root, "tools/check-layers", '"base wire"', '"base cc"'):
        said.append("a law that differs from the table is not found")
    if not plant(root, "CMakeLists.txt", "rs_room(port DEPS base", "rs_room(port DEPS base cc"):
        said.append("a library that differs from the law is not found")
    for s in said:
        print(f"test_rooms: {s}")
    sys.exit(1 if said else 0)


main()

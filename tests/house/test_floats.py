#!/usr/bin/env python3
"""What decides a result is the same on every machine: `test_floats.py ROOT`. The rooms of the engine and
the simulator call no function of libm whose last bit is a library's choice, have no long double and no
float, and are compiled with -ffp-contract=off (docs/design.md, "Floating point"). Planted faults must be
found."""
import os
import re
import sys

ROOMS = "base wire cc port rdma uet switch host fabric collective plant sim".split()
# Exact, by IEEE 754 or by what they do: sqrt, ceil, floor, trunc, fabs, fmin, fmax, ldexp, llround.
INEXACT = ("exp exp2 exp10 expm1 log log2 log10 log1p pow cbrt hypot sin cos tan asin acos atan atan2 "
           "sinh cosh tanh asinh acosh atanh erf erfc tgamma lgamma fma").split()
CALL = re.compile(r"\b(?:%s)[fl]?\s*\(" % "|".join(INEXACT))
TYPE = re.compile(r"\blong\s+double\b|\bfloat\b")
STRING = re.compile(r'"(?:\\.|[^"\\])*"')


def code(text):
    """Without comments and strings, lines kept."""
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.S)
    text = re.sub(r"^#include.*$", "", text, flags=re.M)
    return STRING.sub('""', text)


def faults(name, text):
    for n, line in enumerate(code(text).splitlines(), 1):
        for what in (CALL, TYPE):
            m = what.search(line)
            if m:
                yield f"{name}:{n}: {m.group(0)}: not the same to the last bit on every machine"


def main(root):
    found = []
    for room in ROOMS:
        folder = os.path.join(root, "src", room)
        for f in sorted(os.listdir(folder)):
            if f.endswith((".c", ".h")):
                with open(os.path.join(folder, f), encoding="utf-8") as text:
                    found += faults(f"src/{room}/{f}", text.read())
    with open(os.path.join(root, "tools/cmake/rooms.cmake"), encoding="utf-8") as f:
        if not re.search(r"^\s*-ffp-contract=off\b", f.read(), re.M):
            found.append("tools/cmake/rooms.cmake: -ffp-contract=off is missing")
    for planted in ("\tx = pow(a, 2);", "long double v;", "\treturn expf(t);", "float f; /* x */"):
        if not list(faults("planted", planted)):
            found.append(f"a planted fault was not found: {planted}")
    for fine in ("/* pow(2, n) */", 'puts("float");', "x = power(k, n); explain(x); sqrt(x);"):
        if list(faults("fine", fine)):
            found.append(f"no fault, and found: {fine}")
    for line in found:
        print(f"test_floats: {line}")
    return 1 if found else 0


sys.exit(main(sys.argv[1]))

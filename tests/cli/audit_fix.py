#!/usr/bin/env python3
"""Scripts of fixes over whole sites: each is valid shell, shellcheck (where it is installed) has nothing to say, it
refuses to run unread, and run twice it calls the same programs with the same arguments. No two findings of a site or
a post set one variable of the job to two values.

usage: audit_fix.py RIPSTOP SOURCE"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ripstop, source = sys.argv[1], pathlib.Path(sys.argv[2])
cases = sorted((source / "tests/unit/audit/sites").glob("*.case"))
checker = shutil.which("shellcheck")
assert len(cases) >= 40


def unpack(case, to):
    parts = re.split(r"(?m)^=== (.*)\n", case.read_text())[1:]
    for name, text in zip(parts[::2], parts[1::2]):
        path = to / name.strip()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def stubs(where, log):
    """Programs that write down how they were called and do nothing."""
    where.mkdir()
    names = ("mlnx_qos mlxconfig mlxlink setpci sysctl ip ethtool cpupower modprobe systemctl dcb nv config sudo "
             "cma_roce_tos grubby")
    for name in names.split():
        (where / name).write_text(f'#!/bin/sh\necho "{name} $*" >> {log}\n')
        (where / name).chmod(0o755)
    (where / "cat").symlink_to(shutil.which("cat"))


def runs(script, target, tools, log):
    log.write_text("")
    # nothing of this machine can be called
    subprocess.run(["/bin/sh", script, target], env={"PATH": str(tools), "REVIEWED": "yes"}, capture_output=True,
                   check=True, cwd=script.parent)
    return log.read_text()


def fights(path):
    """Variables to which the first choices of several fixes give different values."""
    said = subprocess.run([ripstop, "audit", "--quiet", "--price", "none", "--json", "-", path], capture_output=True,
                          text=True, check=False).stdout
    wish = {}
    for finding in json.loads(said)["findings"] if said else []:
        for fix in finding["fix"]:
            name = re.match(r"(?:unset )?([A-Z][A-Z0-9_]+)(?:=|\s|$)", fix["cmd"])
            if finding["verdict"] == "FAIL" and name and fix["choice"] == finding["fix"][0]["choice"]:
                wish.setdefault((name[1], fix["on"]), set()).add(fix["cmd"].split("  #")[0])
    return [f"{name}: {sorted(values)}" for (name, _), values in wish.items() if len(values) > 1]


# slower by ten under sanitizers: scripts of all sites are written there, and the rest is the release build's
small = os.environ.get("RS_SMALL") == "1"
wrong = []
for post in [] if small else sorted((source / "tests/data/posts").glob("*.txt")):
    if re.search("NCCL_|UCX_", post.read_text(errors="replace")):
        wrong += [f"{post.name}: {fight}" for fight in fights(post)]
checked = ran = 0
for case in cases:
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        script, log, tools = scratch / "fix.sh", scratch / "log", scratch / "tools"
        unpack(case, scratch / "site")
        stubs(tools, log)
        subprocess.run([ripstop, "audit", "--quiet", "--price", "none", "--fix-script", script, scratch / "site"],
                       check=False)
        text = script.read_text()
        if small and ran >= 5:
            continue
        wrong += [f"{case.name}: {fight}" for fight in fights(scratch / "site")]
        if subprocess.run(["sh", "-n", script]).returncode:
            wrong.append(f"{case.name}: no valid shell")
        if checker:
            checked += 1
            said = subprocess.run([checker, script], capture_output=True, text=True).stdout
            if said:
                wrong.append(f"{case.name}: {said}")
        unread = subprocess.run(["sh", script, "x"], capture_output=True, text=True, env={"PATH": os.environ["PATH"]})
        if unread.returncode != 2 or "read" not in unread.stderr:
            wrong.append(f"{case.name}: it runs unread")
        for target in re.findall(r"(?m)^'(.*)'\)$", text):
            # what is written to /sys and /etc stays out of this machine
            body = re.sub(r"(?m)^\trun '(echo|printf) .*$", "\t:", text)
            script.write_text(body)
            first = runs(script, target, tools, log)
            if first != runs(script, target, tools, log):
                wrong.append(f"{case.name}: {target}: twice is not once")
            ran += bool(first)
for line in wrong:
    print(line)
print(f"{len(cases)} sites, {checked} scripts read by shellcheck, {ran} targets run twice")
sys.exit(bool(wrong) or ran < 5)

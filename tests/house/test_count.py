#!/usr/bin/env python3
"""What tools/check-count makes of ctest's files: failures, second turns, what skipped, what never ran."""
import os
import subprocess
import sys
import tempfile

root = sys.argv[1] if len(sys.argv) > 1 else "."


def write(folder, part, *cases):
    body = "".join(f'<testcase name="{name}" time="1" status="{status}">' +
                   ("<skipped/>" if status == "notrun" else "<failure/>" if status == "fail" else "") +
                   "<system-out>why</system-out></testcase>" for name, status in cases)
    with open(os.path.join(folder, f"check-{part}.xml"), "w", encoding="utf-8") as f:
        f.write(f"<testsuite>{body}</testsuite>")


def count(*args):
    ran = subprocess.run([os.path.join(root, "tools/check-count"), *args], capture_output=True, text=True)
    return ran.returncode, ran.stdout


def expect(what, got, status, last, *parts):
    if got[0] != status or not got[1].strip().endswith(last) or not all(p in got[1] for p in parts):
        sys.exit(f"{what}: {got}")


with tempfile.TemporaryDirectory() as d:
    def batch(*alone):
        write(d, "release-works", ("test_arena", "run"), ("lib_wasm", "notrun"))
        write(d, "release-waits", ("interop_veth", "run"))
        write(d, "release-alone", *alone)

    all_of_it, again = (d, "release"), ("--again", d, "release")
    batch(("interop_mpi", "run"))
    expect("all passed", count(*all_of_it), 0, "3 passed, 0 failed, 1 skipped", "lib_wasm: why")
    expect("nothing again", count(*again), 0, "")

    batch(("interop_mpi", "fail"))
    expect("one failed", count(*all_of_it), 1, "2 passed, 1 failed, 1 skipped", "interop_mpi failed in the release")
    expect("it has a second turn", count(*again), 0, "release interop_mpi")
    write(d, "release-again", ("interop_mpi", "run"))
    expect("passed then", count(*all_of_it), 0, "3 passed, 0 failed, 1 skipped", "interop_mpi failed at first")
    for status in ("fail", "notrun"):
        write(d, "release-again", ("interop_mpi", status))
        expect("not passed then", count(*all_of_it), 1, "2 passed, 1 failed, 1 skipped")
    os.remove(os.path.join(d, "check-release-again.xml"))

    batch(("interop_mpi", "fail"), ("test_cq", "fail"))
    expect("a unit test has no second turn, nor what failed beside it", count(*again), 0, "")
    batch(*((f"interop_{i}", "fail") for i in range(4)))
    expect("too many failed", count(*again), 0, "")

    os.remove(os.path.join(d, "check-release-alone.xml"))
    expect("a part that never ran", count(*all_of_it), 1, "0 passed, 1 failed, 0 skipped")
    batch(("interop_mpi", "run"))
    open(os.path.join(d, "check-release.broken"), "w", encoding="utf-8").close()
    expect("a build that failed", count(*all_of_it), 1, "0 passed, 1 failed, 0 skipped")

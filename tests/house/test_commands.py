#!/usr/bin/env python3
"""Each `ripstop COMMAND --option` that a page for readers names is there: the command by `ripstop --help`, the option by
the command's own. usage: test_commands.py ROOT RIPSTOP"""
import re
import subprocess
import sys
from pathlib import Path

# what follows is another program's own
OF_PROGRAM = {"exec"}
PAGES = ["README.md", "bench/README.md", "CONTRIBUTING.md", "docs/*.md", "examples/*", "scenarios/*.yaml"]


def pieces(text, is_page):
    """the commands of a page: fenced lines, indented ones, and spans; of other files every line"""
    text = re.sub(r"\\\n\s*", " ", text)
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    ") or not is_page:
            yield number, line.split(" #")[0]
        else:
            for span in re.findall(r"`([^`]+)`", line):
                yield number, span


def calls(line):
    """(command, options) of each call of ripstop in a line of shell"""
    for part in re.split(r"[|;&]|\$\(", line):
        m = re.search(r"(?:^|[\s/(\"'])ripstop\s+([a-z][a-z-]*)((?:\s.*)?)$", part)
        if not m:
            continue
        command, rest = m.group(1), m.group(2)
        words = rest.split()
        if "--" in words:
            words = words[: words.index("--")]
        if command in OF_PROGRAM:  # its options come first, each with its argument
            own = []
            while words and words[0].startswith("--"):
                own.append(words.pop(0))
                if own[-1] == "--dev" and words:
                    words.pop(0)
            words = own
        yield command, [re.match(r"--[a-z][a-z0-9-]*", w).group(0) for w in words if re.match(r"--[a-z]", w)]


def main():
    root, ripstop = Path(sys.argv[1]), sys.argv[2]
    run = lambda *a: subprocess.run([ripstop, *a], capture_output=True, text=True).stdout
    commands = set(re.findall(r"^  ([a-z-]+) ", run("--help"), re.M))
    helps, wrong, seen = {}, [], 0
    for pattern in PAGES:
        for page in sorted(root.glob(pattern)):
            if page.suffix not in (".md", ".yaml", ".py", ".c"):
                continue
            for number, line in pieces(page.read_text(), page.suffix == ".md"):
                for command, options in calls(line):
                    at = f"{page.relative_to(root)}:{number}"
                    if command not in commands:
                        if page.suffix == ".md":
                            wrong.append(f"{at}: there is no `ripstop {command}`")
                        continue
                    for o in options:
                        seen += 1
                        helps.setdefault(command, run(command, "--help"))
                        if not re.search(re.escape(o) + r"(?![a-z0-9-])", helps[command]) and o != "--help":
                            wrong.append(f"{at}: `ripstop {command}` has no {o}")
    if seen < 100:
        wrong.append(f"only {seen} options were found on the pages: is this test blind?")
    print("\n".join(f"test_commands: {w}" for w in wrong))
    print(f"{seen} options of commands are named on the pages", file=sys.stderr)
    return 1 if wrong else 0


sys.exit(main())

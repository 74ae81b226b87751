#!/usr/bin/env python3
"""Every file that a page, a man page or a comment names is in the tree: `test_cited.py ROOT`.

Checked: the links of Markdown pages, with their anchors; paths that begin with a folder of the tree;
pages (NAME.md) wherever they are named; names of C files and scripts in Markdown; ROOM/FILE.h in comments. Nothing names a folder beside the checkout.
"""
import glob
import os
import re
import sys
import tempfile

TOP = "src|tests|docs|tools|bench|scenarios|include|python"
LINK = re.compile(r"\]\(([^)\s]+)\)")
PATH = re.compile(rf"(?<![\w./<$-])((?:{TOP})/[\w.*/+-]*\w)")
PAGE = re.compile(r"(?<![\w/.*<-])([\w-]+\.md)\b")
NAME = re.compile(r"`([\w-]+\.(?:c|h|sh|py))`")
HEADER = re.compile(r"(?<![\w/.<\"-])([a-z]+)/([\w-]+\.[ch])\b")
# Tables of files that are not in the tree; history, whose files may have gone since.
NOT_OURS = ("docs/audit-fixtures.md", "CHANGELOG.md")
# Files of Linux, of rdma-core, and of folders that are read.
OTHERS = {"include/rdma/ib_addr.h", "docs/rsocket", "rdma/ib_user_sa.h", "rdma/ib_user_verbs.h", "INDEX.md", "SOURCE.md"}
# What a reader is to write, and what a test plants.
PLACEHOLDER = re.compile(r"[A-Z]{3,}|_$|planted|name/\*")
BESIDE = re.compile(r"\.\./shared\b|\bRS_SHARED")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)


def files(root, folders, ends):
    for folder in folders:
        for at, dirs, names in os.walk(os.path.join(root, folder)):
            dirs[:] = [d for d in dirs if d not in ("build", "data", "schema")]
            for n in names:
                if n.endswith(ends):
                    yield os.path.relpath(os.path.join(at, n), root)


def anchors(text):
    heads = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.S), re.M)
    return {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in heads}


class Tree:
    def __init__(self, root):
        self.root = root
        self.names = {os.path.basename(f) for f in
                      files(root, ("src", "tests", "tools", "bench", "include", "python"), (".c", ".h", ".sh", ".py"))}
        self.pages = {os.path.basename(f) for f in files(root, ("docs", "bench", "tests", "tools"), ".md")}
        self.pages |= {f for f in os.listdir(root) if f.endswith(".md")}
        self.programs = set()
        for name in files(root, ("tests", "bench", "src"), "CMakeLists.txt"):
            with open(os.path.join(root, name), encoding="utf-8") as f:
                self.programs |= {os.path.join(os.path.dirname(name), p)
                                  for p in re.findall(r"add_executable\((\w+)", f.read())}
        self.rooms = set(os.listdir(os.path.join(root, "src"))) if os.path.isdir(os.path.join(root, "src")) else set()

    def has(self, path):
        """A path, with or without its ending, or a pattern of them."""
        full = os.path.join(self.root, path)
        return bool(glob.glob(full) or glob.glob(full + ".*") or path in self.programs)

    def links(self, page, text):
        for target in LINK.findall(text):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            full = os.path.normpath(os.path.join(self.root, os.path.dirname(page), path)) if path else \
                os.path.join(self.root, page)
            if not os.path.exists(full):
                yield target
            elif anchor and full.endswith(".md"):
                with open(full, encoding="utf-8") as f:
                    if anchor not in anchors(f.read()):
                        yield target

    def cited(self, page, text):
        markdown = page.endswith(".md")
        if markdown:
            yield from self.links(page, text)
        yield from (p for p in PATH.findall(text) if not PLACEHOLDER.search(p) and not self.has(p))
        yield from (p for p in PAGE.findall(text) if p not in self.pages and not PLACEHOLDER.search(p))
        if markdown:
            yield from (n for n in NAME.findall(text) if n not in self.names)
        if page.endswith((".c", ".h")):
            yield from (f"{r}/{n}" for r, n in HEADER.findall(text)
                        if r in self.rooms and not self.has(f"src/{r}/{n}"))


def faults(root):
    tree = Tree(root)
    pages = [f for f in os.listdir(root) if f.endswith(".md")]
    pages += files(root, ("docs",), (".md", ".1", ".3", ".5"))
    pages += files(root, ("bench", "src", "tests", "tools", "include"), (".md", ".c", ".h", ".sh", ".py", ".txt", ".cmake"))
    pages += [f"tools/{f}" for f in os.listdir(os.path.join(root, "tools")) if "." not in f] if os.path.isdir(
        os.path.join(root, "tools")) else []
    for page in sorted(set(pages)):
        full = os.path.join(root, page)
        if page in NOT_OURS or not os.path.isfile(full) or page == "tests/house/test_cited.py":
            continue
        with open(full, encoding="utf-8") as f:
            text = f.read()
        if BESIDE.search(text):
            yield f"{page} names a folder beside the checkout"
        if page.endswith((".c", ".h")):
            text = "\n".join(COMMENT.findall(text))
        for c in sorted(set(tree.cited(page, text)) - OTHERS):
            yield f"{page} names {c}, which is not in the tree"


def sources(root):
    """Each thing of tests/data says where it comes from."""
    data = os.path.join(root, "tests/data")
    if os.path.isdir(data):
        with open(os.path.join(data, "SOURCES"), encoding="utf-8") as f:
            named = {line.split()[0].rstrip("/") for line in f if line.strip()}
        for n in sorted((set(os.listdir(data)) - {"SOURCES"}) ^ named):
            yield f"tests/data/SOURCES and tests/data differ in {n}"


PLANTED = {
    "docs/a.md": "[a](b.md) [c](a.md#nowhere) `tests/unit/x.c` `gone.c`\n# There\n[d](#there)\n",
    "src/base/a.c": "/* wire/gone.h, models.md */ #include \"wire/other.h\"\n",
    "src/wire/packet.h": "/* base/a.c and docs/a.md */\n",
    "tests/data/SOURCES": "here/ written for this test\n",
    "tests/data/here/a": "",
    "tests/data/there/a": "",
    "tools/x": "# docs/gone.md ../shared/data\n",
}
FOUND = ["docs/a.md names a.md#nowhere", "docs/a.md names b.md", "docs/a.md names gone.c", "docs/a.md names tests/unit/x.c",
         "src/base/a.c names models.md", "src/base/a.c names wire/gone.h",
         "tests/data/SOURCES and tests/data differ in there", "tools/x names a folder beside the checkout", "tools/x names docs/gone.md"]


def self_test():
    with tempfile.TemporaryDirectory() as copy:
        for name, text in PLANTED.items():
            os.makedirs(os.path.dirname(os.path.join(copy, name)), exist_ok=True)
            with open(os.path.join(copy, name), "w", encoding="utf-8") as f:
                f.write(text)
        said = sorted({s.split(",")[0] for s in faults(copy)} | set(sources(copy)))
        return [] if said == FOUND else [f"of the planted faults it says {said}"]


def main():
    said = self_test() + list(faults(sys.argv[1])) + list(sources(sys.argv[1]))
    for s in said:
        print(f"test_cited: {s}")
    sys.exit(1 if said else 0)


main()

#!/bin/sh
# ripstop audit on archives and trees made to hurt: one line, status 2, bounded memory, little time.
set -eu
ripstop=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"

# 1 GB of address space does for all of it; AddressSanitizer cannot start in that.
limit=1000000
# shellcheck disable=SC3045
(ulimit -v $limit && "$ripstop" --version) >/dev/null 2>&1 || limit=unlimited

# refused PATTERN PATH...
refused() {
	pattern=$1
	shift
	got=0
	# shellcheck disable=SC3045
	(ulimit -v $limit && ulimit -t 60 && exec "$ripstop" audit --json out.json "$@") \
		>stdout 2>stderr || got=$?
	if [ $got != 2 ] || [ "$(wc -l <stderr)" != 1 ] || ! grep -q -- "$pattern" stderr ||
		[ -s stdout ] || [ -e out.json ]; then
		echo "$*: expected status 2 and '$pattern', got $got:"
		head -c 2000 stderr
		exit 1
	fi
}

# read_calmly PATH...: whatever it is, it is no error
read_calmly() {
	got=0
	# shellcheck disable=SC3045
	(ulimit -v $limit && ulimit -t 60 && exec "$ripstop" audit "$@") >stdout 2>stderr || got=$?
	if [ $got = 2 ] || [ $got -gt 4 ] || [ -s stderr ]; then
		echo "$*: expected to be read, got $got:"
		head -c 2000 stderr
		exit 1
	fi
}

python3 - <<'P'
import bz2, gzip, io, lzma, os, tarfile, zipfile

def tar(name, entries, mode="w:gz"):
    with tarfile.open(name, mode) as t:
        for e, data in entries:
            info = e if isinstance(e, tarfile.TarInfo) else tarfile.TarInfo(e)
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))

def link(name, kind, to):
    i = tarfile.TarInfo(name)
    i.type, i.linkname = kind, to
    return i

# paths that climb out, however they are written
tar("climb1.tar.gz", [("../../etc/passwd", b"x")])
tar("climb2.tar.gz", [("a/b/../../../x", b"x")])
tar("climb3.tar", [("/../x", b"x")], "w")
with zipfile.ZipFile("climb4.zip", "w") as z:
    z.writestr("a/../../x", "x")

# bombs: a lot of nothing, by each packer; in one entry, in many, in an archive's archive
zeros = bytes(1 << 20)
small = int(os.environ.get("RS_SMALL") or 0)
size = 72 # MiB: how far it is followed before it is refused does not depend on it
class Zeros(io.RawIOBase):
    def __init__(self, n): self.left = n
    def readable(self): return True
    def read(self, n=-1):
        n = min(n if n >= 0 else self.left, self.left)
        self.left -= n
        return bytes(n)
for name, mode in ("bomb.tar.gz", "w:gz"), ("bomb.tar.bz2", "w:bz2"), ("bomb.tar.xz", "w:xz"):
    if small and mode != "w:gz":
        continue
    with tarfile.open(name, mode, **({"preset": 0} if mode == "w:xz" else {"compresslevel": 9})) as t:
        i = tarfile.TarInfo("zeros")
        i.size = size << 20
        t.addfile(i, Zeros(i.size))
with zipfile.ZipFile("many.zip", "w", zipfile.ZIP_DEFLATED) as z:
    for i in range(size):
        z.writestr(f"f{i}", zeros)
with gzip.open("raw.gz", "wb", 9) as g:
    for i in range(size):
        g.write(b"a" * len(zeros))
with open("bomb.tar.gz", "rb") as f:
    tar("nested-bomb.tar", [("inner.tar.gz", f.read())], "w")

# archives in archives in archives ...
data = b"x"
for i in range(6):
    b = io.BytesIO()
    with tarfile.open(fileobj=b, mode="w:gz") as t:
        info = tarfile.TarInfo("deeper.tar.gz")
        info.size = len(data)
        t.addfile(info, io.BytesIO(data))
    data = b.getvalue()
open("deep.tar.gz", "wb").write(data)

# links: to themselves, out, in circles; devices and pipes: none is followed, none is an error
fifo = tarfile.TarInfo("pipe"); fifo.type = tarfile.FIFOTYPE
dev = tarfile.TarInfo("dev"); dev.type = tarfile.CHRTYPE; dev.devmajor, dev.devminor = 1, 5
tar("links.tar.gz", [(link("a", tarfile.SYMTYPE, "a"), b""), (link("b", tarfile.SYMTYPE, "/etc/shadow"), b""),
    (link("c", tarfile.LNKTYPE, "../../etc/shadow"), b""), (fifo, b""), (dev, b""),
    ("gpu01/job.env", b"NCCL_IB_TC=106\n")])

# too many entries
if not small:
    with gzip.open("crowd.tar.gz", "wb", 1) as g:
        for i in range(401):
            g.write(tarfile.TarInfo("f").tobuf() * 1000)

# cut, garbled, and lying about its size
whole = open("links.tar.gz", "rb").read()
open("cut.tar.gz", "wb").write(whole[: len(whole) // 2])
open("bad.zip", "wb").write(b"PK\x03\x04" + bytes(range(256)))
open("bad.xz", "wb").write(b"\xfd7zXZ\x00" + bytes(64))
lie = tarfile.TarInfo("big"); lie.size = 1 << 40
open("lie.tar", "wb").write(lie.tobuf() + b"x" * 512)

# a compressed text that looks like the beginning of an mtree is a text
with gzip.open("changelog.gz", "wb") as g:
    g.write(b"#mtree\n/set type=file\na b c\n%%%%\nNCCL_IB_TC=106\n")

# archives as text: climbing, cut, of too many lines
ruler = "# ttar - - - - - - - - - - - - - - - - - -\n"
open("climb5.ttar", "w").write(ruler + "Path: a/../../x\nLines: 1\nx\nMode: 644\n")
open("cut.ttar", "w").write(ruler + "Path: sys/x\nLines: 7\nx\n")
open("lie.ttar", "w").write(ruler + "Path: sys/x\nLines: 18446744073709551615\nx\n")

# a tree whose links lead out of it, and to a file of its own
os.makedirs("out/host")
open("out/host/real.env", "w").write("NCCL_IB_TC=106\n")
os.symlink("real.env", "out/host/own")
os.symlink("../../whole.env", "out/host/out1")
os.symlink(os.path.abspath("whole.env"), "out/host/out2")
open("whole.env", "w").write("NCCL_IB_TC=104\n")

# XML and YAML that grow when they are read, point elsewhere, go in circles, go deep
ents = '<!ENTITY a0 "aaaaaaaaaa">' + "".join(f'<!ENTITY a{i} "{f"&a{i-1};" * 10}">' for i in range(1, 12))
x = '<?xml version="1.0"?><!DOCTYPE %s [%s]>'
open("laugh1.xml", "w").write(x % ("topology", ents) + '<topology version="2.0"><object type="Machine">'
    '<info name="OSRelease" value="&a11;"/></object></topology>')
open("laugh2.xml", "w").write(x % ("system", ents) + '<system version="1"><cpu numaid="&a11;">'
    '<pci busid="&a11;" class="0x0302"/></cpu></system>')
open("laugh3.xml", "w").write(x % ("nvidia_smi_log", ents) +
    "<nvidia_smi_log><driver_version>&a11;</driver_version></nvidia_smi_log>")
open("laugh4.xml", "w").write(x % ("lldp", ents) + '<lldp label="LLDP neighbors"><interface name="eth0" via="LLDP">'
    "<chassis><name>&a11;</name></chassis></interface></lldp>")
open("elsewhere.xml", "w").write(x % ("nvidia_smi_log", '<!ENTITY x SYSTEM "whole.env">') +
    "<nvidia_smi_log><driver_version>&x;</driver_version></nvidia_smi_log>")
open("deep.xml", "w").write('<topology version="2.0">' + '<object type="Group">' * 100000)
open("laugh.yaml", "w").write("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{i}: &a{i} [{','.join([f'*a{i-1}'] * 10)}]\n" for i in range(1, 12)) + "apiVersion: v1\nkind: Pod\n")
open("circle.yaml", "w").write("apiVersion: v1\nkind: Pod\nspec: &a\n  x: *a\n")
open("deep.json", "w").write('{"PORT":' + "[" * 200000)

# trees: a hundred deep, with circles, a pipe, a gigantic sparse file
os.makedirs("tree/host/sys")
open("tree/host/job.env", "w").write("NCCL_IB_TC=106\n")
os.symlink("..", "tree/host/sys/up")
os.symlink("/", "tree/host/root")
os.mkfifo("tree/host/pipe")
with open("tree/host/huge.log", "wb") as f:
    f.truncate(1 << 33)
p = "deep"
for i in range(30):
    p += "/d"
os.makedirs(p)
open("odd\n\033[31mname.env", "w").write("NCCL_IB_TC=106\n")
P

for f in climb1.tar.gz climb2.tar.gz climb3.tar climb4.zip climb5.ttar; do
	refused 'climbs out' $f
done
for f in bomb.tar.gz bomb.tar.bz2 bomb.tar.xz many.zip raw.gz nested-bomb.tar; do
	[ ! -e $f ] || refused '400 times its size' $f
done
refused 'archives within archives' deep.tar.gz
[ ! -e crowd.tar.gz ] || refused '400,000 entries' crowd.tar.gz
for f in cut.tar.gz bad.zip bad.xz lie.tar cut.ttar lie.ttar; do
	refused $f $f
done
refused '24 deep' deep
# what nobody understands is no healthy host
mkdir -p empty
head -c 5000 /dev/urandom >noise
printf '{"lldp":{}}' >nobody.json
for f in noise empty nobody.json laugh?.xml elsewhere.xml deep.xml laugh.yaml circle.yaml deep.json; do
	read_calmly "$f"
	[ $got = 4 ]
	grep -q 'nothing was judged' stdout
	"$ripstop" audit --allow-unknown --quiet "$f"
done
refused 'neither a file nor a directory' /dev/zero
refused 'No such file' nothing
refused 'neither a file nor a directory' tree/host/pipe
read_calmly links.tar.gz
grep -q '1 facts of' stdout
read_calmly changelog.gz
read_calmly tree
# its own file twice, and none of this machine's
read_calmly out
grep -q '2 facts of 1 hosts and switches from 2 files; 2 files were not recognised' stdout
# a name drives no terminal
read_calmly -v ./odd*
! grep -q "$(printf '\033\[31m')" stdout || exit 1
echo "hostile archives and trees: refused or read, none followed"

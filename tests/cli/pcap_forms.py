"""One capture in every form that tools write: the story must be the same. pcap_forms.py RIPSTOP DIRECTORY"""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

ripstop, folder = sys.argv[1], pathlib.Path(sys.argv[2])
tmp = pathlib.Path(tempfile.mkdtemp())
failed = 0


def packets(path):
    """(seconds, microseconds, frame) of a little-endian classic capture."""
    b = path.read_bytes()
    assert struct.unpack("<I", b[:4])[0] == 0xA1B2C3D4, path
    at = 24
    while at < len(b):
        s, us, n, _ = struct.unpack("<4I", b[at : at + 16])
        yield s, us, b[at + 16 : at + 16 + n]
        at += 16 + n


def classic(frames, order="<", nano=False, link=1, snap=0, tail=0):
    out = struct.pack(order + "IHHiIII", 0xA1B23C4D if nano else 0xA1B2C3D4, 2, 4, 0, 0, snap or 262144, link)
    for s, us, f in frames:
        kept = f[:snap] if snap else f
        out += struct.pack(order + "4I", s, us * 1000 if nano else us, len(kept), len(f)) + kept
    return out[: len(out) - tail]


def block(order, kind, body):
    body += b"\0" * (-len(body) % 4)
    n = len(body) + 12
    return struct.pack(order + "II", kind, n) + body + struct.pack(order + "I", n)


def pcapng(frames, order="<", link=1, old=False, other=False):
    out = block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
    if other:  # an interface that is no network card, and a packet of it
        out += block(order, 1, struct.pack(order + "HHI", 189, 0, 0))
    out += block(order, 1, struct.pack(order + "HHI", link, 0, 0))
    if other:
        out += block(order, 6, struct.pack(order + "5I", 0, 0, 1, 8, 8) + b"usb?usb?")
        out += block(order, 4, struct.pack(order + "HH", 0, 0))  # names
    for s, us, f in frames:
        t = s * 1000000 + us
        i = 1 if other else 0
        if old:
            body = struct.pack(order + "HHIIII", i, 0, t >> 32, t & 0xFFFFFFFF, len(f), len(f)) + f
        else:
            body = struct.pack(order + "5I", i, t >> 32, t & 0xFFFFFFFF, len(f), len(f)) + f
        out += block(order, 2 if old else 6, body)
    return out


def to(change):
    return lambda frames: [(s, us, change(f)) for s, us, f in frames]


def outgoing(f):  # the requester of these captures is 10.1.0.1 or fd01::1
    return 4 if f[26:30] == bytes([10, 1, 0, 1]) or f[22:38][:2] == b"\xfd\x01" and f[37] == 1 else 0


vlan = to(lambda f: f[:12] + b"\x81\x00\x60\x05" + f[12:])
qinq = to(lambda f: f[:12] + b"\x88\xa8\x00\x64\x81\x00\x60\x05" + f[12:])
sll = to(lambda f: struct.pack(">HHH8s", outgoing(f), 1, 6, f[6:12]) + f[12:])
sll2 = to(lambda f: f[12:14] + struct.pack(">HIHBB8s", 0, 3, 1, outgoing(f), 6, f[6:12]) + f[14:])
raw = to(lambda f: f[14:])
null = to(lambda f: struct.pack("<I", 2 if f[14] >> 4 == 4 else 30) + f[14:])
loop = to(lambda f: struct.pack(">I", 2 if f[14] >> 4 == 4 else 24) + f[14:])
forms = {
    "big-endian": lambda p: classic(p, ">"),
    "nanoseconds": lambda p: classic(p, "<", True),
    "nanoseconds, big-endian": lambda p: classic(p, ">", True),
    "with FCS": lambda p: classic(to(lambda f: f + b"\1\2\3\4")(p), link=0x24000001),
    "VLAN": lambda p: classic(vlan(p)),
    "VLAN in VLAN": lambda p: classic(qinq(p)),
    "cooked": lambda p: classic(sll(p), link=113),
    "cooked, VLAN": lambda p: classic(sll(vlan(p)), link=113),
    "cooked v2": lambda p: classic(sll2(p), link=276),
    "raw IP": lambda p: classic(raw(p), link=101),
    "BSD loopback": lambda p: classic(null(p), link=0),
    "OpenBSD loopback": lambda p: classic(loop(p), link=108),
    "pcapng": lambda p: pcapng(p),
    "pcapng, big-endian": lambda p: pcapng(p, ">"),
    "pcapng, raw IP": lambda p: pcapng(raw(p), link=101),
    "pcapng, cooked v2": lambda p: pcapng(sll2(p), link=276),
    "pcapng, blocks of old": lambda p: pcapng(p, old=True),
    "pcapng, a foreign interface": lambda p: pcapng(p, other=True),
}


def story(data):
    path = tmp / "x"
    path.write_bytes(data)
    r = subprocess.run([ripstop, "pcap", "--json", str(path)], capture_output=True, text=True)
    return r.returncode, json.loads(r.stdout) if r.stdout else None, r.stderr


def essence(j, frames=0):
    """What must not depend on the form: of the cut ones, all but what the bytes say."""
    j = json.loads(json.dumps(j))
    for key in ("file", "frames", "other"):
        j.pop(key)
    for s in j["streams"]:
        s.pop("frame_bytes"), s.pop("interface")
    for e in j["events"]:
        e["packet"] -= frames
    return j


def expect(what, ok, more=""):
    global failed
    if not ok:
        failed += 1
        print(f"FAILED: {what} {more}")


captures = sorted(folder.glob("*.pcap"))
if os.environ.get("RS_SMALL"):  # slower by ten: each form still meets six captures
    captures = [c for i, c in enumerate(captures) if i % 8 < 2]
for i, capture in enumerate(captures):
    p = list(packets(capture))
    status, whole, _ = story(classic(p))
    # every other form of each capture: each form is tried on half of them
    for name, make in list(forms.items())[i % 2::2]:
        code, j, err = story(make(p))
        expect(f"{capture.name}, {name}", code == status and j, err)
        if j:
            expect(f"{capture.name}, {name}: another story", essence(j, "foreign" in name) == essence(whole))
    # the headers alone: nothing is wrong that was not, and the same happened
    code, j, err = story(classic(p, snap=128))
    expect(f"{capture.name}, cut at 128", j and j["wrong"] <= whole["wrong"] and j["cut"] <= len(p), err)
    for a, b in zip(j["streams"], whole["streams"]):
        expect(
            f"{capture.name}, cut at 128: another story",
            all(a[k] == b[k] for k in ("packets", "messages", "message_bytes", "naks", "rnr_naks", "gaps", "acks"))
            and a["retransmitted_after"] == b["retransmitted_after"],
        )
    # less than the headers: a count, no story, no error
    code, j, err = story(classic(p, snap=40))
    expect(f"{capture.name}, cut at 40", code == 0 and j["cut"] == len(p) and not j["streams"], err)
    # the writer was killed: all but the last packet, and a message
    code, j, err = story(classic(p, tail=3))
    expect(f"{capture.name}, killed", code == 2 and j["frames"] == len(p) - 1 and "ends in the middle of" in err, err)
    # a bit of the last packet's ICRC
    s, us, f = p[-1]
    if status == 0:
        code, j, _ = story(classic(p[:-1] + [(s, us, f[:-1] + bytes([f[-1] ^ 1]))]))
        expect(f"{capture.name}, a wrong ICRC", code == 1 and j["bad_icrc"] == 1 and j["wrong"] == 1)

sys.exit(failed != 0)

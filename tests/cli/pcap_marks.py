"""The marks (ECN CE) that ripstop pcap counts are those in the IP headers, as this reader and tshark count them.
pcap_marks.py RIPSTOP CAPTURE..."""
import json
import shutil
import struct
import subprocess
import sys

ROCE = 4791


def frames(path):
    b = open(path, "rb").read()
    order = "<" if b[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") or b[8:12] == b"\x4d\x3c\x2b\x1a" else ">"
    at = 0
    if b[:4] != b"\x0a\x0d\x0d\x0a":
        at = 24
        while at < len(b):
            n = struct.unpack(order + "I", b[at + 8 : at + 12])[0]
            yield b[at + 16 : at + 16 + n]
            at += 16 + n
        return
    while at < len(b):
        kind, n = struct.unpack(order + "II", b[at : at + 8])
        if kind == 6:
            kept = struct.unpack(order + "I", b[at + 20 : at + 24])[0]
            yield b[at + 28 : at + 28 + kept]
        at += n


def mark(f):
    """(is the IP header marked, is it a RoCEv2 packet, has it data)"""
    at = 14
    kind = struct.unpack(">H", f[12:14])[0]
    while kind == 0x8100:
        kind = struct.unpack(">H", f[at + 2 : at + 4])[0]
        at += 4
    if kind == 0x0800:
        ecn, proto, udp = f[at + 1] & 3, f[at + 9], at + 4 * (f[at] & 15)
    elif kind == 0x86DD:
        ecn, proto, udp = f[at + 1] >> 4 & 3, f[at + 6], at + 40
    else:
        return False, False, False
    roce = proto == 17 and struct.unpack(">H", f[udp + 2 : udp + 4])[0] == ROCE
    extra = {6: 16, 10: 16, 11: 20, 9: 4, 3: 4, 5: 4, 12: 16, 13: 4, 15: 4, 16: 4, 17: 4, 18: 12, 19: 28, 20: 28}
    op = f[udp + 8] if roce else 0
    length = struct.unpack(">H", f[udp + 4 : udp + 6])[0] - 8 - 12 - 4 - extra.get(op & 31, 0) - (f[udp + 9] >> 4 & 3)
    return ecn == 3, roce, roce and op != 0x81 and length > 0


ripstop, captures = sys.argv[1], sys.argv[2:]
failed = total = 0
for c in captures:
    got = json.loads(subprocess.run([ripstop, "pcap", "--json", c], capture_output=True, text=True).stdout)
    marked = [m for m in map(mark, frames(c)) if m[0]]
    want = {
        "ce_frames": len(marked),
        "ce_packets": sum(m[1] for m in marked),
        "ce_data_packets": sum(m[2] for m in marked),
    }
    if shutil.which("tshark"):
        # tshark reads RoCE's headers by the port alone
        lines = subprocess.run(
            ["tshark", "-r", c, "-Y", "ip.dsfield.ecn == 3 || ipv6.tclass.ecn == 3", "-T", "fields", "-e", "frame.number"],
            capture_output=True,
            text=True,
        ).stdout
        want["ce_frames (tshark)"] = len(lines.split())
        got["ce_frames (tshark)"] = got["ce_frames"]
    for k, v in want.items():
        if got[k] != v:
            print(f"{c}: {k} is {got[k]}, not {v}")
            failed = 1
    per_stream = sum(s["ce_packets"] for s in got["streams"])
    if not (per_stream <= want["ce_packets"] and (per_stream > 0) == (want["ce_data_packets"] > 0)):
        print(f"{c}: {per_stream} marks by stream, {want['ce_packets']} packets")
        failed = 1
    total += want["ce_frames"]
if not total:
    print("nothing was marked")
    failed = 1
sys.exit(failed)

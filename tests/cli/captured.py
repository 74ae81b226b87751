"""Reads a pcapng of --pcap: for tests that count anew what the simulator tells."""
import struct


def read(path):
    """The interfaces' names, "h0->leaf0"; and (ns, interface, bytes of the frame with FCS, frame) of each packet."""
    with open(path, "rb") as f:
        b = f.read()
    names, seen, at = [], [], 0
    while at < len(b):
        kind, n = struct.unpack("<II", b[at:at + 8])
        if kind == 1:
            option = at + 16
            while True:
                code, size = struct.unpack("<HH", b[option:option + 4])
                if code == 2:
                    names.append(b[option + 4:option + 4 + size].decode())
                if code == 0:
                    break
                option += 4 + (size + 3) // 4 * 4
        if kind == 6:
            i, high, low, kept, size = struct.unpack("<IIIII", b[at + 8:at + 28])
            seen.append((high << 32 | low, i, max(size + 4, 64), b[at + 28:at + 28 + kept]))
        at += n
    return names, seen


def is_pfc(frame):
    return frame[12:14] == b"\x88\x08"

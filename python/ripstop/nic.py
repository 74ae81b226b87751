"""One RoCEv2 NIC, driven with Ethernet frames of one's own. Times are picoseconds and never go back."""
import ctypes
import ipaddress

from . import _c

LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC = 1, 2, 4, 8
ALL_ACCESS = 15
_TRANSPORTS = {"RC": 0x00, "UC": 0x20, "UD": 0x60}
_OPS = {"send": 0, "send_imm": 1, "write": 2, "write_imm": 3, "read": 4, "cmp_swap": 5, "fetch_add": 6}
OP_NAMES = {**{v: k for k, v in _OPS.items()}, 11: "receive", 12: "receive_write_imm"}
STATUS = {0: "ok", 1: "local length", 2: "local QP operation", 4: "local protection", 5: "flushed",
          9: "remote invalid request", 10: "remote access", 11: "remote operation", 12: "retries exceeded",
          13: "RNR retries exceeded"}
RECEIVED = ("taken", "pause", "other", "foreign", "bad")
STATES = ("reset", "ready", "error")
FRAME_MAX = 4352


def gid(address):
    """16 bytes of "10.0.0.1" or "fd00::1"."""
    if isinstance(address, bytes):
        return address
    a = ipaddress.ip_address(address)
    return a.packed if a.version == 6 else b"\0" * 10 + b"\xff\xff" + a.packed


def ether(mac):
    """6 bytes of "02:00:00:00:00:01"."""
    return mac if isinstance(mac, bytes) else bytes.fromhex(mac.replace(":", ""))


def _put(field, data):
    ctypes.memmove(field, data, len(data))


class Region:
    """Memory that packets may read and write; the buffer is kept as long as the region."""

    def __init__(self, nic, buffer, va, access, pd):
        self.nic = nic
        self.buffer = buffer
        self._view = (ctypes.c_uint8 * len(buffer)).from_buffer(buffer)
        self.length = len(buffer)
        self.va = ctypes.addressof(self._view) if va is None else va
        key = ctypes.c_uint32()
        _c.call(_c.lib.ripstop_nic_register, nic._p, pd, ctypes.cast(self._view, ctypes.c_void_p), self.va,
                self.length, access, ctypes.byref(key))
        self.key = key.value

    def sge(self, offset=0, length=None):
        return _c.Sge(self.va + offset, self.length - offset if length is None else length, self.key)

    def deregister(self):
        _c.call(_c.lib.ripstop_nic_deregister, self.nic._p, self.key)


class CompletionQueue:
    def __init__(self, nic, depth):
        self.nic = nic
        self._p = _c.make(_c.lib.ripstop_nic_create_cq, nic._p, depth)

    def poll(self, n=16):
        """At most n completions, the oldest first; each has id, qpn, bytes, imm, status, op, ..."""
        self.nic._open()
        out = (_c.Completion * n)()
        got = _c.lib.ripstop_cq_poll(self._p, out, n, ctypes.sizeof(_c.Completion))
        return list(out[:got])

    @property
    def overrun(self):
        self.nic._open()
        return bool(_c.lib.ripstop_cq_overrun(self._p))


class QueuePair:
    def __init__(self, nic, transport, cq, receive_cq, pd, **limits):
        self.nic = nic
        self.cq = cq
        self.receive_cq = receive_cq or cq
        c = _c.QpConfig(pd=pd, transport=_TRANSPORTS[transport], send_cq=cq._p, receive_cq=self.receive_cq._p,
                        **limits)
        self._p = _c.make(_c.lib.ripstop_nic_create_qp, nic._p, ctypes.byref(c))

    @property
    def number(self):
        self.nic._open()
        return _c.lib.ripstop_qp_number(self._p)

    @property
    def state(self):
        self.nic._open()
        return STATES[_c.lib.ripstop_qp_get_state(self._p)]

    @property
    def rate(self):
        """Bits per second that congestion control lets it send at."""
        self.nic._open()
        return _c.lib.ripstop_qp_rate(self._p)

    def connect(self, address=None, mac=None, qpn=0, now=0, **keys):
        """To a peer, ready to send: keys of struct ripstop_qp_peer (send_psn, receive_psn, mtu, access, ...)."""
        self.nic._open()
        keys.setdefault("min_rnr_timer", 12)
        p = _c.QpPeer(qpn=qpn, **keys)
        if address is not None:
            _put(p.address, gid(address))
        if mac is not None:
            _put(p.mac, ether(mac))
        _c.call(_c.lib.ripstop_qp_connect, self._p, ctypes.byref(p), now)

    def set_state(self, state, now):
        """To "reset" or "error"."""
        self.nic._open()
        _c.call(_c.lib.ripstop_qp_set_state, self._p, STATES.index(state), now)

    def post(self, op, sges, now, id=0, signaled=True, address=None, mac=None, **keys):
        """A work request: post("write", [region.sge()], now, remote_va=0, remote_key=key)."""
        self.nic._open()
        if isinstance(sges, _c.Sge):
            sges = [sges]
        array = (_c.Sge * len(sges))(*sges)
        s = _c.Send(id=id, op=_OPS[op], flags=1 if signaled else 0, n_sge=len(sges), sge=array, **keys)
        if address is not None:
            _put(s.address, gid(address))
        if mac is not None:
            _put(s.mac, ether(mac))
        _c.call(_c.lib.ripstop_qp_send, self._p, ctypes.byref(s), now)

    def post_receive(self, sges, id=0):
        self.nic._open()
        if isinstance(sges, _c.Sge):
            sges = [sges]
        array = (_c.Sge * len(sges))(*sges)
        _c.call(_c.lib.ripstop_qp_receive, self._p, id, array, len(sges))


class Nic:
    """Nic(address="10.0.0.1", mac="02:00:00:00:00:01", rate=100e9): keys of struct ripstop_nic_config.

    Frames go in by receive(frame, now) and come out by send(now); expire(now) is due at deadline().
    """

    def __init__(self, address="10.0.0.1", mac="02:00:00:00:00:01", rate=0, cc=None, cc_preset=None,
                 cc_settings=None, **limits):
        self._regions = []
        self._p = None
        if isinstance(cc_settings, dict):
            cc_settings = ",".join(f"{k}={v}" for k, v in cc_settings.items())
        c = _c.NicConfig(rate=int(rate), cc=_c.text(cc), cc_preset=_c.text(cc_preset),
                         cc_settings=_c.text(cc_settings), **limits)
        _put(c.address, gid(address))
        _put(c.mac, ether(mac))
        self._frame = ctypes.create_string_buffer(FRAME_MAX)
        self._p = _c.make(_c.lib.ripstop_nic_create, ctypes.byref(c))

    def close(self):
        """Destroys it with its queues; they are not to be used any more."""
        if self._p:
            _c.lib.ripstop_nic_destroy(self._p)
            self._p = None
            self._regions.clear()

    def __del__(self):
        self.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _open(self):
        if not self._p:
            raise ValueError("the NIC is closed")

    def register(self, buffer, va=None, access=ALL_ACCESS, pd=0):
        """A Region of a bytearray (or any writable buffer of bytes). va: the address that requests name."""
        self._open()
        r = Region(self, buffer, va, access, pd)
        self._regions.append(r)
        return r

    def create_cq(self, depth=256):
        self._open()
        return CompletionQueue(self, depth)

    def create_qp(self, cq, transport="RC", receive_cq=None, pd=0, **limits):
        """limits: max_sends, max_receives, max_sge, all_signaled."""
        self._open()
        return QueuePair(self, transport, cq, receive_cq, pd, **limits)

    def receive(self, frame, now):
        """An Ethernet frame without FCS. One of RECEIVED: what it was."""
        self._open()
        return RECEIVED[_c.call(_c.lib.ripstop_nic_receive, self._p, bytes(frame), len(frame), now)]

    def send(self, now):
        """(frame, None), or (None, when to ask again: NEVER where nothing waits)."""
        self._open()
        again = ctypes.c_int64()
        n = _c.call(_c.lib.ripstop_nic_send, self._p, self._frame, FRAME_MAX, now, ctypes.byref(again))
        return (self._frame.raw[:n], None) if n else (None, again.value)

    def deadline(self):
        self._open()
        return _c.lib.ripstop_nic_deadline(self._p)

    def expire(self, now):
        self._open()
        _c.call(_c.lib.ripstop_nic_expire, self._p, now)

    @property
    def counters(self):
        self._open()
        c = _c.NicCounters()
        _c.lib.ripstop_nic_counters(self._p, ctypes.byref(c))
        return {n: getattr(c, n) for n, _ in c._fields_ if n != "size"}

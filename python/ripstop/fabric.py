"""A fabric: hosts, switches, links, classes, congestion control, and the work to run on it."""
import ctypes
import numbers

from . import _c
from .table import numpy

# What a plain number means, by the last word of a key: bits per second, picoseconds, bytes.
_RATES = ("rate", "uplink_rate", "ecn_rate")
_TIMES = ("delay", "uplink_delay", "start", "watchdog", "switch_latency", "flowlet_gap", "ar_sample", "step_latency",
          "ack_delay", "min_rto")
_BYTES = ("bytes", "buffer", "kmin", "kmax", "chunk", "bucket", "simulate", "nic_buffer", "reserved",
          "xon_offset", "egress_limit")


def _value(key, value):
    """A Python value as a description has it."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {_quoted(k, v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_quoted(key, v) for v in value) + "]"
    if isinstance(value, numbers.Integral):
        word = key.replace("-", "_").rsplit(".", 1)[-1]
        unit = "bps" if word in _RATES else "ps" if word in _TIMES else "B" if word in _BYTES else ""
        return f"{int(value)}{unit}"
    if isinstance(value, numbers.Real):
        return repr(float(value))
    return str(value)


def _quoted(key, value):
    text = _value(key, value)
    if not isinstance(value, str):
        return "null" if text is None else text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _rate(value):
    return int(value) if value else 0


class Fabric:
    """A fabric by calls, from a file (Fabric.load) or from YAML or JSON (Fabric.parse).

    Quantities are texts with their unit ("400G", "1us", "16MiB") or whole numbers: bits per second,
    picoseconds, bytes. fabric["fabric.network.rate"] = "200G" sets any key of ripstop-fabric(5);
    del fabric["workload"] takes one out.

    >>> f = Fabric.leaf_spine(hosts=16, leaves=4, spines=2, rate="100G")
    >>> f.add_collective(bytes="16MiB")
    >>> f.facts()["endpoints"]
    16
    """

    def __init__(self, _pointer=None):
        self._p = _pointer or _c.make(_c.lib.ripstop_fabric_new)

    def __del__(self):
        if getattr(self, "_p", None):
            _c.lib.ripstop_fabric_free(self._p)
            self._p = None

    @classmethod
    def load(cls, path):
        """From a file; Error has its file, line and column where it is wrong."""
        return cls(_c.make(_c.lib.ripstop_fabric_load, _c.text(str(path))))

    @classmethod
    def parse(cls, text, name=None, folder=None):
        """From YAML or JSON; folder: of files that it names."""
        data = text if isinstance(text, bytes) else text.encode()
        return cls(_c.make(_c.lib.ripstop_fabric_parse, data, len(data), _c.text(name), _c.text(folder)))

    def copy(self):
        return Fabric(_c.make(_c.lib.ripstop_fabric_copy, self._p))

    # ---- Settings ----

    def set(self, path, value):
        """What `ripstop sim --set` does; None takes the key out. Returns the fabric."""
        _c.call(_c.lib.ripstop_fabric_set, self._p, _c.text(path), _c.text(_value(path, value)))
        return self

    def __setitem__(self, path, value):
        self.set(path, value)

    def __delitem__(self, path):
        self.set(path, None)

    def set_class(self, number, **keys):
        """Keys of traffic class 0 to 7: set_class(3, kmin="100kB", pmax=0.1)."""
        for key, value in keys.items():
            _c.call(_c.lib.ripstop_fabric_set_class, self._p, number, _c.text(key), _c.text(_value(key, value)))
        return self

    def set_cc(self, algorithm, preset=None, **parameters):
        """Congestion control: set_cc("dcqcn", preset="mlx5", rate_ai="50M")."""
        _c.call(_c.lib.ripstop_fabric_set_cc, self._p, _c.text(algorithm), _c.text(preset))
        for key, value in parameters.items():
            self.set(f"fabric.cc.{key}", value)
        return self

    # ---- Networks ----

    def network(self, kind, **keys):
        """A network that is generated: keys of fabric.network in ripstop-fabric(5)."""
        self.set("fabric.network.kind", kind)
        for key, value in keys.items():
            if value is not None:
                self.set(f"fabric.network.{key}", value)
        return self

    @classmethod
    def single_switch(cls, hosts, **keys):
        return cls().network("single-switch", hosts=hosts, **keys)

    @classmethod
    def leaf_spine(cls, leaves, spines, hosts=None, **keys):
        return cls().network("leaf-spine", leaves=leaves, spines=spines, hosts=hosts, **keys)

    @classmethod
    def fat_tree(cls, k, **keys):
        return cls().network("fat-tree", k=k, **keys)

    @classmethod
    def rail(cls, hosts, rails, **keys):
        return cls().network("rail", hosts=hosts, rails=rails, **keys)

    def add_host(self, name):
        """A host of a network that is drawn: hosts, switches, links."""
        _c.call(_c.lib.ripstop_fabric_add_host, self._p, _c.text(name))
        return self

    def add_switch(self, name, tier=0):
        """tier: 0 leaf, 1 spine, 2 core."""
        _c.call(_c.lib.ripstop_fabric_add_switch, self._p, _c.text(name), tier)
        return self

    def add_link(self, a, b, rate=0, delay=0, loss=0.0):
        """rate in bits per second, delay in picoseconds; 0: as the network has them."""
        _c.call(_c.lib.ripstop_fabric_add_link, self._p, _c.text(a), _c.text(b), _rate(rate), int(delay), loss)
        return self

    def add_machines(self, name, count=1, like=None):
        """Hosts with an inside, from NCCL's or hwloc's XML."""
        _c.call(_c.lib.ripstop_fabric_add_machines, self._p, _c.text(name), count, _c.text(like))
        return self

    # ---- Work ----

    def add_flows(self, flows, name=None):
        """A job of flows: rows of (src, dst, bytes[, start[, class]]), or dicts of these, or a structured
        NumPy array with these fields. Endpoints are NICs, numbered host by host; start is in picoseconds."""
        rows = [_flow(f) for f in flows]
        array = (_c.Flow * len(rows))(*rows)
        _c.call(_c.lib.ripstop_fabric_add_flows, self._p, _c.text(name), array, len(rows), ctypes.sizeof(_c.Flow))
        return self

    def _job(self, kind, name, keys):
        body = {k: v for k, v in keys.items() if v is not None}
        job = {"name": name} if name else {}
        job[kind] = body
        return self.set("workload[+]", job)

    def add_collective(self, bytes=None, op=None, name=None, **keys):
        """add_collective(bytes="64MiB", op="all-reduce", qps=2): keys of a collective in ripstop-fabric(5)."""
        return self._job("collective", name, {"op": op, "bytes": bytes, **keys})

    def add_training(self, parameters, tokens, name=None, **keys):
        """add_training(7e9, 4e6, tp=8): keys of train in ripstop-fabric(5)."""
        return self._job("train", name, {"parameters": parameters, "tokens": tokens, **keys})

    def add_what_if(self, name, settings):
        """Run beside it: add_what_if("faster", {"fabric.network.rate": "400G"})."""
        for path, value in settings.items():
            _c.call(_c.lib.ripstop_fabric_add_what_if, self._p, _c.text(name), _c.text(path),
                    _c.text(_value(path, value)))
        return self

    # ---- What it is ----

    def facts(self):
        """Checks all of it; counts of hosts, endpoints, switches, ..., as a dict."""
        facts = _c.FabricFacts()
        _c.call(_c.lib.ripstop_fabric_check, self._p, ctypes.byref(facts))
        return {n: getattr(facts, n) for n, _ in facts._fields_ if n != "size"}

    check = facts

    def yaml(self):
        """All of it as YAML that reads back to the same."""
        return _c.take_text(_c.make(_c.lib.ripstop_fabric_yaml, self._p))


def _flow(f):
    if isinstance(f, dict):
        return _c.Flow(start=int(f.get("start", 0)), bytes=int(f["bytes"]), src=int(f["src"]), dst=int(f["dst"]),
                       traffic_class=int(f.get("class", -1)))
    if numpy is not None and isinstance(f, numpy.void):
        return _flow({n: f[n] for n in f.dtype.names})
    src, dst, size, *rest = f
    return _c.Flow(start=int(rest[0]) if rest else 0, bytes=int(size), src=int(src), dst=int(dst),
                   traffic_class=int(rest[1]) if len(rest) > 1 else -1)

"""Ripstop: RDMA fabrics of AI clusters in software, over libripstop.so.0.

    import ripstop

    f = ripstop.Fabric.leaf_spine(leaves=4, spines=2, hosts=16, rate="100G")
    f.add_flows([(src, 15, 1 << 20) for src in range(8)], name="incast")
    r = ripstop.simulate(f, diagnose=True)
    print(r.flows()["finish"].max(), r.causes[0].what)

Fabric makes or reads a fabric; Simulation runs it, Result is what came out; Session is a run in which the
caller sends messages while it goes; Nic is one NIC, driven with
frames of one's own; Audit finds what is wrong on a cluster. Numbers come as NumPy arrays where NumPy is
there. What is refused raises Error with file, line and column.
"""
from ._c import NEVER, Error, lib as _lib
from .audit import Audit
from .fabric import Fabric
from .nic import Nic
from .session import DELIVERED, FAILED, SENT, TIMER, News, Session
from .sim import ENDS, Result, Simulation, simulate

PS, NS, US, MS, S = 1, 10**3, 10**6, 10**9, 10**12

__version__ = _lib.ripstop_version().decode()
__all__ = ["Audit", "DELIVERED", "ENDS", "Error", "FAILED", "Fabric", "MS", "NEVER", "NS", "News", "Nic", "PS", "Result",
           "S", "SENT", "Session", "Simulation", "TIMER", "US", "has", "simulate"]


def has(part):
    """Whether the library was built with "sim", "yaml", "xml", "audit", "threads"."""
    return bool(_lib.ripstop_has(part.encode()))

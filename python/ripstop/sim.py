"""Running a fabric in virtual time, and what came out."""
import ctypes
import json as json_module
from collections import namedtuple

from . import _c
from .table import numbers, table

ENDS = ("done", "failed", "deadlock", "no-timeout", "stopped", "stuck", "left-out")


def _rows(kind, fields, structure, fill):
    size = ctypes.sizeof(structure)
    n = fill(0, 0, None, size)
    buffer = (structure * n)()
    if n:
        fill(0, n, buffer, size)
    return [kind(*(_plain(getattr(row, f)) for f in fields)) for row in buffer]


def _plain(value):
    return _c.words(value) if isinstance(value, bytes) else value


def _kind(name, structure):
    fields = [n for n, _ in structure._fields_ if n != "unused"]
    return namedtuple(name, fields), fields


Job, _JOB = _kind("Job", _c.Job)
Drop, _DROP = _kind("Drop", _c.Drop)
Pause, _PAUSE = _kind("Pause", _c.Pause)
Run, _RUN = _kind("Run", _c.Run)
Cause, _CAUSE = _kind("Cause", _c.Cause)


class Simulation:
    """A run to be made: Simulation(fabric, seed=1, diagnose=True).run().

    diagnose: also with one thing made ideal at a time, with each what-if and with repairs. seeds: of a
    diagnosis. threads: 0 for one a core. max_time, rate_interval: picoseconds. progress(now, share) is
    called now and then, perhaps from another thread; if it returns a true value, or raises, the run ends.
    cancel() ends it from another thread. A run that was ended has a result, which says `stopped`.
    """

    def __init__(self, fabric, seed=1, diagnose=False, seeds=0, threads=0, max_time=0, rate_interval=0,
                 pcap=None, pcap_links=None, progress=None):
        self.fabric = fabric
        self._cancel = ctypes.c_int(0)
        self._raised = None
        self._progress = _c.PROGRESS(self._told) if progress else _c.PROGRESS()
        self._tell = progress
        self._options = _c.SimOptions(
            seed=seed, diagnose=1 if diagnose else 0, seeds=seeds, threads=threads, max_time=int(max_time),
            rate_interval=int(rate_interval), pcap=_c.text(pcap), pcap_links=_c.text(pcap_links),
            progress=self._progress, cancel=ctypes.pointer(self._cancel))

    def _told(self, _arg, now, share):
        try:
            return 1 if self._tell(now, share) else 0
        except BaseException as e:  # it cannot pass through C
            self._raised = e
            return 1

    def cancel(self):
        """Ends the run at its next step, from any thread."""
        self._cancel.value = 1

    def run(self):
        """Runs it; the lock of Python's interpreter is free meanwhile."""
        pointer = _c.make(_c.lib.ripstop_simulate, self.fabric._p, ctypes.byref(self._options))
        result = Result(pointer)
        if self._raised is not None:
            raise self._raised
        return result


def simulate(fabric, **options):
    """Simulation(fabric, **options).run()."""
    return Simulation(fabric, **options).run()


class Result:
    """What came out of a run. Times are picoseconds, NEVER where something did not end."""

    def __init__(self, pointer):
        self._p = pointer
        s = _c.Summary()
        _c.lib.ripstop_result_summary(pointer, ctypes.byref(s))
        self.complete = bool(s.complete)
        self.stopped = bool(s.stopped)
        self.sim_time = s.sim_time
        self.threads = s.threads
        self.seeds = s.seeds
        self.wall_s = s.wall_s
        self.cpu_s = s.cpu_s
        self._endpoints = s.endpoints

    def __del__(self):
        if getattr(self, "_p", None):
            _c.lib.ripstop_result_free(self._p)
            self._p = None

    @property
    def endpoints(self):
        """Names of endpoints by number: "h3", "h3/nic0"."""
        return [_c.words(_c.lib.ripstop_result_endpoint(self._p, i)) for i in range(self._endpoints)]

    def jobs(self, run=0):
        """A Job each; run: of a diagnosis' other runs. Job.end indexes ENDS."""
        return _rows(Job, _JOB, _c.Job, lambda *a: _c.lib.ripstop_result_jobs(self._p, run, *a))

    def flows(self, run=0):
        """A table with start, finish, delivered, bytes, src, dst, job: a structured NumPy array, or Columns."""
        return table(_c.FlowTime, lambda *a: _c.lib.ripstop_result_flows(self._p, run, *a))

    @property
    def rates(self):
        """Samples of flows' rates over time (rate_interval): a table with when, rate, flow."""
        return table(_c.Rate, lambda *a: _c.lib.ripstop_result_rates(self._p, *a))

    @property
    def sent(self):
        """Payload that each endpoint's NIC sent, once."""
        return numbers(lambda *a: _c.lib.ripstop_result_sent(self._p, *a))

    def counters(self, run=0):
        """A dict of counters."""
        c = _c.Counters()
        if _c.lib.ripstop_result_counters(self._p, run, ctypes.byref(c)) < 0:
            raise IndexError(f"there is no run {run}")
        return {n: getattr(c, n) for n, _ in c._fields_ if n != "size"}

    @property
    def drops(self):
        """Where packets were dropped and why, most first."""
        return _rows(Drop, _DROP, _c.Drop, lambda *a: _c.lib.ripstop_result_drops(self._p, *a))

    @property
    def pauses(self):
        """Who paused whom, longest first."""
        return _rows(Pause, _PAUSE, _c.Pause, lambda *a: _c.lib.ripstop_result_pauses(self._p, *a))

    @property
    def runs(self):
        """Run 0 is the fabric as described; others are of a diagnosis, with what each saves."""
        return _rows(Run, _RUN, _c.Run, lambda *a: _c.lib.ripstop_result_runs(self._p, *a))

    @property
    def causes(self):
        """What time is lost to, most first; evidence is a list of sentences."""
        rows = _rows(Cause, _CAUSE, _c.Cause, lambda *a: _c.lib.ripstop_result_causes(self._p, *a))
        return [c._replace(evidence=[_c.words(e) for e in c.evidence if e]) for c in rows]

    def json(self):
        """What `ripstop sim --json` writes."""
        return _c.take_text(_c.make(_c.lib.ripstop_result_json, self._p))

    def as_dict(self):
        return json_module.loads(self.json())

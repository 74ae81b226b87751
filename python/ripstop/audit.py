"""An audit: snapshots of hosts and switches in, findings out."""
import ctypes
from collections import namedtuple

from . import _c

VERDICTS = ("pass", "fail", "unknown", "not applicable")
SEVERITIES = ("info", "minor", "major", "critical")
CONFIDENCES = ("low", "medium", "high")
PRICES = ("none", "fast", "full")


def _rows(structure, fill):
    """All elements of an array as named tuples of plain values."""
    fields = [n for n, _ in structure._fields_ if n != "unused"]
    kind = namedtuple(structure.__name__, fields)
    size = ctypes.sizeof(structure)
    n = fill(0, 0, None, size)
    buffer = (structure * n)()
    if n:
        fill(0, n, buffer, size)
    out = []
    for row in buffer:
        values = (getattr(row, f) for f in fields)
        out.append(kind(*(_c.words(v) if isinstance(v, bytes) else v for v in values)))
    return out


class Finding:
    """What a rule found: id, rule, title, why, severity, verdict, places, evidence, fixes, needs, ...

    places: where (host, part). evidence: the facts that it rests on, with file and line. fixes: what to run, and
    how to undo it. cause: the number of the finding that explains it, or None.
    """

    def __init__(self, audit, number, row):
        self.number = number
        for name in ("id", "rule", "title", "why", "authority", "suppressed"):
            setattr(self, name, getattr(row, name))
        self.verdict = VERDICTS[row.verdict]
        self.severity = SEVERITIES[row.severity]
        self.confidence = CONFIDENCES[row.confidence]
        self.cause = row.cause if row.cause >= 0 else None
        self.price = None
        if row.price_unit:
            self.price = {"metric": row.price_metric, "unit": row.price_unit, "low": row.price_low,
                          "high": row.price_high, "as_is": row.price_as_is, "fixed": row.price_fixed}
        self.places = audit._of(number, _c.Place, _c.lib.ripstop_audit_places)
        self.evidence = audit._of(number, _c.Evidence, _c.lib.ripstop_audit_evidence)
        self.fixes = audit._of(number, _c.Fix, _c.lib.ripstop_audit_fixes)
        self.needs = audit._of(number, _c.Need, _c.lib.ripstop_audit_needs)

    def __repr__(self):
        return f"<{self.id} {self.rule}: {self.verdict}, {self.severity}: {self.title}>"


class Audit:
    """Audit("snapshot/", "host.tar.gz").run(): reads, runs, and returns itself.

    >>> for f in Audit("snapshot/").run().failed:
    ...     print(f.severity, f.title, f.fixes)
    """

    def __init__(self, *paths):
        self._p = _c.make(_c.lib.ripstop_audit_new)
        for p in paths:
            self.read(p)

    def __del__(self):
        if getattr(self, "_p", None):
            _c.lib.ripstop_audit_free(self._p)
            self._p = None

    def read(self, path, host=None):
        """A file, a folder or an archive. host: whose it is; None: found from the path."""
        _c.call(_c.lib.ripstop_audit_read, self._p, _c.text(str(path)), _c.text(host))
        return self

    def read_older(self, path):
        """An older snapshot, for counters that grew since."""
        _c.call(_c.lib.ripstop_audit_read_older, self._p, _c.text(str(path)))
        return self

    def read_text(self, host, path, text):
        """A text as if it were this file of the host: "lspci_vv.txt"."""
        _c.call(_c.lib.ripstop_audit_read_text, self._p, _c.text(host), _c.text(path), _c.text(text))
        return self

    def run(self, only=None, skip=None, price="none"):
        """Applies the rules, once. only, skip: ids or names of rules. price: one of PRICES."""
        lists = []
        for names in (only, skip):
            lists.append((ctypes.c_char_p * (len(names) + 1))(*[_c.text(n) for n in names], None) if names else None)
        o = _c.AuditOptions(price=PRICES.index(price))
        o.only, o.skip = (ctypes.cast(names, ctypes.POINTER(ctypes.c_char_p)) for names in lists)
        _c.call(_c.lib.ripstop_audit_run, self._p, ctypes.byref(o))
        return self

    def _of(self, number, structure, function):
        return _rows(structure, lambda *a: function(self._p, number, *a))

    @property
    def findings(self):
        """All, causes first, then by price, severity and id."""
        rows = _rows(_c.Finding, lambda *a: _c.lib.ripstop_audit_findings(self._p, *a))
        return [Finding(self, i, row) for i, row in enumerate(rows)]

    @property
    def failed(self):
        """Those that fail and are not suppressed."""
        return [f for f in self.findings if f.verdict == "fail" and not f.suppressed]

    @property
    def files(self):
        """What was read: host, path, reader ("": nothing recognised it), facts."""
        return _rows(_c.File, lambda *a: _c.lib.ripstop_audit_files(self._p, *a))

    def status(self, strict=False, allow_unknown=False):
        """What `ripstop audit` exits with: 0, 1, 3 or 4."""
        return _c.lib.ripstop_audit_status(self._p, int(strict), int(allow_unknown))

    def json(self):
        """What `ripstop audit --json` writes."""
        return _c.take_text(_c.make(_c.lib.ripstop_audit_json, self._p))

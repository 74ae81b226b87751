"""Columns of numbers: NumPy's structured arrays where NumPy is there, array.array else. Both are asked
alike: t["finish"] is a column, len(t) the number of rows, and t[3]["finish"] one value."""
import array
import ctypes
import os

try:
    if os.environ.get("RIPSTOP_NO_NUMPY"):  # for tests
        raise ImportError
    import numpy
except ImportError:
    numpy = None

_CODES = {ctypes.c_int64: ("q", "i8"), ctypes.c_uint64: ("Q", "u8"), ctypes.c_uint32: ("I", "u4"),
          ctypes.c_int32: ("i", "i4")}


class Columns:
    """A table without NumPy."""

    def __init__(self, columns):
        self._columns = columns

    @property
    def names(self):
        return tuple(self._columns)

    def __len__(self):
        return len(next(iter(self._columns.values())))

    def __getitem__(self, key):
        if isinstance(key, str):
            return self._columns[key]
        if isinstance(key, slice):
            return Columns({n: c[key] for n, c in self._columns.items()})
        return {n: c[key] for n, c in self._columns.items()}

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __repr__(self):
        return f"Columns({len(self)} rows of {', '.join(self.names)})"


def table(structure, fill):
    """All elements of one array of a result. fill(from, n, out, each) copies and returns how many there are."""
    size = ctypes.sizeof(structure)
    n = fill(0, 0, None, size)
    buffer = (structure * n)()
    if n:
        fill(0, n, buffer, size)
    fields = [(name, kind) for name, kind in structure._fields_ if name != "unused"]
    if numpy is not None:
        dtype = numpy.dtype({"names": [f for f, _ in fields], "formats": [_CODES[k][1] for _, k in fields],
                             "offsets": [getattr(structure, f).offset for f, _ in fields], "itemsize": size})
        return numpy.frombuffer(buffer, dtype=dtype) if n else numpy.zeros(0, dtype)
    return Columns({f: array.array(_CODES[k][0], (getattr(row, f) for row in buffer)) for f, k in fields})


def numbers(fill):
    """The same of plain uint64."""
    n = fill(0, 0, None)
    buffer = (ctypes.c_uint64 * n)()
    if n:
        fill(0, n, buffer)
    if numpy is not None:
        return numpy.frombuffer(buffer, dtype="u8") if n else numpy.zeros(0, "u8")
    return array.array("Q", buffer)

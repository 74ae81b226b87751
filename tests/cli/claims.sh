#!/bin/sh
# Some rows of docs/claims.md come out again, word for word; a verdict follows from figures.
set -eu
ripstop=$(realpath "$1")
cd "$(dirname "$0")/../.."
python3 - <<'END'
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, "tools")
from claimed.base import Figure, at_least, at_most, verdict_of
yes, no = Figure("a", [1, 1.1, 0.9], "", at_least(0.5)), Figure("b", [1, 1.1, 0.9], "", at_most(0.5))
edge = Figure("c", [1, 1.1, 0.9], "", at_most(1.05))
assert abs(yes.half - 4.303 * 0.1 / 3 ** 0.5) < 1e-9, yes.half
assert (yes.holds(), no.holds(), edge.holds()) == (True, False, None)
assert verdict_of([yes, Figure("shown", 1)]) == "holds" and verdict_of([no]) == "fails"
assert verdict_of([yes, no]) == "holds with conditions" and verdict_of([edge]).startswith("open")
import tables
page = "a\n<!-- table one -->\n<!-- end -->\nb\n<!-- table two -->\n| x |\n<!-- end -->\nc\n"
once = tables.put(page, "one", "| 1 |")  # an empty table must not reach to the end of the next
assert once == page.replace("one -->\n", "one -->\n| 1 |\n") and tables.put(once, "one", "| 1 |\n") == once
assert tables.put(once, "two", "| 2 |") == once.replace("| x |", "| 2 |")
for bad in (("three", "| 3 |", page), ("one", " ", page), ("one", "| 1 |", page.replace("<!-- end -->\nb", "b"))):
    try:
        tables.put(bad[2], *bad[:2])
    except ValueError:
        continue
    raise AssertionError(bad)
assert Figure("never", [1, float("inf")], "ms", at_most(5)).text() == "never never (at most 5: no)"
END
if [ -n "${RS_SMALL:-}" ]; then set -- C047 C057; else set -- C047 C057 C065 C071 C084 C144; fi
tools/claims --check --ripstop "$ripstop" "$@" >/dev/null
! tools/claims --ripstop "$ripstop" C999 2>/dev/null
[ "$(tools/claims --list | wc -l)" = "$(grep -c '^| C[0-9]' docs/claims.md)" ]

"""Tables that a tool writes into a page, between <!-- table NAME --> and <!-- end -->."""


def put(text, name, rows):
    """The page with these rows in the place of the table's old ones. ValueError: it has no such place, or there are no rows."""
    begin, end = f"<!-- table {name} -->\n", "<!-- end -->"
    if not rows.strip():
        raise ValueError(f"table {name}: nothing to write")
    if text.count(begin) != 1:
        raise ValueError(f"expected one line {begin.strip()}, found {text.count(begin)}")
    before, rest = text.split(begin)
    old, found, behind = rest.partition(end)
    if not found or "<!-- table " in old:
        raise ValueError(f"{begin.strip()}: expected {end} behind its rows")
    return before + begin + rows.strip("\n") + "\n" + end + behind


def write(path, name, rows):
    with open(path, encoding="utf-8") as f:
        old = f.read()
    try:
        new = put(old, name, rows)
    except ValueError as e:
        raise ValueError(f"{path}: {e}") from None
    if new != old:
        with open(path, "w", encoding="utf-8") as f:
            f.write(new)

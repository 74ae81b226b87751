#!/bin/sh
# symbols.sh ROOT LIBRARY: what the headers declare, what the version script names and what the library
# exports are one list, a man page names each, and the archive has no other global name.
set -eu
root=$1 so=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cat "$root"/include/ripstop/*.h | tr '\n' ' ' | grep -o 'RIPSTOP_API [^(]*(' |
	grep -o 'ripstop_[a-z0-9_]*(' | tr -d '(' | sort >"$tmp/headers"
grep -o 'ripstop_[a-z0-9_]*;' "$root/src/lib/libripstop.map" | tr -d ';' | sort >"$tmp/map"
nm -D --defined-only "$so" | sed -n 's/.* T \(ripstop_[a-z0-9_]*\)@@RIPSTOP_.*/\1/p' | sort >"$tmp/so"
[ -s "$tmp/headers" ] || { echo "no declaration was found in the headers" >&2; exit 1; }
diff "$tmp/headers" "$tmp/map" || { echo "< headers, > src/lib/libripstop.map" >&2; exit 1; }
diff "$tmp/map" "$tmp/so" || { echo "< src/lib/libripstop.map, > the library" >&2; exit 1; }
while read -r name; do
	grep -qw "$name" "$root"/docs/*.3 || { echo "no man page names $name" >&2; exit 1; }
done <"$tmp/headers"
others=$(nm -g --defined-only "$(dirname "$so")/libripstop.a" | grep ' [A-Z] ' | grep -v ' ripstop_' || :)
[ -z "$others" ] || { echo "the archive has other names, too: $others" >&2; exit 1; }
readelf -d "$so" | grep -q 'SONAME.*\[libripstop.so.0\]' || { echo "the SONAME is not libripstop.so.0" >&2; exit 1; }

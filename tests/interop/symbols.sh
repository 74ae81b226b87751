#!/bin/sh
# The drop-in libraries export every public symbol of Debian 12's, with its version: from the list in
# ../shared where it lies, else from the installed libraries themselves.
set -eu
ripstop=$1
. "$(dirname "$0")/lib.sh"
need readelf
list=$(dirname "$0")/../../../shared/data/verbs/symbols.txt

# name@version or name@@version of what a library defines; not the symbols that only carry a version
defined() {
	readelf -W --dyn-syms "$1" | awk '$7 != "UND" && $7 != "ABS" && $8 ~ /@/ { print $8 }' | sort
}

libdir=$("$ripstop" libdir)
for lib in libibverbs.so.1 librdmacm.so.1; do
	if [ -e "$list" ]; then
		awk -v lib=$lib '$1 == lib { print $2 }' "$list" | sort >"$tmp/want"
	else
		real=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p | awk -v lib=$lib '$1 == lib { print $NF; exit }')
		[ -n "$real" ] || skip "neither the list of symbols nor Debian's $lib is here"
		defined "$real" | sort >"$tmp/want"
	fi
	[ "$(wc -l <"$tmp/want")" -ge 68 ]
	defined "$libdir/$lib" >"$tmp/have"
	comm -23 "$tmp/want" "$tmp/have" >"$tmp/missing"
	if [ -s "$tmp/missing" ]; then
		echo "FAILED: $lib lacks"
		cat "$tmp/missing"
		exit 1
	fi
	echo "passed: $lib has $(wc -l <"$tmp/want") symbols"
done

#!/bin/sh
# The drop-in libraries export every public symbol of Debian 12's, and those that rdma-core 65 has beyond, each with its
# version: those of tests/data/verbs/symbols.txt. What plug-ins are given (IBVERBS_PRIVATE_n) is there in each later set, too.
set -eu
ripstop=$1
. "$(dirname "$0")/lib.sh"
need readelf
list=$(dirname "$0")/../data/verbs/symbols.txt

# name@version or name@@version of what a library defines; not the symbols that only carry a version
defined() {
	readelf -W --dyn-syms "$1" | awk '$7 != "UND" && $7 != "ABS" && $8 ~ /@/ { print $8 }' | sort
}

# The default version of a name for plug-ins is the newest's: whether it is one does not count.
sets="34 57 59 64 65"
later() {
	awk -v sets="$sets" '
		!/@IBVERBS_PRIVATE_/ { print; next }
		{
			name = set = $1
			sub(/@.*/, "", name)
			sub(/.*_/, "", set)
			n = split(sets, of, " ")
			for (i = 1; i <= n; i++)
				if (of[i] == set || of[i] > set && name !~ /^verbs_register_driver_/)
					print name "@IBVERBS_PRIVATE_" of[i]
		}'
}

libdir=$("$ripstop" libdir)
for lib in libibverbs.so.1 librdmacm.so.1; do
	awk -v lib=$lib '$1 == lib { print $2 }' "$list" | later | sort >"$tmp/want"
	[ "$(wc -l <"$tmp/want")" -ge 68 ]
	defined "$libdir/$lib" | sed 's/@@\(IBVERBS_PRIVATE_\)/@\1/' | sort >"$tmp/have"
	comm -23 "$tmp/want" "$tmp/have" >"$tmp/missing"
	if [ -s "$tmp/missing" ]; then
		echo "FAILED: $lib lacks"
		cat "$tmp/missing"
		exit 1
	fi
	echo "passed: $lib has $(wc -l <"$tmp/want") symbols"
done

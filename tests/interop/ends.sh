#!/bin/sh
# What ends a connection, and what must not: memory that is registered and cannot be touched, a process that calls _exit()
# behind its completion, rnr_retry 0. Over shared memory, and over the wire. A second argument is the option by which
# the libraries were built with a sanitizer.
set -eu
ripstop=$1
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
need cc
echo '#include <infiniband/verbs.h>' | cc -E - >/dev/null 2>&1 || skip "libibverbs-dev is not installed"
cc -O1 -Wall ${2-} -o "$tmp/ends" "$here/ends.c" -libverbs
for how in RIPSTOP_SHM=on RIPSTOP_SHM=off "RIPSTOP_SHM=off RIPSTOP_RECOVERY=selective"; do
	for test in credits memory exit exit exit exit exit; do
		env $how timeout 70 "$ripstop" exec --dev d=lo -- "$tmp/ends" $test >"$tmp/out" 2>&1 || {
			echo "FAILED: $test, $how: status $?: $(cat "$tmp/out")"
			exit 1
		}
	done
	echo "passed: $how"
done

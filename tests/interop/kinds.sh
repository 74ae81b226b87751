#!/bin/sh
# Verbs programs of the kinds that people write (kinds.c), each with the answers that hardware gives: over shared memory, over the
# wire, with selective recovery, and on a device of several sockets.
set -eu
ripstop=$1
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
need cc
echo '#include <infiniband/verbs.h>' | cc -E - >/dev/null 2>&1 || skip "libibverbs-dev is not installed"
cc -O1 -Wall ${2-} -o "$tmp/kinds" "$here/kinds.c" -libverbs -lpthread
for how in RIPSTOP_SHM=on RIPSTOP_SHM=off "RIPSTOP_SHM=off RIPSTOP_RECOVERY=selective" "RIPSTOP_SHM=on RIPSTOP_SOCKETS=3" \
	"RIPSTOP_SHM=off RIPSTOP_SOCKETS=3"; do
	env $how timeout 300 "$ripstop" exec --no-view --dev d=lo -- "$tmp/kinds" >"$tmp/out" 2>&1 || {
		echo "FAILED: $how: $(cat "$tmp/out")"
		exit 1
	}
	echo "passed: $how"
done

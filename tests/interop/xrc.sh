#!/bin/sh
# XRC target queue pairs with several handles (ibv_open_qp). A second argument is the option by which the
# libraries were built with a sanitizer.
set -eu
ripstop=$1
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
need cc
echo '#include <infiniband/verbs.h>' | cc -E - >/dev/null 2>&1 || skip "libibverbs-dev is not installed"

cc -O1 -Wall ${2-} -o "$tmp/xrc" "$here/xrc.c" -libverbs
timeout 60 "$ripstop" exec --dev d=lo -- "$tmp/xrc" >"$tmp/out" 2>&1 || {
	echo "FAILED: status $?: $(cat "$tmp/out")"
	exit 1
}
echo "passed: ibv_open_qp"

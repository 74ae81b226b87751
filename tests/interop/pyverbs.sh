#!/bin/sh
# rdma-core's own tests in Python, on the loopback: every one that this list names passes.
set -eu
ripstop=$1
. "$(dirname "$0")/lib.sh"
list=$(cd "$(dirname "$0")" && pwd)/pyverbs.txt
suite=/usr/share/doc/rdma-core/tests
[ -d $suite ] && /usr/bin/python3 -c 'import pyverbs.device' 2>/dev/null ||
	skip "python3-pyverbs with its tests is not installed"
cp -r $suite "$tmp/tests"
gunzip -qf "$tmp"/tests/*.gz
cd "$tmp/tests"
status=0
"$ripstop" exec --dev rs_test=${RS_INTERFACE:-lo} -- timeout 300 \
	/usr/bin/python3 run_tests.py -v --dev rs_test $(grep -v '^#' "$list") \
	>"$tmp/out" 2>&1 || status=$?
wanted=$(grep -vc '^#' "$list")
grep -E '^(ERROR|FAIL):| skipped ' "$tmp/out" || :
echo "of $wanted: $(tail -n 3 "$tmp/out" | tr '\n' ' ')"
# all of them, none skipped
[ $status = 0 ] && grep -q "^Ran $wanted tests" "$tmp/out" && [ "$(tail -n 1 "$tmp/out")" = OK ]

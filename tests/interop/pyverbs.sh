#!/bin/sh
# rdma-core's own tests in Python, on the loopback: every one that pyverbs.txt names passes, and the
# rest of the suite skips itself (one passes), because the device says that it lacks what they test.
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

without=
[ -e "$("$ripstop" libdir)/librdmacm.so.1" ] || without="$without rdmacm"
pages=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
[ "$(cat $pages 2>/dev/null || echo 0)" -ge 8 ] || without="$without hugepages"
for w in $without; do
	echo "without $w: $(grep -c " $w\$" "$list") tests are left out"
done
wanted=$(awk -v without="$without" '
	BEGIN { split(without, w); for (i in w) no[w[i]] = 1 }
	!/^#/ && !($2 in no) { print $1 }' "$list")

# run OUTPUT TESTS...
run() {
	out=$1
	shift
	"$ripstop" exec --dev rs_test=${RS_INTERFACE:-lo} -- timeout 300 \
		/usr/bin/python3 run_tests.py -v --dev rs_test "$@" >"$out" 2>&1
}

status=0
run "$tmp/wanted" $wanted || status=$?
n=$(echo "$wanted" | wc -l)
grep -E '^(ERROR|FAIL):| skipped ' "$tmp/wanted" || :
echo "of $n: $(tail -n 3 "$tmp/wanted" | tr '\n' ' ')"
# all of them, none skipped
[ $status = 0 ] && grep -q "^Ran $n tests" "$tmp/wanted" && [ "$(tail -n 1 "$tmp/wanted")" = OK ] || {
	grep -A 30 -E '^(ERROR|FAIL):' "$tmp/wanted" | head -n 60
	exit 1
}

rest=$(/usr/bin/python3 run_tests.py --list-tests 2>/dev/null | sed -n 's/^tests\.//p' |
	awk 'NR == FNR { named[$1] = 1; next } !($1 in named)' "$list" -)
n=$(echo "$rest" | wc -l)
run "$tmp/rest" $rest || {
	cat "$tmp/rest"
	exit 1
}
skipped=$(sed -n 's/^OK (skipped=\([0-9]*\))$/\1/p' "$tmp/rest")
grep '\.\.\. ok$' "$tmp/rest" || : # what the device has without being asked for
[ "$n" -gt 100 ] && [ "$skipped" -ge $((n - 1)) ] || {
	echo "FAILED: of $n tests of what the device lacks, $skipped were skipped"
	exit 1
}
echo "out of scope: $n, of which the suite skips $skipped"

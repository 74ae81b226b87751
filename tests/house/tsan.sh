#!/bin/sh
# ThreadSanitizer over what runs on threads: one run in parts, many runs side by side, and the tests
# of the rooms that have threads. Not part of make check: it is a build of its own and takes minutes.
# usage: tests/house/tsan.sh [BUILD-DIRECTORY]
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build/tsan}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DRS_SANITIZE=thread >"$tmp/log" ||
	{ cat "$tmp/log"; exit 1; }
cmake --build "$build" >"$tmp/log" || { cat "$tmp/log"; exit 1; }
ripstop=$build/bin/ripstop
export TSAN_OPTIONS="exitcode=66 halt_on_error=0"
failed=0

# clean NAME COMMAND...: ends with status 0 and without a report.
clean() {
	name=$1
	shift
	"$@" >"$tmp/out" 2>"$tmp/err" && ! grep -q 'WARNING: ThreadSanitizer' "$tmp/err" && {
		echo "$name: clean"
		return
	}
	head -n 60 "$tmp/err"
	echo "$name: FAILED"
	failed=1
}

cat >"$tmp/small.yaml" <<'YAML'
fabric: {network: {kind: fat-tree, k: 8, rate: 100G, mtu: 1024}, cc: {kind: dcqcn}}
workload: [{collective: {op: all-reduce, bytes: 256KiB}}, {collective: {op: all-to-all, bytes: 256KiB}}]
what-if:
  - {name: no congestion control, set: {fabric.cc: {kind: none}}}
  - {name: spray, set: {fabric.qos.routing: spray}}
YAML
for threads in 2 3 4; do
	clean "one run in $threads parts" "$ripstop" sim --no-diagnosis --threads $threads \
		--json "$tmp/$threads.json" "$tmp/small.yaml"
	grep -q "\"threads\": $threads" "$tmp/$threads.json" || {
		echo "the run was not in $threads parts"
		failed=1
	}
done
clean "runs side by side" "$ripstop" sim --threads 4 "$tmp/small.yaml"
clean "the incident, what-ifs side by side" "$ripstop" sim --threads 4 \
	--set fabric.network.rate=100G scenarios/one-nic.yaml
clean "every unit and property test" ctest --test-dir "$build" -E '^(cli|house|fuzz|interop)_' -j2 \
	--output-on-failure
exit $failed

#!/bin/sh
# One run in parts and many runs side by side, by a program that is built with ThreadSanitizer.
# usage: threads.sh RIPSTOP
set -u
ripstop=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export TSAN_OPTIONS="exitcode=66 halt_on_error=0"
failed=0

# clean NAME ARGS...: ends with status 0 and without a report.
clean() {
	name=$1
	shift
	"$ripstop" "$@" >"$tmp/out" 2>"$tmp/err" && ! grep -q 'WARNING: ThreadSanitizer' "$tmp/err" && {
		echo "$name: clean"
		return
	}
	head -n 60 "$tmp/err"
	echo "$name: FAILED"
	failed=1
}

cat >"$tmp/small.yaml" <<'YAML'
fabric: {network: {kind: fat-tree, k: 4, rate: 100G, mtu: 1024}, cc: {kind: dcqcn}}
workload: [{collective: {op: all-reduce, bytes: 256KiB}}, {collective: {op: all-to-all, bytes: 256KiB}}]
what-if:
  - {name: no congestion control, set: {fabric.cc: {kind: none}}}
  - {name: spray, set: {fabric.qos.routing: spray}}
YAML
for threads in 2 3; do
	clean "one run in $threads parts" sim --no-diagnosis --threads $threads --json "$tmp/$threads.json" \
		--set fabric.network.k=8 --set 'workload[1].collective.bytes=16KiB' "$tmp/small.yaml"
	grep -q "\"threads\": $threads" "$tmp/$threads.json" || {
		echo "the run was not in $threads parts"
		failed=1
	}
done
clean "runs side by side" sim --threads 3 --set 'workload[0].collective.bytes=32KiB' \
	--set 'workload[1].collective.bytes=32KiB' "$tmp/small.yaml"
exit $failed

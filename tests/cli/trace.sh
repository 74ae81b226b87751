#!/bin/sh
# A step's timings are a trace that takes as long again; traces by option; what is refused.
set -eu
ripstop=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
time_of() { sed -n 's/^ *"time_ns": \([0-9]*\).*/\1/p' "$1" | head -1; }
cat >"$tmp/step.yaml" <<'END'
fabric: {network: {kind: leaf-spine, leaves: 2, spines: 2, hosts: 8, rate: 100G}}
workload:
  - train: {layers: 4, hidden: 256, heads: 8, ffn: 512, sequence: 256, microbatches: 4, pp: 2, zero: 1,
      experts: 4, top_k: 2, expert_ffn: 128, ep: 2, dense_layers: 1, skew: 1.5, flops: 5e12}
END
"$ripstop" sim --quiet --no-diagnosis --json "$tmp/a" --timings "$tmp/t.%d.et" "$tmp/step.yaml"
[ "$(ls "$tmp"/t.*.et | wc -l)" = 8 ]
"$ripstop" sim --quiet --no-diagnosis --json "$tmp/b" --set 'workload=[]' --trace "$tmp/t.%d.et" "$tmp/step.yaml"
a=$(time_of "$tmp/a")
b=$(time_of "$tmp/b")
[ "$a" -gt 1000 ]
# messages of two purposes have a connection each in the step, one in the trace
[ $((b * 100)) -gt $((a * 97)) ] && [ $((b * 100)) -lt $((a * 103)) ]
cat >"$tmp/a.goal" <<'END'
num_ranks 2
rank 0 {
a: calc 5000
b: send 100000b to 1 tag 3
b requires a
}
rank 1 {
recv 100000b from 0 tag 3
}
END
(cd "$tmp" && "$ripstop" sim --quiet --no-diagnosis --json c --set 'workload=[]' --trace a.goal step.yaml)
c=$(time_of "$tmp/c")
[ "$c" -gt 13000 ] && [ "$c" -lt 20000 ]
refuses() {
	says=$1
	shift
	status=0
	"$ripstop" sim --quiet --no-diagnosis "$@" 2>"$tmp/e" || status=$?
	[ $status = 2 ] && grep -q "$says" "$tmp/e" || { cat "$tmp/e"; exit 1; }
}
refuses 'takes a name with %d' --timings x "$tmp/step.yaml"
refuses 'there is no file' --trace "$tmp/none.%d.et" "$tmp/step.yaml"
refuses "cannot read" --trace "$tmp/none.et" "$tmp/step.yaml"
refuses 'has all ranks of its trace' --trace "$tmp/a.goal" --trace "$tmp/a.goal" "$tmp/step.yaml"

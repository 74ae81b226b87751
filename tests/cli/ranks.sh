#!/bin/sh
# A run shared by 2 and by 4 processes under Open MPI gives the bits of a run in one.
set -eu
ripstop=$1
command -v mpirun >/dev/null 2>&1 || {
	echo "skipped: no mpirun (openmpi-bin)"
	exit 77
}
[ -e "$(dirname "$ripstop")/../lib/ripstop/ripstop-mpi.so" ] || {
	echo "skipped: built without Open MPI (libopenmpi-dev)"
	exit 77
}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
# Open MPI leaves memory behind at its end: its leaks are not ours to find
export ASAN_OPTIONS=detect_leaks=0
# threads, time and memory
without_engine() {
	sed -e '/^  "engine": {/,/^  }/d' "$1"
}
# same NAME ARGS...: of a run that ends with $ends
ends=0
same() {
	name=$1
	shift
	status=0
	"$ripstop" sim --quiet --json "$tmp/1" "$@" || status=$?
	without_engine "$tmp/1" >"$tmp/one"
	[ "$status" = "$ends" ]
	for n in $ranks; do
		status=0
		mpirun --mca btl self,vader -n $n "$ripstop" sim --quiet --json "$tmp/n" "$@" 2>"$tmp/err" || status=$?
		[ "$status" = "$ends" ] || cat "$tmp/err"
		without_engine "$tmp/n" >"$tmp/many"
		cmp "$tmp/one" "$tmp/many" || {
			echo "$name: $n processes differ from one"
			exit 1
		}
	done
}
# what is observed, in whole files: same_files NAME SCENARIO
same_files() {
	"$ripstop" sim --quiet --no-diagnosis --series-csv "$tmp/1.csv" --perfetto "$tmp/1.trace" \
		--json "$tmp/1" "$2"
	without_engine "$tmp/1" >"$tmp/one"
	grep -q '"series": {' "$tmp/one"
	for n in $ranks; do
		mpirun --mca btl self,vader -n $n "$ripstop" sim --quiet --no-diagnosis \
			--series-csv "$tmp/n.csv" --perfetto "$tmp/n.trace" --json "$tmp/n" \
			--html "$tmp/n.html" "$2"
		without_engine "$tmp/n" >"$tmp/many"
		for file in .csv .trace; do
			cmp "$tmp/1$file" "$tmp/n$file"
		done
		cmp "$tmp/one" "$tmp/many"
		[ "$(wc -c <"$tmp/n.html")" -gt 100000 ]
	done || {
		echo "$1: what $n processes observe differs from one"
		exit 1
	}
}
# losses, pauses, marks, bins that are halved, all packets of a switch; a collective inside hosts
cat >"$tmp/observed.yaml" <<'EOF'
fabric: {cc: {kind: dcqcn}, qos: {buffer: 1MiB, switch_latency: 300ns}, network: {kind: leaf-spine, leaves: 3,
  spines: 2, hosts_per_leaf: 3, rate: 100G, loss: 0.0005}}
observe: {interval: 1us, exact: [leaf1]}
workload: [{flows: [{src: h0, dst: h5, bytes: 1MB}, {src: h1, dst: h5, bytes: 1MB}, {src: h2, dst: h8, bytes: 300kB},
  {src: h6, dst: h5, bytes: 600kB, start: 20us}, {src: h7, dst: h1, bytes: 200kB}]}]
EOF
# an end that goes down: queue pairs give up, and their packets were lost there; pauses beside it
cat >"$tmp/failed.yaml" <<'EOF'
fabric: {cc: {kind: none}, qos: {buffer: 1MiB, ecn: false}, transport: {timeout: 5, retry: 1}, network: {kind: leaf-spine,
  leaves: 3, spines: 2, hosts_per_leaf: 3, rate: 100G}, events: [{at: 10us, link: [h8, leaf2], down: true}]}
workload: [{flows: [{src: h0, dst: h8, bytes: 1MB}, {src: h4, dst: h8, bytes: 1MB}, {src: h1, dst: h5, bytes: 1MB},
  {src: h2, dst: h5, bytes: 1MB}, {src: h6, dst: h5, bytes: 600kB}]}]
EOF
# each flow goes two further round a ring of switches: PFC stands still
cat >"$tmp/circle.yaml" <<'EOF'
fabric: {cc: {kind: none}, qos: {ecn: false, buffer: 2MB}, network: {kind: explicit, rate: 100G, delay: 500ns,
  hosts: [a, b, c, d, e, f], switches: [s0, s1, s2], links: [{a: s0, b: s1}, {a: s1, b: s2}, {a: s2, b: s0},
    {a: a, b: s0}, {a: b, b: s0}, {a: c, b: s1}, {a: d, b: s1}, {a: e, b: s2}, {a: f, b: s2}]}}
workload: [{flows: [{src: a, dst: e, bytes: 3MB, path: [a, s0, s1, s2, e]}, {src: b, dst: f, bytes: 3MB, path: [b, s0, s1, s2, f]},
  {src: c, dst: a, bytes: 3MB, path: [c, s1, s2, s0, a]}, {src: d, dst: b, bytes: 3MB, path: [d, s1, s2, s0, b]},
  {src: e, dst: c, bytes: 3MB, path: [e, s2, s0, s1, c]}, {src: f, dst: d, bytes: 3MB, path: [f, s2, s0, s1, d]}]}]
EOF
not_ended() {
	ends=1
	same failed --no-diagnosis "$tmp/failed.yaml"
	grep -q '"failures": \[$' "$tmp/1"
	grep -q '"pauses": \[$' "$tmp/1"
	same circle --no-diagnosis "$tmp/circle.yaml"
	grep -q '"end": "deadlock"' "$tmp/1"
	ends=0
}
ranks='2 4'
if [ -n "${RS_SMALL:-}" ]; then
	ranks=2
	same flows --no-diagnosis scenarios/incast.yaml
	same_files observed "$tmp/observed.yaml"
	not_ended
	exit 0
fi
same flows --no-diagnosis bench/perm128.yaml
same what-ifs scenarios/incast.yaml
same collective --no-diagnosis scenarios/one-nic.yaml
same_files observed "$tmp/observed.yaml"
ranks=3
not_ended
same_files inside scenarios/one-nic.yaml
ranks='2 4'
# what was lost is told to processes that neither lost it nor sent it
cat >"$tmp/spray.yaml" <<'EOF'
fabric: {cc: {kind: none}, qos: {routing: spray}, network: {kind: leaf-spine, leaves: 4, spines: 4,
  hosts_per_leaf: 4, rate: 100G, loss: 0.002}}
workload: [{flows: [{src: h0, dst: h5, bytes: 1MB}, {src: h1, dst: h9, bytes: 1MB},
  {src: h2, dst: h13, bytes: 1MB}, {src: h6, dst: h1, bytes: 1MB}, {src: h11, dst: h2, bytes: 1MB}]}]
EOF
same spray --no-diagnosis "$tmp/spray.yaml"
grep -q '"reordered": [1-9]' "$tmp/1"
# bad input: one message, status 2
status=0
mpirun -n 2 "$ripstop" sim --quiet no-such-file.yaml 2>"$tmp/err" || status=$?
[ "$status" = 2 ]
[ "$(grep -c 'no-such-file.yaml' "$tmp/err")" = 1 ]

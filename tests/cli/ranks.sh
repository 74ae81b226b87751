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
# nor the places that a run in one process alone tells
without_engine() {
	sed -e '/^  "engine": {/,/^  }/d' \
		-e '/^ *"\(drops\|pauses\|failures\)": \[$/,/^ *\],$/d' \
		-e '/^ *"\(drops\|pauses\|failures\)": \[\],$/d' "$1"
}
same() {
	name=$1
	shift
	"$ripstop" sim --quiet --json "$tmp/1" "$@"
	without_engine "$tmp/1" >"$tmp/one"
	grep -q '"complete": true' "$tmp/one"
	for n in $ranks; do
		mpirun --mca btl self,vader -n $n "$ripstop" sim --quiet --json "$tmp/n" "$@"
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
ranks='2 4'
if [ -n "${RS_SMALL:-}" ]; then
	ranks=2
	same flows --no-diagnosis scenarios/incast.yaml
	same_files observed "$tmp/observed.yaml"
	exit 0
fi
same flows --no-diagnosis bench/perm128.yaml
same what-ifs scenarios/incast.yaml
same collective --no-diagnosis scenarios/one-nic.yaml
same_files observed "$tmp/observed.yaml"
ranks=3
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

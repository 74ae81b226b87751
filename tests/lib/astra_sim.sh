#!/bin/sh
# astra_sim.sh ROOT BUILD CMAKE LIBRARY: ASTRA-sim's own examples over Ripstop, beside its analytical backend.
# RIPSTOP_ASTRA_SIM names ASTRA-sim's source with its submodules; RIPSTOP_ASTRA_SIM_CMAKE has more words for
# cmake (where protobuf lies). What is built is kept in BUILD/astra-sim.
set -eu
root=$1 build=$2/astra-sim cmake=$3 library=$4
if [ -z "${RIPSTOP_ASTRA_SIM:-}" ]; then
	echo "skipped: RIPSTOP_ASTRA_SIM names no source of ASTRA-sim. This would have built adapters/astra-sim with"
	echo "it, run 15 of its examples, and compared times, messages and bytes with its analytical backend's."
	exit 77
fi
examples=$RIPSTOP_ASTRA_SIM/examples
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
die() {
	echo "lib_astra_sim: $*" >&2
	exit 1
}
# shellcheck disable=SC2086 # words are wanted
"$cmake" -S "$root/adapters/astra-sim" -B "$build" -DASTRA_SIM="$RIPSTOP_ASTRA_SIM" -DRIPSTOP_INCLUDE="$root/include" \
	-DRIPSTOP_LIBRARY="$library" ${RIPSTOP_ASTRA_SIM_CMAKE:-} >"$tmp/build.out" 2>&1 || { tail -n 20 "$tmp/build.out"; die configure; }
"$cmake" --build "$build" --target astra-ripstop AstraSim_Analytical_Congestion_Aware >"$tmp/build.out" 2>&1 ||
	{ tail -n 20 "$tmp/build.out"; die build; }
ours=$build/bin/astra-ripstop
theirs=$(find "$build" -type f -name AstraSim_Analytical_Congestion_Aware -perm -u+x | head -n 1)

# last FILE: the cycle in which the last NPU is done; all n must be
last() {
	sed -n 's/.*finished, \([0-9]*\) cycles.*/\1/p' "$1" | sort -n | awk -v n="$2" \
		'{ v = $1 } END { if (NR != n) exit 1; print v }' || die "not all of $2 NPUs are done: $(tail -n 3 "$1")"
}

# fabric NPUS GB/s NS: one switch that costs as much as the analytical link does; its gigabytes are 2^30 bytes
fabric() {
	rate=$(awk "BEGIN { printf \"%.7f\", $2 * 8 * 1.073741824 }")
	echo "fabric: {network: {kind: single-switch, hosts: $1, rate: ${rate}G, delay: ${3}ns}, qos: {switch_latency: 0ns}}"
}

printf '%-16s %5s %12s %12s %7s\n' example NPUs analytical Ripstop ratio
# example NAME NPUS SYSTEM NETWORK LOW HIGH: fabric.yaml is ours
example() {
	name=$1 n=$2 low=$5 high=$6
	set -- --workload-configuration="$examples/workload/microbenchmarks/$1/$2npus_1MB/$1" \
		--system-configuration="$examples/system/native_collectives/$3.json" \
		--remote-memory-configuration="$examples/remote_memory/analytical/no_memory_expansion.json" \
		"$examples/network/analytical/$4.yml"
	network=$4
	[ -f "$network" ] || die "$network is not there: another version's examples?"
	(cd "$tmp" && "$theirs" "$1" "$2" "$3" --network-configuration="$network") >"$tmp/theirs" 2>&1 || die "$(tail -n 3 "$tmp/theirs")"
	for i in 1 2; do
		(cd "$tmp" && "$ours" "$1" "$2" "$3" --network-configuration=fabric.yaml) >"$tmp/ours$i" 2>&1 || die "$(tail -n 3 "$tmp/ours$i")"
	done
	a=$(last "$tmp/theirs" "$n")
	r=$(last "$tmp/ours1" "$n")
	[ "$r" = "$(last "$tmp/ours2" "$n")" ] || die "$name: two runs differ"
	printf '%-16s %5d %12d %12d %7.3f\n' "$name" "$n" "$a" "$r" "$(awk "BEGIN { print $r / $a }")"
	awk "BEGIN { exit !($r / $a > $low && $r / $a < $high) }" || die "$name, $n NPUs: $r of $a is not within $low and $high"
	bytes=$(sed -n 's/^ripstop: .* messages, \([0-9]*\) bytes/\1/p' "$tmp/ours1")
	case $name in # of the ring algorithm, 2^20 bytes a rank
	all_gather) want=$((n * (n - 1) << 20)) ;;
	reduce_scatter) want=$((n - 1 << 20)) ;;
	all_reduce) want=$((2 * (n - 1) << 20)) ;;
	*) want=$bytes ;;
	esac
	[ "$bytes" = "$want" ] || die "$name, $n NPUs: $bytes bytes were sent, not $want"
}

for n in 4 8 16; do
	fabric $n 50 250 >"$tmp/fabric.yaml"
	for c in all_gather all_reduce reduce_scatter all_to_all; do
		example $c $n Ring_4chunks Ring_${n}npus 0.99 1.12
	done
done
fabric 8 400 936.25 >"$tmp/fabric.yaml"
for c in all_gather all_reduce reduce_scatter; do
	example $c 8 HGX-H100-validated HGX-H100-validated 0.95 1.02
done

# What is wrong is said, and the status is 2.
if "$ours" >"$tmp/out" 2>&1; then die "no options are no error"; fi
grep -q -- '--workload-configuration is needed' "$tmp/out" || die "$(cat "$tmp/out")"
echo '{"logical-dims": ["8", "3"]}' >"$tmp/dims"
if "$ours" --workload-configuration=x --system-configuration=x --remote-memory-configuration=x \
	--network-configuration="$tmp/fabric.yaml" --logical-topology-configuration="$tmp/dims" >"$tmp/out" 2>&1; then
	die "24 NPUs on 8 endpoints are no error"
fi
grep -q "product is 1 to 8, the fabric's endpoints" "$tmp/out" || die "$(cat "$tmp/out")"

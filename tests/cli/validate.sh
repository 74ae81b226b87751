#!/bin/sh
# tools/validate passes ns-3's answers, fails falsified ones with status 1, refuses rubbish with 2.
set -u
ripstop=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0
command -v python3 >/dev/null 2>&1 || {
	echo "python3 is not installed"
	exit 77
}

# expect STATUS WORDS CASE...: validate ends so, and says so.
expect() {
	status=$1 words=$2
	shift 2
	tools/validate --ripstop "$ripstop" --jobs 2 --seeds 6 "$@" >"$tmp/out" 2>&1
	got=$?
	if [ $got != "$status" ] || ! grep -q -- "$words" "$tmp/out"; then
		echo "expected status $status and '$words', got $got:"
		cat "$tmp/out"
		failed=1
	fi
}

# Seven variants of the three smallest cases; all of them take minutes.
fresh() {
	rm -rf "$tmp/t"
	mkdir "$tmp/t"
	cp -r tests/data/sim-truth/single tests/data/sim-truth/incast8 tests/data/sim-truth/incast16 "$tmp/t"
	rm "$tmp/t"/*/fct-*
	for f in single/fct-dcqcn single/fct-dcqcn-exact single/fct-hpcc incast8/fct-dcqcn-exact \
		incast8/fct-hpcc incast16/fct-nocc incast16/fct-nocc-pfc; do
		cp tests/data/sim-truth/$f.csv "$tmp/t/$f.csv"
	done
}

fresh
expect 0 '7 variants, 7 judged, 0 failed' "$tmp/t"

# two nanoseconds, told alike by both files that say it
sed -i 's/87091/87089/g' "$tmp/t/single/fct-dcqcn.csv" "$tmp/t/single/counters.csv"
expect 1 'FAILED: each flow to 1 ns: 2 ns off' "$tmp/t/single"

fresh
sed -i 's/^\(nocc-pfc.*\),412,412$/\1,500,500/' "$tmp/t/incast16/counters.csv"
expect 1 'FAILED: pauses 41' "$tmp/t/incast16"

# every flow of every seed four per cent slower
fresh
for f in seeds fct-dcqcn-exact; do
	awk -F, -v OFS=, -v c="$([ $f = seeds ] && echo 4 || echo 6)" \
		'NR > 1 { $c = int($c * 1.04) } 1' "$tmp/t/incast8/$f.csv" >"$tmp/new"
	mv "$tmp/new" "$tmp/t/incast8/$f.csv"
done
rm "$tmp/t/incast8/counters.csv"
expect 1 'FAILED: last finish' "$tmp/t/incast8"

# one flow of one file: the answers contradict each other
fresh
sed -i 's/^\(0,0,16,1000000,0,\)[0-9]*/\11290846/' "$tmp/t/incast16/fct-nocc.csv"
expect 1 'FAILED: each flow' "$tmp/t/incast16"
fresh
sed -i 's/^3,.*/3,3,8,1000000,0,1100000,88040/' "$tmp/t/incast8/fct-dcqcn-exact.csv"
expect 1 'none of the runs of seeds.csv' "$tmp/t/incast8"

# a variant that is only shown, but three times as slow as can be
fresh
mkdir "$tmp/t/a b: #c"
(cd "$tmp/t/incast8" && cp incast8.topo incast8.flows paths.csv "../a b: #c" &&
	awk -F, -v OFS=, 'NR > 1 { $6 = $6 * 3 } 1' fct-dcqcn-exact.csv >"../a b: #c/fct-dcqcn.csv")
expect 1 "another's altogether" "$tmp/t/a b: #c"

fresh
sed -i 's/^flow 0 .*/flow 0 zero 1 1000000 0/' "$tmp/t/single/single.flows"
expect 2 "single.flows:2: expected a number, found 'zero'" "$tmp/t/single"
expect 2 'no such folder' "$tmp/nowhere"
mkdir "$tmp/empty"
expect 2 'neither a case' "$tmp/empty"
exit $failed

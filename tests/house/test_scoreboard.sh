#!/bin/sh
# A part of the points of tests/data/scoreboard is predicted no worse than its bounds say; worse
# predictions and bad files are noticed.
# usage: test_scoreboard.sh ROOT PROGRAM
set -eu
board=$1/tools/scoreboard
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

"$board" --program "$2" --check

# the same with bounds that nothing can meet, and with a point that nothing can predict
cp -r "$1/tests/data/scoreboard/." "$copy"
rm "$copy"/[b-z]*.csv "$copy"/[b-z]*.yaml
sed -n 1,2p "$1/tests/data/scoreboard/bounds.csv" | sed '2s/,.*/,0,0,0/' >"$copy/bounds.csv"
if "$board" --program "$2" --check "$copy" >"$copy/out"; then
	echo "test_scoreboard: bounds of 0 % are met" >&2
	exit 1
fi
grep -q '^WORSE 64 MiB and more' "$copy/out"

# bad TEXT EXPECTED: a last row of a3ultra-h200.csv is refused with this message
bad() {
	cp "$1/tests/data/scoreboard/a3ultra-h200.csv" "$copy/a3ultra-h200.csv"
	echo "$3" >>"$copy/a3ultra-h200.csv"
	status=0
	"$board" --program "$2" --check "$copy" >"$copy/out" 2>&1 || status=$?
	[ $status -eq 2 ] && grep -q "$4" "$copy/out" || {
		echo "test_scoreboard: '$3': status $status: $(cat "$copy/out")" >&2
		exit 1
	}
}
bad "$1" "$2" all-gather,2,8,x,1,,,predict 'a3ultra-h200.csv:14: expected op,nodes'
bad "$1" "$2" all-gather,2,8,0,1,,,predict 'a3ultra-h200.csv:14: expected numbers above 0'
bad "$1" "$2" all-sum,2,8,4,1,,,predict "a3ultra-h200.csv:14: expected an operation.*'all-sum'"
bad "$1" "$2" all-gather,2,8,4,1,,,good "a3ultra-h200.csv:14: expected a role.*'good'"
bad "$1" "$2" all-gather,2,8 'a3ultra-h200.csv:14: expected op,nodes'

#!/bin/sh
# The same seed gives the same JSON, engine apart, on one thread or two; another seed another.
set -eu
ripstop=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
without_engine() { sed '/^  "engine": {/,/^  }/d' "$1"; }
# under sanitizers a report with a diagnosis is cli_scenarios'
less=
[ -z "${RS_SMALL:-}" ] || less=--no-diagnosis
for scenario in incast one-nic; do
	"$ripstop" sim --quiet $less --seed 5 --threads 1 --json "$tmp/a" scenarios/$scenario.yaml
	"$ripstop" sim --quiet $less --seed 5 --threads 2 --json "$tmp/b" scenarios/$scenario.yaml
	without_engine "$tmp/a" >"$tmp/a1"
	without_engine "$tmp/b" >"$tmp/b1"
	grep -q '"complete": true' "$tmp/a1"
	grep -q '"packet_hops": [1-9]' "$tmp/a1"
	cmp "$tmp/a1" "$tmp/b1"
done
"$ripstop" sim --quiet --no-diagnosis --seed 5 --flows-csv "$tmp/c" scenarios/incast.yaml
"$ripstop" sim --quiet --no-diagnosis --seed 6 --flows-csv "$tmp/d" scenarios/incast.yaml
[ "$(wc -l <"$tmp/c")" = 17 ]
! cmp -s "$tmp/c" "$tmp/d"

[ -z "${RS_SMALL:-}" ] || exit 0

# one run in two or three parts, a thread each: the same bits as on one thread
for threads in 1 2 3; do
	"$ripstop" sim --quiet --no-diagnosis --threads $threads --json "$tmp/p$threads" \
		bench/perm128.yaml
	without_engine "$tmp/p$threads" >"$tmp/q$threads"
done
grep -q '"threads": 2' "$tmp/p2"
cmp "$tmp/q1" "$tmp/q2"
cmp "$tmp/q1" "$tmp/q3"

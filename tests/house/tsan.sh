#!/bin/sh
# ThreadSanitizer over every test. make check builds and runs those that have threads alone (the label
# "threads"); this takes minutes more.
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

clean "the incident, what-ifs side by side" "$ripstop" sim --threads 4 \
	--set fabric.network.rate=100G scenarios/one-nic.yaml
clean "every unit and property test" ctest --test-dir "$build" -E '^(cli|house|fuzz|interop)_' -j2 \
	--output-on-failure
exit $failed

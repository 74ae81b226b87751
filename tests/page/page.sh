#!/bin/sh
# Skips where the page, Node.js, the driver or Chromium is not there; else the test is page.mjs.
# usage: page.sh RIPSTOP ROOT
set -eu
skip() {
	echo "page: skipped: $1"
	exit 77
}
here=$(dirname "$0")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
echo '{"fabric": {"network": {"kind": "single-switch", "hosts": 2, "rate": "100G"}},
 "workload": [{"flows": [{"src": "h0", "dst": "h1", "bytes": "4kB"}]}]}' >"$tmp/one.json"
if ! "$1" sim --quiet --html "$tmp/one.html" "$tmp/one.json" 2>"$tmp/said"; then
	# built without the page: it must say so, in one line that says what to do
	if ! grep -q 'built without its page.*npm' "$tmp/said" || [ -e "$tmp/one.html" ]; then
		cat "$tmp/said"
		exit 1
	fi
	skip "$(cat "$tmp/said")"
fi
# under sanitizers the program's part alone: a page whose report is packed
if [ -n "${RS_SMALL-}" ]; then
	"$1" sim --quiet --no-diagnosis --html "$tmp/packed.html" "$2/scenarios/midnight.yaml"
	grep -q 'id="report" type="application/gzip"' "$tmp/packed.html"
	exit 0
fi
node=$(command -v node || command -v nodejs) || skip "Node.js is not installed"
chromium=$(command -v chromium || command -v chromium-browser) || skip "chromium is not installed"
[ -d "$2/build/web/node_modules/playwright-core" ] || skip "the driver of web/package-lock.json was not fetched"
if ! timeout 60 "$chromium" --headless --no-sandbox --disable-dev-shm-usage --user-data-dir="$tmp/profile" \
	--dump-dom about:blank >"$tmp/blank" 2>"$tmp/said" || ! grep -q '<html>' "$tmp/blank"; then
	skip "chromium does not start here: $(tail -n 1 "$tmp/said")"
fi
"$node" "$here/compare.mjs" "$1" "$2" "$chromium" "$tmp"
exec "$node" "$here/page.mjs" "$1" "$2" "$chromium" "$tmp"

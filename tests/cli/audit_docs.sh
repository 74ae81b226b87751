#!/bin/sh
# docs/audit.md says what the code says: checks, causes, readers.
set -eu
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/docs"
cp docs/audit.md "$tmp/docs"
root=$PWD
case $1 in
/*) ripstop=$1 ;;
*) ripstop=$root/$1 ;;
esac
(cd "$tmp" && "$root/tools/audit-docs" "$ripstop")
cmp -s docs/audit.md "$tmp/docs/audit.md" || {
	echo "docs/audit.md is behind the code: run tools/audit-docs $1"
	diff docs/audit.md "$tmp/docs/audit.md" | head -20
	exit 1
}

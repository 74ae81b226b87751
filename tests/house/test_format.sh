#!/bin/sh
# Every C file is laid out as .clang-format says, and a file that is not is named.
# usage: test_format.sh ROOT
set -eu
cd "$1"
command -v clang-format >/dev/null || {
	echo "no clang-format: the layout of the C files is not checked"
	exit 77
}
# Another release lays out some lines in another way: the tree follows Debian 12's.
case $(clang-format --version) in
*' version 14.'*) ;;
*)
	echo "not clang-format 14: the layout of the C files is not checked"
	exit 77
	;;
esac
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

# unlike FOLDER: the C files below that clang-format would change
unlike() {
	find "$1" -name build -prune -o -name '*.[ch]' -print0 |
		xargs -0 clang-format --dry-run --style="file:$PWD/.clang-format" 2>&1 |
		sed -n 's/^\([^:]*\.[ch]\):[0-9]*:.*/\1/p' | sort -u
}

printf 'int  planted(void) { return 1; }\n' >"$copy/planted.c"
[ "$(unlike "$copy")" = "$copy/planted.c" ] || {
	echo "test_format: a planted file is not caught" >&2
	exit 1
}
bad=$(unlike .)
[ -z "$bad" ] || {
	echo "test_format: make format changes these:" >&2
	echo "$bad" >&2
	exit 1
}

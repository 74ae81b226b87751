#!/bin/sh
# installed.sh ROOT BUILD CMAKE: installs into a prefix of its own, compiles each example there with plain
# cc through pkg-config, against the shared library and against the archive, runs it, and takes the
# installation away again.
set -eu
root=$1 build=$2 cmake=$3
tmp=$(mktemp -d)
manifest=$build/install_manifest.txt
# the list of what a user installed from this build is theirs
if [ -f "$manifest" ]; then cp "$manifest" "$tmp/manifest"; fi
restore() {
	if [ -f "$tmp/manifest" ]; then mv "$tmp/manifest" "$manifest"; else rm -f "$manifest"; fi
	rm -rf "$tmp"
}
trap restore EXIT
unset DESTDIR
die() {
	echo "lib_installed: $*" >&2
	exit 1
}

prefix=$tmp/prefix
"$cmake" --install "$build" --prefix "$prefix" >"$tmp/log" || { cat "$tmp/log"; die "cmake --install"; }
# moved, as a package is between its build and its place
mv "$prefix" "$tmp/moved"
moved=$tmp/moved
pc=$(dirname "$(find "$moved" -name ripstop.pc)")
export PKG_CONFIG_PATH="$pc"
[ "$(pkg-config --modversion ripstop)" != "" ] || die "pkg-config does not find ripstop"
libdir=$(pkg-config --variable=libdir ripstop)

for c in "$root"/examples/*.c; do
	name=$(basename "$c" .c)
	# shellcheck disable=SC2046 # words are wanted
	${CC:-cc} -std=c17 -Wall -Wextra -Werror -O1 "$c" -o "$tmp/$name" $(pkg-config --cflags --libs ripstop)
	# shellcheck disable=SC2046
	${CC:-cc} -std=c17 "$c" -o "$tmp/$name-static" $(pkg-config --cflags ripstop) \
		"$libdir/libripstop.a" $(pkg-config --libs --static ripstop | sed 's/-lripstop//')
	for p in "$name" "$name-static"; do
		echo "== $p"
		(cd "$root/examples" && LD_LIBRARY_PATH="$libdir" "$tmp/$p" >"$tmp/$p.out") || die "$p failed: $(cat "$tmp/$p.out")"
		cat "$tmp/$p.out"
	done
	cmp "$tmp/$name.out" "$tmp/$name-static.out" || die "$name says other things with the archive"
done
# the module finds the library of its own prefix
if command -v python3 >/dev/null; then
	module=$(dirname "$(find "$moved" -path '*/ripstop/__init__.py')")
	[ -n "$module" ] || die "the Python module is not installed"
	unset RIPSTOP_LIBRARY
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$(dirname "$module") python3 "$root/examples/sweep.py" --senders 4 --kmin 50,200 >"$tmp/sweep"
	cat "$tmp/sweep"
	[ "$(wc -l <"$tmp/sweep")" = 3 ] || die "examples/sweep.py does not write a row a value"
fi
# the headers are C++, too
if command -v g++ >/dev/null; then
	for h in "$moved"/include/ripstop/*.h; do
		printf '#include <ripstop/%s>\nint main() {}\n' "$(basename "$h")" >"$tmp/h.cc"
		# shellcheck disable=SC2046
		g++ -Wall -Wextra -Werror -fsyntax-only $(pkg-config --cflags ripstop) "$tmp/h.cc"
	done
fi

mv "$moved" "$prefix"
"$cmake" -DBUILD="$build" -P "$root/tools/cmake/uninstall.cmake" >/dev/null 2>&1
left=$(find "$prefix" -type f -o -type l)
[ -z "$left" ] || die "make uninstall leaves $left"

#!/bin/sh
# Debian's packages of this build: made, unpacked by dpkg into an empty root, run from there, removed with nothing left.
# `tools/check-bare` does the same on a bare Debian, dependencies with it. Usage: test_deb.sh SOURCE BUILD
set -eu
source=$1 build=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail() {
	echo "FAIL: $*" >&2
	exit 1
}
for t in dh dh_python3; do
	command -v $t >/dev/null 2>&1 || {
		echo "skipped: $t is not installed (debhelper, dh-python)"
		exit 77
	}
done
before=$(cd "$source" && git status --porcelain 2>/dev/null || :)
"$source/tools/deb" "$build" >"$tmp/list"
[ "$before" = "$(cd "$source" && git status --porcelain 2>/dev/null || :)" ] || fail "tools/deb wrote into the source"
for p in ripstop ripstop-verbs ripstop-mpi libripstop0 libripstop-dev python3-ripstop; do
	grep -q "^${p}_" "$tmp/list" || fail "no package $p"
done
version=$(sed -n 's/^project(ripstop VERSION \([^ ]*\).*/\1/p' "$source/CMakeLists.txt")
[ "$(dpkg-deb -f "$build"/deb/ripstop_*.deb Version)" = "$version-1" ] || fail "debian/changelog is not of version $version"
# The drop-in libraries must not make their package need, or stand for, rdma-core's.
! dpkg-deb -f "$build"/deb/ripstop-verbs_*.deb Depends Provides | grep -q ibverbs || fail "ripstop-verbs needs libibverbs1"
[ -z "$(dpkg-deb -I "$build"/deb/ripstop-verbs_*.deb shlibs 2>/dev/null)" ] || fail "ripstop-verbs offers libibverbs"

root=$tmp/root
mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates"
: >"$root/var/lib/dpkg/status"
dpkg() {
	PATH=$PATH:/usr/sbin:/sbin command dpkg --root="$root" --force-depends --force-not-root --force-script-chrootless \
		--log=/dev/null "$@" >"$tmp/dpkg" 2>&1 || fail "dpkg $1: $(cat "$tmp/dpkg")"
}
# python3-ripstop compiles itself where it lies, which this root is not: it is unpacked alone.
dpkg-deb -x "$build"/deb/python3-ripstop_*.deb "$tmp/python"
mkdir "$tmp/debs"
cp "$build"/deb/*.deb "$tmp/debs"
rm "$tmp"/debs/python3-*
dpkg -i "$tmp"/debs/*.deb
[ "$("$root/usr/bin/ripstop" libdir)" = "$root/usr/lib/ripstop/verbs" ] || fail "libdir: $("$root/usr/bin/ripstop" libdir)"
"$root/usr/bin/ripstop" sim --json - "$root/usr/share/doc/ripstop/scenarios/one-nic.yaml" >/dev/null ||
	fail "the example does not run"
"$root/usr/bin/ripstop" exec -- sh -c 'cat /proc/self/maps >/dev/null; echo "$LD_LIBRARY_PATH"' | grep -q "$root/usr/lib/ripstop/verbs" ||
	fail "exec does not name the drop-in libraries"
LD_LIBRARY_PATH=$root/usr/lib PYTHONPATH=$tmp/python/usr/lib/python3/dist-packages python3 -c 'import ripstop' ||
	fail "the Python module does not load"
PKG_CONFIG_LIBDIR=$root/usr/lib/pkgconfig pkg-config --exists ripstop || fail "no pkg-config file"
for m in ripstop.1 ripstop-exec.1 ripstop-fabric.5; do
	[ -e "$root/usr/share/man/man${m##*.}/$m.gz" ] || fail "no manual page $m"
done
dpkg -P ripstop-mpi ripstop-verbs libripstop-dev ripstop libripstop0
left=$(find "$root" -path "$root/var/lib/dpkg" -prune -o ! -type d -print)
[ -z "$left" ] || fail "left behind: $left"

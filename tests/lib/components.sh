#!/bin/sh
# components.sh ROOT BUILD CMAKE: libripstop of some rooms alone. It needs no library but libc and libm, has
# the calls of its rooms and no others, and its results are those of the whole.
set -eu
root=$1 build=$2 cmake=$3
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
die() {
	echo "lib_components: $*" >&2
	exit 1
}
# Both in one folder, so that what they share is compiled once.
part() {
	"$cmake" -S "$root" -B "$build/parts" -G Ninja -DRS_COMPONENTS="$1" -DCMAKE_BUILD_TYPE=Debug \
		-DCMAKE_C_FLAGS_DEBUG=-O0 >"$tmp/log" 2>&1 || { cat "$tmp/log"; die "$1 is not configured"; }
	ninja -C "$build/parts" libripstop >"$tmp/log" 2>&1 || { cat "$tmp/log"; die "$1 does not build"; }
	lib=$build/parts/lib
	others=$(readelf -d "$lib/libripstop.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -v -e '^libc\.so' -e '^libm\.so' || :)
	[ -z "$others" ] || die "$1 needs $others"
	! nm -D --undefined-only "$lib/libripstop.so" | grep -E ' (pthread_create|clock_gettime|syscall)(@|$)' || die "$1 has threads or a clock"
}
same() {
	${CC:-cc} -O1 -I"$root/include" "$root/$1" -L"$build/lib" -lripstop -Wl,-rpath,"$build/lib" -o "$tmp/whole"
	${CC:-cc} -O1 -I"$root/include" "$root/$1" -L"$lib" -lripstop -Wl,-rpath,"$lib" -o "$tmp/part"
	"$tmp/whole" >"$tmp/a"
	"$tmp/part" >"$tmp/b" || die "$1 fails with it"
	cmp "$tmp/a" "$tmp/b" || die "$1 says other things with it"
}
part engine
same examples/nic.c
! nm -D --defined-only "$lib/libripstop.so" | grep -q ripstop_simulate || die "the engine alone simulates"
part "engine;sim"
same tests/lib/scenarios.c
! "$cmake" -S "$root" -B "$build/parts-none" -G Ninja -DRS_COMPONENTS="engine;nonsense" >"$tmp/log" 2>&1 ||
	die "an unknown component is taken"
grep -q "there is no 'nonsense'" "$tmp/log" || { cat "$tmp/log"; die "an unknown component is refused without its name"; }

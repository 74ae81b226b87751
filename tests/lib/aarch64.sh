#!/bin/sh
# aarch64.sh ROOT BUILD CMAKE: the engine and the simulator for 64-bit Arm; scenarios made by calls, with every congestion
# control, give the same numbers there to the last bit, under qemu, as here. 77: skipped.
set -eu
root=$1 build=$2 cmake=$3
cc=aarch64-linux-gnu-gcc qemu=qemu-aarch64-static
skip() {
	echo "lib_aarch64 is skipped: $*; it would have built the simulator for 64-bit Arm and compared its results"
	exit 77
}
for tool in $cc $qemu ninja; do
	command -v "$tool" >/dev/null || skip "there is no $tool"
done
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
printf 'int main(void) { return 0; }\n' >"$tmp/t.c"
{ $cc -static "$tmp/t.c" -o "$tmp/t" && $qemu "$tmp/t"; } 2>"$tmp/log" ||
	skip "$cc and $qemu make no program that runs ($(head -n 1 "$tmp/log"))"

"$cmake" -S "$root" -B "$build/aarch64" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$root/tools/cmake/aarch64.cmake" \
	-DRS_COMPONENTS="engine;sim" -DCMAKE_BUILD_TYPE=Release -DRS_LTO=OFF \
	-DCMAKE_C_FLAGS_RELEASE=-O1 >"$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
ninja -C "$build/aarch64" >"$tmp/log" 2>&1 || { tail -n 30 "$tmp/log"; exit 1; }
for c in "$root/tests/lib/scenarios.c" "$root/examples/nic.c" "$root/examples/fabric.c"; do
	name=$(basename "$c" .c)
	$cc -O1 -static -I"$root/include" "$c" "$build/aarch64/lib/libripstop.a" -o "$tmp/$name.arm" -lm -lpthread
	${CC:-cc} -O1 -I"$root/include" "$c" -L"$build/lib" -lripstop -Wl,-rpath,"$build/lib" -o "$tmp/$name"
	"$tmp/$name" >"$tmp/here"
	$qemu "$tmp/$name.arm" >"$tmp/there" || { echo "lib_aarch64: $name fails under qemu"; exit 1; }
	[ -s "$tmp/here" ] || { echo "lib_aarch64: $name says nothing"; exit 1; }
	cmp "$tmp/here" "$tmp/there" || { diff "$tmp/here" "$tmp/there" | head -n 20; exit 1; }
	echo "$name: $(wc -l <"$tmp/here") lines, the same under aarch64 and here"
done

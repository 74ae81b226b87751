#!/bin/sh
# wasm.sh ROOT BUILD CMAKE: the engine and the simulator without libraries, threads and a clock, for wasm32;
# scenarios made by calls give the same numbers there, under node, as here. By emscripten where it is installed, else by
# clang and wasi-libc; RS_WASM=clang asks for clang. 77: skipped.
set -eu
root=$1 build=$2 cmake=$3
skip() {
	echo "lib_wasm is skipped: $*; it would have built the simulator for wasm32 and compared its results"
	exit 77
}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
if [ "${RS_WASM:-emcc}" = emcc ] && command -v emcc >/dev/null; then
	by=emcc
	link() { # SOURCE WASM
		emcc -O1 -I"$root/include" "$1" "$build/$by/lib/libripstop.a" -o "$2" -sSTANDALONE_WASM -sALLOW_MEMORY_GROWTH \
			-sTOTAL_STACK=1048576 -lm
	}
	tools="node ninja"
else
	by=wasi
	link() {
		clang --target=wasm32-wasi -O1 -I"$root/include" "$1" "$build/$by/lib/libripstop.a" -o "$2" \
			-lm -lc-printscan-long-double -Wl,-z,stack-size=1048576 -Wl,--stack-first
	}
	tools="clang wasm-ld llvm-ar node ninja"
fi
for tool in $tools; do
	command -v "$tool" >/dev/null || skip "there is no $tool"
done
if [ $by = wasi ]; then
	[ -f /usr/include/wasm32-wasi/stdlib.h ] || skip "there is no wasi-libc"
	printf 'int main(void) { return 0; }\n' >"$tmp/t.c"
	clang --target=wasm32-wasi "$tmp/t.c" -o "$tmp/t.wasm" 2>"$tmp/log" ||
		skip "clang does not link for wasm32-wasi ($(head -n 1 "$tmp/log"))"
fi

"$cmake" -S "$root" -B "$build/$by" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$root/tools/cmake/$by.cmake" \
	-DRS_COMPONENTS="engine;sim" -DCMAKE_BUILD_TYPE=Release -DRS_LTO=OFF \
	-DCMAKE_C_FLAGS_RELEASE=-O1 >"$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
ninja -C "$build/$by" >"$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
for c in "$root/tests/lib/scenarios.c" "$root/examples/nic.c" "$root/examples/fabric.c"; do
	name=$(basename "$c" .c)
	link "$c" "$tmp/$name.wasm"
	${CC:-cc} -O1 -I"$root/include" "$c" -L"$build/lib" -lripstop -Wl,-rpath,"$build/lib" -o "$tmp/$name"
	"$tmp/$name" >"$tmp/here"
	node --no-warnings --experimental-wasi-unstable-preview1 "$root/tests/lib/wasi.mjs" "$tmp/$name.wasm" >"$tmp/there" ||
		{ echo "lib_wasm: $name fails under node"; exit 1; }
	[ -s "$tmp/here" ] || { echo "lib_wasm: $name says nothing"; exit 1; }
	cmp "$tmp/here" "$tmp/there" || { diff "$tmp/here" "$tmp/there" | head -n 20; exit 1; }
	echo "$name: $(wc -l <"$tmp/here") lines, the same under wasm32 ($by) and here"
done

# Two commands: make demo, make check. Each sets up everything on a fresh Debian 12.
# Thin over CMake: see CMakePresets.json.
.PHONY: help demo check check-rxe check-programs build bench fuzz soak format tidy install uninstall deb clean setup
.DEFAULT_GOAL := help
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
SOAK_SECONDS ?= 600
SOAK_FROM ?= 1

help:
	@echo "make demo       what holds a training job back, and what each fix gives (2 minutes)"
	@echo "make check      build, check the include law, run every test, again under ASan and UBSan, threads under TSan"
	@echo "make check-rxe  beside the kernel's soft-RoCE in a virtual machine (2 minutes, root)"
	@echo "make check-programs  real programs over the drop-in libraries: fio, QEMU, MPI, iSER, ... (6 minutes)"
	@echo "make build      build/release/bin/ripstop"
	@echo "make bench      speed: packet-hops per CPU-second, instructions per packet"
	@echo "make fuzz       fuzz every reader for FUZZ_SECONDS=$(FUZZ_SECONDS) each with libFuzzer, then AFL++; then scenarios"
	@echo "make soak       the transport under a hostile network for SOAK_SECONDS=$(SOAK_SECONDS)"
	@echo "make format     clang-format over the tree"
	@echo "make tidy       clang-tidy over the tree"
	@echo "make install    the program, libraries, headers, Python module, man pages and completion into PREFIX=$(PREFIX)"
	@echo "make uninstall  remove what make install put there"
	@echo "make deb        Debian's packages of it, in build/release/deb: ripstop, ripstop-verbs, libripstop0 and others"
	@echo "make clean      remove build/"

setup:
	@tools/setup

build: setup
	@cmake --preset release >/dev/null
	@cmake --build --preset release

# Only what it runs is built: the tests are most of a build.
demo:
	@tools/setup --build
	@cmake --preset release >/dev/null
	@cmake --build --preset release --target ripstop
	@tools/demo build/release/bin/ripstop

check: setup
	@tools/check

check-rxe: build
	@tools/setup qemu-system-x86 busybox-static cpio kmod tcpdump ethtool
	@tests/interop/rxe.sh build/release/bin/ripstop || [ $$? = 77 ]

check-programs: build
	@tools/setup $$(tools/check-programs --packages)
	@tools/check-programs

bench: build
	@bench/run build/release

fuzz:
	@tools/setup clang libclang-rt-dev afl++
	@cmake --preset fuzz >/dev/null
	@cmake --build --preset fuzz --target fuzzers
	@tools/fuzz build/fuzz $(FUZZ_SECONDS)
	@cmake --preset release >/dev/null
	@cmake --build --preset release --target ripstop
	@tools/fuzz-scenarios build/release/bin/ripstop --seconds $(FUZZ_SECONDS) --seed $$(date +%s)

soak: build
	@tools/soak build/release $(SOAK_SECONDS) $(SOAK_FROM)

format:
	@tools/setup
	@git ls-files '*.c' '*.h' | xargs clang-format -i

tidy: build
	@tools/setup clang-tidy
	@git ls-files 'src/*.c' | xargs clang-tidy -p build/release --quiet

install: build
	@cmake --install build/release --prefix "$(PREFIX)"

uninstall:
	@cmake -DBUILD=build/release -P tools/cmake/uninstall.cmake

deb: build
	@tools/setup debhelper dh-python
	@tools/deb build/release

clean:
	@rm -rf build

#!/bin/sh
# The include law holds on the tree, and a breach planted in a copy is caught, with file and line.
# usage: test_layers.sh ROOT
set -eu
root=$1
check=$root/tools/check-layers
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

fail() {
	echo "test_layers: $1" >&2
	exit 1
}

# plant FILE LINE WHAT TEXT: after TEXT is written to FILE, the law is broken at that line
plant() {
	rm -rf "$copy/src"
	cp -R "$root/src" "$copy/src"
	mkdir -p "$copy/$(dirname "$1")"
	printf '%b' "$4" >"$copy/$1"
	if said=$("$check" "$copy"); then
		fail "not caught: $3"
	fi
	case $said in
	"$1:$2: "*) ;;
	*) fail "$3: expected $1:$2, got: $said" ;;
	esac
	[ "$(printf '%s\n' "$said" | wc -l)" = 1 ] || fail "$3: more than one breach: $said"
}

"$check" "$root" || fail "the tree breaks the law"

# Readers of text have one home: what else includes their libraries could not be built without them.
if grep -nE '#include <(libfyaml|libxml/)' -r "$root/src" | grep -v '^'"$root"'/src/text/'; then
	fail "a library of text is included outside src/text"
fi

# Rules see facts, never files, and read no clock but for the day of a suppression.
opens='(^|[^a-z_>.])(f?open(at|dir)?|popen|getenv|mmap|socket|stat)\('
if grep -nE "$opens" "$root"/src/audit/rules/*.[ch] "$root"/src/audit/facts/*.[ch]; then
	fail "a rule opens something"
fi
printf '\tFILE *f = fopen("x", "r");\n' | grep -qE "$opens" || fail "an opened file is not seen"

plant src/base/planted.c 2 "base knows nothing" '#include <errno.h>\n#include "wire/packet.h"\n'
plant src/rdma/planted.h 1 "the transport knows no simulator" '#include "sim/sim.h"\n'
plant src/switch/planted.c 3 "spaces and brackets hide nothing" '\n\n #  include <rdma/nic.h>\n'
plant src/cc/planted.c 1 "a way around through .." '#include "../wire/packet.h"\n'
plant src/wire/planted.c 1 "a file of no room" '#include "packet.h"\n'
plant src/audit/rules/planted.c 1 "rules see facts, never files" '#include "audit/read/reader.h"\n'
plant src/audit/rules/planted.h 1 "rules run no simulation" '#include "sim/sim.h"\n'
plant src/audit/facts/planted.h 2 "facts know no finding" '\n#include "audit/rules/finding.h"\n'
plant src/audit/read/planted.c 1 "a reader judges nothing" '#include <audit/rules/rule.h>\n'
plant src/audit/price/planted.c 1 "a price opens no file of a host" '#include "audit/read/read.h"\n'
plant src/audit/planted.c 1 "a file under the roof, in no room" 'int x;\n'
plant src/sim/planted.c 1 "a house of rooms is no room" '#include "audit/facts/facts.h"\n'
plant src/attic/planted.c 1 "an unknown room" '#include "base/error.h"\n'
plant src/planted.c 1 "a file outside every room" 'int x;\n'

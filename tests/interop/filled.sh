#!/bin/sh
# Messages of every length between two queue pairs over UDP, where packets are filled to one length (filled.c): each byte arrives, and
# no other is written. IPv4 and IPv6. SEEDS="5 6 7": other messages.
set -eu
ripstop=$1
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
need cc
echo '#include <infiniband/verbs.h>' | cc -E - >/dev/null 2>&1 || skip "libibverbs-dev is not installed"
cc -O1 -Wall ${2-} -o "$tmp/filled" "$here/filled.c" -libverbs
for seed in ${SEEDS:-1 2}; do
	for gid in 0 1; do # 127.0.0.1, ::1
		timeout 60 "$ripstop" exec --no-view --dev d=lo -- "$tmp/filled" d $gid $seed 64 "'$ripstop' counters --json" >"$tmp/out" 2>&1 || {
			echo "FAILED: seed $seed, GID $gid: status $?, $(cat "$tmp/out")"
			exit 1
		}
		# nothing was dropped for its ICRC, and sent again; and there was something to fill
		grep -q '"tx_data_packets": [1-9]' "$tmp/out" || {
			echo "FAILED: no counters: $(cat "$tmp/out")"
			exit 1
		}
		if grep '"rx_icrc_encapsulated": [1-9]' "$tmp/out"; then
			echo "FAILED: seed $seed, GID $gid: packets with a wrong ICRC"
			exit 1
		fi
	done
done
echo "passed: messages of every length"

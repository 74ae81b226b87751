#!/bin/sh
# Programs built against the newest rdma-core: what its map files have beyond rdma-core 44's.
set -eu
ripstop=$1
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
need cc readelf
echo '#include <rdma/rsocket.h>' | cc -E - >/dev/null 2>&1 || skip "librdmacm-dev is not installed"
libdir=$("$ripstop" libdir)
cc -O1 -Wall ${2-} -o "$tmp/newer" "$here/newer.c" "$libdir/libibverbs.so.1" "$libdir/librdmacm.so.1" -lpthread
for version in IBVERBS_1.15 IBVERBS_1.16 IBVERBS_1.17 IBVERBS_1.18 RDMACM_1.4 RDMACM_1.5; do
	readelf -VW "$tmp/newer" | grep -q "Name: $version " || {
		echo "FAILED: the program does not ask for $version"
		exit 1
	}
done
timeout $limit "$ripstop" exec --dev rs_lo=lo -- "$tmp/newer"

#!/bin/sh
# rsockets on a core that busy processes share with them (crowded.c).
set -eu
ripstop=$1
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
need cc
echo '#include <rdma/rsocket.h>' | cc -E - >/dev/null 2>&1 || skip "librdmacm-dev is not installed"
cc -O1 -Wall ${2-} -o "$tmp/crowded" "$here/crowded.c" -lrdmacm
timeout 120 "$ripstop" exec --no-view --dev d=lo -- "$tmp/crowded" 127.0.0.1 $port 8

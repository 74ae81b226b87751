#!/bin/sh
# NCCL, unmodified, under PyTorch: 2 and 4 ranks on one GPU, each said to be a host of its own (NCCL_HOSTID), so that
# all of their data crosses our device. Every collective's result is checked. Skips where no GPU is.
set -eu
ripstop=$1
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null ||
	skip "no GPU with PyTorch: NCCL's collectives over our device are not tried"

# NCCL 2.28 calls a null function where an InfiniBand device is none of mlx5: without GPU-initiated networking it does not.
export NCCL_GIN_TYPE=0 NCCL_NET=IB NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,TUNING
export MASTER_ADDR=127.0.0.1

# ranks N [NAME=VALUE...]
ranks() {
	export WORLD_SIZE=$1 MASTER_PORT=$port
	port=$((port + 1))
	shift
	started=
	i=0
	while [ $i -lt "$WORLD_SIZE" ]; do
		env "$@" RANK=$i NCCL_HOSTID=host$i timeout 120 "$ripstop" exec --dev "$dev=lo" -- \
			python3 "$here/nccl.py" >"$tmp/rank$i" 2>&1 &
		started="$started $!"
		pids="$pids $!"
		i=$((i + 1))
	done
	failed=
	for p in $started; do wait "$p" || failed=1; done
	[ -z "$failed" ] && grep -q 'via NET/IB' "$tmp/rank0" || {
		echo "FAILED: $WORLD_SIZE ranks $*"
		tail -n 30 "$tmp/rank0"
		exit 1
	}
	echo "$WORLD_SIZE ranks $*:"
	grep '^nccl: ' "$tmp/rank0"
}

port=28500
ranks 2
ranks 4
for protocol in LL LL128 Simple; do
	ranks 4 NCCL_PROTO=$protocol
done
ranks 4 NCCL_ALGO=allreduce:tree
ranks 4 NCCL_IB_QPS_PER_CONNECTION=4 NCCL_IB_SPLIT_DATA_ON_QPS=1
RIPSTOP_SHM=off ranks 2

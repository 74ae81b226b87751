#!/bin/sh
# Open MPI over UCX over RC queue pairs: a ping-pong of two ranks, all-reduces of four. No other
# transport is allowed, shared memory neither: the data crosses our device.
set -eu
ripstop=$1
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
need mpicc mpirun
ompi_info 2>/dev/null | grep -q 'MCA pml: ucx' || skip "this Open MPI has no UCX"

for ranks in 2 4; do
	program=$([ $ranks = 2 ] && echo pingpong || echo allreduce)
	mpicc -O2 -Wall -o "$tmp/$program" "$here/mpi_$program.c"
	timeout 60 "$ripstop" exec -- mpirun --allow-run-as-root --oversubscribe -np $ranks \
		-mca pml ucx -mca btl ^openib -x UCX_TLS=rc_v,self -x UCX_NET_DEVICES=$dev:1 \
		-x UCX_LOG_LEVEL=info "$tmp/$program" >"$tmp/out" 2>&1 || {
		echo "FAILED: $program, $ranks ranks"
		tail -n 20 "$tmp/out"
		exit 1
	}
	grep -q "rc_verbs/$dev:1" "$tmp/out" && grep "$program: .*0 .* wrong" "$tmp/out" || {
		echo "FAILED: $program was not over rc_verbs"
		cat "$tmp/out"
		exit 1
	}
done

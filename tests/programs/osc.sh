# program: Open MPI one-sided (osc)
# packages: openmpi-bin libopenmpi-dev
# version: mpirun --version | head -n 1
# shows: put, get, accumulate and fetch-and-op of windows, by osc/ucx
# data: each element that was put or accumulated is checked
need mpicc.openmpi mpirun.openmpi
export UCX_TLS=rc_v,self UCX_NET_DEVICES=$dev:1 UCX_LOG_LEVEL=info
. "$here/openmpi.inc"
# osc/rdma has no way to the device in Debian's build: its btl openib knows vendors' devices alone, btl uct is left out, and btl
# ofi asks libfabric's verbs for compare-and-swap, which it does not offer.
ranks "$here/osc.c" -mca pml ucx -mca osc ucx -x UCX_TLS -x UCX_NET_DEVICES -x UCX_LOG_LEVEL
grep -q "osc: 0 of .* wrong" "$tmp/client" || fail "wrong data"
grep -q "rc_verbs/$dev:1" "$tmp/client" || fail "it was not over rc_verbs"
grep "osc:" "$tmp/client" | tail -n 1

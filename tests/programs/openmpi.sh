# program: Open MPI over UCX
# packages: openmpi-bin libopenmpi-dev
# version: mpirun --version | head -n 1
# shows: point to point and all-reduce between two places, over UCX's rc_verbs
# data: each rank checks each element
need mpicc.openmpi mpirun.openmpi
export UCX_TLS=rc_v,self UCX_NET_DEVICES=$dev:1 UCX_LOG_LEVEL=info
. "$here/openmpi.inc"
for p in pingpong allreduce; do
	ranks "$here/../interop/mpi_$p.c" -mca pml ucx -mca osc ucx -x UCX_TLS -x UCX_NET_DEVICES -x UCX_LOG_LEVEL
	grep -q "rc_verbs/$dev:1" "$tmp/client" || fail "$p was not over rc_verbs"
	grep -q "$p:.* 0 .*wrong" "$tmp/client" || fail "$p:wrong data"
done
grep "allreduce: " "$tmp/client" | tail -n 1

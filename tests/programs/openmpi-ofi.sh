# program: Open MPI over libfabric (ofi_rxm)
# packages: openmpi-bin libopenmpi-dev
# version: dpkg-query -W -f '${Package} ${Version}\n' openmpi-bin libfabric1
# shows: point to point and all-reduce over the matching layer `ofi`, provider verbs;ofi_rxm
# data: each rank checks each element
# worlds: veth containers
need mpicc.openmpi mpirun.openmpi
[ $world != loopback ] || skip "libfabric leaves the loopback out"
with="--dev rs_eth0=eth0" # libfabric leaves the loopback out and takes the device of its address
export FI_PROVIDER="verbs;ofi_rxm" FI_LOG_LEVEL=warn
. "$here/openmpi.inc"
for p in pingpong allreduce; do
	ranks "$here/../interop/mpi_$p.c" -mca pml cm -mca mtl ofi -mca mtl_ofi_provider_include 'verbs;ofi_rxm' \
		-mca mtl_base_verbose 1 -mca opal_common_ofi_verbose 1 -x FI_PROVIDER -x FI_LOG_LEVEL
	grep -q "mtl_ofi.*provider.*ofi_rxm\|ofi_rxm" "$tmp/client" || fail "$p was not over ofi_rxm"
	grep -q "$p:.* 0 .*wrong" "$tmp/client" || fail "$p:wrong data"
done
grep "allreduce: " "$tmp/client" | tail -n 1

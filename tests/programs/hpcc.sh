# program: HPC Challenge
# packages: hpcc openmpi-bin
# version: dpkg-query -W -f '${Package} ${Version}\n' hpcc
# shows: HPL, PTRANS, RandomAccess and FFT of two MPI ranks, over UCX's rc_verbs
# data: the residuals and the checks of its parts
need hpcc mpirun.openmpi mpicc.openmpi
export UCX_TLS=rc_v,self UCX_NET_DEVICES=$dev:1 UCX_LOG_LEVEL=info
. "$here/openmpi.inc"
mkdir "$tmp/hpcc"
sed -e 's/^[0-9 ]*Ns$/200 Ns/; s/^[0-9 ]*# of process grids.*/1 # of process grids (P x Q)/; s/^[0-9 ]* Ps$/1 Ps/; s/^[0-9 ]* Qs$/2 Qs/' \
	/usr/share/doc/hpcc/examples/_hpccinf.txt >"$tmp/hpcc/hpccinf.txt"
limit=120
ranks_of "cd $tmp/hpcc && exec hpcc" -mca pml ucx -x UCX_TLS -x UCX_NET_DEVICES -x UCX_LOG_LEVEL
grep -q "rc_verbs/$dev:1" "$tmp/client" || fail "it was not over rc_verbs"
out=$tmp/hpcc/hpccoutf.txt
grep -q '^Success=1' "$out" || fail "$(tail -n 5 "$out")"
grep -q 'PASSED' "$out" && ! grep -q 'FAILED' "$out" || fail "a check failed: $(grep FAILED "$out" | head -n 3)"
echo "HPL $(sed -n 's/^HPL_Tflops=//p' "$out") Tflop/s, $(grep -c PASSED "$out") checks"

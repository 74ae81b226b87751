# program: MPICH
# packages: mpich libmpich-dev
# version: mpichversion | sed -n 's/^MPICH Version:[^0-9]*/MPICH /p'
# shows: point to point and all-reduce between two places, over UCX's rc_verbs
# data: each rank checks each element
need mpicc.mpich mpiexec.mpich
export UCX_TLS=rc_v,self UCX_NET_DEVICES=$dev:1 UCX_LOG_LEVEL=info
remote_shell
for p in pingpong allreduce; do
	mpicc.mpich -O2 -o "$tmp/$p" "$here/../interop/mpi_$p.c" >"$tmp/client" 2>&1 || fail "mpicc"
	$at_client timeout -k 3 $limit "$ripstop" exec -- mpiexec.mpich -launcher ssh -launcher-exec "$rsh" -localhost $peer \
		-hosts $host,$peer -ppn 1 -n 2 "$ripstop" exec -- "$tmp/$p" >"$tmp/client" 2>&1 || fail "$p ended with $?"
	grep -q "rc_verbs/$dev:1" "$tmp/client" || fail "$p was not over rc_verbs"
	grep -q "$p:.* 0 .*wrong" "$tmp/client" || fail "$p:wrong data"
done
grep "allreduce: " "$tmp/client" | tail -n 1

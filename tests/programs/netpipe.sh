# program: NetPIPE
# packages: netpipe-openmpi openmpi-bin
# version: dpkg-query -W -f '${Package} ${Version}\n' netpipe-openmpi
# shows: a ping-pong of MPI by size, over UCX's rc_verbs
# data: its integrity check (-i) of each message
need NPopenmpi mpirun.openmpi mpicc.openmpi
export UCX_TLS=rc_v,self UCX_NET_DEVICES=$dev:1 UCX_LOG_LEVEL=info
. "$here/openmpi.inc"
ranks_of "cd $tmp && NPopenmpi -i -u 1000000 -o /dev/null" -mca pml ucx -x UCX_TLS -x UCX_NET_DEVICES -x UCX_LOG_LEVEL
grep -q "rc_verbs/$dev:1" "$tmp/client" || fail "it was not over rc_verbs"
! grep -qi "integrity check failed" "$tmp/client" || fail "wrong data"
grep -q "Integrity check passed" "$tmp/client" || fail "nothing was checked"
echo "$(grep -c "Integrity check passed" "$tmp/client") sizes to 1 MB"

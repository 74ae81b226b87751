# program: rdma-core's own tests (pyverbs)
# packages: python3-pyverbs
# version: dpkg-query -W -f '${Package} ${Version}\n' python3-pyverbs
# shows: tests of queue pairs of each kind, events, shared receive queues, XRC, rdma_cm, memory windows, on-demand paging
# data: the tests check what arrives
# worlds: loopback
out=$(RS_OWN_NET=1 sh "$here/../interop/pyverbs.sh" "$ripstop" 2>&1) || {
	status=$?
	[ $status != 77 ] || skip "${out#skipped: }"
	echo "$out" | tail -n 12
	exit 1
}
echo "$out" | tail -n 1

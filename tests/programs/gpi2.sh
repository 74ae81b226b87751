# program: GPI-2 (GASPI)
# packages: python3
# build: RIPSTOP_GPI2
# version: sed -n 's/#define GASPI_\(MAJOR_VERSION\|MINOR_VERSION\|REVISION\) *(\([0-9]*\)).*/\2/p' "$RIPSTOP_GPI2/include/GPI2_VERSION.h" | paste -sd.
# shows: its tests of reads, lists, notifications, passive messages, atomics and collectives, between two ranks
# data: the tests check what arrives, and that a notification comes after its data
tests=$RIPSTOP_GPI2/tests/bin
need "$tests/read_nsizes.bin"
printf '%s\n' $host $peer >"$tmp/machines"
export GASPI_MFILE="$tmp/machines" GASPI_NRANKS=2 GASPI_MASTER=$host
# `gaspi_run` starts ranks by ssh and by names of hosts; a rank is a process with these variables, so they are started here
second=0
[ $host != $peer ] || second=1
limit=120
n=0
for t in read_nsizes list_read_notify write_notify_ordering notify_all passive fetch_add compare_swap write_all_nsizes; do
	need "$tests/$t.bin"
	(
		export GASPI_RANK=1 GASPI_SOCKET=$second
		on_client "$tests/$t.bin" GASPI_IB STATIC_TOPO SN_PERSIST_TRUE >"$tmp/client" 2>&1
	) &
	rank1=$!
	export GASPI_RANK=0 GASPI_SOCKET=0
	on_server "$tests/$t.bin" GASPI_IB STATIC_TOPO SN_PERSIST_TRUE >"$tmp/server" 2>&1 || fail "$t: rank 0 ended with $?"
	wait $rank1 || fail "$t: rank 1 ended with $?"
	n=$((n + 1))
done
echo "$n of its tests"

# program: librpma
# packages: librpma-dev libibverbs-dev gcc
# version: dpkg-query -W -f '${Package} ${Version}\n' librpma0
# shows: writes, flushes and reads of remote memory, connected by rdma_cm
# data: both sides compare each byte
need gcc
[ -e /usr/include/librpma.h ] || skip "librpma-dev is not installed"
gcc -O1 -o "$tmp/rpma" "$here/rpma.c" -lrpma -libverbs >"$tmp/client" 2>&1 || fail "it does not build"
serve "$tmp/rpma" $host $port server
wait_cm $port $in_server || fail "the server does not listen"
on_client "$tmp/rpma" $host $port client >"$tmp/client" 2>&1 || fail "the client ended with $?"
served
tail -n 1 "$tmp/client"

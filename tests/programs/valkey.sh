# program: Valkey over RDMA
# packages: python3
# version: [ -z "${RIPSTOP_VALKEY-}" ] || "$RIPSTOP_VALKEY"/src/valkey-server --version | tr ' ' '\n' | sed -n 's/^v=/valkey /p; s/^sha=/commit /p' | tr '\n' ' '
# shows: its server with the RDMA module (rdma_cm, WRITE with immediate, SEND), and the client of its own tests, with a save on the way
# data: its client reads back each value that it set; the file that the server saves has the number of keys that the client set
# in no registry of Debian's: RIPSTOP_VALKEY names a build of its source (BUILD_RDMA=module, and make in the folder of its RDMA tests)
[ -n "${RIPSTOP_VALKEY-}" ] || skip "RIPSTOP_VALKEY names no build of Valkey (BUILD_RDMA=module, and make in the folder of its RDMA tests)"
V=$(realpath "$RIPSTOP_VALKEY") folder=tests
client=$V/$folder/rdma/rdma-test
need "$V/src/valkey-server" "$client" python3
[ -e "$V/src/valkey-rdma.so" ] || skip "$V/src/valkey-rdma.so is not there: BUILD_RDMA=module"
limit=150
mkdir "$tmp/data"
serve "$V/src/valkey-server" --port 0 --unixsocket "$tmp/socket" --protected-mode no --save "" --dir "$tmp/data" \
	--loadmodule "$V/src/valkey-rdma.so" port=$port bind=$host
until_there 20 grep -q "Ready to accept connections" "$tmp/server" || fail "the server does not listen"
on_client "$client" --thread 2 -h $host -p $port >"$tmp/client" 2>&1 || fail "its client ended with $?"
grep -q "Valkey Over RDMA test \[OK\]" "$tmp/client" || fail "its client is not content"
# by the kernel's socket: how many keys there are, then the end, with a save
at_server python3 - "$tmp/socket" "$tmp/client" <<'CHECK' || fail "keys are missing"
import re, socket, sys
set_by = [int(n) for n in re.findall(r"SET (\d+) KVs \[OK\]", open(sys.argv[2]).read())]
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b"DBSIZE\r\n")
keys = int(s.recv(100)[1:])
assert len(set_by) == 2 and keys == sum(set_by), (keys, set_by)
s.sendall(b"SHUTDOWN SAVE\r\n")
print("%d keys" % keys)
CHECK
served
[ -s "$tmp/data/dump.rdb" ] || fail "nothing was saved"

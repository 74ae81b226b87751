# program: fio
# packages: fio python3
# version: fio --version
# shows: WRITE, READ and SEND of its rdma engine over rdma_cm, equal and unequal depths
# data: the buffers of the side that receives hold the sender's bytes
need fio
limit=8
run() { # VERB BLOCK SERVER-DEPTH CLIENT-DEPTH
	port=$((port + 1))
	# Each side's buffers are a file. fio does not size it, and removes it at its end: a second name keeps it.
	for side in server client; do
		rm -f "$tmp/$side.mem" "$tmp/$side.kept"
		truncate -s 32m "$tmp/$side.mem"
		ln "$tmp/$side.mem" "$tmp/$side.kept"
	done
	from=client to=server depth=$3
	[ $1 != read ] || from=server to=client depth=$4
	python3 -c 'import sys; open(sys.argv[1], "r+b").write(bytes.fromhex("5ca1ab1e") * (8 << 20))' "$tmp/$from.mem"
	common="--ioengine=rdma --verb=$1 --port=$port --bs=$2 --size=32m --refill_buffers=0"
	serve fio --name=server --rw=read $common --iodepth=$3 --mem=mmapshared:"$tmp/server.mem"
	until_there 10 grep -q "waiting for connection" "$tmp/server" || fail "the server does not listen"
	on_client fio --name=client --rw=write $common --iodepth=$4 --mem=mmapshared:"$tmp/client.mem" --buffer_pattern=0x5ca1ab1e \
		--hostname=$host >"$tmp/client" 2>&1 || fail "fio $*: the client ended with $?"
	served
	all_bytes "$tmp/$to.kept" 5ca1ab1e $((${2%k} * 1024 * depth)) || fail "fio $*: the bytes that came are not those that went"
}
run write 64k 1 16
run write 256k 4 4
run read 64k 1 16
run read 4k 1 1
# fio asks for no retries where the receiver is not ready (rnr_retry_count 0), and posts receives when all are used: the sender
# waits for credits.
run send 64k 16 4
run send 64k 4 16
echo "192 MiB"

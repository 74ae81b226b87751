# program: SPDK (NVMe over RDMA)
# packages: python3
# build: RIPSTOP_SPDK
# version: cat "$RIPSTOP_SPDK/VERSION"
# shows: a target with a disk in memory, polled and by interrupts; spdk_nvme_identify, bdevperf
# data: bdevperf reads what it wrote and compares it (verify)
tgt=$RIPSTOP_SPDK/build/bin/nvmf_tgt perf=$RIPSTOP_SPDK/build/examples/bdevperf identify=$RIPSTOP_SPDK/build/bin/spdk_nvme_identify
need "$tgt" "$perf" "$identify"
limit=280
nqn=nqn.2026-11.ripstop:disk
python3 - "$tmp" $host $nqn <<'CONFIG'
import json, sys
tmp, host, nqn = sys.argv[1:]
address = {'trtype': 'RDMA', 'adrfam': 'IPv4', 'traddr': host, 'trsvcid': '4420'}
def write(name, **subsystems):
    with open(f'{tmp}/{name}.json', 'w') as f:
        json.dump({'subsystems': [{'subsystem': s, 'config': [{'method': m, 'params': p} for m, p in calls]}
                                  for s, calls in subsystems.items()]}, f)
# by default their pool alone is larger than this memory
few = ('bdev_set_options', {'bdev_io_pool_size': 4095, 'bdev_io_cache_size': 64})
write('target', bdev=[few, ('bdev_malloc_create', {'name': 'disk', 'num_blocks': 32768, 'block_size': 512})],
      nvmf=[('nvmf_create_transport', {'trtype': 'RDMA'}),
            ('nvmf_create_subsystem', {'nqn': nqn, 'allow_any_host': True}),
            ('nvmf_subsystem_add_ns', {'nqn': nqn, 'namespace': {'bdev_name': 'disk'}}),
            ('nvmf_subsystem_add_listener', {'nqn': nqn, 'listen_address': address})])
write('initiator', bdev=[few, ('bdev_nvme_attach_controller', {'name': 'far', 'subnqn': nqn, **address})])
CONFIG
# without huge pages and PCI: an ordinary user has neither
export RUNTIME_DIRECTORY="$tmp" # of DPDK: what takes itself for root here may not write to /run
common="--no-huge -s 512 -u"
second=0x1 # each polls, and pins itself: on a core of its own where there are two
[ "$(nproc)" -lt 2 ] || second=0x2
for mode in "" --interrupt-mode; do
	serve "$tgt" $common $mode --disable-cpumask-locks -m 0x1 -r "$tmp/target.sock" -c "$tmp/target.json"
	until_there 30 grep -q 'Listening on' "$tmp/server" || fail "the target does not listen"
	on_client "$identify" --no-huge -s 128 -r "trtype:RDMA adrfam:IPv4 traddr:$host trsvcid:4420 subnqn:$nqn" >"$tmp/client" 2>&1 ||
		fail "spdk_nvme_identify ended with $?"
	grep -q 'SPDK bdev Controller' "$tmp/client" || fail "spdk_nvme_identify shows another disk"
	for size in 512 4096 65536 131072; do
		on_client "$perf" $common --disable-cpumask-locks -m $second -r "$tmp/initiator.sock" -c "$tmp/initiator.json" \
			-q 8 -o $size -w verify -t 1 >"$tmp/client" 2>&1 || fail "bdevperf of $size bytes ended with $?"
	done
	python3 - "$tmp/target.sock" <<'END'
import json, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'spdk_kill_instance', 'params': {'sig_name': 'SIGTERM'}}).encode())
s.recv(4096)
END
	served
done
echo "disk found, and 4 sizes written, read and compared, by a target that polls and by one that sleeps"

# program: QEMU, live migration
# packages: qemu-system-x86 python3
# version: qemu-system-x86_64 --version | head -n 1
# shows: a virtual machine moves over RDMA (rdma_cm, WRITE, SEND) with memory pinned and not
# data: the memory of the two machines is compared after the move
need qemu-system-x86_64 python3
cat >"$tmp/qmp.py" <<'QMP'
import json, socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
f = s.makefile('rw')
f.readline()
def ask(execute, **arguments):
    f.write(json.dumps({'execute': execute, 'arguments': arguments}) + '\n')
    f.flush()
    while True:
        answer = json.loads(f.readline())
        if 'event' not in answer:
            return answer
def must(*a, **k):
    r = ask(*a, **k)
    if 'error' in r:
        sys.exit(f'{a}: {r["error"]["desc"]}')
    return r['return']
must('qmp_capabilities')
if sys.argv[2] == 'move':
    must('migrate-set-capabilities', capabilities=[{'capability': 'rdma-pin-all', 'state': sys.argv[4] == 'pinned'}])
    must('migrate-set-parameters', **{'max-bandwidth': 10 ** 10})
    must('migrate', uri=sys.argv[3])
    for _ in range(600):
        r = must('query-migrate')
        if r.get('status') in ('completed', 'failed'):
            break
        time.sleep(0.05)
    print(r['status'], r['ram']['transferred'])
    if r['status'] != 'completed':
        sys.exit(f'migration {r["status"]}: {r.get("error-desc")}')
elif sys.argv[2] == 'pin':
    must('migrate-set-capabilities', capabilities=[{'capability': 'rdma-pin-all', 'state': True}])
    must('migrate-incoming', uri=sys.argv[3])
elif sys.argv[2] == 'take':
    must('migrate-incoming', uri=sys.argv[3])
elif sys.argv[2] == 'save':
    must('pmemsave', val=0x1000000, size=0x2000000, filename=sys.argv[3])
    ask('quit')
QMP
head -c 33554432 /dev/urandom >"$tmp/memory"
machine="qemu-system-x86_64 -M pc,accel=tcg -m 64 -nodefaults -display none -S"
for pin in pinned loose; do
	port=$((port + 1))
	serve $machine -qmp unix:"$tmp/b",server=on,wait=off -incoming defer
	on_client $machine -device loader,file="$tmp/memory",addr=0x1000000,force-raw=on \
		-qmp unix:"$tmp/a",server=on,wait=off >"$tmp/client" 2>&1 &
	pids="$pids $!"
	until_there 20 test -S "$tmp/a" -a -S "$tmp/b" || fail "QEMU does not start"
	take=take
	[ $pin = loose ] || take=pin
	python3 "$tmp/qmp.py" "$tmp/b" $take rdma:$host:$port || fail "the server does not listen"
	python3 "$tmp/qmp.py" "$tmp/a" move rdma:$host:$port $pin >"$tmp/moved" || fail "the machine does not move ($pin)"
	python3 "$tmp/qmp.py" "$tmp/b" save "$tmp/after" || fail "the machine did not arrive ($pin)"
	python3 "$tmp/qmp.py" "$tmp/a" save "$tmp/before" || fail "the machine that left is gone ($pin)"
	served
	cmp "$tmp/memory" "$tmp/after" || fail "the memory differs after the move ($pin)"
	rm -f "$tmp/a" "$tmp/b" "$tmp/after"
done
echo "2 moves of 32 MiB"

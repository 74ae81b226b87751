#!/bin/sh
# Unmodified programs here on the drop-in libraries, and in a virtual machine on the kernel's
# soft-RoCE: each program both ways, every packet captured and judged by ripstop pcap.
set -eu
ripstop=$1
RS_OWN_NET=1 # it makes its own, and fetches the kernel
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/vm.sh"
vm_need

vm_boot '
modprobe -a virtio_net rdma_rxe ib_uverbs rdma_ucm
i=0
until card=$(ls /sys/bus/virtio/drivers/virtio_net/virtio*/net 2>/dev/null | tail -n 1) && [ -n "$card" ] ||
	[ $i = 50 ]; do
	i=$((i + 1))
	sleep 0.1
done
[ -n "$card" ] || echo no network card
ip link set $card down
[ $card = eth0 ] || ip link set $card name eth0
ip link set eth0 mtu 4500 up
ip address add 10.77.0.2/24 dev eth0
ip address add fd77::2/64 dev eth0 nodad
rdma link add rxe0 type rxe netdev eth0
i=0
until grep -q 0a4d:0002 /sys/class/infiniband/rxe0/ports/1/gids/1 || [ $i = 50 ]; do
	i=$((i + 1))
	sleep 0.1
done
'
echo "the guest is up: Linux $kernel"
vm_start 'test -e /sys/class/infiniband/rxe0'
vm_wait "$vm_job" 10 || {
	tail -n 20 "$tmp/console"
	skip "the guest has no rxe0"
}
ip netns exec $ns ethtool -K tap0 tx-udp-segmentation off tx off gso off gro off >/dev/null 2>&1 || :
ip netns exec $ns tcpdump -U --immediate-mode -B 65536 -i tap0 -s 0 -w "$tmp/wire.pcap" \
	udp port 4791 2>"$tmp/tcpdump" &
capture=$!
pids="$pids $capture"
i=0
until grep -q listening "$tmp/tcpdump" || [ $i = 1200 ]; do
	i=$((i + 1))
	sleep 0.05
done

failed=0
port=18600

# What listens in the guest: wait for the TCP port, or for rdma_cm's.
serve_there='
p=$!
until grep -q ":HEX 0*:0000 0A" /proc/net/tcp /proc/net/tcp6 || ! kill -0 $p 2>/dev/null ||
	rdma resource show cm_id 2>/dev/null | grep -q LISTEN; do
	sleep 0.05
done
: >/run/share/listens.JOB
wait $p'

# run NAME guest|here HERE THERE: HERE in the namespace on the drop-in libraries, THERE in the guest
# on rxe0; the second word says who is the server.
run() {
	here=0 there=0
	if [ "$2" = guest ]; then
		hex=$(printf %04X $port)
		vm_start "timeout 90 $4 & $(echo "$serve_there" | sed "s/HEX/$hex/; s/JOB/$vm_next/")"
		i=0
		until [ -e "$tmp/share/listens.$vm_job" ] || [ $i = 300 ]; do
			i=$((i + 1))
			sleep 0.1
		done
		ip netns exec $ns timeout 60 "$ripstop" exec -- $3 >"$tmp/here" 2>&1 || here=$?
	else
		ip netns exec $ns timeout 90 "$ripstop" exec -- $3 >"$tmp/here" 2>&1 &
		server=$!
		pids="$pids $server"
		case $1 in
		rping) sleep 2 ;;
		*) wait_listen "ip netns exec $ns" || : ;;
		esac
		vm_start "timeout 60 $4"
		wait $server || here=$?
	fi
	vm_wait "$vm_job" 100 || there=$?
	if [ $here != 0 ] || [ $there != 0 ]; then
		echo "FAILED: $1, server: $2: here $here, guest $there"
		tail -n 6 "$tmp/here"
		echo "-- guest:"
		tail -n 6 "$tmp/share/out.$vm_job" || :
		failed=1
		return
	fi
	echo "passed: $1, server: $2"
}

# both PROGRAM ARGS...: GID as the option -g or -x gives it: IPv4 is 0 here and 1 on rxe
both() {
	gid=$1
	shift
	port=$((port + 1))
	run "$*" guest "$* -p $port -d rs_tap0 $gid 0 10.77.0.2" "$* -p $port -d rxe0 $gid 1"
	port=$((port + 1))
	run "$*" here "$* -p $port -d rs_tap0 $gid 0" "$* -p $port -d rxe0 $gid 1 10.77.0.1"
}

both -g ibv_rc_pingpong -n 100 -s 3000 -m 4096 -c
both -g ibv_rc_pingpong -n 20 -s 3000 -m 256 -c
both -g ibv_uc_pingpong -n 50
both -g ibv_ud_pingpong -n 50
both -g ibv_srq_pingpong -n 50
both -x ib_write_bw -n 100 -F
both -x ib_send_bw -n 100 -F
both -x ib_write_lat -n 50 -F
# perftest ends where the devices differ in READs outstanding and none are named
both -x ib_read_bw -n 100 -F -o 16
both -x ib_atomic_bw -n 100 -F -o 16
if command -v rping >/dev/null; then
	port=7174
	run rping guest "rping -c -C 5 -v -a 10.77.0.2" "rping -s -C 5 -v -a 10.77.0.2"
	run rping here "rping -s -C 5 -v -a 10.77.0.1" "rping -c -C 5 -v -a 10.77.0.1"
fi

sleep 0.5
kill $capture
wait $capture || :
[ -z "${RS_KEEP_PCAP:-}" ] || cp "$tmp/wire.pcap" "$RS_KEEP_PCAP"
"$ripstop" pcap "$tmp/wire.pcap" >"$tmp/story" || {
	echo "FAILED: something is wrong on the wire"
	failed=1
}
cat "$tmp/story"
grep -q '^Right: .* 0 with a wrong ICRC' "$tmp/story" || failed=1
[ "$(grep -c '> 10.77.0' "$tmp/story")" -ge 10 ] || {
	echo "FAILED: the capture lacks the traffic"
	failed=1
}
[ $failed = 0 ] && echo "passed: the wire"
exit $failed

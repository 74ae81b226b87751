#!/bin/sh
# ripstop exec beside the kernel's soft-RoCE in one virtual machine, turn by turn, medians: between
# two processes of the machine, as soft-RoCE is there, and between two namespaces, over a veth pair
# of the same MTU; and what a bare UDP ping-pong takes there. Not a test: figures for docs/testing.md.
# usage: rxe-bench.sh RIPSTOP [ROUNDS]
set -eu
ripstop=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
rounds=${2:-5}
RS_OWN_NET=1 # it makes its own, and fetches the kernel
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/vm.sh"
# QEMU without KVM copies a byte at a time where the processor has "fast rep movsb", which the kernel and the
# C library then use: seven times slower than by eights, on both sides.
export RS_VM_CPU="${RS_VM_CPU:-max,-erms}"
vm_need

# rxe of Linux 6.1 has its sockets in the initial namespace alone, so both its ends are there; the
# table "local" is asked for what arrives only, and what is sent goes over the pair.
vm_boot '
modprobe -a veth rdma_rxe ib_uverbs
ip link add rxa address 02:00:00:00:00:01 mtu 9000 type veth peer name rxb address 02:00:00:00:00:02 mtu 9000
sysctl -qw net.ipv4.conf.all.rp_filter=0
for d in rxa rxb; do
	sysctl -qw net.ipv4.conf.$d.accept_local=1 net.ipv4.conf.$d.rp_filter=0
	ip link set $d up
done
ip address add 10.1.0.1/32 dev rxa
ip address add 10.1.0.2/32 dev rxb
ip route add 10.1.0.2 dev rxa src 10.1.0.1 table 100
ip route add 10.1.0.1 dev rxb src 10.1.0.2 table 100
ip rule add pref 10 iif rxa lookup local
ip rule add pref 11 iif rxb lookup local
ip rule add pref 20 lookup 100
ip rule add pref 30 lookup local
ip rule del pref 0
ip neighbour replace 10.1.0.2 lladdr 02:00:00:00:00:02 dev rxa
ip neighbour replace 10.1.0.1 lladdr 02:00:00:00:00:01 dev rxb
rdma link add rxe0 type rxe netdev rxa
rdma link add rxe1 type rxe netdev rxb
ip netns add a
ip netns add b
ip link add va netns a mtu 9000 type veth peer name vb netns b mtu 9000
for n in a b; do
	ip -n $n link set lo up
	ip -n $n link set v$n up
done
ip -n a address add 10.2.0.1/24 dev va
ip -n b address add 10.2.0.2/24 dev vb
sleep 1
'
echo "the guest is up: Linux $kernel"

cc -std=gnu17 -D_GNU_SOURCE -O2 -o "$tmp/share/udp" "$(dirname "$0")/../../bench/live/udp.c"
cat >"$tmp/share/bench" <<BENCH
port=19000
pair() { # SERVER-PREFIX CLIENT-PREFIX ADDRESS SERVER-DEVICE CLIENT-DEVICE PROGRAM ARGS...
	sp=\$1 cp=\$2 address=\$3 sd=\$4 cd=\$5
	shift 5
	port=\$((port + 1))
	hex=\$(printf %04X \$port)
	\$sp "\$@" -F -p \$port \$sd >/tmp/server 2>&1 &
	until \$cat \$sp cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -q ":\$hex 0*:0000 0A" ||
		! kill -0 \$! 2>/dev/null; do
		sleep 0.1
	done
	timeout 100 \$cp "\$@" -F -p \$port \$cd \$address >/tmp/client 2>&1 || {
		tail -n 4 /tmp/client /tmp/server
		return
	}
	wait
	awk '/^ [0-9]/ {l = \$0} END {print l}' /tmp/client
}
rxe() { pair "" "" 10.1.0.1 "-d rxe0 -x 1" "-d rxe1 -x 1" "\$@"; }
rip() {
	pair "ip netns exec a $ripstop exec --" "ip netns exec b $ripstop exec --" 10.2.0.1 \
		"-d rs_va -x 0" "-d rs_vb -x 0" "\$@"
}
here() {
	pair "ip netns exec a $ripstop exec --" "ip netns exec a $ripstop exec --" 10.2.0.1 \
		"-d rs_va -x 0" "-d rs_va -x 0" "\$@"
}
floor() {
	ip netns exec a /run/share/udp pong 18999 &
	sleep 0.5
	timeout 100 ip netns exec b /run/share/udp ping 10.2.0.1 18999
	wait
}
echo "the guest's clock: \$(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)"
for round in \$(seq $rounds); do
	for size in 65536 1048576; do
		n=\$((104857600 / size))
		echo "bw \$size rxe \$(rxe ib_write_bw -m 4096 -s \$size -n \$n -t 16)"
		echo "bw \$size ripstop \$(rip ib_write_bw -m 4096 -s \$size -n \$n -t 16)"
		echo "bw \$size here \$(here ib_write_bw -m 4096 -s \$size -n \$n -t 16)"
	done
	echo "floor 2 udp \$(floor)"
	for p in ib_write_lat ib_send_lat; do
		echo "\$p 2 rxe \$(rxe \$p -s 2 -n 1000)"
		echo "\$p 2 ripstop \$(rip \$p -s 2 -n 1000)"
		echo "\$p 2 here \$(here \$p -s 2 -n 1000)"
	done
done
BENCH
sed -i 's/\$cat \$sp cat/$sp cat/' "$tmp/share/bench"
vm_start 'sh /run/share/bench'
vm_wait "$vm_job" 1200 || echo "the bench ended with status $?"
cat "$tmp/share/out.$vm_job"
# bw: MB/s, the best and the average; lat: us, the least and the typical one
awk '
$1 == "bw" && $7 > 0 {v = $7; if ($6 > best[$1 $2 $3]) best[$1 $2 $3] = $6}
$1 ~ /_lat$/ && $8 > 0 && $8 != "inf" {
	v = $8
	if (!best[$1 $2 $3] || $6 < best[$1 $2 $3]) best[$1 $2 $3] = $6
}
$1 == "floor" && $5 > 0 {v = $5; if (!best[$1 $2 $3] || v < best[$1 $2 $3]) best[$1 $2 $3] = v}
v > 0 {k = $1 $2 $3; all[k] = all[k] " " v; v = 0}
function median(s, a, n, i, j, t) {
	n = split(s, a, " ")
	for (i = 1; i <= n; i++)
		for (j = i + 1; j <= n; j++)
			if (a[j] + 0 < a[i] + 0) {t = a[i]; a[i] = a[j]; a[j] = t}
	return n ? a[int((n + 1) / 2)] : 0
}
function row(what, unit, k, how, r, p) {
	r = median(all[k "rxe"])
	p = median(all[k how])
	printf "%-34s rxe %7.1f (best %6.1f) %s, ripstop %7.1f (best %6.1f): %.2f times (best %.2f)\n",
		what, r, best[k "rxe"], unit, p, best[k how], r ? p / r : 0,
		best[k "rxe"] ? best[k how] / best[k "rxe"] : 0
}
END {
	for (i = split("ripstop here", how); i > 0; i--) {
		way = how[i] == "here" ? "two processes" : "two namespaces"
		row(way ", WRITE 64 KiB", "MB/s", "bw65536", how[i])
		row(way ", WRITE 1 MiB", "MB/s", "bw1048576", how[i])
		row(way ", WRITE 2 B, latency", "us", "ib_write_lat2", how[i])
		row(way ", SEND 2 B, latency", "us", "ib_send_lat2", how[i])
	}
	printf "a bare UDP ping-pong between the namespaces, half a round trip: %.1f us\n",
		median(all["floor2udp"])
}' "$tmp/share/out.$vm_job"

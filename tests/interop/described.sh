#!/bin/sh
# A description as several `ripstop switch` processes: two leaves, two spines, four hosts, each host a
# network namespace. All reach all, once; flows take the described paths; marks begin at the described
# K_min of each class; PFC holds the described class and no other, from switch to switch; a wrong cable
# is told; a switch that is started anew is heard of again. Needs to be root.
set -eu
ripstop=$1
. "$(dirname "$0")/lib.sh"
need ip jq python3

fail() {
	echo "FAILED: $*"
	tail -n 5 "$tmp"/*.err || :
	exit 1
}

sw=rsf$$
cleanup_netns() {
	cleanup
	for ns in $sw $sw-0 $sw-1 $sw-2 $sw-3; do ip netns del $ns 2>/dev/null || :; done
}
trap cleanup_netns EXIT
netns_exec || skip "ip netns exec is refused here"
ip netns add $sw 2>/dev/null || skip "network namespaces cannot be made"
in_sw="ip netns exec $sw"

# Class 3 marks from 12 kB on, class 4 from 40 kB; class 3 is lossless. Thresholds at certainty, so that
# what is marked is known to the packet.
cat >"$tmp/pod.yaml" <<'EOF'
fabric:
  network: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 2, spines: 2, rate: 100M, delay: 1us}
  qos:
    buffer: 4MB
    cell: 1B
    dscp: {32: 4}
    classes:
      - {class: 3, lossless: true, alpha_shift: -6, ecn: true, kmin: 12kB, kmax: 12kB, pmax: 1}
      - {class: 4, lossless: false, ecn: true, kmin: 40kB, kmax: 40kB, pmax: 1}
      - {class: 0, lossless: false, ecn: false}
EOF

# What is wrong is one line or two, with its place where it is in the file, and exit status 2.
bad() { # WORDS ARGUMENT...
	words=$1
	shift
	status=0
	$in_sw "$ripstop" switch "$@" >"$tmp/out" 2>"$tmp/bad.err" || status=$?
	if [ $status != 2 ] || [ "$(wc -l <"$tmp/bad.err")" -gt 2 ] || ! grep -qF -- "$words" "$tmp/bad.err"; then
		cat "$tmp/bad.err"
		fail "switch $*: exit status $status; expected 2 and '$words'"
	fi
}
sed 's/kmin: 40kB/kmin: 40/' "$tmp/pod.yaml" >"$tmp/unit.yaml"
bad "unit.yaml:9:" "$tmp/unit.yaml" --as leaf0
sed 's/cell: 1B/sell: 1B/' "$tmp/pod.yaml" >"$tmp/key.yaml"
bad "key.yaml:5:5" "$tmp/key.yaml" --as leaf0
bad "has 4 switches: say by --as" "$tmp/pod.yaml"
bad "did you mean 'leaf1'" "$tmp/pod.yaml" --as leaf11
bad "from 0 to 3, found '4'" "$tmp/pod.yaml" --as leaf0 --port leaf1:4=x
bad "is named twice" "$tmp/pod.yaml" --as leaf0 --port 1=x --port leaf0:1=y
bad "expected [SWITCH:]PORT=INTERFACE" "$tmp/pod.yaml" --as leaf0 --port 1
bad "has no interface, and routes go over it" "$tmp/pod.yaml" --as leaf0
bad "there is no network interface 'nosuch'" "$tmp/pod.yaml" --as leaf0 --port 2=nosuch --port 3=nosuch2
bad "one operand too many" "$tmp/pod.yaml" --as leaf0 eth0
bad "are for a description" --as leaf0 eth0 eth1
bad "No such file" /no/such.yaml
bad "no key 'rates'" "$tmp/pod.yaml" --as leaf0 --set fabric.network.rates=1G

# The same switch is shown without an interface.
"$ripstop" switch --show --json --as leaf1 --set fabric.qos.buffer=6MB "$tmp/pod.yaml" >"$tmp/show" ||
	fail "--show"
jq -e '.switch == "leaf1" and .classes[3].lossless and (.classes[4].kmin == 40000) and
	(.ports | map(.leads_to) == ["h2", "h3", "spine0 port 1", "spine1 port 1"])' "$tmp/show" >/dev/null ||
	fail "--show: $(jq -c . "$tmp/show")"

up() { # INTERFACE
	$in_sw sysctl -qw net.ipv6.conf.$1.disable_ipv6=1 2>/dev/null || :
	ip -n $sw link set $1 mtu 1500 up
}
for leaf in 0 1; do
	for spine in 0 1; do
		ip -n $sw link add leaf$leaf-p$((2 + spine)) type veth peer name spine$spine-p$leaf ||
			skip "veth cannot be made"
		up leaf$leaf-p$((2 + spine))
		up spine$spine-p$leaf
	done
done
for i in 0 1 2 3; do
	ip netns add $sw-$i
	ip link add eth0 netns $sw-$i type veth peer name wire$i netns $sw
	up wire$i
	ip netns exec $sw-$i sysctl -qw net.ipv6.conf.eth0.disable_ipv6=1 2>/dev/null || :
	ip -n $sw-$i link set lo up
	ip -n $sw-$i link set eth0 mtu 1500 up
	ip -n $sw-$i address add 10.79.0.$((i + 1))/24 dev eth0
done

# All are given the same ports; each takes its own. Between switches names say it.
start() { # SWITCH [OPTION...]
	name=$1
	shift
	$in_sw "$ripstop" switch "$tmp/pod.yaml" --as $name --json --port leaf0:0=wire0 --port leaf0:1=wire1 \
		--port leaf1:0=wire2 --port leaf1:1=wire3=8M "$@" >"$tmp/$name" 2>"$tmp/$name.err" &
	eval "pid_$name=$!"
	pids="$pids $!"
}
ready() { # SWITCH
	i=0
	until grep -q forwarding "$tmp/$1.err" 2>/dev/null; do
		i=$((i + 1))
		[ $i -lt 200 ] || fail "$1 does not start"
		sleep 0.05
	done
}
# report SWITCH: its counters so far
report() {
	eval "p=\$pid_$1"
	before=$(wc -c <"$tmp/$1")
	# ip netns exec has become the program itself
	kill -USR1 $p
	i=0
	until [ "$(wc -c <"$tmp/$1")" -gt "$before" ] && jq -es . "$tmp/$1" >/dev/null 2>&1; do
		i=$((i + 1))
		[ $i -lt 200 ] || fail "$1 prints nothing"
		sleep 0.05
	done
	jq -s '.[-1]' "$tmp/$1"
}
for s in leaf0 leaf1 spine0 spine1; do start $s; done
for s in leaf0 leaf1 spine0 spine1; do ready $s; done
sleep 2.5 # they settle

cat >"$tmp/udp.py" <<'EOF'
"""udp.py recv PORT SECONDS | send TO PORT COUNT TOS PAUSE [SPORT]: datagrams of 1000 bytes of payload, numbered;
the receiver prints one line a datagram, number and ECN bits, until none came for so long
udp.py echo | ask TO SECONDS: questions, until ten were answered in time; prints how many were, or that one was twice"""
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
if sys.argv[1] == "recv":
    s.setsockopt(socket.SOL_IP, socket.IP_RECVTOS, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    s.bind(("", int(sys.argv[2])))
    s.settimeout(20)
    print("bound", flush=True)
    try:
        while True:
            data, control, _, _ = s.recvmsg(2048, 64)
            print(int.from_bytes(data[:4], "big"), control[0][2][0] & 3, flush=True)
            s.settimeout(float(sys.argv[3]))
    except socket.timeout:
        pass
elif sys.argv[1] == "echo":
    s.bind(("", 7))
    while True:
        data, who = s.recvfrom(2048)
        s.sendto(data, who)
elif sys.argv[1] == "ask":
    end, tries, known, seen = time.time() + float(sys.argv[3]), 0, 0, {}
    def hear():
        data = s.recv(2048)
        seen[data] = seen.get(data, 0) + 1
        return data
    s.settimeout(0.3)
    while known < 10 and time.time() < end:
        tries += 1
        s.sendto(tries.to_bytes(4, "big"), (sys.argv[2], 7))
        try:
            while hear() != tries.to_bytes(4, "big"): # one that was late
                pass
            known += 1
        except socket.timeout:
            pass
    try:
        while True:
            hear()
    except socket.timeout:
        pass
    print(known if max(seen.values(), default=0) == 1 else "twice")
else:
    to, port, count, tos, pause = sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]), float(sys.argv[6])
    s.setsockopt(socket.SOL_IP, socket.IP_TOS, tos)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8 << 20)
    if len(sys.argv) > 7:
        s.bind(("", int(sys.argv[7])))
    for k in range(count):
        s.sendto(k.to_bytes(4, "big") + bytes(996), (to, port))
        if pause:
            time.sleep(pause)
EOF

# ---- All reach all, once ----
for i in 0 1 2 3; do
	ip netns exec $sw-$i python3 "$tmp/udp.py" echo &
	pids="$pids $!"
done
ask() { # FROM TO SECONDS
	ip netns exec $sw-$1 python3 "$tmp/udp.py" ask 10.79.0.$(($2 + 1)) $3
}
for from in 0 1 2 3; do
	for to in 0 1 2 3; do
		[ $from = $to ] || [ "$(ask $from $to 20)" = 10 ] ||
			fail "host $from does not reach host $to, or gets answers twice"
	done
done
listen() { # HOST PORT SECONDS
	: >"$tmp/got"
	ip netns exec $sw-$1 python3 "$tmp/udp.py" recv $2 $3 >"$tmp/got" &
	receiver=$!
	i=0
	until grep -q bound "$tmp/got"; do
		i=$((i + 1))
		[ $i -lt 200 ] || fail "no receiver"
		sleep 0.05
	done
}
send() { # HOST TO PORT COUNT TOS PAUSE [SPORT]
	from=$1 to=$2
	shift 2
	ip netns exec $sw-$from python3 "$tmp/udp.py" send 10.79.0.$((to + 1)) "$@"
}

# ---- Paths: one flow keeps to one spine, many take both ----
spines() { report leaf0 | jq -r '[.ports[2,3].tx_packets] | join(" ")'; }
set -- $(spines)
listen 2 6000 1
send 0 2 6000 40 0 0.001 7000
wait $receiver
set -- $1 $2 $(spines)
one=$(($3 - $1)) other=$(($4 - $2))
# Hosts ask each other's addresses now and then: a few packets more.
if [ $((one + other)) -lt 40 ] || { [ $one -gt 8 ] && [ $other -gt 8 ]; }; then
	fail "one flow over both spines: $one and $other packets"
fi
set -- $(spines)
listen 2 6000 1
for p in $(seq 7000 7023); do send 0 2 6000 5 0 0 $p; done
wait $receiver
set -- $1 $2 $(spines)
[ $(($3 - $1)) -ge 20 ] && [ $(($4 - $2)) -ge 20 ] || fail "24 flows: $(($3 - $1)) and $(($4 - $2)) packets a spine"

# ---- Marks at the described K_min ----
# 100 datagrams at once to a port of 8 Mb/s: 1046 bytes a frame in the buffer, in cells of 1 byte. The
# links before it are 12 times as fast: at most every 12th has left when the next comes. Host 3 is told
# of the first packet that is marked.
first_marked() { # TOS
	listen 3 6001 1
	send 0 3 6001 100 $1 0
	wait $receiver
	awk 'NR > 1 && $2 == 3 { print $1; exit }' "$tmp/got"
}
first=$(first_marked $((26 << 2 | 2)))
[ "${first:-0}" -ge 11 ] && [ $first -le 25 ] || fail "class 3: the first mark is on packet ${first:-none}, not 11 to 25"
first=$(first_marked $((32 << 2 | 2)))
[ "${first:-0}" -ge 38 ] && [ $first -le 70 ] || fail "class 4: the first mark is on packet ${first:-none}, not 38 to 70"
[ -z "$(first_marked 2)" ] || fail "class 0 does not mark"

# ---- PFC of the described class ----
pauses() { report leaf1 | jq '[.ports[2,3].tx_pauses] | add'; }
before=$(pauses)
listen 3 6002 2
send 0 3 6002 250 0 0
wait $receiver
[ "$(grep -c ' ' "$tmp/got")" = 250 ] || fail "class 0: $(grep -c ' ' "$tmp/got") of 250 came"
[ "$(pauses)" = $before ] || fail "class 0 is not lossless, and was paused"
listen 3 6002 2
send 0 3 6002 200 $((26 << 2)) 0
wait $receiver
[ "$(grep -c ' ' "$tmp/got")" = 200 ] || fail "class 3: $(grep -c ' ' "$tmp/got") of 200 came"
[ "$(pauses)" -gt $before ] || fail "class 3 was not paused"
heard=$(for s in spine0 spine1; do report $s | jq '.ports[1].rx_pauses'; done | awk '{ n += $1 } END { print n }')
[ "$heard" -gt 0 ] || fail "no spine was paused"
for s in leaf0 leaf1 spine0 spine1; do
	report $s >"$tmp/r"
	jq -e '.dropped_lossless == 0' "$tmp/r" >/dev/null || fail "$s dropped of a lossless class: $(jq -c . "$tmp/r")"
	jq -e '[.ports[] | .cable // empty | . == "as described"] | all' "$tmp/r" >/dev/null ||
		fail "$s has a cable that is not as described: $(jq -c . "$tmp/r")"
done

# ---- RDMA over the described network: an unmodified program ----
if command -v ib_send_bw >/dev/null; then
	RIPSTOP_RATE=90M
	export RIPSTOP_RATE
	ip netns exec $sw-2 timeout 60 "$ripstop" exec -- ib_send_bw -d rs_eth0 -m 1024 -t 4 -u 18 -x 0 -p 18700 \
		-s 65536 -n 40 >"$tmp/rdma2.err" 2>&1 &
	server=$!
	pids="$pids $server"
	i=0
	until ip netns exec $sw-0 timeout 60 "$ripstop" exec -- ib_send_bw -d rs_eth0 -m 1024 -t 4 -u 18 -x 0 \
		-p 18700 -s 65536 -n 40 10.79.0.3 >"$tmp/rdma0.err" 2>&1; do
		i=$((i + 1))
		[ $i -lt 20 ] || fail "ib_send_bw over the described network"
		sleep 0.2
	done
	wait $server || fail "ib_send_bw's server"
	unset RIPSTOP_RATE
fi

# ---- A switch anew: a wrong cable, then as described; another description ----
again() { # SWITCH OPTION...
	eval "p=\$pid_$1"
	kill $p
	wait $p 2>/dev/null || :
	start "$@"
	ready $1
}
said() { # SWITCH WORDS
	i=0
	until grep -qF "$2" "$tmp/$1.err"; do
		i=$((i + 1))
		[ $i -lt 100 ] || fail "$1 did not say '$2'"
		sleep 0.05
	done
}
again leaf0 --port leaf0:2=leaf0-p3 --port leaf0:3=leaf0-p2
said leaf0 "leaf0-p3 leads to spine1 port 0; described is port 2 of leaf0 to spine0 port 0"
said spine1 "spine1-p0 leads to leaf0 port 2"
again leaf0
said spine1 "spine1-p0 is now as described"
[ "$(ask 0 3 20)" -ge 10 ] || fail "host 3 is not reached anew"
again leaf0 --set fabric.network.leaves=3
said leaf0 "leaf0-p2: the switch there runs another description"

for s in leaf0 leaf1 spine0 spine1; do
	eval "p=\$pid_$s"
	kill -INT $p
	wait $p || fail "$s: exit status $?"
done
echo "ok: marks of class 3 and 4 at their K_min, PFC of class 3 alone, paths by description"

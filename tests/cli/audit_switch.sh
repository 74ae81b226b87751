#!/bin/sh
# Hosts and their switch judged together by ripstop audit: an odd site that agrees with itself is
# right, one map that differs is not, and counters count between two snapshots.
set -eu
ripstop=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
status() {
	expected=$1
	shift
	got=0
	"$@" >"$tmp/out" 2>"$tmp/err" || got=$?
	[ "$got" = "$expected" ] || {
		echo "status $got, not $expected: $*"
		cat "$tmp/out" "$tmp/err"
		exit 1
	}
}
host() { # NAME DSCP PRIORITY PORT
	mkdir -p "$tmp/site/$1"
	awk -v dscp="$2" -v prio="$3" 'BEGIN {
		print "Priority trust state: dscp\ndscp2prio mapping:\n\tprio:" prio " dscp:" dscp ","
		print "PFC configuration:\n\tpriority    0   1   2   3   4   5   6   7"
		line = "\tenabled  "
		for (i = 0; i < 8; i++) line = line "   " (i == prio)
		print line
	}' >"$tmp/site/$1/mlnx_qos-eth2.txt"
	echo "export NCCL_IB_TC=$(($2 * 4))" >"$tmp/site/$1/job.env"
	printf 'lldp.eth2.chassis.name=leaf1\nlldp.eth2.port.ifname=%s\nlldp.eth2.port.mfs=9216\n' \
		"$4" >"$tmp/site/$1/lldp.txt"
}
# DSCP 40 on priority 5, everywhere
host gpu01 40 5 swp1
host gpu02 40 5 swp2
mkdir "$tmp/site/leaf1"
cat >"$tmp/site/leaf1/nv.txt" <<E
nv set system hostname leaf1
nv set qos mapping default-global trust l3
nv set qos mapping default-global dscp 40 switch-priority 5
nv set qos mapping default-global dscp 48 switch-priority 6
nv set qos pfc default-global switch-priority 5
nv set qos egress-queue-mapping default-global switch-priority 5 traffic-class 5
nv set qos congestion-control default-global traffic-class 5 ecn enable
nv set interface swp1-2 qos pfc-watchdog state enable
nv set interface swp1-2 link mtu 9216
E
status 0 "$ripstop" audit --price none --allow-unknown "$tmp/site"
status 0 "$ripstop" audit --price none --check X01 -v "$tmp/site"
grep -q 'leaf1 *class *TC 5 (lossless)' "$tmp/out"
grep -q 'leaf1 *queue *5, marks ECN' "$tmp/out"
# the switch moves the class: PFC says 5 at both ends, and the chain is broken
sed -i 's/dscp 40 switch-priority 5/dscp 40 switch-priority 4/' "$tmp/site/leaf1/nv.txt"
status 1 "$ripstop" audit --price none "$tmp/site"
grep -q 'FAIL *critical *X01' "$tmp/out"
"$ripstop" audit --price none --json "$tmp/one" --quiet "$tmp/site" || :
"$ripstop" audit --price none --json "$tmp/two" --quiet "$tmp/site" || :
cmp "$tmp/one" "$tmp/two"
# each system's own words mend it
rm "$tmp/site/leaf1/nv.txt"
cat >"$tmp/site/leaf1/leaf.conf" <<E
set system host-name leaf1
set interfaces et-0/0/1 mtu 9216
set class-of-service forwarding-classes class RDMA queue-num 4
set class-of-service forwarding-classes class RDMA no-loss
set class-of-service forwarding-classes class RDMA pfc-priority 5
set class-of-service classifiers dscp d forwarding-class RDMA loss-priority low code-points 011010
set class-of-service congestion-notification-profile c input dscp code-point 011010 pfc
set class-of-service interfaces et-0/0/1 congestion-notification-profile c
set class-of-service interfaces et-0/0/1 unit 0 classifiers dscp d
E
status 1 "$ripstop" audit --price none "$tmp/site"
grep -q 'classifiers dscp d forwarding-class RDMA loss-priority low code-points 101000' "$tmp/out"
rm "$tmp/site/leaf1/leaf.conf"
cat >"$tmp/site/leaf1/run.cfg" <<E
hostname leaf1
interface Ethernet1
   no switchport
   qos trust dscp
   priority-flow-control on
   priority-flow-control priority 5 no-drop
qos map dscp 26 to traffic-class 5
qos map dscp 40 to traffic-class 4
E
status 1 "$ripstop" audit --price none "$tmp/site"
grep -q 'qos map dscp 40 to traffic-class 5' "$tmp/out"
# drops of long ago, and drops that go on
counters() { # DROPPED
	cat <<E
{"COUNTERS_PORT_NAME_MAP": {"Ethernet0": "oid:0x1"},
 "COUNTERS_QUEUE_NAME_MAP": {"Ethernet0:3": "oid:0x2"},
 "COUNTERS:oid:0x1": {"SAI_PORT_STAT_PFC_3_TX_PKTS": "5"},
 "COUNTERS:oid:0x2": {"SAI_QUEUE_STAT_DROPPED_PACKETS": "$1"}}
E
}
for age in old new; do
	for leaf in leaf1 leaf2; do
		mkdir -p "$tmp/$age/$leaf"
		cat >"$tmp/$age/$leaf/qos.json" <<E
{"PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3", "dscp_to_tc_map": "A"}},
 "DSCP_TO_TC_MAP": {"A": {"26": "3"}}}
E
		counters 40 >"$tmp/$age/$leaf/counters.json"
	done
done
status 0 "$ripstop" audit --price none --check S13 --since "$tmp/old" "$tmp/new"
counters 41 >"$tmp/new/leaf2/counters.json"
status 1 "$ripstop" audit --price none --check S13 --since "$tmp/old" "$tmp/new"
grep -q 'leaf2 dropped 1 packets of lossless queue 3' "$tmp/out"

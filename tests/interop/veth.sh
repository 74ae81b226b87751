#!/bin/sh
# Between two network namespaces over veth (MTU 1500, so a path MTU of 1024): the programs whose other tests
# are on the loopback. libibverbs' examples and perftest's services, or with a second argument perftest's "sizes", or
# "others", qperf and UCX.
set -eu
ripstop=$1 part=${2-services}
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
need ibv_rc_pingpong ib_write_bw nsenter
[ -n "${RS_OWN_NET-}" ] && unshare -n true 2>/dev/null || skip "network namespaces cannot be made"

peer_namespace
host=10.80.0.1 dev=rs_pair
ip link add pair type veth peer name pair netns $peer || skip "veth cannot be made"
ip address add 10.80.0.2/24 dev pair
ip address add fd80::2/64 dev pair nodad
ip link set pair up
$in_server ip link set lo up
$in_server ip address add 10.80.0.1/24 dev pair
$in_server ip address add fd80::1/64 dev pair nodad
$in_server ip link set pair up

if [ "$part" = services ]; then
	for gid in 0 1; do
		for program in ibv_rc_pingpong ibv_uc_pingpong ibv_srq_pingpong ibv_xsrq_pingpong; do
			pair $program -g $gid -n 50 -m 1024
			pair $program -g $gid -n 50 -m 512 -e
		done
		pair ibv_ud_pingpong -g $gid -n 50 -s 1000
		pair ibv_ud_pingpong -g $gid -n 50 -s 1000 -e
	done
	for service in RC UC XRC; do
		pair ib_write_bw -n 20 -c $service -b
		pair ib_send_bw -n 20 -c $service -q 4
		pair ib_send_lat -n 20 -c $service -e
	done
	for service in RC XRC; do
		pair ib_read_bw -n 20 -c $service -q 4 -x 1
		pair ib_atomic_lat -n 20 -c $service
	done
	pair ib_send_bw -n 20 -c UD -e
	pair ib_send_lat -n 20 -c UD -x 1
	pair ib_send_bw -n 20 -r 64 --use-srq
	pair ib_write_lat -n 20 -I 64 -s 64
	pair ib_write_lat -n 20 --use_old_post_send
	echo "passed: veth"
	exit
fi

if [ "$part" = sizes ]; then
	for verb in write read send; do
		pair ib_${verb}_bw -n 20 -s 2
		pair ib_${verb}_bw -n 5 -s 8388608
		pair ib_${verb}_bw -n 20 -m 256
		pair ib_${verb}_bw -n 20 -R
	done
	echo "passed: veth, sizes"
	exit
fi

if command -v qperf >/dev/null; then
	port=$((port + 1))
	two "exec qperf -lp $port" \
		"qperf -lp $port -cm 1 -t 1 $host rc_lat rc_bw rc_rdma_read_bw && exec qperf -lp $port $host quit"
fi

if command -v ucx_perftest >/dev/null; then
	export UCX_NET_DEVICES=$dev:1
	for transport in rc_v ud_verbs; do
		for test in "tag_lat -s 8" "tag_bw -s 100000" "ucp_put_bw -s 8" "ucp_get -s 5000"; do
			port=$((port + 1))
			two "UCX_TLS=$transport exec ucx_perftest -p $port" \
				"UCX_TLS=$transport exec ucx_perftest -p $port -n 100 -w 5 -t $test $host"
		done
	done
	unset UCX_NET_DEVICES
fi
echo "passed: veth, others"

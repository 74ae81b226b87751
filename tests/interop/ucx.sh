#!/bin/sh
# UCX's own benchmark over the loopback: tag matching, put, get and atomics over RC and UD queue pairs.
# rc_v is rc_verbs, and ud_verbs to connect it; the names that UCX logs show what carries the data.
set -eu
ripstop=$1
. "$(dirname "$0")/lib.sh"
need ucx_perftest

export UCX_NET_DEVICES=$dev:1 UCX_LOG_LEVEL=info

# perf TLS TRANSPORT OPTIONS...: TRANSPORT must be what carries it.
perf() {
	export UCX_TLS=$1
	transport=$2
	shift 2
	port=$((port + 1))
	two "exec ucx_perftest -p $port" "exec ucx_perftest -p $port $* $host"
	grep -q "$transport/$dev:1" "$tmp/client" || {
		echo "FAILED: not over $transport on $dev"
		cat "$tmp/client"
		exit 1
	}
}

for test in tag_lat tag_bw ucp_put_lat ucp_put_bw ucp_get; do
	perf rc_v rc_verbs -t $test -n 200 -w 10 -s 8
	perf rc_v rc_verbs -t $test -n 50 -w 5 -s 1000000
	perf ud_verbs ud_verbs -t $test -n 50 -w 5 -s 8
done
perf rc_v rc_verbs -t tag_lat -n 200 -w 10 -s 65536 # between the two protocols' sizes
perf rc_v rc_verbs -t ucp_am_bw -n 200 -w 10 -s 65536
perf rc_v rc_verbs -t ucp_fadd -n 100 -w 5 -s 8
perf ud_verbs ud_verbs -t tag_bw -n 50 -w 5 -s 65536

# asleep until a completion comes: UCX asks for the event after its last look, and does not look again
perf rc_v rc_verbs -E sleep -t tag_lat -n 200 -w 5 -s 8
perf rc_v rc_verbs -E sleep -t tag_bw -n 50 -w 5 -s 65536
perf ud_verbs ud_verbs -E sleep -t tag_lat -n 200 -w 5 -s 8

export UCX_IB_GID_INDEX=1 # the loopback's IPv6 address
perf rc_v rc_verbs -t tag_lat -n 50 -w 5 -s 8
perf ud_verbs ud_verbs -t tag_lat -n 50 -w 5 -s 8
unset UCX_IB_GID_INDEX

# without UCX's protocols: the transports by themselves
for transport in rc_verbs ud_verbs; do
	port=$((port + 1))
	two "exec ucx_perftest -p $port" \
		"exec ucx_perftest -p $port -d $dev:1 -x $transport -t am_lat -n 200 -w 10 $host"
done
for test in "put_lat -s 8" "put_bw -s 8" "get -D zcopy -s 5000"; do
	port=$((port + 1))
	two "exec ucx_perftest -p $port" \
		"exec ucx_perftest -p $port -d $dev:1 -x rc_verbs -t $test -n 200 -w 10 $host"
done

#!/bin/sh
# libibverbs' own examples over the loopback: polled, with events, checked data, both GID families.
set -eu
ripstop=$1
. "$(dirname "$0")/lib.sh"
need ibv_devinfo ibv_rc_pingpong

"$ripstop" exec -- ibv_devinfo -v -d rs_lo >"$tmp/info"
for line in 'transport:.*InfiniBand (0)' 'state:.*PORT_ACTIVE' 'active_mtu:.*4096' \
	'link_layer:.*Ethernet' 'GID\[  0\]:.*::ffff:127.0.0.1, RoCE v2'; do
	grep -q "$line" "$tmp/info" || {
		echo "FAILED: ibv_devinfo says nothing like '$line'"
		cat "$tmp/info"
		exit 1
	}
done

pair ibv_rc_pingpong -g 0 -n 200 -c
pair ibv_rc_pingpong -g 0 -n 200 -c -e
pair ibv_rc_pingpong -g 1 -n 50 -c -s 1000003 -m 4096
pair ibv_rc_pingpong -g 0 -n 50 -c -s 100001 -m 256
pair ibv_rc_pingpong -g 0 -n 100 -c -N
pair ibv_rc_pingpong -g 0 -n 100 -c -t
pair ibv_rc_pingpong -g 0 -n 100 -c -j
pair ibv_rc_pingpong -g 0 -n 100 -c -o
pair ibv_uc_pingpong -g 0 -n 100
pair ibv_uc_pingpong -g 1 -n 100 -e
pair ibv_ud_pingpong -g 0 -n 100
pair ibv_ud_pingpong -g 1 -n 100 -e
pair ibv_srq_pingpong -g 0 -n 100
pair ibv_srq_pingpong -g 0 -n 100 -e
pair ibv_xsrq_pingpong -g 0 -n 50
pair ibv_xsrq_pingpong -g 0 -n 50 -e

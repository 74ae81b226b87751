#!/bin/sh
# libibverbs' own examples over the loopback: polled, with events, checked data, both GID families.
set -eu
ripstop=$1
. "$(dirname "$0")/lib.sh"
need ibv_devinfo ibv_rc_pingpong

# What programs of 2026 look for in a device, one expression a line.
"$ripstop" exec -- ibv_devinfo -v -d rs_lo >"$tmp/info"
while read -r line; do
	grep -q "$line" "$tmp/info" || {
		echo "FAILED: ibv_devinfo says nothing like '$line'"
		cat "$tmp/info"
		exit 1
	}
done <<'LINES'
transport:.*InfiniBand (0)
node_guid:.*[1-9a-f]
vendor_id:.*0x525053
vendor_part_id:.*4119
state:.*PORT_ACTIVE
active_mtu:.*4096
link_layer:.*Ethernet
phys_state:.*LINK_UP
max_msg_sz:.*0x40000000
gid_tbl_len:.*64
pkey_tbl_len:.*1$
max_qp_rd_atom:.*16$
atomic_cap:.*ATOMIC_HCA
max_mcast_grp:.*[1-9]
max_srq:.*[1-9]
max_mw:.*[1-9]
XRC$
MEM_WINDOW$
MEM_WINDOW_TYPE_2B
MEM_MGT_EXTENSIONS
SUPPORT_ATOMIC
ODP_SUPPORT_IMPLICIT
maximum available device memory:.*[1-9]
GID\[  0\]:.*::ffff:127.0.0.1, RoCE v2
GID\[  1\]:.*::1, RoCE v2
LINES

# The bytes of a longer message are checked by -c, where the program has it.
for mtu in 256 512 1024 2048 4096; do
	pair ibv_rc_pingpong -g 0 -n 50 -c -s 100001 -m $mtu
done
for gid in 0 1; do
	pair ibv_rc_pingpong -g $gid -n 100 -c
	pair ibv_rc_pingpong -g $gid -n 100 -c -e
done
for style in -N -t -j -o "-o -P" "-O -P" "-N -t" "-N -e" "-s 1000003 -m 4096" "-r 1 -s 1"; do
	pair ibv_rc_pingpong -g 0 -n 50 -c $style
done
for program in ibv_uc_pingpong ibv_ud_pingpong ibv_srq_pingpong ibv_xsrq_pingpong; do
	pair $program -g 0 -n 50
	pair $program -g 1 -n 50 -e
done
pair ibv_uc_pingpong -g 0 -n 50 -m 256 -s 50001
pair ibv_ud_pingpong -g 0 -n 50 -s 1
pair ibv_srq_pingpong -g 0 -n 100 -q 40 -s 5000 # QPs that share one queue
pair ibv_xsrq_pingpong -g 0 -n 50 -s 5000

#!/bin/sh
# libfabric's ping-pong over its verbs provider: connected endpoints (rdma_cm), datagrams, and the
# layers that make reliable datagrams of either; data is checked. libfabric leaves the loopback out,
# so it runs over the first other interface.
set -eu
ripstop=$1
. "$(dirname "$0")/lib.sh"
need fi_pingpong
[ -e "$("$ripstop" libdir)/librdmacm.so.1" ] || skip "the drop-in librdmacm is not built"

if [ -n "${RS_OWN_NET-}" ]; then # nothing but the loopback is here
	ip link add rsfi0 type veth peer name rsfi1 || skip "veth cannot be made"
	ip address add 10.76.0.1/24 dev rsfi0
	ip link set rsfi0 up && ip link set rsfi1 up
	with="--dev rs_fi=rsfi0"
else
	with="--dev rs_fi"
fi
"$ripstop" exec $with -- "$ripstop" devices >"$tmp/devices" || skip "no interface is usable"
host=$(sed -n 's/.*::ffff:\([0-9.]*\)$/\1/p' "$tmp/devices" | head -n 1)
case $host in
'' | 127.*) skip "no interface beside the loopback has an IPv4 address" ;;
esac

# pingpong PROVIDER TYPE SIZE
pingpong() {
	for try in 1 2 3; do
		port=$((port + 1))
		(two "exec fi_pingpong -p '$1' -e $2 -S $3 -c -I 20 -B $port" \
			"exec fi_pingpong -p '$1' -e $2 -S $3 -c -I 20 -P $port $host") >"$tmp/said" && break
		# Its verbs provider destroys a queue pair whose peer parted before it reads the completions (vrb_ep_close), and
		# calls what it did not read flushed: a program that loses its core between the two ends so, after its table.
		if ! grep -q 'cq_readerr: Work Request Flushed' "$tmp/client" "$tmp/server" ||
			! grep -q '^[0-9k]* *20 *=20' "$tmp/client" || ! grep -q '^[0-9k]* *20 *=20' "$tmp/server"; then
			break
		fi
	done
	cat "$tmp/said"
	! grep -q FAILED "$tmp/said" || exit 1
}
for size in 1 65536; do
	pingpong verbs msg $size
	pingpong 'verbs;ofi_rxm' rdm $size
done
pingpong 'verbs;ofi_rxd' rdm 4096
pingpong verbs dgram 1000
if [ -n "${RS_OWN_NET-}" ]; then # it finds the device by itself
	ip link set rsfi1 down
	named=$with with=
	pingpong verbs msg 64
	pingpong 'verbs;ofi_rxm' rdm 64
	with=$named
fi
# XRC: endpoints that share a connection and a receive queue
export FI_VERBS_PREFER_XRC=1 FI_OFI_RXM_USE_SRX=1
for size in 1 65536; do
	pingpong 'verbs;ofi_rxm' rdm $size
done

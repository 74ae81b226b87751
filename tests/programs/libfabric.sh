# program: libfabric
# packages: libfabric-bin
# version: fi_info --version | sed -n 's/^libfabric: /libfabric /p'
# shows: fi_pingpong over verbs (connected, datagrams), ofi_rxm and ofi_rxd
# data: each message is checked (-c)
# worlds: veth containers
need fi_pingpong
[ $world != loopback ] || skip "libfabric leaves the loopback out"
with="--dev rs_eth0=eth0"
for t in "verbs -e msg -S 65536" "verbs;ofi_rxm -e rdm -S 65536" "verbs;ofi_rxd -e rdm -S 4096" "verbs -e dgram -S 1000"; do
	port=$((port + 1))
	set -- $t
	(two "exec fi_pingpong -p '$1' $2 $3 $4 $5 -c -I 100 -B $port" \
		"exec fi_pingpong -p '$1' $2 $3 $4 $5 -c -I 100 -P $port $host") >"$tmp/said" || {
		cat "$tmp/said"
		exit 1
	}
done
echo "4 providers"

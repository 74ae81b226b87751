# program: rsockets: iperf3, and files by socat
# packages: rdmacm-utils iperf3 socat python3 librdmacm1
# version: dpkg-query -W -f '${Package} ${Version}\n' librdmacm1 iperf3 socat
# shows: unmodified socket programs under librspreload.so. Those that call accept4 (Python, nginx) or epoll cannot: it does not know them
# data: two files that socat carries are compared
need iperf3 socat python3
preload=$(ls /usr/lib/*/rsocket/librspreload.so 2>/dev/null | head -n 1)
[ -n "$preload" ] || skip "librspreload.so is not installed"
head -c 20000000 /dev/urandom >"$tmp/file"
for k in 1 2; do
	port=$((port + 1))
	serve env LD_PRELOAD="$preload" socat -U -b 65536 TCP4-LISTEN:$port,bind=$host OPEN:"$tmp/file"
	sleep 1
	on_client env LD_PRELOAD="$preload" socat -u -b 65536 TCP4:$host:$port CREATE:"$tmp/got" >"$tmp/client" 2>&1 || fail "socat ended with $?"
	served
	cmp "$tmp/got" "$tmp/file" || fail "the file differs"
done
port=$((port + 1))
serve env LD_PRELOAD="$preload" iperf3 -s -1 -p $port
sleep 1
on_client env LD_PRELOAD="$preload" iperf3 -c $host -p $port -t 1 -J >"$tmp/client" 2>&1 || fail "iperf3 ended with $?"
python3 - "$tmp/client" <<'SAY'
import json, sys
r = json.load(open(sys.argv[1]))["end"]["sum_received"]
assert r["bytes"] > 1e6, r
print("40 MB carried; iperf3 %.1f Gb/s" % (r["bits_per_second"] / 1e9))
SAY

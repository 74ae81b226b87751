# program: rdma_cm's programs
# packages: rdmacm-utils
# version: dpkg-query -W -f '${Package} ${Version}\n' rdmacm-utils
# shows: rping, ucmatose, udaddy, rdma_server and rdma_client, rcopy
# data: rping checks each ping; the file that rcopy carries is compared
need rping ucmatose udaddy rdma_server rcopy
run() { # SERVER CLIENT: shell commands; the client tries until the server listens
	(two "$1" "n=0; until $2; do n=\$((n + 1)); [ \$n -lt 20 ] || exit 1; sleep 0.2; done") >"$tmp/said" || {
		cat "$tmp/said"
		exit 1
	}
}
settle=1
run "exec rping -s -C 50 -v -V -a $host -p $((port + 1))" "rping -c -C 50 -v -V -a $host -p $((port + 1))"
run "exec ucmatose -c 20 -C 5 -S 1000 -b $host -p $((port + 2))" "ucmatose -c 20 -C 5 -S 1000 -s $host -p $((port + 2))"
run "exec udaddy -c 5 -C 5 -b $host" "udaddy -c 5 -C 5 -s $host"
run "exec rdma_server -p $((port + 4))" "rdma_client -s $host -p $((port + 4))"
head -c 3000000 /dev/urandom >"$tmp/file"
serve rcopy -p $((port + 5))
sleep 1
on_client rcopy "$tmp/file" $host:"$tmp/copy" -p $((port + 5)) >"$tmp/client" 2>&1 || fail "rcopy ended with $?"
cmp "$tmp/file" "$tmp/copy" || fail "rcopy copied something else"
stop_server
echo "5 programs"

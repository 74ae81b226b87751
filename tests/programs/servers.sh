# program: servers on epoll over rsockets
# packages: python3 curl
# version: dpkg-query -W -f '${Package} ${Version}\n' redis-server nginx-light curl; [ -z "${RIPSTOP_RDMA_CORE-}" ] || basename "$(realpath "$RIPSTOP_RDMA_CORE"/lib/librdmacm.so.1)"
# shows: unmodified redis-server, nginx (sendfile off, one process) and Python's http.server under the librspreload.so of rdma-core 65 and newer
# data: values of 4 B and 200 kB come back from Redis as they were set; files that curl fetches are compared
# Debian's librspreload.so does not know epoll: RIPSTOP_RDMA_CORE names a build of rdma-core. Debian starts the servers of its packages
# redis-server and nginx-light: they are used where they are, and not asked for.
[ -n "${RIPSTOP_RDMA_CORE-}" ] || skip "RIPSTOP_RDMA_CORE names no build of rdma-core 65 or newer (its librspreload.so knows epoll)"
preload=$(realpath "$RIPSTOP_RDMA_CORE")/lib/librspreload.so
[ -e "$preload" ] || skip "$preload is not there"
need redis-server redis-cli redis-benchmark nginx curl /usr/bin/python3
limit=100
over() { on_client env LD_PRELOAD="$preload" "$@" >"$tmp/client" 2>&1 || fail "$*: ended with $?"; }
head -c 3000000 /dev/urandom >"$tmp/file"
fetched() { # WHAT
	for k in 1 2 3; do
		rm -f "$tmp/got"
		over curl -sS -o "$tmp/got" "http://$host:$port/file"
		cmp "$tmp/got" "$tmp/file" || fail "$1: the file differs"
	done
}

port=$((port + 1))
serve env LD_PRELOAD="$preload" redis-server --bind $host --port $port --save "" --dir "$tmp" --protected-mode no
until_there 20 grep -q "Ready to accept connections" "$tmp/server" || fail "redis-server does not listen"
over redis-cli -h $host -p $port set small word
over redis-cli -h $host -p $port get small
grep -q '^word$' "$tmp/client" || fail "redis-server has another value"
python3 -c 'print("x7" * 100000, end="")' >"$tmp/large"
over redis-cli -h $host -p $port -x set large <"$tmp/large"
over redis-cli -h $host -p $port --raw get large
head -c 200000 "$tmp/client" | cmp - "$tmp/large" || fail "redis-server has another large value"
over redis-benchmark -h $host -p $port -n 2000 -c 10 -t set -d 100 -q
rate=$(tr '\r' '\n' <"$tmp/client" | sed -n 's/^SET: \([0-9]*\)[.0-9]* requests per second.*/\1/p')
[ "${rate:-0}" -gt 0 ] || fail "redis-benchmark has no figure"
stop_server

port=$((port + 1))
mkdir "$tmp/nginx"
cat >"$tmp/nginx/conf" <<CONF
user root; daemon off; master_process off; pid $tmp/nginx/pid; error_log stderr info;
events { worker_connections 64; use epoll; }
http {
	access_log off; sendfile off;
	client_body_temp_path $tmp/nginx/1; proxy_temp_path $tmp/nginx/2; fastcgi_temp_path $tmp/nginx/3;
	uwsgi_temp_path $tmp/nginx/4; scgi_temp_path $tmp/nginx/5;
	server { listen $host:$port; root $tmp; }
}
CONF
serve env LD_PRELOAD="$preload" nginx -c "$tmp/nginx/conf" -p "$tmp/nginx"
wait_cm $port $at_server
fetched nginx
stop_server

port=$((port + 1))
serve env LD_PRELOAD="$preload" /usr/bin/python3 -m http.server --directory "$tmp" --bind $host $port
wait_cm $port $at_server
fetched http.server
stop_server
echo "9 MB from each of two; redis-server $rate requests a second"

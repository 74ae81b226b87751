# program: UCX
# packages: ucx-utils
# version: dpkg-query -W -f '${Package} ${Version}\n' ucx-utils
# shows: tags, put, get, active messages and atomics over rc_verbs and ud_verbs
# data: none of its own; the MPIs check theirs
need ucx_perftest
export UCX_NET_DEVICES=$dev:1 UCX_LOG_LEVEL=info
for tls in rc_v ud_verbs; do
	export UCX_TLS=$tls
	[ $tls = rc_v ] && name=rc_verbs || name=ud_verbs
	for t in "tag_lat -s 8" "tag_bw -s 65536" "ucp_put_bw -s 65536" "ucp_get -s 65536" "ucp_am_bw -s 8192" "ucp_fadd -s 8"; do
		port=$((port + 1))
		(two "exec ucx_perftest -p $port" "exec ucx_perftest -p $port -t $t -n 200 -w 10 $host") >"$tmp/said" || {
			cat "$tmp/said"
			exit 1
		}
		grep -q "$name/$dev:1" "$tmp/client" || fail "$t was not over $name"
	done
done
echo "12 runs"

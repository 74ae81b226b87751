# program: fabtests, libfabric's own tests
# packages: libfabric1
# version: [ -z "${RIPSTOP_FABTESTS-}" ] || "$RIPSTOP_FABTESTS/fi_info" --version | sed -n 's/^libfabric: /libfabric /p'
# shows: messages, tagged messages, RMA, immediate data and injection over verbs and ofi_rxm, as RIPSTOP_FABTESTS=FOLDER has them
# data: each of the tests with -v checks what arrives
# worlds: veth containers
[ -n "${RIPSTOP_FABTESTS-}" ] || skip "no package has fabtests: RIPSTOP_FABTESTS=FOLDER names the folder of its programs (fi_msg and others)"
[ -x "$RIPSTOP_FABTESTS/fi_msg" ] || fail "RIPSTOP_FABTESTS=$RIPSTOP_FABTESTS: there is no fi_msg"
runs=0
wait_listen() { wait_cm $port $1; } # for `two`: the server listens by rdma_cm
# over PROVIDER TEST...
over() {
	provider=$1
	shift
	for t; do
		port=$((port + 1))
		set -- $t
		name=$1
		shift
		(two "exec '$RIPSTOP_FABTESTS/$name' -p '$provider' -B $port $*" \
			"exec '$RIPSTOP_FABTESTS/$name' -p '$provider' -P $port $* $host") >"$tmp/said" || {
			cat "$tmp/said"
			exit 1
		}
		runs=$((runs + 1))
	done
}
over verbs "fi_msg" "fi_msg_pingpong -v -I 20" "fi_msg_bw -v -I 5" "fi_rma_bw -e msg -o write -I 20" "fi_rma_bw -e msg -o read -I 20" \
	"fi_cm_data" "fi_cq_data -e msg -o senddata" "fi_cq_data -e msg -o writedata" "fi_inject_test -A inject -v"
over "verbs;ofi_rxm" "fi_rdm" "fi_rdm_pingpong -v -I 20" "fi_rdm_tagged_pingpong -v -I 20" "fi_rdm_tagged_bw -v -I 5" \
	"fi_rma_bw -e rdm -o write -I 20" "fi_rma_bw -e rdm -o read -I 20" "fi_rma_bw -e rdm -o writedata -I 20" \
	"fi_inject_test -N -A inject -v" "fi_rdm_cntr_pingpong -I 20"
echo "$runs tests"

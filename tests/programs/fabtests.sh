# program: fabtests, libfabric's own tests
# packages: libfabric1
# version: [ -z "${RIPSTOP_FABTESTS-}" ] || "$RIPSTOP_FABTESTS/fi_info" --version | sed -n 's/^libfabric: /libfabric /p'
# shows: messages, tagged messages, RMA, immediate data, injection, several endpoints over verbs and ofi_rxm, as RIPSTOP_FABTESTS=FOLDER has them
# data: each of the tests with -v checks what arrives
# worlds: veth containers
[ -n "${RIPSTOP_FABTESTS-}" ] || skip "no package has fabtests: RIPSTOP_FABTESTS=FOLDER names the folder of its programs (fi_msg and others)"
[ -x "$RIPSTOP_FABTESTS/fi_msg" ] || fail "RIPSTOP_FABTESTS=$RIPSTOP_FABTESTS: there is no fi_msg"
runs=0
# over PROVIDER TEST...: the TCP port of -b is where the two wait for one another
over() {
	provider=$1
	shift
	for t; do
		port=$((port + 1))
		set -- $t
		name=$1
		shift
		(two "exec '$RIPSTOP_FABTESTS/$name' -p '$provider' -b$port $*" \
			"exec '$RIPSTOP_FABTESTS/$name' -p '$provider' -b$port $* $host") >"$tmp/said" || {
			cat "$tmp/said"
			exit 1
		}
		runs=$((runs + 1))
	done
}
over verbs "fi_msg" "fi_msg_pingpong -v -I 20" "fi_msg_bw -v -I 20" "fi_rma_bw -e msg -o write -I 20" "fi_rma_bw -e msg -o read -I 20" \
	"fi_cm_data" "fi_cq_data -e msg -o senddata" "fi_cq_data -e msg -o writedata" "fi_multi_ep -e msg -v" "fi_inject_test -A inject -v"
over "verbs;ofi_rxm" "fi_rdm" "fi_rdm_pingpong -v -I 20" "fi_rdm_tagged_pingpong -v -I 20" "fi_rdm_tagged_bw -v -I 20" \
	"fi_rma_bw -e rdm -o write -I 20" "fi_rma_bw -e rdm -o read -I 20" "fi_rma_bw -e rdm -o writedata -I 20" "fi_rdm_tagged_peek" \
	"fi_unexpected_msg -e rdm -v -I 10" "fi_multi_recv -e rdm -I 20" "fi_inject_test -N -A inject -v" "fi_rdm_cntr_pingpong -I 20"
echo "$runs tests"

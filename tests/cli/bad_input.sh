#!/bin/sh
# Bad input: one message that names the place, exit status 2, nothing half-written.
set -u
ripstop=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0

# refused WORDS TEXT: a scenario of that text is refused with those words.
refused() {
	printf '%s\n' "$2" >"$tmp/s.yaml"
	"$ripstop" sim --json "$tmp/out.json" "$tmp/s.yaml" >"$tmp/stdout" 2>"$tmp/stderr"
	status=$?
	if [ $status != 2 ] || ! grep -q -- "$1" "$tmp/stderr" || [ -s "$tmp/stdout" ] ||
		[ -e "$tmp/out.json" ] || [ "$(wc -l <"$tmp/stderr")" != 1 ]; then
		echo "expected status 2 and '$1', got $status:"
		cat "$tmp/stderr"
		failed=1
	fi
}

net='fabric: {network: {kind: single-switch, hosts: 2, rate: 100G, delay: 1us, mtu: 4096}}'
flow='workload: [{flows: [{src: 0, dst: 1, bytes: 1MB}]}]'
refused 's.yaml:1:' 'fabric: {netwrk: {kind: single-switch, hosts: 2}}'
refused 'unit' "fabric: {network: {kind: single-switch, hosts: 2, rate: 100}}
$flow"
refused 's.yaml:2:.*from 1B to' "$net
workload: [{flows: [{src: 0, dst: 1, bytes: 0}]}]"
refused 's.yaml:2:.*do not divide into groups of 3' "$net
workload: [{collective: {bytes: 1MiB, group: 3}}]"
refused 'endpoint' "$net
workload: [{flows: [{src: 0, dst: 7, bytes: 1MB}]}]"
refused 'itself' "$net
workload: [{flows: [{src: 1, dst: 1, bytes: 1MB}]}]"
refused 'from 1B to 65536GiB' "$net
workload: [{flows: [{src: 0, dst: 1, bytes: 99999999999999999999GB}]}]"
refused 'no workload\|workload' "$net"
refused 's.yaml:2:.*ranks: expected 2, found .3.;' "$net
workload: [{collective: {bytes: 1MiB, ranks: 3}}]"
refused 's.yaml:2:.*the list has 2 GPUs; expected 2$' "fabric: {network: {kind: single-switch, hosts: 4}}
workload: [{place: [h0, h1], collective: {bytes: 1MiB, ranks: 3}}]"
refused 's.yaml:1:.*ack_dscp: expected ack_class' "fabric: {network: {kind: single-switch, hosts: 2}, qos: {ack_dscp: 3}}
$flow"
refused 's.yaml:1:.*ack_class: .*from 0 to 7' "fabric: {network: {kind: single-switch, hosts: 2}, qos: {ack_class: 8}}
$flow"
transport='fabric: {network: {kind: single-switch, hosts: 2}, transport:'
refused 's.yaml:1:.*go-back-n.*selective' "$transport {recovery: some}}
$flow"
refused 's.yaml:1:.*reorder: expected recovery: selective' "$transport {reorder: 1us}}
$flow"
refused 's.yaml:1:.*rto_low' "$transport {recovery: selective, rto_low: 1ms, rto_high: 10us}}
$flow"
refused "s.yaml:1:.*uett.*did you mean 'uet'" "$transport {kind: uett}}
$flow"
refused 's.yaml:1:.*paths: expected a power of two' "$transport {kind: uet, uet: {paths: 63}}}
$flow"
refused 's.yaml:1:.*expected credits: true' "$transport {kind: uet, uet: {window: none}}}
$flow"
refused 's.yaml:1:.*expected balance: fixed' "$transport {kind: uet, uet: {delivery: rod, balance: reps}}}
$flow"
refused 's.yaml:1:.*header: expected a size from 64B' "$transport {kind: uet, uet: {header: 20B}}}
$flow"
refused 's.yaml:1:.*another class than data_class' "$transport {kind: uet}, qos: {trim_class: 3}}
$flow"
refused "s.yaml:1:.*balance: expected recovery: selective" "$transport {balance: reps}}
$flow"
refused "s.yaml:1:.*'repz'.*did you mean 'reps'" "$transport {recovery: selective, balance: repz}}
$flow"
refused 's.yaml:1:.*paths: expected a power of two' "$transport {recovery: selective, balance: reps, paths: 9}}
$flow"
refused 's.yaml:1:.*in_flight' "$transport {recovery: selective, in_flight: 8193}}
$flow"
refused "s.yaml:2:.*'reads'.*did you mean 'read'" "$net
workload: [{op: reads, flows: [{src: 0, dst: 1, bytes: 1MB}]}]"
refused 's.yaml:2:.*an atomic has 8 bytes' "$net
workload: [{flows: [{src: 0, dst: 1, bytes: 12B, op: atomic}]}]"
refused 's.yaml:2:.*no message beside op: atomic' "$net
workload: [{op: atomic, message: 8B, flows: [{src: 0, dst: 1, bytes: 16B}]}]"
refused 's.yaml:2:.*qps: 3 bytes are not enough for 4 queue pairs' "$net
workload: [{flows: [{src: 0, dst: 1, bytes: 3B, qps: 4}]}]"
refused 's.yaml:2:.*inline goes with op: write and send' "$net
workload: [{op: read, inline: 64B, flows: [{src: 0, dst: 1, bytes: 3B}]}]"
refused 's.yaml:2:.*depth: expected' "$net
workload: [{depth: 5000, flows: [{src: 0, dst: 1, bytes: 3B}]}]"
refused 's.yaml:2:.*message: expected' "$net
workload: [{flows: [{src: 0, dst: 1, bytes: 3B, message: 2GiB}]}]"
refused 's.yaml:2:.*op goes with flows' "$net
workload: [{op: read, collective: {bytes: 1MB}}]"
refused "s.yaml:2:.*Ultra Ethernet has op: write alone, found op: read" "$transport {kind: uet}}
workload: [{op: read, flows: [{src: 0, dst: 1, bytes: 3B}]}]"
refused 's.yaml:2:1: not YAML' 'fabric: {network: {kind: single-switch, hosts: 2'
refused 'cannot read\|No such file' "$net
workload: [{flows: not-there.csv}]"
refused 'parameter' "fabric: {network: {kind: single-switch, hosts: 2}, cc: {kind: dcqcn, gg: 1}}
$flow"
refused 'congestion control' "fabric: {network: {kind: single-switch, hosts: 2}, cc: {kind: none-such}}
$flow"
printf '0,0,1,1000\n0,0,1\n' >"$tmp/short.csv"
refused 'short.csv:2' "$net
workload: [{flows: short.csv}]"
"$ripstop" sim 2>"$tmp/stderr" && failed=1
"$ripstop" sim --seed x scenarios/incast.yaml 2>"$tmp/stderr"
[ $? = 2 ] || failed=1
"$ripstop" sim --json - --series-csv - scenarios/incast.yaml >"$tmp/stdout" 2>"$tmp/stderr"
[ $? = 2 ] && [ ! -s "$tmp/stdout" ] && grep -q 'only one file' "$tmp/stderr" || failed=1
"$ripstop" sim --perfetto - --series-csv - scenarios/incast.yaml >"$tmp/stdout" 2>"$tmp/stderr"
[ $? = 2 ] && [ ! -s "$tmp/stdout" ] && grep -q 'only one file' "$tmp/stderr" || failed=1
# a file that was to be read is not written over, a report is; the next option is no file
printf 'host1: NCCL INFO x\n' >"$tmp/nccl.log"
for command in "audit --json" "audit --sarif" "expect --json" "sim --json" "compare --json"; do
	"$ripstop" $command "$tmp/nccl.log" 2>"$tmp/stderr"
	[ $? = 2 ] && grep -q "write over.*${command#* } - " "$tmp/stderr" &&
		[ "$(cat "$tmp/nccl.log")" = "host1: NCCL INFO x" ] || failed=1
	"$ripstop" $command --quiet 2>"$tmp/stderr"
	[ $? = 2 ] && grep -q "not '--quiet'" "$tmp/stderr" && [ ! -e ./--quiet ] || failed=1
done
for twice in 1 2; do
	"$ripstop" audit --quiet --json "$tmp/audit.json" "$tmp/nccl.log" >"$tmp/stdout" 2>"$tmp/stderr"
	grep -q '"schema": "ripstop-audit' "$tmp/audit.json" && [ ! -s "$tmp/stderr" ] || failed=1
done
"$ripstop" switch --ecn 5 a b 2>"$tmp/stderr"
[ $? = 2 ] && grep -q '^ripstop: --ecn: expected' "$tmp/stderr" || failed=1
"$ripstop" pcap --no-such 2>"$tmp/stderr"
[ $? = 2 ] && [ "$(wc -l <"$tmp/stderr")" = 2 ] && grep -q "^ripstop pcap: .*'--no-such'" "$tmp/stderr" || failed=1
refused 'rate does not change where qos.cut_through is on' 'fabric: {network: {kind: single-switch, hosts: 2}, qos: {cut_through: true},
  events: [{at: 1us, link: h0, rate: 1G}]}
'"$flow"
# A wrong --set is named by its path, of several and of every command.
printf '%s\n%s\n' "$net" "$flow" >"$tmp/set.yaml"
for command in "sim" "fabric check" "switch --as switch0"; do
	for k in fabric.qos.buffer=12 fabric.qos.bufer=12MB; do
		"$ripstop" $command --set fabric.qos.cell=1B --set "$k" "$tmp/set.yaml" >"$tmp/stdout" 2>"$tmp/stderr"
		status=$?
		if [ $status != 2 ] || ! grep -qF -- "--set ${k%=*}:" "$tmp/stderr"; then
			echo "$command --set $k: expected status 2 and the path, got $status:"
			cat "$tmp/stderr"
			failed=1
		fi
	done
done
# said WORDS COMMAND...: refused with status 2 and those words
said() {
	words=$1
	shift
	"$@" >"$tmp/stdout" 2>"$tmp/stderr"
	status=$?
	[ $status = 2 ] && grep -qe "$words" "$tmp/stderr" && [ ! -s "$tmp/stdout" ] && return
	echo "$*: expected status 2 and '$words', got $status:"
	cat "$tmp/stderr"
	failed=1
}
said "takes a number, 0 to .* not '-1'" "$ripstop" pcap --events -1 "$tmp/set.yaml"
said 'expected .tar.gz' "$ripstop" audit --collect "$tmp/snapshot.doc"
said "share of the packets.*'-1%'" "$ripstop" switch --drop -1% a b
said "share of the packets.*'some'" "$ripstop" switch --drop some a b
# a name that was mistyped is no word of a symptom
said 'gpu77.tar.gz: No such file' "$ripstop" explain timeouts gpu77.tar.gz
# what cannot be written is no success, and told once
for command in "--help" "--version" "sim --help" "audit --list" "explain --list" "devices --json" "fabric show $tmp/set.yaml" \
	"fabric convert $tmp/set.yaml" "sim --no-diagnosis $tmp/set.yaml" "switch --show $tmp/set.yaml"; do
	"$ripstop" $command >/dev/full 2>"$tmp/stderr"
	status=$?
	if [ $status != 3 ] || [ "$(grep -c '^ripstop: .*cannot write' "$tmp/stderr")" != 1 ]; then
		echo "$command >/dev/full: expected status 3 and a word, got $status:"
		cat "$tmp/stderr"
		failed=1
	fi
done
exit $failed

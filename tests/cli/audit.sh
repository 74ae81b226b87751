#!/bin/sh
# ripstop audit on files, archives and rubbish; the score on real cases where RIPSTOP_DATA has them.
set -eu
ripstop=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
status() {
	expected=$1
	shift
	got=0
	"$@" >"$tmp/out" 2>"$tmp/err" || got=$?
	[ "$got" = "$expected" ] || {
		echo "status $got, not $expected: $*"
		cat "$tmp/out" "$tmp/err"
		exit 1
	}
}
# two hosts, one of which does not trust what it is sent; as a directory and as an archive
mkdir -p "$tmp/site/gpu01" "$tmp/site/gpu02"
cat >"$tmp/site/gpu01/mlnx_qos-eth2.txt" <<E
Priority trust state: dscp
dscp2prio mapping:
	prio:3 dscp:26,
PFC configuration:
	priority    0   1   2   3   4   5   6   7
	enabled     0   0   0   1   0   0   0   0
E
sed 's/dscp$/pcp/' "$tmp/site/gpu01/mlnx_qos-eth2.txt" >"$tmp/site/gpu02/mlnx_qos-eth2.txt"
echo 'export NCCL_IB_TC=106  # DSCP 26' >"$tmp/site/gpu01/job.env"
cp "$tmp/site/gpu01/job.env" "$tmp/site/gpu02/"
status 1 "$ripstop" audit "$tmp/site"
grep -q 'FAIL.*X03' "$tmp/out"
grep -q 'mlnx_qos -i eth2 --trust dscp' "$tmp/out"
for how in 'czf site.tar.gz' 'cjf site.tar.bz2' 'cJf site.tar.xz'; do
	(cd "$tmp" && tar $how site)
done
"$ripstop" audit --json "$tmp/one" --quiet "$tmp/site/gpu01" || :
"$ripstop" audit --json "$tmp/two" --quiet "$tmp/site/gpu01" || :
cmp "$tmp/one" "$tmp/two"
status 0 "$ripstop" audit "$tmp/site/gpu01"
status 0 "$ripstop" audit --check R07 "$tmp/site"
status 0 "$ripstop" audit --skip X01 --skip X03 --skip R04 "$tmp/site"
for archive in "$tmp"/site.tar.*; do
	status 1 "$ripstop" audit --host gpu02="$archive" --check X01
done
# what cannot be read is refused with one message and status 2
status 2 "$ripstop" audit "$tmp/none"
status 2 "$ripstop" audit --check Z99 "$tmp/site"
status 2 "$ripstop" audit --explain Z99
(cd "$tmp" && tar cPf climb.tar ../"$(basename "$tmp")"/site/gpu01/job.env)
status 2 "$ripstop" audit "$tmp/climb.tar"
grep -q 'climbs out' "$tmp/err"
head -c 300 "$tmp/site.tar.gz" >"$tmp/cut.tar.gz"
status 2 "$ripstop" audit "$tmp/cut.tar.gz"
# links in circles, binary rubbish, an empty file: read calmly beside what is known; alone they are no healthy host
mkdir "$tmp/odd"
ln -s . "$tmp/odd/here"
head -c 100000 /dev/urandom >"$tmp/odd/noise"
: >"$tmp/odd/empty"
status 4 "$ripstop" audit "$tmp/odd"
# a configuration that was cut is named
printf '{"PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3,4"}}, "DSCP_TO_TC_MAP": {"AZ' >"$tmp/odd/config_db.json"
status 4 "$ripstop" audit "$tmp/odd"
grep -q 'No fact came of' "$tmp/out"
grep -q 'config_db.json (sonic)' "$tmp/out"
rm "$tmp/odd/config_db.json"
echo BOOT_IMAGE=/vmlinuz root=/dev/sda ro >"$tmp/odd/grub"
status 4 "$ripstop" audit "$tmp/odd"
status 0 "$ripstop" audit --list
status 0 "$ripstop" audit --explain X01
# this very machine: whatever it is, it is told calmly
got=0
"$ripstop" audit >"$tmp/out" 2>"$tmp/err" || got=$?
[ "$got" != 2 ] && [ ! -s "$tmp/err" ]
# for other programs: valid, complete, one at a time on standard output
for f in json sarif; do
	status 1 "$ripstop" audit --$f - "$tmp/site"
	python3 -c 'import json, sys; json.load(sys.stdin)' <"$tmp/out"
done
grep -q '"kind": "fail"' "$tmp/out"
conforms() {
	"$ripstop" audit --quiet --json "$tmp/conforms.json" "$@" || :
	/usr/bin/python3 -W ignore -m jsonschema -i "$tmp/conforms.json" docs/schema/ripstop-audit-1.schema.json
}
conforms "$tmp/site"
conforms --price none "$tmp/site"
conforms
status 1 "$ripstop" audit --junit - "$tmp/site"
python3 -c 'import sys, xml.etree.ElementTree as t
s = t.parse(sys.stdin).getroot()[0]
assert int(s.get("failures")) == len(s.findall("testcase/failure")) > 0
assert int(s.get("tests")) == len(s)' <"$tmp/out"
status 1 "$ripstop" audit --prometheus - "$tmp/site"
grep -q '^ripstop_audit_fail{check="X03".*host="gpu02".*} 1$' "$tmp/out"
! grep -vE '^(#.*|[a-z_]+(\{.*\})? [0-9]+)$' "$tmp/out" || exit 1
status 2 "$ripstop" audit --json - --sarif - "$tmp/site"
status 2 "$ripstop" audit --json "$tmp/none/x" "$tmp/site"
# the script of fixes: shell, refuses unread, does the same twice; a stranger's name starts nothing
status 1 "$ripstop" audit --fix-script "$tmp/fix.sh" "$tmp/site"
sh -n "$tmp/fix.sh"
status 2 sh "$tmp/fix.sh" gpu02
grep -q gpu02 "$tmp/err"
mkdir "$tmp/bin"
printf '#!/bin/sh\necho "$0 $*" >>%s/ran\n' "$tmp" >"$tmp/bin/mlnx_qos"
chmod +x "$tmp/bin/mlnx_qos"
for again in 1 2; do
	status 0 env REVIEWED=yes PATH="$tmp/bin:$PATH" sh "$tmp/fix.sh" gpu02
done
[ "$(sort -u "$tmp/ran" | grep -c -- '-i eth2 --trust dscp')" = 1 ]
status 2 env REVIEWED=yes sh "$tmp/fix.sh" nobody
mkdir -p "$tmp/evil/gpu01" "$tmp/evil/gpu02"
cp "$tmp/site/gpu01/"* "$tmp/evil/gpu01"
cp "$tmp/site/gpu02/job.env" "$tmp/evil/gpu02"
cp "$tmp/site/gpu02/mlnx_qos-eth2.txt" "$tmp/evil/gpu02/mlnx_qos-eth2;touch pwned.txt"
cp "$tmp/site/gpu02/mlnx_qos-eth2.txt" "$tmp/evil/gpu02/mlnx_qos-eth3\$(touch pwned).txt"
"$ripstop" audit --quiet --fix-script "$tmp/fix.sh" "$tmp/evil" || :
(cd "$tmp" && for t in gpu02; do
	REVIEWED=yes PATH="$tmp/bin:$PATH" sh fix.sh $t
done) >/dev/null
[ ! -e "$tmp/pwned" ]
# what a site expects
cat >"$tmp/profile.yaml" <<E
settings: {lossless: yes}
expect:
  - name: trust of all ports
    subject: netdev/eth*
    facts: {trust: dscp}
    severity: critical
suppress:
  - {check: X03, reason: known, until: 2099-12-31}
  - {check: X01, reason: known}
  - {check: R04, reason: known}
E
status 1 "$ripstop" audit --profile "$tmp/profile.yaml" "$tmp/site"
grep -q 'critical  E01 site-expectation  gpu02:eth2' "$tmp/out"
! grep -q '^FAIL.*X03' "$tmp/out" || exit 1
grep -q 'suppressed$' "$tmp/out"
status 0 "$ripstop" audit --profile "$tmp/profile.yaml" --skip E01 "$tmp/site"
echo 'expect: [{subject: x}]' >"$tmp/profile.yaml"
status 2 "$ripstop" audit --profile "$tmp/profile.yaml" "$tmp/site"
grep -q 'profile.yaml:1:' "$tmp/err"
# counters are judged by how they rose between two snapshots
for age in old new; do
	d="$tmp/$age/gpu01/sys/class/infiniband/mlx5_0/ports/1"
	mkdir -p "$d/hw_counters"
	echo 5 >"$d/hw_counters/local_ack_timeout_err"
done
status 0 "$ripstop" audit --since "$tmp/old/gpu01" --check C01 "$tmp/new/gpu01"
echo 905 >"$tmp/new/gpu01/sys/class/infiniband/mlx5_0/ports/1/hw_counters/local_ack_timeout_err"
"$ripstop" audit --since "$tmp/old/gpu01" --check C01 -v "$tmp/new/gpu01" >"$tmp/out" || :
grep -q 'rose by 900' "$tmp/out"
# a host as a tree: what its links run at, how far is what
mkdir -p "$tmp/tree/sys/devices"
for f in "00:01.0/0000:01:00.0 0x030200 32.0 0" "00:02.0/0000:02:00.0 0x020000 16.0 0"; do
	set -- $f
	d="$tmp/tree/sys/devices/pci0000:00/0000:$1"
	mkdir -p "$d"
	echo 0x060400 >"${d%/*}/class"
	echo "$2" >"$d/class"
	echo "$3 GT/s PCIe" >"$d/current_link_speed"
	echo 16 >"$d/current_link_width"
	echo "32.0 GT/s PCIe" >"$d/max_link_speed"
	echo "$4" >"$d/numa_node"
done
status 0 "$ripstop" audit --show "$tmp/tree"
grep -q 'Gen4 x16, of Gen5 x16' "$tmp/out"
grep -q 'gpu0 *PHB' "$tmp/out"
status 0 "$ripstop" audit --show
# what a finding costs: a slot of 230 Gb/s under a port of 400 Gb/s, seen by simulation, twice the same
for h in gpu01 gpu02; do
	speed=32.0
	[ $h = gpu01 ] || speed=16.0
	for f in "00:01.0/0000:01:00.0 0x030200 32.0 16" "00:02.0/0000:02:00.0 0x020000 $speed 16"; do
		set -- $f
		d="$tmp/cluster/$h/sys/devices/pci0000:00/0000:$1"
		mkdir -p "$d"
		echo 0x060400 >"${d%/*}/class"
		echo "$2" >"$d/class"
		echo "$3 GT/s PCIe" >"$d/current_link_speed"
		echo "$4" >"$d/current_link_width"
		echo "32.0 GT/s PCIe" >"$d/max_link_speed"
	done
	d="$tmp/cluster/$h/sys/class/infiniband/mlx5_0/ports/1"
	mkdir -p "$d"
	echo '400 Gb/sec (4X NDR)' >"$d/rate"
	printf '# ripstop facts 1\nnic/mlx5_0 pci = 0000:02:00.0\n' >"$tmp/cluster/$h/links.facts"
done
for again in 1 2; do
	status 1 "$ripstop" audit --check P01 --json "$tmp/price$again" "$tmp/cluster"
	grep -q 'costs [4-7][0-9] % of all-reduce bandwidth' "$tmp/out"
done
cmp "$tmp/price1" "$tmp/price2"
grep -q '"as_is": 1[0-9]' "$tmp/price1"
status 1 "$ripstop" audit -v --check P01 --price none "$tmp/cluster"
grep -q 'not priced: --price none' "$tmp/out"
status 1 "$ripstop" audit --check P01 --price none "$tmp/cluster"
! grep -q 'not priced' "$tmp/out"
status 2 "$ripstop" audit --price cheap "$tmp/cluster"
status 1 "$ripstop" audit --check P01 --quiet --fabric "$tmp/cluster.yaml" "$tmp/cluster"
status 0 "$ripstop" fabric check "$tmp/cluster.yaml"
status 0 "$ripstop" sim --quiet "$tmp/cluster.yaml"
# a host alone gets a twin, so that it has somebody to talk to
status 0 "$ripstop" audit --quiet --price none --check P04 --fabric "$tmp/alone.yaml" "$tmp/cluster/gpu01"
grep -q 'the second is its twin' "$tmp/alone.yaml"
status 0 "$ripstop" sim --quiet "$tmp/alone.yaml"
grep -q 'a twin of it was added' "$tmp/err" && exit 1 # --quiet
# so does one of many GPUs: what they send one another never leaves it
topo=tests/data/hosts/h100-8.xml
status 0 "$ripstop" audit --allow-unknown --price none --check P04 --fabric "$tmp/alone.yaml" "$topo"
grep -q 'a twin of it was added' "$tmp/err"
grep -q '^# one host was audited, .*: the second is its twin' "$tmp/alone.yaml"
status 0 "$ripstop" sim --quiet --no-diagnosis --set 'workload[0].collective.bytes=4MiB' \
	--pcap "$tmp/alone.pcapng" --pcap-links all "$tmp/alone.yaml"
status 0 "$ripstop" pcap --quiet --json "$tmp/alone.json" "$tmp/alone.pcapng"
grep -qE '"roce": [0-9]{4}' "$tmp/alone.json"
# --show beside files: both, and standard output takes one thing
rm -f "$tmp/alone.yaml"
status 0 "$ripstop" audit --show --fabric "$tmp/alone.yaml" "$topo"
grep -q 'GPU' "$tmp/out"
grep -q '^fabric:' "$tmp/alone.yaml"
status 1 "$ripstop" audit --show --check P01 --price none --json "$tmp/shown.json" "$tmp/cluster"
grep -q '"verdict": "FAIL"' "$tmp/shown.json"
! grep -q '^FAIL' "$tmp/out"
status 2 "$ripstop" audit --show --fabric - "$topo"
status 2 "$ripstop" audit --show --collect "$tmp/c.tar.gz"
status 2 "$ripstop" audit --fabric "$tmp/alone.yaml" --collect "$tmp/c.tar.gz"
# the same of several hosts is told once
for h in gpu03 gpu04; do
	cp -r "$tmp/cluster/gpu02" "$tmp/cluster/$h"
done
status 1 "$ripstop" audit --check P01 --price none "$tmp/cluster"
[ "$(grep -c '^FAIL' "$tmp/out")" = 1 ]
grep -q 'gpu02:0000:02:00.0, gpu03:0000:02:00.0, gpu04:0000:02:00.0' "$tmp/out"
grep -q '3 findings alike' "$tmp/out"
grep -q '^Verdict: faulty. 1 FAIL' "$tmp/out"
# a slow rail costs what it is slower; one that is down has no rate
slow='# ripstop facts 1\nenv NCCL_IB_HCA = mlx5\n'
for n in 0 1; do
	slow="${slow}nic/mlx5_$n board_id = MT1\nnic/mlx5_$n link_layer = Ethernet\n"
done
slow="${slow}nic/mlx5_0 port_state = ACTIVE\nnic/mlx5_0 rate_gbps = 400\n"
mkdir -p "$tmp/rail"
# shellcheck disable=SC2059
printf "${slow}nic/mlx5_1 port_state = ACTIVE\nnic/mlx5_1 rate_gbps = 100\n" >"$tmp/rail/facts"
status 1 "$ripstop" audit --check H09 "$tmp/rail"
grep -q 'costs 7[0-9] % of all-reduce bandwidth' "$tmp/out"
# shellcheck disable=SC2059
printf "${slow}nic/mlx5_1 port_state = DOWN\nnic/mlx5_1 rate_gbps = 400\n" >"$tmp/rail/facts"
status 1 "$ripstop" audit -v --check H09 "$tmp/rail"
grep -q 'not priced: no port of it' "$tmp/out"
# each FAIL has a price or says why not; a lossy class costs what go-back-N costs
status 1 "$ripstop" audit -v "$tmp/site"
[ "$(grep -c '^FAIL' "$tmp/out")" = "$(grep -cE '^  (costs|price)' "$tmp/out")" ]
grep -q 'costs [0-9]* % of incast goodput' "$tmp/out"
# under ripstop exec its devices are seen, and nothing is held against them
if "$ripstop" exec true 2>/dev/null; then
	got=0
	"$ripstop" exec -- "$ripstop" audit >"$tmp/out" 2>"$tmp/err" || got=$?
	[ "$got" != 1 ] && [ "$got" != 2 ]
	grep -q ': [1-9][0-9]* RDMA device' "$tmp/out"
	grep -q ' 0 FAIL' "$tmp/out"
fi
# collected, this machine gives the same verdicts elsewhere; masked, too, and names nobody
verdicts() {
	sed -n 's/^ *"\(id\|verdict\|severity\)": \(.*\),$/\2/p' "$1"
}
"$ripstop" audit --quiet --json "$tmp/live.json" || :
status 0 "$ripstop" audit --collect "$tmp/snap.tar.gz"
"$ripstop" audit --quiet --json "$tmp/snap.json" "$tmp/snap.tar.gz" || :
verdicts "$tmp/live.json" >"$tmp/live.ids"
verdicts "$tmp/snap.json" >"$tmp/snap.ids"
cmp "$tmp/live.ids" "$tmp/snap.ids"
grep -q "\"name\": \"$(hostname)\"" "$tmp/snap.json"
for how in .tar.xz .zip; do
	status 0 "$ripstop" audit --collect "$tmp/masked$how" --anonymise=a-key
	"$ripstop" audit --quiet --json "$tmp/masked.json" "$tmp/masked$how" || :
	verdicts "$tmp/masked.json" >"$tmp/masked.ids"
	cmp "$tmp/live.ids" "$tmp/masked.ids"
	! grep -q "\"name\": \"$(hostname)\"" "$tmp/masked.json"
done
status 2 "$ripstop" audit --collect "$tmp/none/x.tar.gz"
status 2 "$ripstop" audit --anonymise "$tmp/site"
status 2 "$ripstop" audit --collect "$tmp/x.tar.gz" "$tmp/site"
[ ! -e "$tmp/x.tar.gz" ]
if [ -d "${RIPSTOP_DATA:-}/defects" ]; then
	tools/audit-score "$ripstop" "$RIPSTOP_DATA" >"$tmp/score" || {
		cat "$tmp/score"
		exit 1
	}
	tail -n 1 "$tmp/score"
	conforms "$RIPSTOP_DATA"/defects/D1*
else
	# as cmocka says it, for tools/check-count
	echo '[ RUN      ] score_on_real_cases'
	echo "RIPSTOP_DATA names no folder with defects/: the score on real cases is left out"
	echo '[  SKIPPED ] score_on_real_cases'
fi
# a text that states a failure which no check explains: status 4 in every format, and what to run next
post=tests/data/posts
status 4 "$ripstop" audit "$post/prose-only.txt"
grep -q 'NOT ENOUGH EVIDENCE: a line states a failure' "$tmp/out"
grep -q 'prose-only.txt:2 ' "$tmp/out"
grep -q '^  run next  NCCL_DEBUG=INFO' "$tmp/out"
grep -q '1 of 3 lines used' "$tmp/out"
grep -q '^    1-1: Has anybody seen' "$tmp/out"
status 4 "$ripstop" audit --allow-unknown --quiet "$post/prose-only.txt"
status 4 "$ripstop" audit --quiet --json "$tmp/thin.json" --junit "$tmp/thin.xml" --sarif "$tmp/thin.sarif" \
	--prometheus "$tmp/thin.prom" "$post/prose-only.txt"
grep -q '"verdict": "not enough evidence"' "$tmp/thin.json"
grep -q '"cmd": "NCCL_DEBUG=INFO' "$tmp/thin.json"
grep -q '"not_understood"' "$tmp/thin.json"
grep -q 'errors="1"' "$tmp/thin.xml"
grep -q '<error type="not enough evidence"' "$tmp/thin.xml"
grep -q '"exitCode": 4' "$tmp/thin.sarif"
grep -q '^ripstop_audit_verdict{verdict="not enough evidence"} 1' "$tmp/thin.prom"
# explain answers from the same facts
status 1 "$ripstop" explain timeouts "$post/mpi-tags.txt"
grep -q 'FOUND    N12' "$tmp/out"
grep -q 'read .*mpi-tags.txt:11: nccl completion' "$tmp/out"
status 1 "$ripstop" explain sockets "$post/mpi-tags.txt"
grep -q 'open     N04' "$tmp/out"
grep -q 'The text states a failure' "$tmp/out"
# a fix is for the machine that the text's own prompt names, not for the file
printf '%s\n' 'root@gpu17:~# ulimit -l' 64 'root@gpu17:~# ibv_reg_mr_test' \
	'NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory' >"$tmp/paste.txt"
status 1 "$ripstop" audit --price none "$tmp/paste.txt"
grep -q '^  fix       on gpu17;' "$tmp/out"
# hosts alike have one fix, once, with all their names
for h in gpu17 gpu18 gpu19; do
	printf '%s\n' "root@$h:~# ulimit -l" 64 "root@$h:~# rdma link" \
		'link mlx5_1/1 state ACTIVE physical_state LINK_UP netdev ens1'
done >"$tmp/alike.txt"
status 1 "$ripstop" audit --price none "$tmp/alike.txt"
grep -q '^  fix       on gpu17, gpu18, gpu19;' "$tmp/out"
[ "$(grep -c limits.d/rdma.conf "$tmp/out")" = 2 ] # and its undo
# a question of what something is gets that first, of the part that it names
printf '%s\n' '$ uname -r' 6.8.0-40-generic '$ ibdev2netdev' 'mlx5_0 port 1 ==> ens1np0 (Up)' \
	'mlx5_1 port 1 ==> ens2np0 (Down)' >"$tmp/state.txt"
status 1 "$ripstop" explain 'is mlx5_0 up?' "$tmp/state.txt"
sed -n 3,4p "$tmp/out" | grep -q 'nic/mlx5_0 link = Up'
! sed -n '/^Read of it/,/^$/p' "$tmp/out" | grep -q mlx5_1
status 1 "$ripstop" explain 'what kernel is running?' "$tmp/state.txt"
sed -n 4p "$tmp/out" | grep -q 'host kernel = 6.8.0-40-generic'

#!/bin/sh
# Descriptions as people write them, through the command: what is read, told or written out.
set -u
ripstop=$1
data=$PWD/tests/data/hosts
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0
net='network: {kind: single-switch, hosts: 4}'

# read CC: a congestion control of this spelling is read, and converts to itself.
read_cc() {
	echo "fabric: {$net, cc: $1}" >"$tmp/s.yaml"
	if ! "$ripstop" fabric convert "$tmp/s.yaml" >"$tmp/1.yaml" 2>"$tmp/err" ||
		! "$ripstop" fabric convert "$tmp/1.yaml" >"$tmp/2.yaml" ||
		! cmp "$tmp/1.yaml" "$tmp/2.yaml"; then
		echo "cc: $1:"
		cat "$tmp/err"
		failed=1
	fi
	shift
	for words; do
		grep -q -- "$words" "$tmp/1.yaml" || {
			echo "no '$words' in:"
			sed -n '/ cc:/,/ transport:/p' "$tmp/1.yaml"
			failed=1
		}
	done
}
read_cc dcqcn 'kind: dcqcn' 'preset: mlx5' 'alpha_timer: ' 'rate_hai: ' 'window: false'
read_cc HPCC 'kind: hpcc' 'preset: paper' 'eta: 0.95' 'max_stage: 5'
read_cc '{kind: Swift, AI: 2}' 'kind: swift' 'ai: 2' 'beta: '
read_cc '{kind: dcqcn, g: 0.4%, window: Yes, base_rtt: 8us}' 'g: 0.004' 'window: true' 'base_rtt: 8us'
read_cc None 'kind: none'

# told WORDS TEXT: each verb refuses that fabric in one line with those words.
told() {
	printf '%s\n' "$2" >"$tmp/s.yaml"
	for verb in show check convert; do
		"$ripstop" fabric $verb "$tmp/s.yaml" >"$tmp/out" 2>"$tmp/err"
		if [ $? != 2 ] || [ -s "$tmp/out" ] || [ "$(wc -l <"$tmp/err")" != 1 ] ||
			! grep -q -- "$1" "$tmp/err"; then
			echo "fabric $verb: expected '$1', got:"
			cat "$tmp/err"
			failed=1
		fi
	done
}
told "s.yaml:1:.*'dcqnc'; did you mean 'dcqcn'?" "fabric: {$net, cc: dcqnc}"
told "no preset 'mlx'; did you mean 'mlx5'?" "fabric: {$net, cc: {kind: dcqcn, preset: mlx}}"
told "no parameter 'alpha_tmer'; did you mean 'alpha_timer'?" "fabric: {$net, cc: {alpha_tmer: 1us}}"
told "g: expected from 1e-06 to 1, found '2'" "fabric: {$net, cc: {g: 2}}"
told 'expected a name, or a mapping' "fabric: {$net, cc: [dcqcn]}"
told "for: of rate and loss; drop counts" "fabric: {$net, events: [{at: 1us, link: h0, drop: 1, for: 1ms}]}"
told "for: of rate and loss; pause says" "fabric: {$net, events: [{at: 1us, nic: h0, pause: 1ms, for: 2ms}]}"
told "write mtu: 4096" "fabric: {network: {kind: single-switch, hosts: 4, mtu: 9000}}"

# every parameter's printed range holds at both ends
for kind in dcqcn hpcc swift; do
	echo "fabric: {$net, cc: $kind}" >"$tmp/s.yaml"
	"$ripstop" fabric convert "$tmp/s.yaml" |
		sed -n '/^  cc:/,/^  transport:/s/^    \([a-z_]*\): .*/\1/p' | grep -v 'kind\|preset' >"$tmp/params"
	[ "$(wc -l <"$tmp/params")" -ge 4 ] || failed=1
	while read -r p; do
		for bad in 1e18 4000000T 2h 4000000TB -1 0 0ns 0G 0B; do
			"$ripstop" fabric check --set "fabric.cc={kind: $kind, $p: $bad}" "$tmp/s.yaml" 2>"$tmp/err"
			grep -q "$p: expected from\|whole number from" "$tmp/err" && break
		done
		from=$(sed -n 's/.*expected from \([^ ]*\) to .*/\1/p' "$tmp/err")
		to=$(sed -n 's/.*expected from [^ ]* to \([^ ,]*\),.*/\1/p' "$tmp/err")
		[ -n "$from" ] || continue # on or off, or nothing is out of range
		for end in "$from" "$to"; do
			"$ripstop" fabric check --set "fabric.cc={kind: $kind, $p: $end}" "$tmp/s.yaml" || {
				echo "$kind: $p: $end is in the range that is printed"
				failed=1
			}
		done
	done <"$tmp/params"
done

# a host's file alone
"$ripstop" fabric show "$data/h100-8.xml" >"$tmp/out" || failed=1
grep -q 'Assumed: .*one such host, h0' "$tmp/out" || failed=1
"$ripstop" fabric check "$data/h100-8.xml" || failed=1
"$ripstop" fabric convert "$data/h100-8.xml" >"$tmp/1.yaml" || failed=1
grep -q '^# Assumed: ' "$tmp/1.yaml" || failed=1
"$ripstop" fabric check "$tmp/1.yaml" || failed=1
"$ripstop" sim "$data/h100-8.xml" 2>"$tmp/err"
[ $? = 2 ] && grep -q 'fabric.hosts.h.count=4 --set .workload=' "$tmp/err" || {
	cat "$tmp/err"
	failed=1
}
"$ripstop" sim --quiet --no-diagnosis --set fabric.hosts.h.count=2 \
	--set 'workload=[{collective: {bytes: 1MiB}}]' "$data/h100-8.xml" || failed=1
if command -v lstopo >/dev/null && lstopo --of xml >"$tmp/here.xml" 2>/dev/null; then
	"$ripstop" fabric show "$tmp/here.xml" >"$tmp/out" 2>"$tmp/err" ||
		grep -q 'NIC' "$tmp/err" || failed=1
fi

# names of plain hosts and switches
echo "fabric: {network: {kind: leaf-spine, leaves: 2, spines: 2, hosts: 8}}" >"$tmp/s.yaml"
"$ripstop" fabric show "$tmp/s.yaml" >"$tmp/out" || failed=1
grep -q '8 plain hosts, h0 to h7' "$tmp/out" && grep -q 'leaf0 to leaf1' "$tmp/out" || failed=1
exit $failed

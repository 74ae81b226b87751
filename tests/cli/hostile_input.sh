#!/bin/sh
# Files made to hurt: each is refused with one line, status 2, within bounded memory, and leaves
# nothing half-written. Where a place in the file can be named, it is.
set -u
ripstop=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0
cd "$tmp" || exit 1

# 2 GB of address space do for all of it; AddressSanitizer cannot start in that.
limit=2000000
# shellcheck disable=SC3045
(ulimit -v $limit && "$ripstop" --version) >/dev/null 2>&1 || limit=unlimited
bounded() {
	# shellcheck disable=SC3045
	(ulimit -v $limit && exec "$@")
}

# refused PATTERN FILE: the one line on standard error matches the pattern.
refused() {
	bounded "$ripstop" sim --json out.json "$2" >stdout 2>stderr
	status=$?
	if [ $status != 2 ] || [ "$(wc -l <stderr)" != 1 ] || ! grep -q -- "$1" stderr ||
		[ -s stdout ] || [ -e out.json ]; then
		echo "$2: expected status 2 and '$1', got $status:"
		head -c 2000 stderr
		failed=1
	fi
}

# read_well FILE
read_well() {
	bounded "$ripstop" fabric check "$1" >stdout 2>stderr || {
		echo "$1: expected to be read:"
		head -c 2000 stderr
		failed=1
	}
}

# flows CSV: a scenario over two hosts that names this file.
flows() {
	printf 'fabric: {network: {kind: single-switch, hosts: 2}}\nworkload: [{flows: %s}]\n' "$1" >s.yaml
}

# Ten million flows; then one flow behind two million comments.
yes '0,0,1,9' | head -n 10000000 >big.csv
flows big.csv
refused 'big.csv:1000001:.*more than 1000000 flows' s.yaml
{
	echo '# then the header'
	echo 'start_ns,src,dst,bytes'
	yes '# nothing' | head -n 2000000
	echo '0,0,1,9'
} >big.csv
read_well s.yaml
rm big.csv
truncate -s 100000000 big.csv
refused 'big.csv:1:1: .*NUL' s.yaml
yes x | tr -d '\n' | head -c 100000000 >big.yaml
refused '64 MiB' big.yaml
mv big.yaml big.csv
refused 'big.csv:1:[0-9]*: a line of more than' s.yaml
head -c 100000000 /dev/urandom >big.csv
refused 'big.csv:1:' s.yaml
mv big.csv big.yaml
truncate -s 60000000 big.yaml
refused 'big.yaml:[0-9]*:[0-9]*: not text' big.yaml
rm -f big.*
printf '0,0,1,9\n0,0,1\0,9\n' >nul.csv
flows nul.csv
refused 'nul.csv:2:6: .*NUL' s.yaml

# Nesting, lines and collections without an end.
head -c 30000000 /dev/zero | tr '\0' '[' >s.yaml
refused 's.yaml:1:1001: .*open brackets' s.yaml
for _ in 1 2 3 4 5 6 7 8; do printf '{a: [{b: [{c: ['; done >s.yaml
refused 's.yaml:1:.*nested more than 32' s.yaml
head -c 3000000 /dev/zero | tr '\0' 'x' >s.yaml
refused 's.yaml:1:1048[0-9]*: a line of more than' s.yaml
if [ $limit != unlimited ]; then
	{
		echo 'fabric: ['
		yes ' a,' | head -n 9000000
		echo ' ]'
	} >s.yaml
	refused 's.yaml:[0-9]*:[0-9]*: more than 8388608 values' s.yaml
fi

# Aliases: of aliases, of their own anchor, merged into each other.
{
	echo 'a0: &a0 [x]'
	i=1
	while [ $i -le 30 ]; do
		p=$((i - 1))
		echo "a$i: &a$i [*a$p, *a$p, *a$p, *a$p, *a$p, *a$p, *a$p, *a$p, *a$p]"
		i=$((i + 1))
	done
	echo 'fabric: *a30'
} >s.yaml
refused "s.yaml:1:1: .*no key 'a0'" s.yaml
echo 'fabric: &f {network: *f}' >s.yaml
refused "s.yaml:1:23: .*no anchor '&f'" s.yaml
awk 'BEGIN {
	for (i = 1; i <= 900; i++) {
		printf "- &a%d {", i
		if (i > 1)
			printf "<<: *a%d, ", i - 1
		for (k = 0; k < 200; k++)
			printf "k%dx%d: 1, ", i, k
		print "}"
	}
}' >s.yaml
refused 's.yaml:2:.*more than 256 keys' s.yaml

# Files that are none, or lead to themselves.
ln -s loop.yaml loop.yaml
refused 'loop.yaml' loop.yaml
mkfifo fifo
refused 'not a regular file' fifo
refused 'not a regular file' /dev/zero
refused 'not a regular file' .
flows fifo
refused "s.yaml:2:20: .*not a regular file" s.yaml
flows loop.yaml
refused "s.yaml:2:20: cannot read" s.yaml
flows /etc
refused "s.yaml:2:20: .*not a regular file" s.yaml
echo 'fabric: {hosts: [{name: h, like: s.yaml}], network: {kind: single-switch}}' >s.yaml
refused 's.yaml:1:34: .*not XML' s.yaml
{
	echo '<!DOCTYPE s [<!ENTITY a "aaaaaaaaaaaaaaaa">'
	for p in 'b a' 'c b' 'd c' 'e d' 'f e' 'g f' 'h g'; do
		x=${p#* }
		echo "<!ENTITY ${p% *} \"&$x;&$x;&$x;&$x;&$x;&$x;&$x;&$x;&$x;&$x;\">"
	done
	echo ']><system version="1"><cpu numaid="&h;"/></system>'
} >bomb.xml
echo 'fabric: {hosts: [{name: h, like: bomb.xml}], network: {kind: single-switch}}' >s.yaml
refused 's.yaml:1:34: .*bomb.xml:' s.yaml

# More than any network holds.
echo 'fabric: {hosts: [{name: h, count: 1048576, sockets: 1, nics: [{name: a}, {name: b}]}], network: {kind: rail, leaves: 1}}' >s.yaml
refused 's.yaml:1:1: more than 1048576 NICs' s.yaml
echo 'fabric: {network: {kind: leaf-spine, leaves: 1024, spines: 1024, hosts: 1000000}}' >s.yaml
refused 's.yaml:1:19: ' s.yaml
echo 'fabric: {network: {kind: fat-tree, k: 129}}' >s.yaml
refused 's.yaml:1:39: ' s.yaml

# Empty, cut, of another encoding.
: >s.yaml
refused 's.yaml:1:1: an empty document' s.yaml
printf '\377\376f\0a\0' >s.yaml
refused 's.yaml:1:1: not text' s.yaml
printf 'fabric: {network: {kind: single-switch, hosts: 2' >s.yaml
refused 's.yaml:[12]:.*not YAML' s.yaml
printf 'fabric: "\\0"\n' >s.yaml
refused 's.yaml:1:[0-9]*: .*NUL' s.yaml
exit $failed

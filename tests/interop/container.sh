#!/bin/sh
# The recipes of docs/run.md in what containers are made of: an ordinary user in user, network, mount
# and process namespaces, with a /dev/shm of its own; as under Docker's default profile, without
# capabilities and further namespaces; and two pods joined by a network.
set -eu
ripstop=$1
docs=$(cd "$(dirname "$0")/../../docs" && pwd)
RS_OWN_NET=1 # each container has its own
. "$(dirname "$0")/lib.sh"
need ibv_rc_pingpong ib_write_bw python3 setpriv unshare nsenter ip

as_user=
[ "$(id -u)" != 0 ] || as_user="setpriv --reuid 65534 --regid 65534 --clear-groups"
chmod 755 "$tmp"
mkdir -p "$tmp/usr/bin" "$tmp/usr/lib" "$tmp/home"
chmod 777 "$tmp/home"
cp "$ripstop" "$tmp/usr/bin/ripstop" # as installed: the program, and the libraries beside it
cp -r "$(dirname "$(dirname "$("$ripstop" libdir)")")/ripstop" "$tmp/usr/lib/"
chmod -R a+rX "$tmp/usr"
$as_user unshare -Urnm --pid --fork true 2>/dev/null || skip "namespaces are not allowed to users here"

# container SCRIPT: as an ordinary user in a container of its own
container() {
	$as_user env PATH="$tmp/usr/bin:$PATH" HOME="$tmp/home" TMPDIR="$tmp/home" TMP="$tmp/home" \
		timeout 100 unshare -Urnm --pid --fork --mount-proc sh -ec "
			cd '$tmp/home'
			mount -t tmpfs -o mode=1777 shm /dev/shm
			ip link set lo up
			$1" >"$tmp/out" 2>&1
}
passes() {
	container "$2" || {
		echo "FAILED: $1"
		tail -n 20 "$tmp/out"
		exit 1
	}
	echo "passed: $1"
}
# until somebody listens on TCP port 18515, as libibverbs' examples and perftest do
cat >"$tmp/home/up" <<'UP'
until grep -qs ':4853 [0-9A-F]*:0000 0A' /proc/net/tcp /proc/net/tcp6; do sleep 0.05; done
UP
pair_here='
	ripstop exec -- ibv_rc_pingpong -d rs_lo -g 0 -n 100 -c >server.log & sh ./up
	ripstop exec -- ibv_rc_pingpong -d rs_lo -g 0 -n 100 -c 127.0.0.1
	wait; [ -z "$(ls /dev/shm)" ]'
passes "a container" "$pair_here"

# Docker's default: nothing but the network is the container's; a note says what will not work
passes "no capabilities, no namespaces" "
	echo 0 >/proc/sys/user/max_user_namespaces
	cat >inner <<'INNER'
$pair_here
	ripstop exec true 2>&1 | grep -q 'no private view.*UCX and NCCL'
	[ -z \"\$(ripstop exec --no-view true 2>&1)\" ]
INNER
	exec setpriv --bounding-set -all --inh-caps -all sh -e ./inner"

# The init container of docs/run.md copies what a program of another image is to find: its command, as it stands there
copy=$(sed -n '/<!-- tried: an init container -->/,/^```$/s/.*command: \[sh, -c, "\(cp .*\)"\]/\1/p' "$docs/run.md")
case $copy in
cp\ *\ /drop-in) ;;
*)
	echo "FAILED: docs/run.md has no init container to try: $copy"
	exit 1
	;;
esac
copy=$(echo "$copy" | sed "s|/usr/lib/ripstop|$tmp/usr/lib/ripstop|; s|/drop-in|drop-in|")
passes "an init container" "
	mkdir drop-in
	$copy
	export LD_LIBRARY_PATH=\$PWD/drop-in PATH=/usr/bin:/bin
	# each of them is the copy, and the copy needs nothing else but the C library
	ldd drop-in/*.so.* | grep -q 'libisal.* => .*/drop-in/'
	ldd drop-in/*.so.* | sed 's/.*=> //' | grep -v -e drop-in/ -e 'libc\.so' -e 'libm\.so' -e ld-linux -e vdso && exit 1
	# NCCL and brpc open it by the name without a version, which libibverbs-dev has, too: it must be the same library
	python3 -c 'import ctypes
for lib in \"libibverbs.so.1\", \"libibverbs.so\", \"librdmacm.so\": ctypes.CDLL(lib)
found = {line.split()[-1] for line in open(\"/proc/self/maps\") if \"libibverbs\" in line or \"librdmacm\" in line}
assert len(found) == 2 and all(\"/drop-in/\" in f for f in found), found'
	ibv_rc_pingpong -d rs_lo -g 0 -n 100 -c >server.log & sh ./up
	ibv_rc_pingpong -d rs_lo -g 0 -n 100 -c 127.0.0.1
	wait"

# The job of docs/run.md, as it stands there
sed -n '/<!-- tried: a job -->/,/^```$/p' "$docs/run.md" | sed '/^<!--/d; /^```/d' >"$tmp/home/job.sh"
[ "$(grep -c 'ripstop exec' "$tmp/home/job.sh")" -ge 2 ] || {
	echo "FAILED: docs/run.md has no job to try"
	exit 1
}
passes "the job of docs/run.md" "sh -ex ./job.sh"

# The first block of docs/run.md, as pasted: each line comes by the input, from which its programs might read, too
sed -n '/<!-- tried: the start -->/,/^```$/p' "$docs/run.md" | sed '/^<!--/d; /^```/d' >"$tmp/home/start.sh"
[ "$(grep -c 'ripstop exec' "$tmp/home/start.sh")" -ge 3 ] || {
	echo "FAILED: docs/run.md has no start to try"
	exit 1
}
! grep -q 'apt-get\|sudo' "$tmp/home/start.sh" || {
	echo "FAILED: the start of docs/run.md asks apt-get or sudo, which take the lines behind it for their input"
	exit 1
}
passes "the start of docs/run.md" "
	{ cat start.sh; echo wait; } | sh >start.log 2>&1
	grep -q '^rs_lo ' start.log
	[ \$(grep -c '^ *65536 *5000 ' start.log) = 2 ]"

# Two pods: the first makes the network, as the cluster's plug-in does.
passes "two pods" "
	unshare -n sleep 50 & pod=\$!
	while [ \"\$(readlink /proc/\$pod/ns/net)\" = \"\$(readlink /proc/self/ns/net)\" ]; do sleep 0.05; done
	ip link add eth0 mtu 1450 type veth peer name eth0 netns \$pod mtu 1450
	ip address add 10.244.0.2/24 dev eth0 && ip link set eth0 up
	nsenter -t \$pod -n sh -c 'ip address add 10.244.0.3/24 dev eth0 && ip link set eth0 up'
	nsenter -t \$pod -n ripstop exec -- ib_write_bw -d rs_eth0 -n 100 >server.log 2>&1 & nsenter -t \$pod -n sh ./up
	ripstop exec -- ib_write_bw -d rs_eth0 -n 100 10.244.0.3 >client.log
	wait %2 2>/dev/null || wait \$! ; grep -q '^ *65536 *100 ' client.log; kill \$pod"

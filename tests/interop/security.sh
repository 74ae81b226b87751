#!/bin/sh
# What docs/security.md says of other users of this host: one that knows or takes every name, number
# and key neither writes to a program's memory, nor gets an answer, nor keeps a program from running.
# The victim is root, and then uid 65534, which in exec's user namespace every other user reads as.
set -eu
ripstop=$1
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
need cc python3 setpriv ip ibv_rc_pingpong
[ "$(id -u)" = 0 ] || skip "needs root, to be other users"
[ -n "${RS_OWN_NET-}" ] || skip "network namespaces cannot be made"
echo '#include <infiniband/verbs.h>' | cc -E - >/dev/null 2>&1 || skip "libibverbs-dev is not installed"

fail() {
	echo "FAILED: $*"
	exit 1
}

# Everything where any user can read it.
mkdir "$tmp/usr" "$tmp/usr/bin" "$tmp/usr/lib"
cp "$ripstop" "$tmp/usr/bin/ripstop"
cp -r "$(dirname "$(dirname "$("$ripstop" libdir)")")/ripstop" "$tmp/usr/lib/"
cc -O1 -Wall -o "$tmp/victim" "$here/security.c" -libverbs
cp "$here/security.py" "$tmp/attack.py"
chmod -R a+rX "$tmp"
chmod a+x "$tmp"
ripstop=$tmp/usr/bin/ripstop
PATH=/usr/sbin:/usr/bin:/sbin:/bin # what other users may run, too
need python3 ibv_rc_pingpong
as() {
	id=$1
	shift
	setpriv --reuid "$id" --regid "$id" --clear-groups "$@"
}
# In the background without a shell between, which a signal would end instead of the program.
other="setpriv --reuid 65533 --regid 65533 --clear-groups"
attack() {
	as 65533 python3 "$tmp/attack.py" "$@" >"$tmp/attack" 2>&1 || fail "attack $*: $(cat "$tmp/attack")"
}
as 65534 "$ripstop" exec true 2>"$tmp/err" || fail "as uid 65534: $(cat "$tmp/err")"
grep -q 'no private view' "$tmp/err" && echo "uid 65534 gets no user namespace here: $(cat "$tmp/err")"

# start UID OWN PEER: a victim; $qpn $rkey $va $psn. look: is its memory touched?
start() {
	mkfifo "$tmp/to" "$tmp/from"
	chmod 666 "$tmp/to" "$tmp/from"
	setpriv --reuid "$1" --regid "$1" --clear-groups "$ripstop" exec --dev d="$dev_if" -- \
		"$tmp/victim" "$2" "$3" <"$tmp/to" >"$tmp/from" 2>"$tmp/victim.err" &
	victim=$!
	pids="$pids $victim"
	exec 8>"$tmp/to" 9<"$tmp/from"
	rm "$tmp/to" "$tmp/from"
	read -r qpn rkey va psn <&9 || fail "no victim: $(cat "$tmp/victim.err")"
	case $psn in *[!0-9]* | '') fail "no victim: $qpn $rkey $va $psn" ;; esac
}
look() {
	sleep 0.1
	echo >&8
	read -r touched <&9
}
stop() {
	exec 8>&- 9<&-
	wait $victim || :
}

ip link add six type veth peer name seven || skip "veth cannot be made"
ip link set seven up
ip address add fd00::1/64 dev six nodad
ip link set six up
for uid in 0 65534; do
	dev_if=lo
	start $uid 127.0.0.1 127.0.0.2
	attack bind
	grep -qx 'bound \[\]' "$tmp/attack" || fail "port 4791 beside uid $uid: $(cat "$tmp/attack")"
	# in a user namespace of the attacker's it is still the attacker
	if as 65533 unshare -Ur true 2>/dev/null; then
		as 65533 unshare -Ur python3 "$tmp/attack.py" bind >"$tmp/attack"
		grep -qx 'bound \[\]' "$tmp/attack" || fail "port 4791: $(cat "$tmp/attack")"
	fi
	for signal in CONT STOP; do
		kill -$signal $victim
		attack names
		grep -q 'seen 0' "$tmp/attack" && fail "no socket of the victim's was seen"
		grep -q 'full 0 answers 0' "$tmp/attack" || fail "uid $uid takes from others: $(cat "$tmp/attack")"
	done
	kill -CONT $victim
	# all that there is to guess is known; then only the PSN is not
	attack write 127.0.0.2 0 127.0.0.1 "$qpn" "$rkey" "$va" "$psn"
	look
	[ "$touched" = untouched ] || fail "another user wrote to uid $uid's memory"
	attack write 127.0.0.2 0 127.0.0.1 "$qpn" "$rkey" "$va" "$psn" 65536
	look
	[ "$touched" = untouched ] || fail "a sweep of PSNs wrote to uid $uid's memory"
	# the same packet from the port that only this user has: it was right in all but that
	as $uid python3 "$tmp/attack.py" write 127.0.0.2 4791 127.0.0.1 "$qpn" "$rkey" "$va" "$psn" >/dev/null
	look
	[ "$touched" = touched ] || fail "the test's packet is none that anybody would take"
	stop
	echo "passed: packets of another user to uid $uid, IPv4"

	# IPv6 lets any user send as any host: the peer is another
	dev_if=six
	start $uid fd00::1 fd00::2
	attack write fd00::2 0 fd00::1 "$qpn" "$rkey" "$va" "$psn"
	attack write fd00::2 49152 fd00::1 "$qpn" "$rkey" "$va" "$psn"
	look
	[ "$touched" = untouched ] || fail "another user wrote to uid $uid's memory as a distant host"
	as $uid python3 "$tmp/attack.py" write fd00::2 4791 fd00::1 "$qpn" "$rkey" "$va" "$psn" >/dev/null
	look
	[ "$touched" = touched ] || fail "the test's packet of IPv6 is none that anybody would take"
	stop
	echo "passed: packets of another user to uid $uid, IPv6"
done

# QPNs and R_Keys of one program run after run: what does the last tell of the next?
for i in 1 2 3 4 5 6 7 8; do
	dev_if=lo
	start 0 127.0.0.1 127.0.0.2
	echo "$((qpn >> 16)) $qpn $rkey"
	stop
done >"$tmp/numbers"
python3 - "$tmp/numbers" <<'CHECK'
import sys

rows = [[int(x) for x in line.split()] for line in open(sys.argv[1])]
# the chance that a right program fails is below 1 in a million (8 draws of 254; of 2^23; of 2^32)
for column, least in ((0, 3), (1, 6), (2, 8)):
    values = [r[column] for r in rows]
    assert len(set(values)) >= least, (column, values)
    assert len({b - a for a, b in zip(values, values[1:])}) >= least - 1, (column, values)
CHECK
echo "passed: numbers"

# Names that can be guessed are taken, the last file's for ever: both users' programs run.
chmod 1777 /dev/shm
size=$("$ripstop" exec -- sh -c 'ibv_rc_pingpong -d rs_lo -g 0 >/dev/null &
	until find /dev/shm -name "ripstop-0-*" -printf "%s\\n" | grep [1-9]; do sleep 0.05; done; kill $!' | tail -n 1)
[ -n "$size" ] || fail "no registry is in /dev/shm"
for uid in 0 65534; do
	: >"$tmp/squat" # here: the shell behind & may empty it after the first look for its word
	$other python3 "$tmp/attack.py" squat /dev/shm $uid "$size" >"$tmp/squat" 2>&1 &
	squatter=$!
	pids="$pids $squatter"
	until grep -q squatting "$tmp/squat"; do
		kill -0 $squatter 2>/dev/null || fail "the squatter has ended: $(cat "$tmp/squat")"
		sleep 0.05
	done
	find /dev/shm -user 65533 -exec md5sum {} + | sort >"$tmp/before"
	as $uid "$ripstop" exec -- sh -c 'ibv_rc_pingpong -d rs_lo -g 0 -n 100 >/dev/null &
		until grep -qs ":4853 [0-9A-F]*:0000 0A" /proc/net/tcp /proc/net/tcp6; do kill -0 $! || exit 1; sleep 0.05; done
		ibv_rc_pingpong -d rs_lo -g 0 -n 100 127.0.0.1 && wait $!' >"$tmp/out" 2>&1 ||
		fail "uid $uid cannot run beside a squatter: $(said "$tmp/out")"
	find /dev/shm -user 65533 -exec md5sum {} + | sort | diff "$tmp/before" - ||
		fail "uid $uid wrote to a squatter's file"
	kill $squatter
	wait $squatter 2>/dev/null || :
	find /dev/shm -user 65533 -delete
done
echo "passed: squatters"

# Who holds the port is named.
holds_port "s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
s.bind(('::', 4791))" $other
status=0
"$ripstop" exec true 2>"$tmp/err" || status=$?
[ $status = 2 ] && grep -q 'user 65533 holds it' "$tmp/err" || fail "status $status: $(cat "$tmp/err")"
holds_no_more
echo "passed: security"

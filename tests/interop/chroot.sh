#!/bin/sh
# The view of /sys and /dev in a chroot, whose root is no mount point: there where both are mounts, and
# else a note that says what to do; the program runs either way.
# usage: chroot.sh RIPSTOP
set -eu
ripstop=$(readlink -f "$1")
. "$(dirname "$0")/lib.sh"
need ibv_devinfo unshare chroot
[ "$(id -u)" = 0 ] || skip "a chroot needs root"
unshare -m true 2>/dev/null || skip "no mount namespace here"

build=$(dirname "$(dirname "$ripstop")")
# inside: FOLDERS COMMAND: in a root that is a plain folder, with these folders of ours in it
inside() {
	unshare -m --propagation private sh -eu -c '
		root=$1 build=$2 folders=$3 command=$4
		mkdir -p "$root"
		for d in usr etc $folders; do
			mkdir -p "$root/$d"
			mount --rbind "/$d" "$root/$d"
		done
		for d in bin sbin lib lib64; do
			[ -e "$root/$d" ] || [ -L "$root/$d" ] || ln -s "usr/$d" "$root/$d"
		done
		mkdir -p "$root$build" "$root/tmp" "$root/dev" "$root/sys"
		mount --rbind "$build" "$root$build"
		exec chroot "$root" sh -c "$command"
	' sh "$tmp/$1" "$build" "$2" "$3"
}
inside whole 'proc sys dev' "$ripstop exec sh -c 'ls /sys/class/infiniband; ibv_devinfo -l'" >"$tmp/out" 2>&1 || {
	cat "$tmp/out"
	exit 1
}
grep -q 'no private view' "$tmp/out" && {
	cat "$tmp/out"
	exit 1
}
[ "$(grep -c rs_lo "$tmp/out")" -ge 2 ]
# /sys a plain folder: told what to mount, and the program runs
mkdir -p "$tmp/dev"
inside bare 'proc dev' "$ripstop exec sh -c 'echo it runs'" >"$tmp/out" 2>&1 || :
grep -q 'it runs' "$tmp/out"
grep -q 'no private view.*mount --rbind /sys' "$tmp/out"
# nothing of it is left here
! grep -q "$tmp" /proc/self/mounts

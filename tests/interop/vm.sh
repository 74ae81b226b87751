# A small virtual machine with Debian's kernel and its soft-RoCE (rdma_rxe) on the programs of this
# very system: its root is this one's, read-only, with a writable layer in memory. Sourced after
# lib.sh. Works without KVM; root is needed for the tap device.

kernel_dir=${RS_VM_DIR:-$(cd "$(dirname "$ripstop")/.." && pwd)/rxe-vm}
vm_boot_seconds=${RS_VM_BOOT_SECONDS:-180}
ns=rsvm$$

vm_need() {
	[ "$(id -u)" = 0 ] || skip "not root: no tap device"
	need qemu-system-x86_64 busybox depmod modprobe cpio ip ethtool tcpdump ib_write_bw rdma
	[ -e /usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav34.so ] ||
		skip "ibverbs-providers is not installed"
	file_is_static "$(command -v busybox)" || skip "busybox is not busybox-static"
}

file_is_static() {
	! ldd "$1" >/dev/null 2>&1
}

# The kernel of Debian's package, unpacked once.
vm_kernel() {
	mkdir -p "$kernel_dir"
	set -- "$kernel_dir"/boot/vmlinuz-*
	[ -e "$1" ] && return
	package=$(apt-cache depends linux-image-amd64 2>/dev/null |
		sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
	[ -n "$package" ] || skip "the package manager knows no linux-image-amd64"
	(cd "$tmp" && apt-get -qq -o APT::Sandbox::User=root download "$package" >/dev/null 2>&1) ||
		skip "$package cannot be fetched"
	dpkg -x "$tmp"/linux-image-*.deb "$tmp/kernel" || skip "$package cannot be unpacked"
	rm -f "$tmp"/linux-image-*.deb
	version=$(basename "$tmp"/kernel/boot/vmlinuz-*)
	depmod -b "$tmp/kernel" "${version#vmlinuz-}"
	mv "$tmp"/kernel/lib "$kernel_dir/"
	mv "$tmp"/kernel/boot "$kernel_dir/" # last: it says that all is there
}

# The first program of the guest: modules, then this system's root under a layer in memory.
vm_initrd() {
	root=$tmp/initrd
	mkdir -p "$root/bin" "$root/modules" "$root/ro" "$root/rw" "$root/new" \
		"$root/proc" "$root/sys" "$root/dev"
	cp "$(command -v busybox)" "$root/bin/"
	for m in virtio_pci 9pnet_virtio 9p overlay; do
		modprobe -d "$kernel_dir" -S "$kernel" --show-depends $m 2>/dev/null
	done | awk '/^insmod/ && !seen[$2]++ {print $2}' | while read -r f; do
		cp "$f" "$root/modules/"
		basename "$f" >>"$root/order"
	done
	cat >"$root/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
for m in $(cat /order); do insmod /modules/$m; done
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,cache=loose,ro root /ro &&
	mount -t tmpfs -o size=60% rw /rw && mkdir /rw/upper /rw/work &&
	mount -t overlay -o lowerdir=/ro,upperdir=/rw/upper,workdir=/rw/work root /new || exec sh
mount --move /sys /new/sys
mount --move /dev /new/dev
umount /proc
exec switch_root /new /bin/sh -c '
	mount -t proc proc /proc
	for d in /run /dev/shm; do mkdir -p $d; mount -t tmpfs tmpfs $d; done
	mkdir -p /run/share /lib/modules
	mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 share /run/share
	mount --bind "$(cat /run/share/modules)" /lib/modules
	exec sh /run/share/guest'
INIT
	chmod 755 "$root/init"
	(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$tmp/initrd.gz"
}

# What the guest does: set up by $1, then a line of shell at a time, each in a file of its own.
vm_guest() {
	echo "$kernel_dir/lib/modules" >"$tmp/share/modules"
	cat >"$tmp/share/guest" <<GUEST
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
HOME=/root
export PATH HOME
ulimit -l unlimited
ulimit -c 0
ip link set lo up
$1
touch /run/share/ready
n=1
while [ ! -e /run/share/stop ]; do
	if [ -e /run/share/do.\$n ]; then
		(sh /run/share/do.\$n >/run/share/out.\$n 2>&1
		echo \$? >/run/share/status.\$n.new
		mv /run/share/status.\$n.new /run/share/status.\$n) &
		n=\$((n + 1))
	fi
	sleep 0.1
done
sync
echo o >/proc/sysrq-trigger
sleep 5
GUEST
}

# vm_boot SETUP: a guest whose network card is the tap0 of namespace $ns.
vm_boot() {
	vm_kernel
	kernel=$(basename "$kernel_dir"/boot/vmlinuz-*)
	kernel=${kernel#vmlinuz-}
	mkdir -p "$tmp/share"
	vm_initrd
	vm_guest "$1"
	ip netns add $ns 2>/dev/null || skip "network namespaces cannot be made"
	trap vm_end EXIT
	ip -n $ns link set lo up
	ip -n $ns tuntap add tap0 mode tap 2>/dev/null || skip "tap devices cannot be made"
	ip -n $ns link set tap0 address 52:77:00:00:00:01 mtu 4500 txqueuelen 10000 up
	ip -n $ns address add 10.77.0.1/24 dev tap0
	ip -n $ns address add fd77::1/64 dev tap0 nodad
	ip netns exec $ns qemu-system-x86_64 -machine q35 -accel "${RS_VM_ACCEL:-tcg,thread=multi}" \
		-cpu "${RS_VM_CPU:-max}" -smp 2 -m 1536 -nodefaults -no-reboot -display none -monitor none \
		-kernel "$kernel_dir"/boot/vmlinuz-* -initrd "$tmp/initrd.gz" \
		-append "console=ttyS0 quiet panic=-1 mitigations=off random.trust_cpu=on" \
		-fsdev local,id=root,path=/,security_model=none,readonly=on,multidevs=remap \
		-device virtio-9p-pci,fsdev=root,mount_tag=root \
		-fsdev local,id=share,path="$tmp/share",security_model=none \
		-device virtio-9p-pci,fsdev=share,mount_tag=share \
		-netdev tap,id=n0,ifname=tap0,script=no,downscript=no \
		-device virtio-net-pci,netdev=n0,mac=52:77:00:00:00:02,host_mtu=4500 \
		-device virtio-rng-pci -serial file:"$tmp/console" \
		</dev/null >"$tmp/qemu" 2>&1 &
	vm=$!
	i=0
	until [ -e "$tmp/share/ready" ]; do
		kill -0 $vm 2>/dev/null || {
			tail -n 3 "$tmp/qemu" "$tmp/console"
			skip "the virtual machine ended while it started"
		}
		i=$((i + 1))
		[ $i -lt $((vm_boot_seconds * 5)) ] || {
			tail -n 5 "$tmp/console"
			skip "the virtual machine did not start in $vm_boot_seconds s"
		}
		sleep 0.2
	done
}

vm_end() {
	: >"$tmp/share/stop"
	i=0
	while kill -0 "${vm:-0}" 2>/dev/null && [ -n "${vm:-}" ] && [ $i -lt 30 ]; do
		i=$((i + 1))
		sleep 0.1
	done
	[ -z "${vm:-}" ] || kill $vm 2>/dev/null || :
	ip netns del $ns 2>/dev/null || :
	cleanup
}

vm_next=1
# vm_start COMMAND: in the guest, in the background; $vm_job names it.
vm_start() {
	vm_job=$vm_next
	vm_next=$((vm_next + 1))
	echo "$1" >"$tmp/share/new"
	mv "$tmp/share/new" "$tmp/share/do.$vm_job"
}

# vm_wait JOB SECONDS: its exit status; 124: it takes longer.
vm_wait() {
	i=0
	until [ -e "$tmp/share/status.$1" ]; do
		i=$((i + 1))
		[ $i -lt $(($2 * 10)) ] || return 124
		sleep 0.1
	done
	return "$(cat "$tmp/share/status.$1")"
}

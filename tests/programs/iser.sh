# program: tgt (iSER target) and libiscsi
# packages: tgt libiscsi-bin python3
# version: dpkg-query -W -f '${Package} ${Version}\n' tgt libiscsi-bin
# shows: login, inquiry, WRITE and READ of a disk over iSER
# data: libiscsi's tests check what they read; what they wrote is in the target's file
PATH=$PATH:/usr/sbin:/sbin
need tgtd tgtadm iscsi-inq iscsi-test-cu
export TGT_IPC_SOCKET="$tmp/tgt"
truncate -s 16M "$tmp/disk"
serve tgtd -f --iser port=3260 --iscsi portal=127.0.0.1:3261
admin() { at_server tgtadm --lld iser "$@"; }
name=iqn.2026-11.ripstop:disk
until_there 10 at_server tgtadm --lld iser --op show --mode target || fail "the target does not start"
admin --op new --mode target --tid 1 -T $name
admin --op new --mode logicalunit --tid 1 --lun 1 -b "$tmp/disk"
admin --op bind --mode target --tid 1 -I ALL
# 1.0.85 lets in over iSER only initiators that are bound by name
for i in iscsi-inq iscsi-test; do
	admin --op bind --mode target --tid 1 -Q iqn.2007-10.com.github:sahlberg:libiscsi:$i
done
crashed=0
url=iser://$host:3260/$name/1
on_client iscsi-inq $url >"$tmp/client" 2>&1 || fail "inquiry"
grep -q VIRTUAL-DISK "$tmp/client" || fail "inquiry: another answer"
# libiscsi 1.19 frees what it did not allocate (mended after it): now and then one of its programs ends by that, with any device
for t in Read10.Simple Read16.Simple Verify10.Simple Verify10.Mismatch WriteSame10.Simple Write16.Simple Write10.Simple; do
	for try in 1 2 3 4 5; do
		status=0
		on_client iscsi-test-cu -d -t ALL.$t $url >"$tmp/client" 2>&1 || status=$?
		[ $status = 134 ] || [ $status = 139 ] || break
		crashed=$((crashed + 1))
	done
	[ $status = 0 ] || fail "$t ended with $status"
	grep -q '\.\.\.passed' "$tmp/client" || fail "$t"
done
python3 - "$tmp/disk" <<'CHECK' || fail "the target's file does not hold what was written"
import sys
d = open(sys.argv[1], 'rb').read(256 * 512)
if set(d) != {0xa6}: # what its test of WRITE(10) writes to the first 256 blocks
    sys.exit(f"bytes {sorted(set(d))[:8]}")
CHECK
stop_server
echo "inquiry and 7 tests of reads, writes and comparisons; libiscsi crashed $crashed times"

# program: Ceph's messenger over RDMA
# packages: ceph-mon ceph-osd ceph-common
# version: dpkg-query -W -f '${Package} ${Version}\n' ceph-osd
# shows: a monitor and an OSD (memstore) that talk by ms_type async+rdma, and a client's objects and bench
# data: objects of 1 B to 8 MiB that the client writes come back the same; rados bench compares what it reads back
PATH=$PATH:/usr/sbin:/sbin
need ceph-mon ceph-osd ceph rados monmaptool
limit=90
id=9f0c8a3e-4b1d-4f2e-8d61-2f4c5b7a9e10
mkdir "$tmp/mon" "$tmp/osd"
# Few buffers, but no limit to those that receive (0): where they run out, Ceph 16 loses count of what it has yet to post
# (RDMAConnectedSocketImpl::update_post_backlog), posts more than its receive queue holds, is refused, and aborts.
conf() { # ADDRESS
	cat <<CONF
[global]
fsid = $id
mon host = v1:$host:$port/0
public addr = $1
auth cluster required = none
auth service required = none
auth client required = none
ms type = async+rdma
ms bind msgr2 = false
ms async rdma device name = $dev
ms async rdma buffer size = 16384
ms async rdma receive buffers = 0
ms async rdma send buffers = 256
ms async rdma receive queue len = 256
ms async op threads = 1
osd pool default size = 1
osd pool default pg num = 8
osd crush chooseleaf type = 0
osd objectstore = memstore
memstore device bytes = 268435456
mon allow pool size one = true
run dir = $tmp
admin socket =
log file = $tmp/\$name.log
log to stderr = false
pid file = $tmp/\$name.pid
mon data = $tmp/mon
osd data = $tmp/osd
keyring = $tmp/keyring
CONF
}
conf $host >"$tmp/conf"
conf $peer >"$tmp/conf.client"
# without the drop-in: what writes files alone
ceph-authtool --create-keyring "$tmp/keyring" --gen-key -n mon. --cap mon 'allow *' >"$tmp/client" 2>&1 || fail "no keyring is made"
monmaptool --create --fsid $id --addv a "[v1:$host:$port/0]" "$tmp/map" >"$tmp/client" 2>&1 || fail "no map is made"
ceph-mon -c "$tmp/conf" --mkfs -i a --monmap "$tmp/map" --ms-type async+posix >"$tmp/client" 2>&1 || fail "the monitor has no store"
serve ceph-mon -f -i a -c "$tmp/conf"
mon=$server
# A client of Ceph 16 may send a command before it has heard the cluster's name (fsid) from the monitor, which then refuses it with
# EPERM, over async+posix, too. So a client sends it again. An OSD would end: --no-mon-config lets it take the name from its file.
cluster() {
	for turn in 1 2 3 4 5 6 7 8; do
		! on_client ceph -c "$tmp/conf.client" --connect-timeout 20 "$@" >"$tmp/client" 2>&1 || return 0
		grep -q EPERM "$tmp/client" || return 1
	done
	return 1
}
cluster osd new $id || fail "the monitor does not answer"
on_server ceph-osd -c "$tmp/conf" --mkfs -i 0 --osd-uuid $id >"$tmp/client" 2>&1 || fail "the OSD has no store"
serve ceph-osd -f -i 0 -c "$tmp/conf" --no-mon-config
up() { cluster osd stat && grep -q "1 up" "$tmp/client"; }
until_there 30 up || fail "the OSD does not come up"
cluster osd pool create objects 8 || fail "no pool is made"
store() { on_client rados -c "$tmp/conf.client" -p objects "$@" >"$tmp/client" 2>&1 || fail "rados $1 ended with $?"; }
for n in 1 4095 65536 1048577 8388608; do
	head -c $n /dev/urandom >"$tmp/object"
	store put o$n "$tmp/object"
	store get o$n "$tmp/back"
	cmp "$tmp/object" "$tmp/back" || fail "an object of $n bytes came back as another"
done
# 150 MiB of 256: an OSD that is full drops writes without an answer, and the bench waits for ever
store bench 20 write -b 262144 -t 4 --max-objects 600 --no-cleanup
store bench 20 seq -t 4
moved=$(sed -n 's/^Total reads made: *//p' "$tmp/client")
[ "${moved:-0}" -gt 0 ] || fail "nothing was read back"
# of a messenger over TCP the device would count nothing
at_server "$ripstop" counters --json >"$tmp/counters"
python3 - "$tmp/counters" $dev <<'CHECK' || fail "the device did not carry the objects"
import json, sys
seen = [d['counters'] for d in json.load(open(sys.argv[1]))['devices'] if d['device'] == sys.argv[2]]
sys.exit(not seen or max(min(c['tx_bytes'], c['rx_bytes']) for c in seen) < 8 << 20)
CHECK
stop_server
server=$mon
stop_server
echo "5 objects, $moved of 256 KiB read back"

# program: gloo, ibverbs transport
# packages: libgloo-dev g++
# version: dpkg-query -W -f '${Package} ${Version}\n' libgloo-dev
# shows: ring all-reduces of 4 B to 4 MiB between two ranks
# data: each element of each result is checked
need g++
[ -e /usr/include/gloo/transport/ibverbs/device.h ] || skip "libgloo-dev is not installed"
g++ -O1 -std=c++17 -o "$tmp/gloo" "$here/gloo.cc" -lgloo >"$tmp/client" 2>&1 || fail "it does not build"
mkdir "$tmp/store"
serve "$tmp/gloo" 0 "$tmp/store" $dev
on_client "$tmp/gloo" 1 "$tmp/store" $dev >"$tmp/client" 2>&1 || fail "rank 1 ended with $?"
served
tail -n 1 "$tmp/client"

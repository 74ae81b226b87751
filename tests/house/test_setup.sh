#!/bin/sh
# tools/setup asks nothing of the package manager when all is there, and names what it cannot install.
# usage: test_setup.sh ROOT
set -eu
root=$1
box=$(mktemp -d)
trap 'rm -rf "$box"' EXIT

fail() {
	echo "test_setup: $1" >&2
	exit 1
}

fake() {
	printf '#!/bin/sh\n%s\n' "$2" >"$box/bin/$1"
	chmod +x "$box/bin/$1"
}

# A machine of our own: only these commands exist in it.
mkdir "$box/bin"
for c in sh cat dirname env sed; do
	ln -s "$(command -v $c)" "$box/bin/$c"
done
fake id 'echo 0'
fake apt-get 'echo "$@" >>'"$box/apt"
alone() {
	env PATH="$box/bin" "$root/tools/setup" "$@" >"$box/out" 2>&1
}

fake dpkg-query 'echo "install ok installed"'
alone || fail "complained although all is there"
[ ! -e "$box/apt" ] || fail "asked apt although all is there"

fake dpkg-query 'case $* in *libfyaml-dev) exit 1 ;; *) echo "install ok installed" ;; esac'
alone || fail "did not install: $(cat "$box/out")"
case "$(cat "$box/apt")" in
*install*libfyaml-dev*) ;;
*) fail "did not install libfyaml-dev" ;;
esac
case "$(cat "$box/apt")" in
*libxml2-dev*) fail "installs what is there" ;;
esac

fake id 'echo 1000'
if alone; then
	fail "went on without root and without sudo"
fi
grep -q libfyaml-dev "$box/out" || fail "does not name the missing package"

rm "$box/bin/dpkg-query"
if alone; then
	fail "went on where nothing is installed and this is not Debian"
fi
for p in $(grep -v '^#' "$root/tools/packages"); do
	grep -q -- "$p" "$box/out" || fail "does not name $p"
done
if alone --build; then
	fail "went on to build where nothing is installed"
fi
grep -q libfyaml-dev "$box/out" || fail "--build does not name libfyaml-dev"
! grep -q tshark "$box/out" || fail "--build wants what only tests need"

#!/bin/sh
# tools/web-build goes on where the page cannot be made: without Node.js, with one too old, without npm, with npm that
# reaches nothing. It says which, makes C that compiles, and no stamp, so that the next build tries again.
# usage: build.sh ROOT CC
set -eu
root=$1 cc=$2
box=$(mktemp -d)
trap 'rm -rf "$box"' EXIT
mkdir "$box/bin"
for c in sh cat dirname mkdir cp mv rm cmp flock grep; do
	ln -s "$(command -v $c)" "$box/bin/$c"
done

fake() {
	printf '#!/bin/sh\n%s\n' "$2" >"$box/bin/$1"
	chmod +x "$box/bin/$1"
}

# without WHY: what web-build says, in C and on standard error
without() {
	env PATH="$box/bin" "$root/tools/web-build" "$box/cache" "$box/page.c" "$box/stamp" 2>"$box/said" || {
		echo "build: web-build failed, where it should go on: $(cat "$box/said")"
		exit 1
	}
	if ! grep -q "built without the page of --html: $1" "$box/said" ||
		! grep -q "rs_page_missing = \"$1\"" "$box/page.c" || [ -e "$box/stamp" ]; then
		echo "build: for '$1' it says: $(cat "$box/said" "$box/page.c")"
		exit 1
	fi
	"$cc" -Wall -Wextra -Werror -I"$root/src" -c -o "$box/page.o" "$box/page.c"
}

without 'Node.js was not installed'
fake node 'echo 16'
without 'Node.js 18 or later was not installed'
fake node 'echo 18'
without 'npm was not installed'
fake npm 'echo "npm ERR! network getaddrinfo EAI_AGAIN registry.npmjs.org" >&2; exit 1'
without 'npm could not fetch the packages of web/package-lock.json'
grep -q EAI_AGAIN "$box/said" || { echo "build: it does not say what npm said"; exit 1; }
# nothing changed: the file is not written again, and so not compiled again
touch -d '2001-01-01' "$box/page.c"
without 'npm could not fetch the packages of web/package-lock.json'
[ "$(date -r "$box/page.c" +%Y)" = 2001 ] || { echo "build: the same C is written again"; exit 1; }

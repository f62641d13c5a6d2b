#!/usr/bin/env bash
# Measures the first minutes of a newcomer, in seconds: from `git clone` to the first answer of `make run`, from the
# link that it prints to the page signed in, and from there to an answer from a file of the own, uploaded and asked
# for on the page by a program that does not read or think. Go compiles everything anew; PostgreSQL is installed before.
#
#   first-minute.sh          modules of Go are downloaded too
#   first-minute.sh --warm   with the modules and compiled packages of the user
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/cached.sh
. hack/console-libraries.sh
. hack/browser.sh
internal/operate/postgres/embedded/install.sh >&2

source=$PWD work=$(mktemp -d)
chmod 755 "$work"
run=
clean_up() {
	[ -z "$run" ] || { kill -INT -- "-$run" 2>/dev/null || true; while kill -0 -- "-$run" 2>/dev/null; do sleep 0.1; done; }
	chmod -R u+w "$work"
	rm -rf "$work"
}
trap clean_up EXIT
now() { date +%s.%N; }
since() { awk -v from="$1" -v to="$(now)" 'BEGIN { printf "%.1f\n", to - from }'; }
export XDG_CONFIG_HOME=$work/config XDG_DATA_HOME=$work/data
# The port of the demo may be taken: a free one is asked of the system.
RAGD_LISTEN=127.0.0.1:$(node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })')
export RAGD_LISTEN
unset DISPLAY WAYLAND_DISPLAY RAGD_SERVER RAGD_API_KEY
if [ "${1:-}" != --warm ]; then export GOCACHE=$work/go-build GOMODCACHE=$work/go-mod; fi

begun=$(now)
git clone -q "$source" "$work/ragd"
cd "$work/ragd"
setsid make run >"$work/out" 2>&1 &
run=$!
# until_printed PATTERN waits for a line of make run, and prints it.
until_printed() {
	local line
	until line=$(grep -m1 -E "$1" "$work/out"); do
		kill -0 "$run" 2>/dev/null || { cat "$work/out" >&2; exit 1; }
		sleep 0.1
	done
	echo "$line"
}
until_printed '^1\. ' >/dev/null
echo "clone to first answer: $(since "$begun") s"
link=$(until_printed '^http.*/sign-in#')
cd "$source"
node console/test/first-minute.mjs "$link" examples/handbook/operations/on-call.md "Who answers an ammonia alarm at night?"

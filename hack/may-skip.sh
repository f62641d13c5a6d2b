#!/usr/bin/env bash
# Runs a check that needs something which a machine may lack. A check that ends with status 77
# could not run, which is no error but is remembered.
#
#   may-skip.sh NAME COMMAND...  runs COMMAND, whose last line on stderr is the reason if it ends with 77
#   may-skip.sh --list           lists what was not run since the last list, and why
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p .cache
if [ "$1" = --list ]; then
	if [ -s .cache/not-run ]; then
		echo "NOT RUN:"
		cat .cache/not-run
	else
		echo "every check was run"
	fi
	rm -f .cache/not-run
	exit
fi
name=$1
shift
stderr=$(mktemp)
trap 'rm -f "$stderr"' EXIT
code=0
{ "$@" 2>&1 >&3 3>&- | tee "$stderr" >&2; } 3>&1 || code=${PIPESTATUS[0]}
[ "$code" = 77 ] || exit "$code"
echo "  $name: $(tail -n 1 "$stderr")" >>.cache/not-run

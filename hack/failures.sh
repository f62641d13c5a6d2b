#!/usr/bin/env bash
# Runs tests, and names at the end those that failed: what they print is long.
#
#   failures.sh COMMAND [ARGUMENT...]
set -uo pipefail
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
[ "$status" = 0 ] || { echo "failed:"; awk -f "${BASH_SOURCE%/*}/failures.awk" "$log" | sort -u | sed 's/^/  /'; }
exit "$status"

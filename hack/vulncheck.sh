#!/usr/bin/env bash
# Looks for known vulnerabilities in the code that the binary calls. Ends with 77 if the
# database of vulnerabilities cannot be reached; GOVULNDB names another one.
set -euo pipefail
cd "$(dirname "$0")/.."

output=$(go tool -modfile=tools/go.mod govulncheck ${GOVULNDB:+-db "$GOVULNDB"} ./... 2>&1) && { echo "$output"; exit; }
echo "$output" >&2
case $output in
*"fetching vulnerabilities"*) exit 77 ;;
esac
exit 1

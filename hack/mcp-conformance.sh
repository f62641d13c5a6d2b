#!/usr/bin/env bash
# Runs the official conformance suite of MCP against the service, for both kinds of client
# that it serves. Node and the suite are installed from npm into the user's cache folder. Ends with 77
# if they cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."

. hack/third-party.sh

suite=0.2.0-alpha.12
node=22 # the suite needs it; the machine's may be older
dir=$(cached mcp-conformance "$node $suite" npm_install "node@$node" "@modelcontextprotocol/conformance@$suite") ||
	{ echo "the suite cannot be installed from npm" >&2; exit 77; }
export PATH="$dir/node_modules/node/bin:$PATH"

log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0
RAGD_MCP_CONFORMANCE=$dir third_party ./internal/api/mcp -test.run 'Conformance|TestScenarios' >"$log" 2>&1 || failed=1
# The binary succeeds when no test has the name.
grep -q '^--- PASS: TestConformanceOfTheService ' "$log" || failed=1
[ "$failed" = 0 ] || cat "$log"
grep '^ *--- ' "$log" || true
exit "$failed"

#!/usr/bin/env bash
# Runs the official conformance suite of MCP against the service, for both kinds of client
# that it serves. Node and the suite are installed from npm into a separate directory. Ends with 77
# if they cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."

. hack/node.sh

suite=0.2.0-alpha.12
node=22 # the suite needs it; the machine's may be older
dir=${XDG_CACHE_HOME:-$HOME/.cache}/ragd/mcp-conformance-$suite

if [ ! -e "$dir/installed" ]; then
	echo "installing node $node and the conformance suite $suite into $dir"
	mkdir -p "$dir"
	npm install --prefix "$dir" --no-fund --no-audit --loglevel error \
		"node@$node" "@modelcontextprotocol/conformance@$suite" >&2 || { echo "the suite cannot be installed from npm" >&2; exit 77; }
	touch "$dir/installed"
fi
export PATH="$dir/node_modules/node/bin:$PATH"

log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0
RAGD_MCP_CONFORMANCE=$dir go test -tags mcpconformance -count=1 -timeout 20m -v -run 'Conformance|TestScenarios' ./internal/api/mcp >"$log" 2>&1 || failed=1
# go test succeeds when no test has the name.
grep -q '^--- PASS: TestConformanceOfTheService ' "$log" || failed=1
[ "$failed" = 0 ] || cat "$log"
grep '^ *--- ' "$log" || true
exit "$failed"

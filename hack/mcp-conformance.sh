#!/usr/bin/env bash
# Runs the official conformance suite of MCP against internal/mcp/mcphttp, for both kinds
# of client that it serves, and the scenarios that the product has what they need for
# against the service itself. Node and the suite are installed from
# npm into a separate directory. Fails if a required scenario fails; scenarios
# that the suite does not score, such as those of extensions, are only listed.
set -euo pipefail
cd "$(dirname "$0")/.."

suite=0.2.0-alpha.12
node=22 # the suite needs it; the machine's may be older
dir=${XDG_CACHE_HOME:-$HOME/.cache}/ragd/mcp-conformance-$suite
address=127.0.0.1:${PORT:-3900}

if [ ! -e "$dir/installed" ]; then
	echo "installing node $node and the conformance suite $suite into $dir"
	mkdir -p "$dir"
	npm install --prefix "$dir" --no-fund --no-audit --loglevel error \
		"node@$node" "@modelcontextprotocol/conformance@$suite" >&2
	touch "$dir/installed"
fi
export PATH="$dir/node_modules/node/bin:$PATH"

out=$(mktemp -d)
go build -o "$out/server" ./hack/mcp-conformance
"$out/server" "$address" 2>"$out/server.log" &
server=$!
trap 'kill "$server" 2>/dev/null || true; rm -rf "$out"' EXIT
for _ in $(seq 100); do
	curl -s -o /dev/null "http://$address/mcp" && break
	sleep 0.1
done

failed=0
for revision in 2025-11-25 2026-07-28; do
	echo "== $revision"
	"$dir/node_modules/.bin/conformance" server --url "http://$address/mcp" \
		--requirements "$revision" -o "$out/$revision" >"$out/log" 2>&1 || failed=1
	sed -n '/=== SUMMARY/,$p' "$out/log"
done
echo "== the service"
RAGD_MCP_CONFORMANCE=$dir go test -tags mcpconformance -count=1 -v -run '^TestConformanceOfTheService$' ./internal/mcp >"$out/log" 2>&1 || failed=1
# go test succeeds when no test has the name.
grep -q '^--- PASS: TestConformanceOfTheService ' "$out/log" || { cat "$out/log"; failed=1; }
grep '^    --- ' "$out/log" || true
exit "$failed"

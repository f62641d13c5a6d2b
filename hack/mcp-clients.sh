#!/usr/bin/env bash
# Runs third-party MCP clients against the service: the TypeScript SDK in
# both of its versions, Mastra's client, the inspector's command line and mcp-go's
# client. Node and its clients are installed from npm into a separate directory.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
	node@22 # some clients need it; the machine's may be older
	@modelcontextprotocol/sdk@1.32.2
	@modelcontextprotocol/client@2.4.0
	@modelcontextprotocol/inspector@2.12.0
	@mastra/mcp@2.0.0
)
dir=${XDG_CACHE_HOME:-$HOME/.cache}/ragd/mcp-clients
wanted="${packages[*]}"

if [ "$(cat "$dir/installed" 2>/dev/null)" != "$wanted" ]; then
	echo "installing $wanted into $dir"
	mkdir -p "$dir"
	npm install --prefix "$dir" --no-fund --no-audit --loglevel error "${packages[@]}" >&2
	echo "$wanted" >"$dir/installed"
fi
cp internal/mcp/testdata/clients/*.mjs "$dir/"
# go test succeeds when no test has the name.
RAGD_MCP_CLIENTS=$dir go test -tags mcpclients -count=1 -v -run '^TestThirdPartyClients$' ./internal/mcp |
	awk '{ print } /^--- PASS: TestThirdPartyClients / { passed = 1 } END { exit !passed }'

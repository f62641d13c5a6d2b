#!/usr/bin/env bash
# Runs connectors against MCP servers of others: the reference server "everything" over streamable HTTP and
# the older transport, and a server of FastMCP with a sign-in at its own authorization server. Node and the
# servers are installed from npm and PyPI into a separate directory. Ends with 77 if they cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."

. hack/node.sh

packages=(
	node@22 # the servers need it; the machine's may be older
	@modelcontextprotocol/server-everything@2026.8.31
)
wheels=(fastmcp==4.2.3)
not_run() {
	echo "the servers cannot be installed from $1" >&2
	exit 77
}
dir=${XDG_CACHE_HOME:-$HOME/.cache}/ragd/mcp-servers
wanted="${packages[*]} ${wheels[*]}"

if [ "$(cat "$dir/installed" 2>/dev/null)" != "$wanted" ]; then
	echo "installing $wanted into $dir"
	mkdir -p "$dir"
	npm install --prefix "$dir" --no-fund --no-audit --loglevel error "${packages[@]}" >&2 || not_run npm
	{ # needs Python 3.10 or newer
		python3 -m venv "$dir/venv" && "$dir/venv/bin/pip" install --quiet --disable-pip-version-check "${wheels[@]}"
	} >&2 || not_run PyPI
	echo "$wanted" >"$dir/installed"
fi
# go test succeeds when no test has the name.
RAGD_TEST_MCP_SERVERS=$dir go test -tags mcpservers -count=1 -v -run '^(TestTheServerEverything|TestTheServerOfFastMCPWithOAuth)$' ./internal/automation/connector |
	awk '{ print } /^--- PASS: TestTheServer(Everything|OfFastMCPWithOAuth) / { passed++ } END { exit passed != 2 }'

#!/usr/bin/env bash
# Runs connectors against MCP servers of others: the reference server "everything" over streamable HTTP and
# the older transport, and a server of FastMCP with a sign-in at its own authorization server. Node and the
# servers are installed from npm and PyPI into the user's cache folder. Ends with 77 if they cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."

. hack/third-party.sh

packages=(
	node@22 # the servers need it; the machine's may be older
	@modelcontextprotocol/server-everything@2026.8.31
)
wheels=(fastmcp==4.2.3)
install() {
	npm_install "${packages[@]}" || { echo "the servers cannot be installed from npm" >&2; return 77; }
	pip_install "${wheels[@]}" || { echo "the servers cannot be installed from PyPI" >&2; return 77; } # needs Python 3.10 or newer
}
libraries=$(cached mcp-servers "${packages[*]} ${wheels[*]}" install) || exit 77
# The binary succeeds when no test has the name.
RAGD_TEST_MCP_SERVERS=$libraries third_party ./internal/automation/connector -test.run '^(TestTheServerEverything|TestTheServerOfFastMCPWithOAuth)$' |
	awk '{ print } /^--- PASS: TestTheServer(Everything|OfFastMCPWithOAuth) / { passed++ } END { exit passed != 2 }'

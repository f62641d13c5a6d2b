#!/usr/bin/env bash
# Runs third-party MCP clients against the service: the TypeScript SDK in both of
# its versions, the Python SDK, Mastra's client, the inspector's command line and mcp-go's
# client; the SDKs also with a log-in at an authorization server. Then converts the tools
# for models of OpenAI, Google and Anthropic with the AI SDK, Mastra, LangChain, OpenAI's
# Agents SDK and Google's SDKs, and fails if that loses a part of their schemas. Node and
# the libraries are installed from npm and PyPI into the user's cache folder. Ends with 77 if they
# cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."

. hack/third-party.sh

packages=(
	node@22 # some clients need it; the machine's may be older
	@modelcontextprotocol/sdk@1.32.2
	@modelcontextprotocol/client@2.4.0
	@modelcontextprotocol/ext-tasks@0.2.2
	@modelcontextprotocol/inspector@2.12.0
	@mastra/mcp@2.0.0
	@mastra/core@1.71.0
	ai@7.0.173
	@ai-sdk/anthropic@4.0.105
	@ai-sdk/google@4.0.121
	@ai-sdk/mcp@2.0.99
	@ai-sdk/openai@4.0.118
	@google/genai@3.1.0
	@langchain/core@1.4.0
	@langchain/google-genai@2.3.2
	@langchain/mcp-adapters@1.1.4
	@langchain/openai@1.6.0
	jose@6.2.17
	oidc-provider@9.13.3
	standardwebhooks@1.1.1
	zod@4.6.7
)
wheels=(
	google-genai==2.34.0
	langchain-google-genai==4.4.2
	langchain-mcp-adapters==0.3.2
	langchain-openai==1.7.3
	mcp==1.30.0
	openai-agents==0.24.0
	pyjwt[crypto]==2.15.1
	standardwebhooks==1.1.0
)
install() {
	npm_install "${packages[@]}" || { echo "the clients cannot be installed from npm" >&2; return 77; }
	pip_install "${wheels[@]}" || { echo "the clients cannot be installed from PyPI" >&2; return 77; } # needs Python 3.11 or newer
}
libraries=$(cached mcp-clients "${packages[*]} ${wheels[*]}" install) || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$libraries"/{node_modules,package.json,venv} "$work/"
cp internal/api/mcp/testdata/clients/*.{mjs,py} internal/api/mcp/testdata/conversions/convert.* "$work/"
# The binary succeeds when no test has the name.
RAGD_TEST_MCP_CLIENTS=$work third_party ./internal/api/mcp -test.run '^(TestThirdPartyClients|TestThirdPartyLogins|TestConversionsOfToolSchemas)$' |
	awk '{ print } /^--- PASS: Test(ThirdPartyClients|ThirdPartyLogins|ConversionsOfToolSchemas) / { passed++ } END { exit passed != 3 }'

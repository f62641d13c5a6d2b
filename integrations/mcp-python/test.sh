#!/usr/bin/env bash
# Runs the examples of docs/how-to/agent-frameworks.md against the service that RAGD_SERVER and RAGD_API_KEY
# name, with the scripted model at RAGD_TEST_MODEL_URL. Run by hack/test-sdks.sh.
set -euo pipefail
cd "$(dirname "$0")"
: "${RAGD_SERVER:?}" "${RAGD_API_KEY:?}" "${RAGD_TEST_MODEL_URL:?}"
venv=../../.cache/mcp-python
tools=(httpx==0.28.1 openai-agents==0.24.0 "pydantic-ai-slim[mcp,openai]==2.68.0" pytest==9.2.0 ruff==0.17.6)

[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
if [ "$(cat "$venv/installed" 2>/dev/null)" != "${tools[*]}" ]; then
	"$venv/bin/pip" install --quiet --disable-pip-version-check "${tools[@]}"
	echo "${tools[*]}" >"$venv/installed"
fi
"$venv/bin/ruff" check --quiet tests
"$venv/bin/ruff" format --check --quiet tests
"$venv/bin/pytest" -q tests

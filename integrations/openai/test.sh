#!/usr/bin/env bash
# Tests the OpenAI-compatible interface with OpenAI's and Cohere's own packages for Python and TypeScript,
# against the service that RAGD_SERVER and RAGD_API_KEY name. Run by hack/test-sdks.sh.
set -euo pipefail
cd "$(dirname "$0")"
: "${RAGD_SERVER:?}" "${RAGD_API_KEY:?}" "${RAGD_OPERATOR_KEY:?}"
root=$(cd ../.. && pwd)
venv=$root/.cache/openai-python
python=(cohere==7.3.1 httpx==0.28.1 mypy==2.4.1 openai==3.54.0 pytest==9.2.0 pytest-asyncio==1.5.0 ruff==0.17.6)
typescript=(openai@7.57.0 cohere-ai@8.1.0 typescript@7.0.2 @types/node@24)

[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
if [ "$(cat "$venv/installed" 2>/dev/null)" != "${python[*]}" ]; then
	"$venv/bin/pip" install --quiet --disable-pip-version-check "${python[@]}"
	echo "${python[*]}" >"$venv/installed"
fi
"$venv/bin/ruff" check --quiet tests
"$venv/bin/ruff" format --check --quiet tests
"$venv/bin/pytest" -q tests

# From 22.18 on Node.js runs tests in TypeScript.
node=$root/.cache/integrations/node
if ! node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 22 || (a == 22 && b >= 18) ? 0 : 1)' 2>/dev/null; then
	[ -x "$node/node_modules/.bin/node" ] || npm install --prefix "$node" --no-fund --no-audit --loglevel error node@22 >&2
	PATH=$node/node_modules/.bin:$PATH
fi
work=$root/.cache/integrations/openai
mkdir -p "$work"
[ -e "$work/package.json" ] || echo '{"private": true, "type": "module"}' >"$work/package.json"
if [ "$(cat "$work/installed" 2>/dev/null)" != "${typescript[*]}" ]; then
	npm install --prefix "$work" --no-save --no-package-lock --no-fund --no-audit --loglevel error "${typescript[@]}" >&2
	echo "${typescript[*]}" >"$work/installed"
fi
cp tests/*.ts "$work"
cd "$work"
node_modules/.bin/tsc --noEmit --strict --module nodenext --target es2022 --lib es2023,dom,dom.asynciterable --types node --skipLibCheck ./*.test.ts
node --test --test-reporter=spec ./*.test.ts

#!/usr/bin/env bash
# Tests the package as it would be installed, against the service that RAGD_SERVER,
# RAGD_API_KEY and RAGD_OPERATOR_KEY name. Run by hack/test-sdks.sh. The exit code is 77 if the tools
# cannot be installed.
set -euo pipefail
cd "$(dirname "$0")"
venv=../../.cache/sdk-python
tools=(build==1.6.1 hatchling==1.33.0 mypy==2.4.1 pytest==9.2.0 pytest-asyncio==1.5.0 ruff==0.17.6)

[ -x "$venv/bin/python" ] || python3 -m venv "$venv" || exit 77
if [ "$(cat "$venv/installed" 2>/dev/null)" != "${tools[*]}" ]; then
	"$venv/bin/pip" install --quiet --disable-pip-version-check "${tools[@]}" || exit 77
	echo "${tools[*]}" >"$venv/installed"
fi
python3 generate.py --check
rm -rf "$venv/dist"
"$venv/bin/python" -m build --no-isolation --outdir "$venv/dist" . >/dev/null
"$venv/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$venv"/dist/*.whl
"$venv/bin/pip" install --quiet --disable-pip-version-check "$venv"/dist/*.whl
"$venv/bin/mypy"
"$venv/bin/ruff" check --exclude src/ragd/_sync .
"$venv/bin/ruff" format --check --exclude src/ragd/api,src/ragd/_sync .
"$venv/bin/pytest" -q

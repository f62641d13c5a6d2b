#!/usr/bin/env bash
# Tests ragd-haystack as it would be installed, against the service that RAGD_SERVER and
# RAGD_API_KEY name. Run by hack/test-sdks.sh.
set -euo pipefail
cd "$(dirname "$0")"
venv=../../.cache/haystack
tools=(build==1.6.1 haystack-ai==3.4.0 mypy==2.4.1 pytest==9.2.0 pytest-asyncio==1.5.0 ruff==0.17.6)

[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
if [ "$(cat "$venv/installed" 2>/dev/null)" != "${tools[*]}" ]; then
	"$venv/bin/pip" install --quiet --disable-pip-version-check "${tools[@]}"
	echo "${tools[*]}" >"$venv/installed"
fi
rm -rf "$venv/dist"
for package in ../../sdk/python .; do
	"$venv/bin/python" -m build --wheel --outdir "$venv/dist" "$package" >/dev/null 2>&1 || { echo "the package $package cannot be built" >&2; exit 1; }
done
"$venv/bin/pip" install --quiet --disable-pip-version-check "$venv"/dist/*.whl
"$venv/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$venv"/dist/*.whl
"$venv/bin/mypy" --strict -p haystack_integrations.document_stores.ragd -p haystack_integrations.components.retrievers.ragd
"$venv/bin/ruff" check .
"$venv/bin/ruff" format --check .
"$venv/bin/pytest" -q

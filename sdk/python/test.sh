#!/usr/bin/env bash
# Tests the package as it would be installed, against the service that RAGD_SERVER,
# RAGD_API_KEY and RAGD_OPERATOR_KEY name. Run by hack/test-sdks.sh. The exit code is 77 if the tools
# cannot be installed.
set -euo pipefail
cd "$(dirname "$0")"
. ../../hack/cached.sh
tools=(build==1.6.1 hatchling==1.33.0 mypy==2.4.1 pytest==9.2.0 pytest-asyncio==1.5.0 ruff==0.17.6)

# The package is installed into a copy of the tools, which other checkouts share.
mapfile -t needs < <(python3 -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"], sep="\n")')
shared=$(cached sdk-python "${tools[*]} ${needs[*]}" pip_install "${tools[@]}" "${needs[@]}") || exit 77
venv=$PWD/../../.cache/sdk-python
rm -rf "$venv"
mkdir -p "$venv"
cp -a "$shared/venv/." "$venv"
python=$venv/bin/python
python3 generate.py --check
"$python" -m build --no-isolation --outdir "$venv/dist" . >/dev/null
"$python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps "$venv"/dist/*.whl
"$python" -m pip install --quiet --disable-pip-version-check "$venv"/dist/*.whl
"$python" -m mypy
"$python" -m ruff check --exclude src/ragd/_sync .
"$python" -m ruff format --check --exclude src/ragd/api,src/ragd/_sync .
"$python" -m pytest -q
# The README once more, as its readers run it: with a service as `make run` starts it.
../../.cache/testservice -ragd ../../bin/ragd -demo ../../examples/handbook "$python" -m pytest -q tests/test_readme.py -k the_readme

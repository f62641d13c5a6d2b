#!/usr/bin/env bash
# Builds the package, installs it into a new folder as a user would, and tests it there against the
# service that RAGD_SERVER names. RAGD_API_KEY is an admin key of a tenant, RAGD_OPERATOR_KEY that of the
# operator, RAGD_TEST_AGENT an agent of the tenant.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
: "${RAGD_SERVER:?}" "${RAGD_API_KEY:?}" "${RAGD_OPERATOR_KEY:?}" "${RAGD_TEST_AGENT:?}"

package=$(./pack.sh --check)
. ../../hack/node.sh
fresh=$(mktemp -d "$PWD/../../.cache/sdk-typescript/fresh-XXXXXX")
trap 'rm -rf "$fresh"' EXIT
cp test/* README.md ../../docs/how-to/typescript.md "$fresh/"
export RAGD_CLIENT_TOOLS=$PWD/node_modules
cd "$fresh"
echo '{"private": true}' >package.json
npm install --no-fund --no-audit --loglevel error --no-package-lock "$package"
node --test --test-reporter=spec --test-timeout=120000 ./*.test.mjs
# The README once more, as its readers run it: with a service as `make run` starts it.
"$root/.cache/testservice" -ragd "$root/bin/ragd" -demo "$root/examples/handbook" node --test --test-reporter=spec --test-timeout=120000 --test-name-pattern=README readme.test.mjs
"$RAGD_CLIENT_TOOLS/.bin/tsc" --noEmit --strict --module nodenext --target es2022 --lib es2023,dom --types node --typeRoots "$RAGD_CLIENT_TOOLS/@types" types.mts types.cts

#!/usr/bin/env bash
# Builds the package, installs it into a new folder as a user would, and tests it there against the
# service that RAGD_SERVER names. RAGD_API_KEY is an admin key of a tenant, RAGD_TEST_AGENT an agent of it.
set -euo pipefail
cd "$(dirname "$0")"
: "${RAGD_SERVER:?}" "${RAGD_API_KEY:?}" "${RAGD_TEST_AGENT:?}"
source=$PWD
root=$(cd ../.. && pwd)
client=$("$root/sdk/typescript/pack.sh")
work=$root/.cache/integrations/ai-sdk
mkdir -p "$work/package"

# The AI SDK needs Node.js 22.
node=$root/.cache/integrations/node
if ! node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 22 ? 0 : 1)' 2>/dev/null; then
	[ -x "$node/node_modules/.bin/node" ] || npm install --prefix "$node" --no-fund --no-audit --loglevel error node@22 >&2
	PATH=$node/node_modules/.bin:$PATH
fi

cd "$work/package"
rm -rf src dist
cp -r "$source/src" "$source/package.json" "$source/tsconfig.json" "$source/README.md" .
wanted=$(cat package.json "$client" | sha256sum)
if [ "$(cat "$work/installed" 2>/dev/null)" != "$wanted" ]; then
	rm -rf node_modules/@ragd node_modules/.package-lock.json # npm keeps an archive of the same version
	npm install --no-save --no-package-lock --no-fund --no-audit --loglevel error "$client" >&2
	echo "$wanted" >"$work/installed"
fi
npm run --silent --loglevel error build
npx --no-install --loglevel error publint --strict >&2

# The tests see the packages as users do.
package=$work/$(npm pack --silent --loglevel error --pack-destination "$work")
libraries=$work/package/node_modules
fresh=$(mktemp -d "$work/fresh-XXXXXX")
trap 'rm -rf "$fresh"' EXIT
cp "$source"/test/* "$source/README.md" "$fresh/"
cd "$fresh"
echo '{"private": true, "type": "module"}' >package.json
npm install --no-package-lock --prefer-offline --no-fund --no-audit --loglevel error "$client" "$package" "ai@$(node -p "require('$source/package.json').devDependencies.ai")" >&2
node --test --test-reporter=spec --test-timeout=120000 ./*.test.mjs
"$libraries/.bin/tsc" --noEmit --strict --module nodenext --target es2022 --lib es2023,dom,dom.asynciterable --types node --typeRoots "$libraries/@types" --skipLibCheck types.mts

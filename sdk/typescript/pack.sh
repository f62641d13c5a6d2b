#!/usr/bin/env bash
# Builds @ragd/client and prints the path of the package, which `npm install` takes. With --check it
# also checks the package's exports and types. Libraries are installed into .cache of the repository.
set -euo pipefail
cd "$(dirname "$0")/../.."
. hack/node.sh
cache=$PWD/.cache/sdk-typescript
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9 # packages that build on this one are tested at the same time

cd sdk/typescript
if ! cmp -s package.json "$cache/installed"; then
	cp package.json "$cache/"
	npm install --prefix "$cache" --no-package-lock --no-fund --no-audit --loglevel error >&2
	cp package.json "$cache/installed"
fi
[ -e node_modules ] || ln -s "$cache/node_modules" node_modules
(cd ../.. && go tool -modfile=tools/go.mod buf generate --template sdk/typescript/buf.gen.yaml)
npm run --silent --loglevel error build >&2
if [ "${1:-}" = --check ]; then
	npx --no-install --loglevel error publint --strict >&2
	npx --no-install --loglevel error attw --quiet --pack . >&2
fi
echo "$cache/$(npm pack --loglevel error --pack-destination "$cache")"

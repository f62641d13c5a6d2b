#!/usr/bin/env bash
# Builds @ragd/client and prints the path of the package, which `npm install` takes. With --check it
# also checks the package's exports and types. Libraries are installed into the user's cache folder.
set -euo pipefail
cd "$(dirname "$0")/../.."
. hack/node.sh
cache=$PWD/.cache/sdk-typescript
mkdir -p "$cache"
exec 8>"$cache/lock"
flock 8 # packages that build on this one are tested at the same time

cd sdk/typescript
install() {
	cp "$1/package.json" . && npm_install --no-package-lock
}
libraries=$(cached sdk-typescript "$(cat package.json)" install "$PWD") || exit 77
ln -sfn "$libraries/node_modules" node_modules
(cd ../.. && go tool -modfile=tools/go.mod buf generate --template sdk/typescript/buf.gen.yaml)
npm run --silent --loglevel error build >&2
if [ "${1:-}" = --check ]; then
	npx --no-install --loglevel error publint --strict >&2
	npx --no-install --loglevel error attw --quiet --pack . >&2
fi
echo "$cache/$(npm pack --loglevel error --pack-destination "$cache")"

# Sourced by test.sh of the packages in TypeScript; $0 is that file. Packs the client and the package, and
# runs the package's tests and the example of its README against the service that RAGD_SERVER and
# RAGD_API_KEY name. All that it writes is in .cache.
set -euo pipefail
: "${RAGD_SERVER:?set it to the address of the service}" "${RAGD_API_KEY:?set it to an admin key of a tenant}"

source=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$source/../.." && pwd)
cache=$root/.cache/integrations
work=$cache/$(basename "$source")
mkdir -p "$cache"

# From 22.18 on Node.js runs tests in TypeScript.
if ! node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 22 || (a == 22 && b >= 18) ? 0 : 1)' 2>/dev/null; then
	[ -x "$cache/node/node_modules/.bin/node" ] || npm install --prefix "$cache/node" --no-fund --no-audit --loglevel error node@22 >&2
	PATH=$cache/node/node_modules/.bin:$PATH
fi

# copy FROM TO: copies sources. What is installed in TO stays.
copy() {
	mkdir -p "$2"
	find "$2" -mindepth 1 -maxdepth 1 ! -name node_modules -exec rm -rf {} +
	tar -C "$1" --exclude=node_modules --exclude=build --exclude=dist -cf - . | tar -C "$2" -xf -
}

# pack: packs the package in the current folder and prints the path of the archive.
pack() {
	echo "$cache/$(npm pack --silent --pack-destination "$cache" | tail -1)"
}

copy "$source" "$work"
cp "$root/integrations/vectors.mts" "$cache/"
client=$("$root/sdk/typescript/pack.sh")
cd "$work"
npm pkg set "devDependencies.@ragd/client=file:$client"
wanted=$(cat package.json "$client" | sha256sum)
if [ "$(cat node_modules/.wanted 2>/dev/null)" != "$wanted" ]; then
	rm -rf node_modules/@ragd node_modules/.package-lock.json # else npm keeps an archive of the same version
	npm install --no-fund --no-audit --loglevel error --no-package-lock >&2
	echo "$wanted" >node_modules/.wanted
fi
ln -sfn "$work/node_modules" "$cache/node_modules" # for vectors.mts

# The tests see the package as its users do: from its archive.
packed=$work/packed
mkdir -p "$packed"
echo '{"type": "module"}' >"$packed/package.json"
installed=$packed/node_modules/$(node -p 'require("./package.json").name')
mkdir -p "$installed"
archive=$(pack)
"$root/sdk/typescript/node_modules/.bin/publint" --strict "$archive"
"$root/sdk/typescript/node_modules/.bin/attw" --quiet "$archive"
tar -xzf "$archive" -C "$installed" --strip-components 1
cp -r test tsconfig.json README.md "$packed"
cd "$packed"
node -e 'require(process.argv[1])' "$(node -p 'require("../package.json").name')" # as CommonJS
"$work/node_modules/.bin/tsc" --project test
node --test --test-reporter=spec "test/*.test.ts"

# The first TypeScript of the README prints its first text.
awk '/^```/ { if (inside) exit; inside = ($0 == "```ts"); next } inside' README.md >readme.ts
awk '/^```/ { if (inside) exit; inside = ($0 == "```text"); next } inside' README.md >readme.txt
[ -s readme.ts ] && [ -s readme.txt ]
node readme.ts | diff readme.txt - || { echo "README.md: the example prints something else" >&2; exit 1; }
echo "README.md: the example prints what it says"

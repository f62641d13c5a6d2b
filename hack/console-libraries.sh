# Sourced from the root of the repository: installs the libraries of the console.

. hack/node.sh
if ! cmp -s console/package-lock.json console/node_modules/.installed; then
	npm ci --prefix console --no-fund --no-audit --loglevel error >&2
	cp console/package-lock.json console/node_modules/.installed
fi

# Sourced: puts a Node.js of at least version 22, or 20.19, first in PATH.

. "$(dirname "${BASH_SOURCE[0]}")/cached.sh"

new_enough() {
	node -e 'const [a, b] = process.versions.node.split("."); process.exit(a >= 22 || (a == 20 && b >= 19) ? 0 : 1)' 2>/dev/null
}

if ! command -v npm >/dev/null; then
	echo "installing npm" >&2
	apt_install npm >&2
fi
if ! new_enough; then
	PATH=$(cached node 22 npm_install node@22)/node_modules/.bin:$PATH
fi

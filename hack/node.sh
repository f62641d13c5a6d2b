# Sourced: puts a Node.js of at least version 22, or 20.19, first in PATH.

new_enough() {
	node -e 'const [a, b] = process.versions.node.split("."); process.exit(a >= 22 || (a == 20 && b >= 19) ? 0 : 1)' 2>/dev/null
}

if ! command -v npm >/dev/null; then
	echo "installing npm" >&2
	sudo=$([ "$(id -u)" = 0 ] || echo sudo)
	$sudo apt-get update -qq >&2
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends npm >&2
fi
if ! new_enough; then
	node_dir=${XDG_CACHE_HOME:-$HOME/.cache}/ragd/node
	[ -x "$node_dir/node_modules/.bin/node" ] || npm install --prefix "$node_dir" --no-fund --no-audit --loglevel error node@22 >&2
	PATH=$node_dir/node_modules/.bin:$PATH
fi

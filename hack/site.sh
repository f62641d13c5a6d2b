#!/usr/bin/env bash
# Builds the web site of the documentation into .cache/site. A broken link or anchor fails
# the build. The generator is installed into .cache/site-tools, in the versions of
# hack/site/requirements.txt. With --if-possible it is no error if that cannot be done.
set -euo pipefail
cd "$(dirname "$0")/.."

mermaid=mermaid@11.17.2 # draws the diagrams; served by the site itself
tools=$PWD/.cache/site-tools
wanted="$(cat hack/site/requirements.txt) $mermaid"

install() {
	rm -rf "$tools"
	python3 -m venv "$tools/venv" &&
		"$tools/venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r hack/site/requirements.txt &&
		(cd "$tools" && npm pack --silent "$mermaid" >/dev/null && tar -xzf mermaid-*.tgz package/dist/mermaid.min.js) &&
		echo "$wanted" >"$tools/installed"
}

if [ "$(cat "$tools/installed" 2>/dev/null)" != "$wanted" ]; then
	if ! install; then
		echo "the generator of the site cannot be installed" >&2
		[ "${1-}" = --if-possible ]
		exit
	fi
fi
NO_MKDOCS_2_WARNING=1 MERMAID=$tools/package/dist/mermaid.min.js "$tools/venv/bin/mkdocs" build --quiet --strict
echo "built .cache/site/index.html"

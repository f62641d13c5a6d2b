#!/usr/bin/env bash
# Builds the web site of the documentation into .cache/site. A broken link or anchor fails
# the build. The generator is installed into the user's cache folder, in the versions of
# hack/site/requirements.txt. With ANSWER_BOX_SERVICE, ANSWER_BOX_KEY and ANSWER_BOX_INDEX its pages have the answer box. Ends with 77 if that cannot be done.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/cached.sh

mermaid=mermaid@11.17.2 # draws the diagrams; served by the site itself
install() {
	pip_install --require-hashes -r "$1" &&
		npm pack --silent "$mermaid" >/dev/null && tar -xzf mermaid-*.tgz package/dist/mermaid.min.js
}
tools=$(cached site "$(cat hack/site/requirements.txt) $mermaid" install "$PWD/hack/site/requirements.txt") ||
	{ echo "the generator of the site cannot be installed" >&2; exit 77; }
NO_MKDOCS_2_WARNING=1 MERMAID=$tools/package/dist/mermaid.min.js "$tools/venv/bin/mkdocs" build --quiet --strict
echo "built .cache/site/index.html"

#!/usr/bin/env bash
# Fails if generated files or go.mod are not up to date: generates them in a copy of the checkout, so that
# tests can run meanwhile, and compares. Arguments are what is generated. References of commands and settings
# are not generated here: tests compare them (TestReference).
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/cached.sh

for module in . hack/ranks hack/testservers; do go mod tidy -C "$module" -diff; done
untracked=$(git ls-files --others --exclude-standard -- "$@")
[ -z "$untracked" ] || { printf 'generated, and not added to the repository:\n%s\n' "$untracked" >&2; exit 1; }

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
copy_checkout "$copy"
make --no-print-directory -C "$copy" protos kernels ranks console
(cd "$copy" && go run ./hack/pdfium)
status=0
for path in "$@"; do
	diff --recursive --brief "$path" "$copy/$path" || status=1
done
[ "$status" = 0 ] || echo "not up to date: make generate console" >&2
exit "$status"

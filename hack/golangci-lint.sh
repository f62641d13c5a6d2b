#!/usr/bin/env bash
# Runs golangci-lint on a copy of the checkout in the user's cache folder. Its cache knows packages by
# their folder, so that checkouts share what it has found out, and none reports findings of another.
#
#   hack/golangci-lint.sh [PACKAGE...]    default: all
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/cached.sh

folder=$ragd_cache/golangci-lint
lint() {
	rm -rf --one-file-system "$folder/checkout"
	copy_checkout "$folder/checkout"
	cd "$folder/checkout"
	GOLANGCI_LINT_CACHE=$folder/cache go tool -modfile=tools/go.mod golangci-lint run --allow-serial-runners "$@"
}
mkdir -p "$folder"
locked "$folder/lock" lint "$@"

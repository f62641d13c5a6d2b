#!/usr/bin/env bash
# Runs golangci-lint on a copy of the checkout in the user's cache folder. Its cache knows packages by
# their folder, so that checkouts share what it has found out, and none reports findings of another.
#
#   hack/golangci-lint.sh [PACKAGE...]    default: all
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/cached.sh

folder=$ragd_cache/golangci-lint
run() { GOLANGCI_LINT_CACHE=$folder/cache go tool -modfile=tools/go.mod golangci-lint run --allow-serial-runners "$@"; }
# lint believes no finding of a warm cache: an entry that lacks what is known of another package, such as what is
# deprecated there, makes findings that are none.
lint() {
	rm -rf --one-file-system "$folder/checkout"
	copy_checkout "$folder/checkout"
	cd "$folder/checkout"
	if run "$@" >"$folder/findings" 2>&1; then
		cat "$folder/findings"
		return
	fi
	rm -rf --one-file-system "$folder/cache"
	run "$@"
}
mkdir -p "$folder"
locked "$folder/lock" lint "$@"

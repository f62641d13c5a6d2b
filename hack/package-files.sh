#!/usr/bin/env bash
# Writes what packages have besides the binary into .cache/package: completions for shells, and manual pages.
# goreleaser runs it before it builds.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/cached.sh

folder=$PWD/.cache/package
rm -rf "$folder"
mkdir -p "$folder/man"
build_ragd
for shell in bash zsh fish; do
	bin/ragd completion "$shell" >"$folder/ragd.$shell"
	[ -s "$folder/ragd.$shell" ]
done
go test -count=1 ./cmd/ragd -run '^TestEveryCommandHasAManualPage$' -man "$folder/man" >/dev/null
gzip -n9 "$folder"/man/*.1

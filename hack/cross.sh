#!/usr/bin/env bash
# Builds ragd for the systems that CI does not run on, and vets what depends on the system, with its tests:
# the client commands, `ragd mcp`, the lock of client.conf and the embedded PostgreSQL. With the build cache it
# takes seconds, without it a minute or two for each system. Nothing runs what is built here, so the compiler inlines
# nothing, which saves it a quarter of its time.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(./cmd/ragd/internal/... ./cmd/ragd/data ./cmd/ragd/operate ./internal/index/storage ./internal/model/localmodel/safetensors ./internal/operate/postgres/embedded)
for target in windows/amd64 darwin/arm64 linux/arm64; do
	echo "== $target"
	export GOOS=${target%/*} GOARCH=${target#*/} CGO_ENABLED=0
	go vet -gcflags=all=-l "${packages[@]}"
	go build -gcflags=all=-l -o /dev/null ./cmd/ragd
done

#!/usr/bin/env bash
# Runs all tests with the race detector. Where there is memory for it, one package more at a time than there are
# processors: tests that wait for a database, a server or a deadline leave theirs idle.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=$(getconf _NPROCESSORS_ONLN)
need=2 # GB for each
free=$(awk '/^MemAvailable/ { print int($2 / 1e6) }' /proc/meminfo 2>/dev/null || echo 0)
[ "$free" -lt $(((packages + 1) * need)) ] || packages=$((packages + 1))
exec hack/in-memory.sh go test -race -count=1 -vet=off -timeout 40m -p "$packages" ./...

#!/usr/bin/env bash
# Runs the tests that take ten times as long with the race detector: figures of search, memory, and long texts.
set -euo pipefail
cd "$(dirname "$0")/.."
go test -count=1 -run 'Quality|Huge|Linear' ./internal/chunk ./internal/graph ./internal/ingest/parse/markup ./internal/query

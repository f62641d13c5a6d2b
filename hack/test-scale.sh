#!/usr/bin/env bash
# Tests several databases under load, for longer than the tests of every day: tenants live in three PostgreSQL servers
# and are moved between them while they are used, and processes are killed meanwhile. Prints the figures of the moves.
set -euo pipefail
cd "$(dirname "$0")/.."
export RAGD_TEST_HUGE=1
go test -count=1 -v -timeout 60m ./internal/placement ./internal/move
go test -count=1 -v -timeout 60m -run 'Databases|Placed' ./internal/service
go test -count=1 -v -timeout 60m -run 'IsMoved|Moves' ./internal/rpc
go test -count=1 -v -timeout 60m -run 'KilledWhileATenantIsMoved' ./cmd/ragd

#!/usr/bin/env bash
# Tests several servers under load, for longer than the tests of every day: tenants live in three PostgreSQL servers
# and are moved between them while they are used, processes are killed meanwhile, queries are answered by a replica, and
# a Citus cluster of three servers has tenants. Prints the figures of the moves and of Citus.
set -euo pipefail
cd "$(dirname "$0")/.."
export RAGD_TEST_LONG=1

(
	. hack/servers.sh
	urls=()
	for server in one two three; do
		start_server "$server" </dev/null
		urls+=("$url")
	done
	export RAGD_TEST_HUGE=1 RAGD_TEST_DATABASE_URL="${urls[*]}"
	unset RAGD_TEST_POSTGRES
	echo "test-scale: tests create their databases on three servers in turn"
	go test -count=1 -v -timeout 60m ./internal/tenant/place/placement ./internal/tenant/place/move
	go test -count=1 -v -timeout 60m -run 'Databases|Placed' ./internal/service
	go test -count=1 -v -timeout 60m -run 'IsMoved|Moves' ./internal/api/rpc
	go test -count=1 -v -timeout 60m -run 'KilledWhileATenantIsMoved' ./cmd/ragd
)
go test -count=1 -v -timeout 60m ./internal/tenant/place/replica
go test -count=1 -v -timeout 60m -run Replica ./internal/service # its tests start a primary and replicas
go test -count=1 -v -timeout 60m -run 'RestartsUnderLoad' ./cmd/ragd

status=0
hack/test-citus.sh || status=$?
[ "$status" = 0 ] || [ "$status" = 77 ] || exit "$status"
[ "$status" = 77 ] || hack/test-citus.sh --run go test -run '^$' -bench Citus -benchtime 300x -timeout 30m ./internal/service
echo "test-scale: three servers, a replica, restarts under load$([ "$status" = 77 ] || echo " and Citus") took $SECONDS s"
[ "$status" = 0 ] || echo "test-scale: Citus was not tested: see above" >&2

#!/usr/bin/env bash
# Runs the tests of packages with statements on tenants' data against Citus: a coordinator and two
# workers, which hack/citus.sh builds and this script starts. Ends with 77 if they cannot be had.
#
#   hack/test-citus.sh [go test arguments]
#   hack/test-citus.sh --run COMMAND    runs a command beside the cluster, such as a shell or a benchmark
#
# The command finds the coordinator in RAGD_TEST_DATABASE_URL, and the workers in
# RAGD_TEST_CITUS_WORKERS, separated by spaces.
set -euo pipefail
cd "$(dirname "$0")/.."

hack/citus.sh
. hack/servers.sh

urls=()
for node in coordinator worker1 worker2; do
	# Servers of a cluster trust each other here, see docs/how-to/citus.md.
	start_server "$node" <<-SETTINGS
		shared_preload_libraries = 'citus'
		citus.node_conninfo = 'sslmode=prefer'
		citus.enable_statistics_collection = off
		max_prepared_transactions = 400
		max_worker_processes = 200
		wal_level = logical
	SETTINGS
	urls+=("$url")
done
export RAGD_TEST_DATABASE_URL=${urls[0]} RAGD_TEST_CITUS_WORKERS="${urls[1]} ${urls[2]}"
unset RAGD_TEST_POSTGRES
echo "test-citus: $("$bin/psql" -XAtc 'SHOW server_version' "${urls[0]}"), a coordinator and two workers"

if [ "${1:-}" = --run ]; then
	shift
	"$@"
	exit
fi
# Not run are tests of what differs with Citus: the text of schemas (GoldenFile), the number of locks, which Citus adds
# to (TenantTakesFewLocks), the order of notices of one transaction (EveryInstanceReceives), two services on one cluster with
# tenants of one name (TwoDatabases), and roles that a test has dropped by statements on which Citus 13.2
# crashes (Repair, WithoutItsRole).
skip='MatchesGoldenFile|TenantTakesFewLocks|EveryInstanceReceives|TwoDatabases|Repair|WithoutItsRole'
test() { go test -count=1 -p 1 -parallel 4 -timeout 30m -skip "$skip" "$@"; } # the race detector says nothing of the database
if [ "$#" -gt 0 ]; then
	test "$@"
	exit
fi
test ./internal/{tenant,index,ingest,query,graph,index/vector,automation/event,operate/doctor}
test -run 'Cluster' ./internal/tenant/place/placement
test -run 'Tenants|Admins|Scopes|Mandatory|RequestContextPrecedence|AnotherTenant|Poisoned' ./internal/api/rpc
# Those of archives create and drop roles of the same names in several databases, which share the cluster's.
test -parallel 1 -run 'Watchers|Events|Import|Export|Archive|Restored' ./internal/api/rpc
test -run 'RandomCallsOfTwoTenants|Cluster' ./internal/service

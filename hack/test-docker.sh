#!/usr/bin/env bash
# Tests the container image: builds it, runs it beside PostgreSQL in a container, without rights and
# with a read-only root file system, ingests, searches and stops it. Ends with 77 without a container
# engine or an image of PostgreSQL with pgvector (RAGD_TEST_IMAGE, or the one of make-pg-image.sh).
set -euo pipefail
cd "$(dirname "$0")/.."

unable() { echo "$*" >&2; exit 77; }
docker version >/dev/null 2>&1 || unable "no container engine answers"
database=${RAGD_TEST_IMAGE:-ragd-pgvector:pg17}
docker image inspect "$database" >/dev/null 2>&1 || unable "there is no image $database: hack/make-pg-image.sh makes one"

name=ragd-test-$$
secrets=$(mktemp -d)
network=$name
cleanup() {
	docker rm --force --volumes "$name" "$name-db" >/dev/null 2>&1 || true
	docker network rm "$network" >/dev/null 2>&1 || true
	docker image rm "$name" >/dev/null 2>&1 || true
	rm -rf "$secrets"
}
trap cleanup EXIT
fail() { echo "test-docker: $*" >&2; docker logs "$name" 2>&1 | tail -20 >&2; exit 1; }
await() { for _ in $(seq 120); do "$@" >/dev/null 2>&1 && return; sleep 0.5; done; return 1; }

hack/docker.sh "$name" >/dev/null
docker network create "$network" >/dev/null
password=$(head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n')
docker run --detach --name "$name-db" --network "$network" --env POSTGRES_PASSWORD="$password" --env POSTGRES_USER=ragd --env POSTGRES_DB=ragd "$database" >/dev/null
operator=$(head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n')
printf '%s\n' "$operator" >"$secrets/operator-key"
printf 'postgres://ragd:%s@%s-db:5432/ragd?sslmode=disable\n' "$password" "$name" >"$secrets/database-url"
chmod 755 "$secrets"
chmod 644 "$secrets"/*
await docker exec "$name-db" pg_isready --username ragd || fail "PostgreSQL does not start"

docker run --detach --name "$name" --network "$network" --publish 127.0.0.1::8484 \
	--read-only --tmpfs /var/lib/ragd/tmp:uid=65532,gid=65532 --cap-drop ALL --security-opt no-new-privileges \
	--volume "$secrets:/run/secrets:ro" \
	--env RAGD_OPERATOR_KEY_FILE=/run/secrets/operator-key --env RAGD_DATABASE_URL_FILE=/run/secrets/database-url "$name" >/dev/null
await docker exec "$name" /usr/bin/ragd probe || fail "the service does not become ready"
[ "$(docker inspect --format '{{.Config.User}}' "$name")" = 65532:65532 ] || fail "it does not run as 65532"
docker exec "$name" /bin/sh -c true >/dev/null 2>&1 && fail "the image has a shell"
docker inspect "$name" | grep -q "$operator" && fail "docker inspect shows the operator key"

url=http://$(docker port "$name" 8484 | head -n 1)
go build -trimpath -tags grpcnotrace -o bin/ragd ./cmd/ragd
export RAGD_SERVER=$url XDG_CONFIG_HOME=$secrets/config
as_operator() { RAGD_OPERATOR_KEY=$operator bin/ragd "$@"; }
as_operator tenant create acme >/dev/null
RAGD_API_KEY=$(as_operator key create --tenant acme --json | sed -n 's/.*"secret": *"\([^"]*\)".*/\1/p')
export RAGD_API_KEY
bin/ragd ingest --index handbook --base examples/handbook examples/handbook >/dev/null 2>&1 || fail "ingest failed"
bin/ragd query --index handbook --top-k 1 "How long does the hub hold the climate?" | grep -q . || fail "a query found nothing"
await sh -c "[ \"\$(docker inspect --format '{{.State.Health.Status}}' $name)\" = healthy ]" || fail "docker calls it unhealthy"

docker stop --time 60 "$name" >/dev/null
[ "$(docker inspect --format '{{.State.ExitCode}}' "$name")" = 0 ] || fail "it ends with $(docker inspect --format '{{.State.ExitCode}}' "$name")"
docker logs "$name" 2>&1 | grep -q "$operator\|$password" && fail "the log has a secret"
echo "the image of $(docker image inspect --format '{{.Size}}' "$name") bytes works"

#!/bin/sh
# Runs the tests that need a database on PostgreSQL in a container, whatever is
# installed on the machine.
#
#   hack/test-containers.sh [go test arguments, default ./internal/...]
#
# The image is RAGD_TEST_IMAGE, else one that hack/make-pg-image.sh has made,
# else the usual one from the registry.
set -eu

docker version >/dev/null 2>&1 || {
  echo "test-containers: no container engine answers; on Debian: apt-get install docker.io, then start dockerd" >&2
  exit 1
}
local_image=ragd-pgvector:pg17
if [ -z "${RAGD_TEST_IMAGE:-}" ] && docker image inspect "$local_image" >/dev/null 2>&1; then
  export RAGD_TEST_IMAGE="$local_image"
  # Testcontainers' reaper is an image of a registry's. Without it the tests
  # remove their containers by themselves.
  export TESTCONTAINERS_RYUK_DISABLED=true
fi
# An engine beside us publishes its ports here, also when all of this runs inside
# a container; the library would then look for them at the gateway.
if [ -d /sys/class/net/docker0 ]; then
  export TESTCONTAINERS_HOST_OVERRIDE="${TESTCONTAINERS_HOST_OVERRIDE:-127.0.0.1}"
fi
[ "$#" -gt 0 ] || set -- ./internal/...
echo "test-containers: ${RAGD_TEST_IMAGE:-pgvector/pgvector:pg17}"
RAGD_TEST_POSTGRES=container exec go test -count=1 "$@"

#!/bin/sh
# Runs the tests that need a database against PostgreSQL in a container, even if
# PostgreSQL is installed on the machine.
#
#   hack/test-containers.sh [go test arguments, default ./internal/...]
#
# The image is RAGD_TEST_IMAGE, else the one built by hack/make-pg-image.sh,
# else the default one from the registry.
set -eu

docker version >/dev/null 2>&1 || {
  echo "test-containers: no container engine answers; on Debian: apt-get install docker.io, then start dockerd" >&2
  exit 1
}
local_image=ragd-pgvector:pg17
if [ -z "${RAGD_TEST_IMAGE:-}" ] && docker image inspect "$local_image" >/dev/null 2>&1; then
  export RAGD_TEST_IMAGE="$local_image"
  # Testcontainers' reaper is an image from a registry. Without it the tests remove
  # their containers themselves.
  export TESTCONTAINERS_RYUK_DISABLED=true
fi
# The engine publishes its ports on this host even if this script runs inside a
# container, where the library would look for them at the gateway.
if [ -d /sys/class/net/docker0 ]; then
  export TESTCONTAINERS_HOST_OVERRIDE="${TESTCONTAINERS_HOST_OVERRIDE:-127.0.0.1}"
fi
[ "$#" -gt 0 ] || set -- ./internal/...
echo "test-containers: ${RAGD_TEST_IMAGE:-pgvector/pgvector:pg17}"
RAGD_TEST_POSTGRES=container exec go test -count=1 "$@"

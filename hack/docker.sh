#!/usr/bin/env bash
# Builds the container image of ragd.
#
#   docker.sh [IMAGE [argument of docker build...]]    default: ragd:latest
set -euo pipefail
cd "$(dirname "$0")/.."

image=${1:-ragd:latest}
shift || true
authorities=/etc/ssl/certs/ca-certificates.crt
[ -s "$authorities" ] || { echo "docker: $authorities is missing; on Debian: apt-get install ca-certificates" >&2; exit 1; }
context=.cache/docker
rm -rf "$context"
mkdir -p "$context/home/tmp"
cp "$authorities" "$context/ca-certificates.crt"
CGO_ENABLED=0 go build -trimpath -tags grpcnotrace -ldflags '-s -w' -o "$context/ragd" ./cmd/ragd
docker build --quiet --tag "$image" --file deploy/docker/Dockerfile "$@" "$context"

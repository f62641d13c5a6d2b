#!/usr/bin/env bash
# Tests the console in Chromium against the service: builds both, installs Chromium and
# Node.js if they are missing, and runs console/test. Arguments are names of test files.
set -euo pipefail
cd "$(dirname "$0")/.."

. hack/console-libraries.sh
if [ -z "${CHROMIUM:-}" ] && ! command -v chromium >/dev/null; then
	echo "installing chromium" >&2
	sudo=$([ "$(id -u)" = 0 ] || echo sudo)
	install="$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium"
	{ $install || { $sudo apt-get update -qq && $install; }; } >&2
fi
go build -trimpath -tags grpcnotrace -o bin/ragd ./cmd/ragd
node console/test/run.mjs "$@"

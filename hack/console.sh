#!/usr/bin/env bash
# Builds the console, the service's web page, into internal/api/console/dist, and the answer box for other pages
# into internal/api/answerbox/dist, which the binary embeds. Installs Node.js, if there is none that is new enough, and the libraries that
# console/package-lock.json names.
set -euo pipefail
cd "$(dirname "$0")/.."

. hack/console-libraries.sh
go tool -modfile=tools/go.mod buf generate --template console/buf.gen.yaml
cd console
npx tsc --noEmit
npx vite build --logLevel warn
npx vite build --config box.config.ts --logLevel warn

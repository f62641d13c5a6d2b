#!/usr/bin/env bash
# Tests the console in Chromium against the service: builds both, installs Chromium and
# Node.js if they are missing, and runs console/test. Arguments are names of test files.
set -euo pipefail
cd "$(dirname "$0")/.."

. hack/console-libraries.sh
. hack/browser.sh
build_ragd
node console/test/run.mjs "$@"

#!/usr/bin/env bash
# Tests the alert rules in deploy/prometheus with promtool, which apt installs with Prometheus.
# Ends with 77 if it cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/cached.sh
cd deploy/prometheus

if ! command -v promtool >/dev/null; then
	apt_install prometheus >&2 || { echo "promtool cannot be installed" >&2; exit 77; }
fi
promtool check config prometheus.yml
promtool test rules alerts_test.yml

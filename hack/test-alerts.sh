#!/usr/bin/env bash
# Tests the alert rules in deploy/prometheus with promtool, which apt installs with Prometheus.
# Ends with 77 if it cannot be had.
set -euo pipefail
cd "$(dirname "$0")/../deploy/prometheus"

if ! command -v promtool >/dev/null; then
	sudo=$([ "$(id -u)" = 0 ] || echo sudo)
	install="$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends prometheus"
	{ $install || { $sudo apt-get update -qq && $install; }; } >&2 || { echo "promtool cannot be installed" >&2; exit 77; }
fi
promtool check config prometheus.yml
promtool test rules alerts_test.yml

#!/usr/bin/env bash
# Tests @ragd/llamaindex against the service that RAGD_SERVER and RAGD_API_KEY name.
. "$(dirname "$0")/../test-package.sh"

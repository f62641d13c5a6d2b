#!/usr/bin/env bash
# Runs the example of the README against the service that RAGD_SERVER and RAGD_API_KEY name.
# The other tests are part of `make test`.
set -euo pipefail
cd "$(dirname "$0")/../.."
mkdir -p .cache/sdk-go
awk '/^```/ { if (inside) exit; inside = ($0 == "```go"); next } inside' sdk/go/README.md >.cache/sdk-go/main.go
answer=$(go run .cache/sdk-go/main.go)
echo "$answer"
[[ $answer == *"gate.md # Gate"*"The documents answer this"* ]]

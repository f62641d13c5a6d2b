#!/usr/bin/env bash
# Runs the examples of the README and of docs/how-to/go.md against the service that RAGD_SERVER and RAGD_API_KEY name.
# The other tests are part of `make test`.
set -euo pipefail
cd "$(dirname "$0")/../.."
mkdir -p .cache/sdk-go
example() {
	awk '/^```/ { if (inside) exit; inside = ($0 == "```go"); next } inside' "$1" | sed "s/\"pilot\"/\"${RAGD_TEST_AGENT:?}\"/" >.cache/sdk-go/main.go
	go run .cache/sdk-go/main.go
}
answer=$(example sdk/go/README.md)
echo "$answer"
[[ $answer == *"gate.md # Gate"*"The documents answer this"* ]]
answer=$(example docs/how-to/go.md)
echo "$answer"
[[ $answer == *"berths.md ready"*"tides.md"*"The documents answer this"* ]]

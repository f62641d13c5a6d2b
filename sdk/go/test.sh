#!/usr/bin/env bash
# Runs the examples of the README and of docs/how-to/go.md against the service that RAGD_SERVER and RAGD_API_KEY name,
# and the README's once more as its readers do, with a service as `make run` starts it. The other tests are part
# of `make test`.
set -euo pipefail
cd "$(dirname "$0")/../.."
mkdir -p .cache/sdk-go
# program FILE: the first program of a page.
program() {
	awk '/^```/ { if (inside) exit; inside = ($0 == "```go"); next } inside' "$1" >.cache/sdk-go/main.go
}
program sdk/go/README.md
answer=$(env RAGD_AGENT="${RAGD_TEST_AGENT:?}" go run .cache/sdk-go/main.go)
echo "$answer"
[[ $answer == *"gate.md # Gate"*"The documents answer this"* ]]
answer=$(.cache/testservice -demo examples/handbook go run .cache/sdk-go/main.go)
echo "$answer"
[[ $answer == *"gate.md # Gate"* ]]
program docs/how-to/go.md
sed -i "s/\"pilot\"/\"$RAGD_TEST_AGENT\"/" .cache/sdk-go/main.go
answer=$(go run .cache/sdk-go/main.go)
echo "$answer"
[[ $answer == *"berths.md ready"*"tides.md"*"The documents answer this"* ]]

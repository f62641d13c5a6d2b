#!/usr/bin/env bash
# Lets each fuzz test run for a time, one after the other, and lists those that failed. Inputs that
# failed are then in the testdata of their packages, to be committed with the fix.
#
#   hack/fuzz.sh TIME [PATTERN]   such as 5m, of the tests whose package or name matches PATTERN
set -euo pipefail
cd "$(dirname "$0")/.."

time=${1:?how long each fuzz test runs, such as 5m}
pattern=${2:-.}
failed=()
count=0
while IFS=: read -r file name; do
	package=./$(dirname "$file")
	[[ $package:$name =~ $pattern ]] || continue
	count=$((count + 1))
	echo "fuzz: $package $name"
	# A minimization may last for as long as the test itself.
	began=$SECONDS
	go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" -fuzzminimizetime 10s "$package" || failed+=("$package $name")
	echo "fuzz: $package $name took $((SECONDS - began)) s"
done < <(git grep -oE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' | sed 's/:func /:/')
[ "$count" -gt 0 ] || { echo "fuzz: no fuzz test matches $pattern" >&2; exit 2; }
if [ "${#failed[@]}" -gt 0 ]; then
	printf 'fuzz: failed: %s\n' "${failed[@]}"
	exit 1
fi
echo "fuzz: $count fuzz tests found nothing in $SECONDS s"

#!/usr/bin/env bash
# Runs all tests several times, the last of them beside four busy processes, and names the tests that failed.
# What they printed is kept in .cache/flaky.
#
#   hack/flaky.sh N LOAD    N runs, LOAD of them beside the busy processes
set -euo pipefail
cd "$(dirname "$0")/.."
n=${1:?how many runs} load=${2:?how many of them beside busy processes}

dir=.cache/flaky
rm -rf "$dir"
mkdir -p "$dir"
busy=()
idle() {
	[ ${#busy[@]} = 0 ] || kill "${busy[@]}" 2>/dev/null || true
	busy=()
}
trap idle EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

failed=0
for ((run = 1; run <= n; run++)); do
	beside=
	if ((run > n - load)); then
		beside=", beside four busy processes"
		for _ in 1 2 3 4; do
			(while :; do :; done) &
			busy+=($!)
		done
	fi
	log=$dir/$run.log started=$SECONDS status=0
	make --no-print-directory test >"$log" 2>&1 || status=$?
	idle
	said=ok
	[ "$status" = 0 ] || { said="FAILED: see $log"; failed=$((failed + 1)); }
	echo "run $run of $n took $((SECONDS - started)) s$beside: $said"
done
for log in "$dir"/*.log; do
	run=${log##*/}
	awk -f hack/failures.awk "$log" | sed "s/\$/: run ${run%.log}/"
done | sort | uniq
[ "$failed" = 0 ] || { echo "$failed of $n runs failed"; exit 1; }
echo "$n runs, $load of them beside four busy processes, without a failure"

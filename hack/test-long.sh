#!/usr/bin/env bash
# Runs the heavy sweeps that `make test` leaves out or shortens: tests that call package long, with the race
# detector, and then, without it, tests that are larger with RAGD_TEST_HUGE. Says before what they cover, and
# at the end how long each took.
#
#   hack/test-long.sh [PATTERN]    those whose package or name matches PATTERN
set -euo pipefail
cd "$(dirname "$0")/.."
pattern=${1:-.}
mkdir -p .cache
log=.cache/test-long.log
: >"$log"

# tests EXPRESSION FILE... lists the tests that contain a regular expression, with the folder and what they are
# for. If another function of a file contains it, all tests of the file are listed.
tests() {
	local expression=$1
	shift
	awk -v expression="$expression" '
		function flush(i) {
			for (i = 1; i <= count; i++) if (of_all || listed[i]) print lines[i]
			count = of_all = 0
			split("", listed)
		}
		FNR == 1 { flush(); test = 0; comment = "" }
		/^\/\/ / { comment = comment == "" ? substr($0, 4) : comment " " substr($0, 4); next }
		/^func Test/ && match($0, /^func Test[A-Za-z0-9_]+\(t /) {
			folder = FILENAME
			sub(/\/[^\/]*$/, "", folder)
			sub(/[.:] .*/, ".", comment)
			lines[++count] = "./" folder " " substr($0, 6, RLENGTH - 8) " " comment
			test = 1
		}
		/^(func|var) / && !/^func Test/ { test = 0 }
		{ comment = "" }
		$0 ~ expression { if (test) listed[count] = 1; else of_all = 1 }
		END { flush() }' "$@" | grep -E "^[^ ]*$pattern|^[^ ]* [^ ]*$pattern" || true
}

# sweep TITLE LIST [ARGUMENT...] runs listed tests, package by package.
status=0
sweep() {
	local title=$1 list=$2 folder names
	shift 2
	[ -n "$list" ] || return 0
	echo "== $title"
	sed 's/^/  /' <<<"$list"
	for folder in $(cut -d ' ' -f 1 <<<"$list" | sort -u); do
		names=$(awk -v folder="$folder" '$1 == folder { printf "%s%s", separator, $2; separator = "|" }' <<<"$list")
		go test -count=1 -v -timeout 3h -run "^($names)\$" "$@" "$folder" 2>&1 | tee -a "$log" | { grep -E '^(---|FAIL|ok|panic)' || true; } || status=1
	done
}

export RAGD_TEST_LONG=1
mapfile -t files < <(git grep -lE 'long\.(Only|Rounds)\(' -- '*_test.go')
sweep "tests that make test leaves out, with the race detector" "$(tests 'long[.](Only|Rounds)[(]' "${files[@]}")" -race
export RAGD_TEST_HUGE=1
mapfile -t files < <(git grep -lE 'Getenv\("RAGD_TEST_HUGE"\)|\bhuge \{|faultTime\(' -- '*_test.go')
sweep "tests that are larger with RAGD_TEST_HUGE" "$(tests 'Getenv[(]"RAGD_TEST_HUGE"[)]|[^A-Za-z]huge [{]|faultTime[(]' "${files[@]}")"

echo "== how long each took; the whole output is in $log"
sed -nE 's/^--- (PASS|FAIL|SKIP): ([A-Za-z0-9_]+) \(([0-9.]+)s\)$/\3 s \1 \2/p' "$log" | sort -rn
exit "$status"

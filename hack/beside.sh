#!/usr/bin/env bash
# Runs steps beside a command, such as linters beside tests, and says how long each took. What
# the command prints is seen at once. What a step prints is kept in .cache/steps, and shown at the end
# if the step failed. A step that ends with status 77 could not run on this machine; the last
# line that it printed is the reason. A failure stops nothing else, so that one run shows all.
#
#   beside.sh [-j LANES] 'NAME=COMMAND'... -- COMMAND [ARGUMENT...]
#
# LANES is how many steps run at a time (default 2). Ends with the status of the command, or with 1 if a
# step failed.
set -euo pipefail
cd "$(dirname "$0")/.."

lanes=2
if [ "${1:-}" = -j ]; then
	lanes=$2
	shift 2
fi
steps=()
while [ "$#" -gt 0 ] && [ "$1" != -- ]; do
	steps+=("$1")
	shift
done
[ "$#" -gt 1 ] && [ ${#steps[@]} -gt 0 ] || { echo "usage: beside.sh [-j LANES] 'NAME=COMMAND'... -- COMMAND [ARGUMENT...]" >&2; exit 2; }
shift

mkdir -p .cache/steps
# file prints the name of the files of a step, without their ends: .log, .times and .status.
file() { echo ".cache/steps/${1//[^A-Za-z0-9]/-}"; }

# run runs a step: the tests get the processors first.
run() {
	local name=${1%%=*} command=${1#*=} status=0 files
	files=$(file "$name")
	TIMEFORMAT='%0R %U %S'
	{ time nice -n 5 bash -c "$command" >"$files.log" 2>&1 </dev/null; } 2>"$files.times" || status=$?
	echo "$status" >"$files.status"
	echo "== $(outcome "$name")"
}

# outcome prints a line about a step that has ended.
outcome() {
	local files status wall user system said=ok
	files=$(file "$1")
	status=$(cat "$files.status")
	read -r wall user system < <(tail -n 1 "$files.times" 2>/dev/null || echo 0 0 0)
	case $status in
	0) ;;
	77) said="NOT RUN: $(tail -n 1 "$files.log")" ;;
	*) said="FAILED with status $status" ;;
	esac
	line "$1" "$wall" "$(awk "BEGIN { print $user + $system }")" "$said"
}
line() { printf '%-28.28s %5d s, CPU %5.0f s  %s\n' "$@"; }

for step in "${steps[@]}"; do
	rm -f "$(file "${step%%=*}")".{log,times,status}
done
set -m # a process group of its own, which can be stopped
(
	set +m
	running=0
	for step in "${steps[@]}"; do
		if [ "$running" -ge "$lanes" ]; then
			wait -n || true
			running=$((running - 1))
		fi
		run "$step" &
		running=$((running + 1))
	done
	wait
) &
beside=$!
set +m
trap 'kill -- "-$beside" 2>/dev/null || true' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

started=$SECONDS status=0
"$@" || status=$?
said=ok
[ "$status" = 0 ] || said="FAILED with status $status"
times >.cache/steps/command.times # its second line is the command's: no step has been waited for
cpu=$(awk -F '[ms ]+' 'NR == 2 { print 60 * ($1 + $3) + $2 + $4 }' .cache/steps/command.times)
command=$(line "${*##*/}" $((SECONDS - started)) "$cpu" "$said")
echo "== $command"
wait "$beside" || true

failed=()
for step in "${steps[@]}"; do
	name=${step%%=*}
	case $(cat "$(file "$name").status" 2>/dev/null) in
	0 | 77) ;;
	*)
		failed+=("$name")
		echo
		echo "== $name FAILED:"
		cat "$(file "$name").log"
		;;
	esac
done
echo
for step in "${steps[@]}"; do
	echo "  $(outcome "${step%%=*}")"
done
echo "  $command"
[ ${#failed[@]} = 0 ] || { printf 'FAILED: %s\n' "${failed[@]}" >&2; [ "$status" != 0 ] || status=1; }
exit "$status"

#!/usr/bin/env bash
# Runs a command whose temporary files are in memory, if this machine has a file system there with enough room:
# the databases that tests make wait for no disk, which halves the time of those that start servers of their own.
#
#   in-memory.sh COMMAND [ARGUMENT...]
set -euo pipefail

memory=/dev/shm room=6000000 # kB
# Programs must be executable there: containers often forbid it.
fits() {
	local free probe ok=1
	free=$(df --output=avail -k "$memory" 2>/dev/null | tail -n 1) && [ "$free" -gt "$room" ] || return 1
	probe=$(mktemp -p "$memory" ragd-probe-XXXXXX) || return 1
	printf '#!/bin/sh\n' >"$probe"
	chmod +x "$probe"
	"$probe" 2>/dev/null && ok=0
	rm -f "$probe"
	return $ok
}
if fits; then
	export GOTMPDIR=${GOTMPDIR:-${TMPDIR:-/tmp}} # of the compiler
	export TMPDIR=$memory
fi
exec "$@"

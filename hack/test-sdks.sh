#!/usr/bin/env bash
# Tests the client libraries and the adapters against a fresh service. Each is a folder with
# an executable test.sh, which installs what it needs into .cache and finds the service by
# variables of its environment (see hack/testservice).
#
#   test-sdks.sh                        all
#   test-sdks.sh --quick                the client libraries alone
#   test-sdks.sh --quick --if-possible  the same; it is no error if the tools of one cannot be installed
#   test-sdks.sh integrations/haystack  those that are named
set -euo pipefail
cd "$(dirname "$0")/.."

lenient=
case "${1:-}" in
--quick)
	folders=(sdk/*/)
	[ "${2:-}" = --if-possible ] && lenient=yes
	;;
"")
	folders=(sdk/*/ integrations/*/)
	;;
*)
	folders=("$@")
	;;
esac
for folder in "${folders[@]}"; do
	[ -x "${folder%/}/test.sh" ] || { echo "test-sdks: ${folder%/}/test.sh is missing or not executable" >&2; exit 1; }
done
go build -trimpath -tags grpcnotrace -o bin/ragd ./cmd/ragd
mkdir -p .cache
go build -o .cache/testservice ./hack/testservice

failed=() left_out=()
for folder in "${folders[@]}"; do
	folder=${folder%/}
	echo "== $folder"
	started=$SECONDS
	code=0
	.cache/testservice "$folder/test.sh" || code=$?
	case $code in
	0) ;;
	77) [ "$lenient" ] && left_out+=("$folder") || failed+=("$folder") ;;
	*) failed+=("$folder") ;;
	esac
	echo "== $folder took $((SECONDS - started)) s"
done
[ ${#left_out[@]} = 0 ] || echo "test-sdks: NOT RUN, because its tools cannot be installed: ${left_out[*]}" >&2
[ ${#failed[@]} = 0 ] || { echo "test-sdks: failed: ${failed[*]}" >&2; exit 1; }

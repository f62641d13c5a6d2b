#!/usr/bin/env bash
# Tests the client libraries and the adapters against a fresh service. Each is a folder with
# an executable test.sh, which installs what it needs into .cache and finds the service by
# variables of its environment (see hack/testservice).
#
#   test-sdks.sh                        all
#   test-sdks.sh --quick                the client libraries alone
#   test-sdks.sh integrations/haystack  those that are named
#
# Ends with 77 if all went well but for some whose tools cannot be installed.
set -euo pipefail
cd "$(dirname "$0")/.."

. hack/cached.sh
case "${1:-}" in
--quick) folders=(sdk/*/) ;;
"") folders=(sdk/*/ integrations/*/) ;;
*) folders=("$@") ;;
esac
for folder in "${folders[@]}"; do
	[ -x "${folder%/}/test.sh" ] || { echo "test-sdks: ${folder%/}/test.sh is missing or not executable" >&2; exit 1; }
done
build_ragd
go build -trimpath -tags grpcnotrace -o .cache/testservice ./hack/testservice

failed=() left_out=()
for folder in "${folders[@]}"; do
	folder=${folder%/}
	echo "== $folder"
	started=$SECONDS
	code=0
	.cache/testservice "$folder/test.sh" || code=$?
	case $code in
	0) ;;
	77) left_out+=("$folder") ;;
	*) failed+=("$folder") ;;
	esac
	echo "== $folder took $((SECONDS - started)) s"
done
[ ${#failed[@]} = 0 ] || { echo "test-sdks: failed: ${failed[*]}" >&2; exit 1; }
[ ${#left_out[@]} = 0 ] || { echo "the tools cannot be installed of ${left_out[*]}" >&2; exit 77; }

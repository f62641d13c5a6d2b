#!/usr/bin/env bash
# Tests the client libraries and the adapters against a fresh service. Each is a folder with
# an executable test.sh, which installs what it needs into .cache and finds the service by
# variables of its environment (see hack/testservice).
#
#   test-sdks.sh                        all
#   test-sdks.sh --quick                the client libraries alone
#   test-sdks.sh integrations/haystack  those that are named
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in
--quick)
	folders=(sdk/*/)
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
go build -trimpath -o bin/ragd ./cmd/ragd
mkdir -p .cache
go build -o .cache/testservice ./hack/testservice

failed=()
for folder in "${folders[@]}"; do
	folder=${folder%/}
	echo "== $folder"
	started=$SECONDS
	.cache/testservice "$folder/test.sh" || failed+=("$folder")
	echo "== $folder took $((SECONDS - started)) s"
done
[ ${#failed[@]} = 0 ] || { echo "test-sdks: failed: ${failed[*]}" >&2; exit 1; }

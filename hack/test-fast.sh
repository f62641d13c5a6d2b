#!/usr/bin/env bash
# Runs the tests of packages that have changed, and of packages that import them, without the race
# detector: for the loop between an edit and the next. Results of what has not changed since the last run
# come from Go's cache.
#
#   hack/test-fast.sh [REVISION]    changed since REVISION, or since origin/main, including what is not committed
set -euo pipefail
cd "$(dirname "$0")/.."
started=$SECONDS

since=${1:-origin/main}
git rev-parse --quiet --verify "$since^{commit}" >/dev/null || since=HEAD
since=$(git merge-base HEAD "$since")
mapfile -t files < <(git diff --name-only "$since"; git ls-files --others --exclude-standard)

# A file belongs to the package in the nearest folder above it: so do test data and what is embedded.
declare -A changed=()
for file in "${files[@]}"; do
	case $file in
	go.mod | go.sum)
		echo "test-fast: $file has changed: make test runs all packages"
		continue
		;;
	*/*) ;;
	*) continue ;;
	esac
	folder=${file%/*}
	until compgen -G "$folder/*.go" >/dev/null; do
		case $folder in
		*/*) folder=${folder%/*} ;;
		*) continue 2 ;;
		esac
	done
	changed[$folder]=yes
done
if [ ${#changed[@]} = 0 ]; then
	echo "test-fast: no package has changed since ${since:0:12}"
	exit
fi
module=$(go list -m)
mapfile -t packages < <(go list -e -f '{{.ImportPath}}{{range .Imports}} {{.}}{{end}}{{range .TestImports}} {{.}}{{end}}{{range .XTestImports}} {{.}}{{end}}' ./... |
	awk -v changed="${!changed[*]}" -v module="$module" '
		BEGIN { n = split(changed, folders, " "); for (i = 1; i <= n; i++) wanted[module "/" folders[i]] }
		{ for (i = 1; i <= NF; i++) if ($i in wanted) { print $1; next } }')
if [ ${#packages[@]} = 0 ]; then
	echo "test-fast: no package of $module has changed since ${since:0:12}"
	exit
fi
echo "test-fast: ${#changed[@]} packages have changed since ${since:0:12}: ${#packages[@]} to test"
status=0
hack/in-memory.sh go test "${packages[@]}" | { grep -v 'no test files' || true; } || status=$?
echo "test-fast: ${#packages[@]} packages took $((SECONDS - started)) s"
exit "$status"

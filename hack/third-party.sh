# Sourced from the root of the repository by scripts whose tests run programs of others.

. hack/node.sh

# third_party PACKAGE FLAG... runs tests with the tag thirdparty. Scripts that run at the same time share
# the binary. Without the race detector: the same code runs with it in `make test`.
third_party() {
	local package=$1 binary=$PWD/.cache/tests/${1##*/}.test
	shift
	mkdir -p .cache/tests
	locked .cache/tests/lock go test -c -tags grpcnotrace,thirdparty -o "$binary" "$package"
	(cd "$package" && "$binary" -test.v -test.timeout 20m "$@")
}

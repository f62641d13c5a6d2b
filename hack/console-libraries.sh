# Sourced from the root of the repository: installs the libraries of the console.

. hack/node.sh
install_console_libraries() {
	cp "$1"/console/package{,-lock}.json . && npm ci --no-fund --no-audit --loglevel error
}
libraries=$(cached console "$(cat console/package-lock.json)" install_console_libraries "$PWD")
[ -L console/node_modules ] || rm -rf console/node_modules
ln -sfn "$libraries/node_modules" console/node_modules

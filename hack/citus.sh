#!/usr/bin/env bash
# Builds Citus from source and installs it into the PostgreSQL server of this machine, for
# hack/test-citus.sh. Does nothing if that version is installed. The build is kept in the
# user's cache folder, so that another installation of the same server takes seconds. Needs
# apt, and root for packages and the installation. Ends with 77 if that or the source is missing.
#
#   hack/citus.sh
#
# CITUS_SOURCE is an archive of the source (.tar.gz or .tar.xz). Without it the release is
# fetched from GitHub; CITUS_SHA256, if set, is the checksum of the archive.
set -euo pipefail

version=13.2.2
release=https://github.com/citusdata/citus/archive/refs/tags/v$version.tar.gz

not_run() {
	echo "citus: $*" >&2
	exit 77
}
as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"
	elif command -v sudo >/dev/null; then sudo "$@"
	else not_run "root is needed for: $*"
	fi
}

config=$(ls -d /usr/lib/postgresql/*/bin/pg_config 2>/dev/null | sort -V | tail -n 1 || true)
[ -n "$config" ] || not_run "there is no PostgreSQL in /usr/lib/postgresql: run \`make deps\`"
server=$("$config" --version | sed 's/[^0-9]*\([0-9.]*\).*/\1/')
major=${server%%.*}
# The files of the extension name major and minor version only; the build leaves a note of the rest.
note=$("$config" --pkglibdir)/citus.version
if [ "$(cat "$note" 2>/dev/null)" = "$version for $server" ]; then
	echo "citus: Citus $version is installed for PostgreSQL $server"
	exit
fi

cache=${XDG_CACHE_HOME:-$HOME/.cache}/ragd
build=$cache/citus-$version-postgres-$server
if [ ! -e "$build/built" ]; then
	command -v apt-get >/dev/null || not_run "building needs apt"
	packages="postgresql-server-dev-$major gcc make flex libssl-dev liblz4-dev libzstd-dev libkrb5-dev libicu-dev libxml2-dev libxslt1-dev libpam0g-dev libselinux1-dev libreadline-dev"
	install() { as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >&2; }
	dpkg -s $packages >/dev/null 2>&1 || install || { as_root apt-get update -qq >&2 && install; } || not_run "packages for the build cannot be installed"
	rm -rf --one-file-system "$build"
	mkdir -p "$build"
	source=${CITUS_SOURCE:-}
	if [ -z "$source" ]; then
		source=$build/source.tar.gz
		curl -fsSL --retry 2 --max-time 300 -o "$source" "$release" || not_run "the source cannot be fetched from $release: name an archive in CITUS_SOURCE"
	fi
	[ -z "${CITUS_SHA256:-}" ] || echo "$CITUS_SHA256  $source" | sha256sum --check --quiet
	tar -xf "$source" -C "$build" --strip-components=1 --no-same-owner
	# PostgreSQL exports a function of this name since its minor versions of November 2025.
	sed -i 's/\bhave_createdb_privilege\b/citus_have_createdb_privilege/g' \
		"$build"/src/include/pg_version_compat.h "$build"/src/backend/distributed/commands/*.c
	echo "citus: building Citus $version for PostgreSQL $server, which takes minutes; see $build/log"
	(cd "$build" && ./configure --without-libcurl PG_CONFIG="$config" && make -j "$(nproc)" with_llvm=no extension) >"$build/log" 2>&1 ||
		{ tail -n 20 "$build/log" >&2; exit 1; }
	touch "$build/built"
fi
as_root make -C "$build" with_llvm=no install-all >>"$build/log" 2>&1 || { tail -n 20 "$build/log" >&2; exit 1; }
echo "$version for $server" | as_root tee "$note" >/dev/null
echo "citus: installed Citus $version for PostgreSQL $server"

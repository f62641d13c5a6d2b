#!/usr/bin/env bash
# Runs the tests of packages with statements against PostgreSQL 17, where `make test` uses an
# older one. The server is a container of the image that hack/make-pg-image.sh builds, or else one
# that is unpacked from Debian's packages into the user's cache folder, which needs root
# and apt. Ends with 77 if neither can be had.
#
#   hack/test-postgres17.sh [go test arguments]
set -euo pipefail
cd "$(dirname "$0")/.."

. hack/loopback.sh

major=17
suite=trixie
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ragd
root=$cache/debian-postgres-$major

not_run() {
	echo "$*" >&2
	exit 77
}

[ "$#" -gt 0 ] || set -- ./internal/{ingest/backlog,automation/event,graph,secure/identity,index,ingest,tenant/job,api/openai,operate/postgres,query,index/storage,tenant,tenant/quota/usage,index/vector} ./migrations
if [ -x /usr/lib/postgresql/$major/bin/postgres ]; then
	echo "test-postgres$major: PostgreSQL $major is installed: \`make test\` uses it"
	exit
fi
if docker image inspect ragd-pgvector:pg$major >/dev/null 2>&1; then
	exec hack/test-containers.sh "$@"
fi

if [ ! -e "$root/unpacked" ]; then
	[ "$(id -u)" = 0 ] || not_run "there is no container ragd-pgvector:pg$major (hack/make-pg-image.sh builds it), and unpacking the server needs root"
	mirror=$(apt-get indextargets --format '$(ORIGIN)|$(SITE)' 2>/dev/null | sed -n 's/^Debian|//p' | sort | head -n 1)
	[ -n "$mirror" ] || not_run "apt is not set up with a mirror of Debian"
	command -v debootstrap >/dev/null || apt-get install -y -qq --no-install-recommends debootstrap >&2 ||
		{ apt-get update -qq && apt-get install -y -qq --no-install-recommends debootstrap; } >&2 || not_run "debootstrap cannot be installed"
	echo "test-postgres$major: unpacking the server into $root"
	rm -rf --one-file-system "$root"
	mkdir -p "$root"
	timeout 900 debootstrap --variant=minbase --include="postgresql-$major,postgresql-$major-pgvector" "$suite" "$root" "$mirror" >"$cache/debootstrap.log" ||
		not_run "debootstrap failed: see $cache/debootstrap.log"
	rm -rf "$root/var/cache/apt" "$root/usr/share/doc" "$root/usr/share/locale"
	touch "$root/unpacked"
fi

# In memory a database is created in a tenth of the time.
mounted=
mount -t tmpfs -o size=4g,mode=1777 ragd-test "$root/tmp" 2>/dev/null && mounted=yes
work=$(mktemp -d -p "$root/tmp")
inside=${work#"$root"}
started=
in_root() { chroot --userspec=postgres:postgres "$root" /usr/bin/env PATH=/usr/lib/postgresql/$major/bin:/usr/bin:/bin LC_ALL=C.UTF-8 "$@"; }
stop() {
	[ -z "$started" ] || in_root pg_ctl stop -D "$inside/data" -m immediate >/dev/null || true
	rm -rf --one-file-system "$work"
	[ -z "$mounted" ] || umount "$root/tmp"
}
trap stop EXIT

password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
(umask 077 && echo "$password" >"$work/password")
chroot "$root" chown -R postgres:postgres "$inside"
in_root initdb --username=ragd --pwfile="$inside/password" --encoding=UTF8 --locale=C.UTF-8 --auth=scram-sha-256 --no-instructions "$inside/data" >/dev/null
host=$(own_loopback_address)
in_root postgres -D "$inside/data" -c listen_addresses="$host" -c "unix_socket_directories=$inside" \
	-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c autovacuum=off -c max_connections=400 \
	-c random_page_cost=1.1 -c shared_buffers=256MB -c max_wal_size=512MB -c dynamic_shared_memory_type=mmap 2>"$work/log" &
started=yes
for _ in $(seq 100); do
	in_root pg_isready -q -h "$host" && break
	sleep 0.1
done
in_root pg_isready -q -h "$host" || { cat "$work/log" >&2; exit 1; }
echo "test-postgres$major: PostgreSQL $(in_root postgres --version | sed 's/[^0-9]*\([0-9.]*\).*/\1/') of Debian $suite"
# Without the race detector, which says nothing of the database.
RAGD_TEST_DATABASE_URL="postgres://ragd:$password@$host/postgres" go test -count=1 -p 2 -timeout 20m "$@"

#!/bin/sh
# Builds a container image of PostgreSQL 17 with pgvector from Debian packages
# alone, for machines that reach a Debian mirror but no image registry.
#
#   hack/make-pg-image.sh [IMAGE]      default: ragd-pgvector:pg17
#
# The mirror is the one in apt's configuration; on other systems set MIRROR.
# Needs root, debootstrap and docker. The image accepts the settings of the official
# PostgreSQL images: POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB, and "postgres" with
# options as its command.
set -eu

image=${1:-ragd-pgvector:pg17}
suite=trixie
major=17
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

die() { echo "make-pg-image: $*" >&2; exit 1; }

[ "$(id -u)" = 0 ] || die "debootstrap needs root: run this with sudo"
for tool in debootstrap docker; do
  command -v "$tool" >/dev/null || die "$tool is missing; on Debian: apt-get install debootstrap docker.io"
done
docker version >/dev/null 2>&1 || die "no docker engine answers; start dockerd first"
mirror=${MIRROR:-$(apt-get indextargets --format '$(ORIGIN)|$(SITE)' | sed -n 's/^Debian|//p' | sort | head -n 1)}
[ -n "$mirror" ] || die "apt is not set up with a Debian mirror; name one in MIRROR"

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root

echo "make-pg-image: unpacking $suite with PostgreSQL $major and pgvector"
debootstrap --variant=minbase --keyring="$keyring" \
  --include="postgresql-$major,postgresql-$major-pgvector" \
  "$suite" "$root" "$mirror" >"$work/log" || { tail -n 20 "$work/log" "$root/debootstrap/debootstrap.log" >&2; die "debootstrap failed"; }

# Remove packages that a database server in a container does not need.
rm -rf "$root/var/lib/apt/lists" "$root/var/cache/apt" "$root/usr/share/doc" "$root/usr/share/man" \
  "$root/usr/share/locale" "$root/var/lib/postgresql/$major" "$root/etc/postgresql/$major"
mkdir -p "$root/var/lib/apt/lists" "$root/var/cache/apt"

cat >"$root/usr/local/bin/entrypoint" <<'ENTRYPOINT'
#!/bin/sh
# Creates a cluster at the first start, then runs the server.
set -eu
[ "${1:-}" = postgres ] || exec "$@"
user=${POSTGRES_USER:-postgres}
database=${POSTGRES_DB:-$user}
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  if [ -z "${POSTGRES_PASSWORD:-}" ]; then
    echo "POSTGRES_PASSWORD is not set" >&2
    exit 1
  fi
  printf '%s\n' "$POSTGRES_PASSWORD" >/tmp/password
  initdb --username="$user" --pwfile=/tmp/password --encoding=UTF8 --locale=C.UTF-8 \
    --auth-local=trust --auth-host=scram-sha-256 --no-instructions >/dev/null
  rm /tmp/password
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  if [ "$database" != postgres ]; then
    echo "CREATE DATABASE \"$database\"" | postgres --single -j postgres >/dev/null
  fi
fi
shift
exec postgres -c 'listen_addresses=*' "$@"
ENTRYPOINT
chmod 755 "$root/usr/local/bin/entrypoint"
mkdir -p "$root/var/lib/postgresql/data"
chroot "$root" chown postgres:postgres /var/lib/postgresql/data

echo "make-pg-image: importing $image"
tar -C "$root" --numeric-owner -cf - . | docker import \
  --change "ENV PATH=/usr/lib/postgresql/$major/bin:/usr/local/bin:/usr/bin:/bin" \
  --change 'ENV PGDATA=/var/lib/postgresql/data' \
  --change 'USER postgres' --change 'EXPOSE 5432' \
  --change 'ENTRYPOINT ["/usr/local/bin/entrypoint"]' --change 'CMD ["postgres"]' \
  --message "PostgreSQL $major with pgvector, from Debian $suite" - "$image" >/dev/null
docker image inspect --format 'make-pg-image: {{index .RepoTags 0}}, {{.Size}} bytes' "$image"

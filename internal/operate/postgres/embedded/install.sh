#!/bin/sh
# Installs what the embedded database needs: the PostgreSQL server (15 or newer) and
# pgvector (0.8.0 or newer). Does nothing if both are installed. `make deps` and
# `ragd doctor --fix` run it.
#
#   install.sh            install what is missing
#   install.sh --source   build pgvector from its pinned source, even over an
#                         older one (below 0.8.4, VACUUM may corrupt HNSW indexes)
#
# If the distribution has a package of a new enough pgvector, that is installed. Debian 12
# has none: there, and on other systems with apt, pgvector is built from the pinned
# source package, fetched from the mirror in apt's configuration.
set -eu

PG_FLOOR=15
VECTOR_FLOOR=0.8.0
VECTOR_SAFE=0.8.4
VECTOR_PINNED=0.8.6
VECTOR_SHA256=25c9b78cfdaa43c66788d7490246ac24e4fe1c86f19c4b60c089b723f84a4a0d
FALLBACK_SUITES='forky trixie'

say() { echo "install: $*"; }
die() { echo "install: $*" >&2; exit 1; }

# at_least HAVE WANT succeeds if the dotted version HAVE is WANT or newer.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# as_root runs a command as root.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null 2>&1; then sudo "$@"
  else die "root is needed for: $* (there is no sudo here; run this as root)"
  fi
}

# servers lists the directories with binaries of a server, newest first.
servers() {
  {
    for dir in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin \
      /opt/homebrew/opt/postgresql@*/bin /usr/local/opt/postgresql@*/bin \
      /home/linuxbrew/.linuxbrew/opt/postgresql@*/bin; do
      echo "$dir"
    done
    if command -v postgres >/dev/null 2>&1; then dirname "$(command -v postgres)"; fi
    if command -v pg_config >/dev/null 2>&1; then pg_config --bindir; fi
  } | while read -r dir; do
    if [ -x "$dir/postgres" ] && [ -x "$dir/initdb" ]; then
      echo "$("$dir/postgres" --version | sed 's/[^0-9]*\([0-9.]*\).*/\1/') $dir"
    fi
  done | sort -rV -u
}

# vector_of BINDIR prints the version of pgvector installed for that server, if any.
vector_of() {
  if [ -x "$1/pg_config" ]; then set -- "$("$1/pg_config" --sharedir)"
  else set -- "$1/../share" "$1/../share/postgresql" /usr/share/pgsql
  fi
  for share in "$@"; do
    control=$share/extension/vector.control
    [ ! -r "$control" ] || sed -n "s/^default_version *= *'\(.*\)'.*/\1/p" "$control"
  done | head -n 1
}

# ready MINIMUM succeeds if a server has pgvector MINIMUM or newer, and prints which one.
ready() {
  servers | {
    while read -r version dir; do
      vector=$(vector_of "$dir")
      if at_least "$version" "$PG_FLOOR" && [ -n "$vector" ] && at_least "$vector" "$1"; then
        say "PostgreSQL $version with pgvector $vector is in $dir"
        at_least "$vector" "$VECTOR_SAFE" ||
          say "WARNING: pgvector before $VECTOR_SAFE can corrupt HNSW indexes during VACUUM; 'ragd doctor --fix' builds $VECTOR_PINNED"
        exit 0
      fi
    done
    exit 1
  }
}

apt_get() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
    -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-confold "$@"
}

# apt_candidate PACKAGE prints the upstream version that apt would install, if any.
apt_candidate() {
  apt-cache policy "$1" 2>/dev/null |
    sed -n 's/^ *Candidate: \([0-9]*:\)\{0,1\}\([0-9.]*\).*/\2/p'
}

# apt_major prints the major version of the server to use: an installed one that is
# new enough, else the distribution's.
apt_major() {
  major=$(servers | sed -n 's/^\([0-9]*\)[^ ]* \/usr\/lib\/postgresql\/.*/\1/p' | head -n 1)
  if [ -z "$major" ] || [ "$major" -lt "$PG_FLOOR" ]; then
    major=$(apt-cache depends postgresql 2>/dev/null |
      sed -n 's/.*Depends: postgresql-\([0-9][0-9]*\)$/\1/p' | sort -rn | head -n 1)
  fi
  [ -n "$major" ] || die "apt knows no package postgresql; add the distribution's main repository"
  [ "$major" -ge "$PG_FLOOR" ] ||
    die "this distribution has PostgreSQL $major and ragd needs $PG_FLOOR or newer; add the PostgreSQL project's apt repository, then run this again"
  echo "$major"
}

with_apt() {
  say "updating apt's lists"
  apt_get update >/dev/null
  major=$(apt_major)

  if [ ! -e /etc/postgresql-common ]; then
    # ragd starts its own server, so the package must not start another.
    say "telling postgresql-common not to make a cluster (/etc/postgresql-common/createcluster.conf)"
    as_root mkdir -p /etc/postgresql-common
    echo 'create_main_cluster = false' | as_root tee /etc/postgresql-common/createcluster.conf >/dev/null
  fi

  vector=$(apt_candidate "postgresql-$major-pgvector")
  if [ "$source" = no ] && [ -n "$vector" ] && at_least "$vector" "$VECTOR_FLOOR"; then
    say "installing postgresql-$major and postgresql-$major-pgvector"
    apt_get install --no-install-recommends "postgresql-$major" "postgresql-$major-pgvector"
    return
  fi
  say "installing postgresql-$major and the packages to build pgvector for it"
  apt_get install --no-install-recommends \
    "postgresql-$major" "postgresql-server-dev-$major" gcc libc6-dev make
  build_vector "$major"
}

# build_vector MAJOR fetches, builds and installs pgvector for that server.
build_vector() {
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  chmod 755 "$work" # apt downloads as its own user
  pinned_source || suite_source || die "no source of pgvector could be fetched"
  mkdir "$work/src"
  tar -xzf "$work/pgvector.tar.gz" -C "$work/src" --strip-components=1
  # OPTFLAGS='' builds for any processor; pgvector selects its fast loops at run time.
  # with_llvm=no builds no bitcode, which needs clang and is for JIT, which ragd turns off.
  set -- -s -C "$work/src" OPTFLAGS='' with_llvm=no \
    "PG_CONFIG=/usr/lib/postgresql/$1/bin/pg_config"
  say "building pgvector"
  make "$@" -j "$(nproc)"
  as_root make "$@" install >/dev/null
}

# mirrors lists the package archives in apt's configuration.
mirrors() {
  apt-get indextargets --format '$(ORIGIN)|$(SITE)' |
    sed -n -e 's/^Debian|//p' -e 's/^Ubuntu|//p' -e 's/^apt.postgresql.org|//p' | sort -u
}

# pinned_source fetches the pinned source package and verifies its checksum.
pinned_source() {
  for site in $(mirrors); do
    for component in main universe; do
      url="${site%/}/pool/$component/p/pgvector/pgvector_$VECTOR_PINNED.orig.tar.gz"
      if /usr/lib/apt/apt-helper -qq download-file "$url" "$work/pgvector.tar.gz" \
        "SHA256:$VECTOR_SHA256" 2>/dev/null; then
        say "fetched the source of pgvector $VECTOR_PINNED, checksum as pinned"
        return
      fi
    done
  done
  say "the pinned source of pgvector $VECTOR_PINNED is not on this mirror"
  return 1
}

# suite_source fetches the source package of newer Debian releases, verified by apt
# against the archive's signature. It uses its own lists and leaves the machine's
# sources unchanged.
suite_source() {
  keys=/usr/share/keyrings/debian-archive-keyring.gpg
  [ -r "$keys" ] || return 1
  for site in $(mirrors); do
    for suite in $FALLBACK_SUITES; do
      lists=$work/apt-$suite
      mkdir -p "$lists/partial"
      echo "deb-src [signed-by=$keys] $site $suite main" >"$work/$suite.list"
      set -- -qq -o "Dir::Etc::SourceList=$work/$suite.list" -o Dir::Etc::SourceParts=/dev/null \
        -o "Dir::State::Lists=$lists" -o Dir::Cache::srcpkgcache= -o Dir::Cache::pkgcache=
      if as_root apt-get "$@" update 2>/dev/null &&
        (cd "$work" && apt-get "$@" source --download-only pgvector 2>/dev/null); then
        mv "$work"/pgvector_*.orig.tar.gz "$work/pgvector.tar.gz"
        say "fetched the source of pgvector from $suite"
        return
      fi
    done
  done
  return 1
}

source=no
minimum=$VECTOR_FLOOR
case "${1:-}" in
'') ;;
--source) source=yes minimum=$VECTOR_PINNED ;;
*) die "unknown argument $1" ;;
esac

if ready "$minimum"; then exit 0; fi
if command -v apt-get >/dev/null 2>&1; then with_apt
elif [ "$source" = yes ]; then die "--source works with apt only; build pgvector as its README says"
elif command -v dnf >/dev/null 2>&1; then
  say "installing postgresql-server and pgvector"
  as_root dnf install -y postgresql-server pgvector
elif command -v brew >/dev/null 2>&1; then
  say "installing postgresql@17 and pgvector"
  brew install postgresql@17 pgvector
else
  die "no apt, dnf or brew here: install PostgreSQL $PG_FLOOR or newer and pgvector $VECTOR_FLOOR or newer, and put the server's folder on PATH"
fi
ready "$minimum" || die "PostgreSQL or pgvector is still missing after the installation"

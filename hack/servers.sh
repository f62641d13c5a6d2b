# Functions for scripts that start PostgreSQL servers for tests. Source it; the servers stop, and their data
# is deleted, when the script ends.

. hack/loopback.sh
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
[ -n "$bin" ] || { echo "there is no PostgreSQL in /usr/lib/postgresql: run \`make deps\`" >&2; exit 1; }

# PostgreSQL refuses to run as root. In memory a database is created in a tenth of the time.
as=()
[ "$(id -u)" != 0 ] || as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
parent=${TMPDIR:-/tmp}
[ "$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1)" -gt 4000000 ] 2>/dev/null && parent=/dev/shm
servers=$(mktemp -d -p "$parent" ragd-servers-XXXXXX)
[ "${#as[@]}" = 0 ] || chown postgres:postgres "$servers"
started=()
stop_servers() {
	local data
	for data in "${started[@]}"; do
		"${as[@]}" "$bin/pg_ctl" stop -D "$data" -m immediate >/dev/null || true
	done
	rm -rf --one-file-system "$servers"
}
trap stop_servers EXIT

# start_server NAME starts a server on a loopback address of its own, so that no other program has its port, and
# sets url to its address. More settings are read from standard input. Whoever is on this machine may connect.
start_server() {
	local data=$servers/$1 host
	host=$(own_loopback_address)
	"${as[@]}" "$bin/initdb" --username=ragd --encoding=UTF8 --locale=C.UTF-8 --auth=trust --no-sync --no-instructions "$data" >/dev/null
	"${as[@]}" tee -a "$data/postgresql.conf" >/dev/null <<-SETTINGS
		listen_addresses = '$host'
		unix_socket_directories = '$data'
		max_connections = 400
		max_wal_size = 512MB
		shared_buffers = 128MB
		random_page_cost = 1.1
		autovacuum = off
		fsync = off
		full_page_writes = off
		synchronous_commit = off
		$(cat)
	SETTINGS
	"${as[@]}" "$bin/pg_ctl" start -D "$data" -l "$data/log" -w -t 60 >/dev/null || { cat "$data/log" >&2; exit 1; }
	started+=("$data")
	url=postgres://ragd@$host/postgres
}

package pgtest

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/postgres"
)

// Waiting returns how many statements wait for a lock in the database of the pool, on any server of its cluster.
func Waiting(t testing.TB, pool *pgxpool.Pool) (statements int) {
	t.Helper()
	const here = `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`
	sql := here
	if postgres.Distributed(pool) {
		sql = `SELECT sum(n.result::int) FROM run_command_on_all_nodes('` + strings.ReplaceAll(here, `'`, `''`) + `') AS n`
	}
	if err := pool.QueryRow(t.Context(), sql).Scan(&statements); err != nil {
		t.Fatal(err)
	}
	return statements
}

// countLocks records after every DDL command how many locks its transaction holds.
const countLocks = `
	CREATE TABLE public.lock_counts (command text NOT NULL, locks int NOT NULL);
	CREATE FUNCTION public.count_locks() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
	BEGIN
		INSERT INTO public.lock_counts SELECT tg_tag, count(*) FROM pg_catalog.pg_locks WHERE pid = pg_backend_pid();
	END $$;
	CREATE EVENT TRIGGER count_locks ON ddl_command_end EXECUTE FUNCTION public.count_locks()`

// CountLocks records from now on how many locks the transactions of the pool's database
// hold after each DDL command. most returns the largest number of a command, such as DROP
// TABLE, in a transaction that was committed; 0 if there was none.
func CountLocks(t testing.TB, pool *pgxpool.Pool) (most func(command string) int) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), countLocks); err != nil {
		t.Fatal(err)
	}
	return func(command string) (locks int) {
		t.Helper()
		err := pool.QueryRow(t.Context(), `SELECT coalesce(max(locks), 0) FROM public.lock_counts WHERE command = $1`, command).Scan(&locks)
		if err != nil {
			t.Fatal(err)
		}
		return locks
	}
}

package pgtest

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/postgres"
)

func TestEachPoolHasADatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	for i := range 4 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			pool := Pool(t)
			if _, err := pool.Exec(t.Context(), `CREATE TABLE public.note (id int PRIMARY KEY, v vector(2))`); err != nil {
				t.Fatal(err)
			}
			var distance float64
			if err := pool.QueryRow(t.Context(), `SELECT '[1,2]'::vector <-> '[4,6]'`).Scan(&distance); err != nil || distance != 5 {
				t.Fatalf("distance = %v, %v; want 5", distance, err)
			}
		})
	}
}

func TestDatabaseIsDroppedWithItsConnections(t *testing.T) {
	t.Parallel()
	var name string
	t.Run("a test that forgets to close", func(t *testing.T) {
		leaked, err := pgxpool.New(t.Context(), URL(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := leaked.QueryRow(t.Context(), `SELECT current_database()`).Scan(&name); err != nil {
			t.Fatal(err)
		}
	})
	all, err := shared()
	if err != nil {
		t.Skip(err)
	}
	var n int
	for _, s := range all.list {
		if err := s.admin.QueryRow(t.Context(), `SELECT count(*) FROM pg_database WHERE datname = $1`, name).Scan(&n); err != nil || n != 0 {
			t.Errorf("%d databases named %s are left, %v", n, name, err)
		}
	}
}

func BenchmarkDatabase(b *testing.B) {
	all, err := shared()
	if err != nil {
		b.Skip(err)
	}
	s := all.next()
	for b.Loop() {
		if err := s.create(b.Context(), "ragd_test_bench", s.template); err != nil {
			b.Fatal(err)
		}
		if err := s.drop(b.Context(), "ragd_test_bench"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	cfg := postgres.Config{URL: URL(b), Logger: slog.New(slog.DiscardHandler)}
	for b.Loop() {
		pool, err := postgres.Open(b.Context(), cfg)
		if err != nil {
			b.Fatal(err)
		}
		pool.Close()
	}
}

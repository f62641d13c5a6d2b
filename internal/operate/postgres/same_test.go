package postgres_test

import (
	"testing"

	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
)

func TestSameDatabase(t *testing.T) {
	t.Parallel()
	pool, other := pgtest.Pool(t), pgtest.Pool(t)
	if same, err := postgres.SameDatabase(t.Context(), pool, pgtest.ServicePool(t, pool)); err != nil || !same {
		t.Errorf("two roles on one database: %v, %v", same, err)
	}
	if same, err := postgres.SameDatabase(t.Context(), pool, other); err != nil || same {
		t.Errorf("two databases of one server: %v, %v", same, err)
	}
}

package index_test

import (
	"fmt"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// BenchmarkCreateIndex reports what an empty index takes: time of a call, bytes of the
// database with its rows in the catalogs, and relations.
func BenchmarkCreateIndex(b *testing.B) {
	s := servicetest.New(b, service.Config{NoWorkers: true, MaxIndexes: 100_000})
	c := s.Tenant(b, "acme")
	count := func(sql string) (n int64) {
		if err := s.Pool.QueryRow(b.Context(), sql).Scan(&n); err != nil {
			b.Fatal(err)
		}
		return n
	}
	size := func() int64 {
		if _, err := s.Pool.Exec(b.Context(), `CHECKPOINT`); err != nil {
			b.Fatal(err)
		}
		return count(`SELECT pg_database_size(current_database())`)
	}
	before, made := size(), 0
	for b.Loop() {
		if _, err := c.CreateIndex(b.Context(), &ragdv1.CreateIndexRequest{IndexName: fmt.Sprint("i", made)}); err != nil {
			b.Fatal(err)
		}
		made++
	}
	b.ReportMetric(float64(size()-before)/float64(made), "bytes/index")
	b.ReportMetric(float64(count(`SELECT count(*) FROM pg_class WHERE relnamespace = 'tenant_acme'::regnamespace AND relname ~ '_1(_|$)'`)), "relations")
}

package index_test

import (
	"flag"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/tenant"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The tables of an index are not in the migrations: this golden file shows them.
func TestTablesOfAnIndexAreAsTheirGoldenFile(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	_, err := s.Tenant(t, "acme").CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs", MetadataIndexes: []string{"year"}})
	must(t, err)
	i, h := resolve(t, s, "docs")
	must(t, index.MakeEdges(t.Context(), h, i))
	must(t, index.MakeTerms(t.Context(), h, i))
	must(t, index.MakeTopics(t.Context(), h, i))
	pgtest.CheckSchema(t, s.Pool, tenant.ID("acme").Schema(), "index", *update, "*_1")
}

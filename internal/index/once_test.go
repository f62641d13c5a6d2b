package index_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// resolve returns an index of the tenant acme and a handle on its tables.
func resolve(t *testing.T, s *servicetest.Service, name string) (index.Index, *data.Handle) {
	t.Helper()
	i, err := s.Handlers.Indexes.Resolve(t.Context(), "acme", name)
	must(t, err)
	return i, s.DB.Handle("acme").OfIndex(i.ID, i.Generation)
}

// What reads or empties an index does not need tables that nothing was written to.
func TestAnIndexHasOnlyTheTablesThatItUses(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c := s.Tenant(t, "acme")
	_, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "vectors", Dimension: 3})
	must(t, err)
	_, err = c.Upsert(t.Context(), &ragdv1.UpsertRequest{IndexName: "vectors", Entries: []*ragdv1.Entry{{Id: "a", Values: []float32{1, 0, 0}, Document: "Ledger Nine"}}})
	must(t, err)
	if got := names(t, s, "acme", `_1(_|$)`); len(got) != 7 {
		t.Errorf("an index of vectors has %v", got)
	}
	found, err := c.GraphRag(t.Context(), &ragdv1.GraphRagRequest{IndexName: "vectors", QueryText: "Ledger Nine", QueryVector: []float32{1, 0, 0}})
	must(t, err)
	if len(found.Sources) != 1 {
		t.Errorf("a walk finds %v", found.Sources)
	}
	_, err = c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "vectors", QueryText: "ledger", SearchMode: "keyword"})
	must(t, err)
	job, err := c.RebuildGraph(t.Context(), &ragdv1.RebuildGraphRequest{IndexName: "vectors"})
	must(t, err)
	wait.For(t, "rebuild", func() bool {
		j, err := c.GetJob(t.Context(), &ragdv1.GetJobRequest{JobId: job.JobId})
		must(t, err)
		return j.GetStatus() == "succeeded"
	})
	_, err = c.TruncateIndex(t.Context(), &ragdv1.TruncateIndexRequest{IndexName: "vectors"})
	must(t, err)

	off := true
	_, err = c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "main", Graph: &ragdv1.GraphSettings{Off: off}})
	must(t, err)
	c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "main", Uri: "a", Source: servicetest.Text("Ledger Nine lies in the vault.")})
	if got := names(t, s, "acme", `^(edge|term|reembed)_`); len(got) != 0 {
		t.Errorf("the indexes have %v", got)
	}
	_, err = c.UpdateIndex(t.Context(), &ragdv1.UpdateIndexRequest{IndexName: "main", Graph: &ragdv1.GraphSettings{}})
	must(t, err)
	wait.For(t, "rebuild", func() bool { return slices.Contains(names(t, s, "acme", `^edge_2$`), "edge_2") })
}

func TestConcurrentWritersMakeATableOnce(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	c := s.Tenant(t, "acme")
	c.Index(t, "main")
	i, h := resolve(t, s, "main")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if err := index.MakeEdges(t.Context(), h, i); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got := names(t, s, "acme", `^edge_1$`); len(got) != 1 {
		t.Errorf("the index has %v", got)
	}
	theirs := s.Tenant(t, "other")
	theirs.Index(t, "main")
	if got := names(t, s, "other", `^edge_1$`); len(got) != 0 {
		t.Errorf("another tenant has %v", got)
	}
}

// A table that is made after the deletion would be left for ever.
func TestNoTableIsMadeForADeletedIndex(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	c := s.Tenant(t, "acme")
	c.Index(t, "main")
	i, h := resolve(t, s, "main")
	must(t, index.MakeEdges(t.Context(), h, i))
	must(t, index.MakeTerms(t.Context(), h, i))
	must(t, index.MakeTopics(t.Context(), h, i))
	if got := names(t, s, "acme", `_1(_|$)`); len(got) != 18 { // and one over the embeddings
		t.Errorf("an index with all its tables has %v", got)
	}
	_, err := c.DeleteIndex(t.Context(), &ragdv1.DeleteIndexRequest{IndexName: "main"})
	must(t, err)
	for _, err := range []error{index.MakeEdges(t.Context(), h, i), index.MakeTerms(t.Context(), h, i), index.MakeTopics(t.Context(), h, i)} {
		if fault.KindOf(err) != fault.NotFound {
			t.Errorf("error %v", err)
		}
	}
	if got := names(t, s, "acme", `_1$`); len(got) != 0 {
		t.Errorf("%v are left", got)
	}
}

// Another instance may have counted the terms since this one read the index.
func TestAnOutdatedIndexReadsNoTerms(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	c := s.Tenant(t, "acme")
	c.Index(t, "main")
	outdated, h := resolve(t, s, "main")
	must(t, index.MakeTerms(t.Context(), h, outdated))
	exec(t, s, `INSERT INTO tenant_acme.term_1 VALUES ('gear', 7); UPDATE tenant_acme.indexes SET counted_chunks = 7`)
	fresh, err := index.ByID(t.Context(), h, outdated.ID)
	must(t, err)
	for want, i := range []index.Index{outdated, fresh} {
		terms, err := data.Value[int](t.Context(), i.Terms(h), `SELECT count(*) FROM tenant.term AS t`)
		if err != nil || terms != want {
			t.Errorf("%d terms, %v, want %d", terms, err, want)
		}
	}
	_, err = c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "main", QueryText: "gear", SearchMode: "keyword"})
	must(t, err)
}

func TestAnAbsentTableHasTheColumnsOfTheTable(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "acme").Index(t, "main")
	i, h := resolve(t, s, "main")
	must(t, index.MakeEdges(t.Context(), h, i))
	must(t, index.MakeTerms(t.Context(), h, i))
	must(t, index.MakeTopics(t.Context(), h, i))
	columns := func(h *data.Handle, sql string) (found []string) {
		rows, err := s.Pool.Query(t.Context(), h.SQL(sql))
		must(t, err)
		rows.Close()
		must(t, rows.Err())
		for _, field := range rows.FieldDescriptions() {
			var name string
			must(t, s.Pool.QueryRow(t.Context(), `SELECT format_type($1::oid, NULL)`, field.DataTypeOID).Scan(&name))
			found = append(found, field.Name+" "+name)
		}
		return found
	}
	for sql, absent := range map[string]*data.Handle{`SELECT e.* FROM tenant.edge AS e`: index.WithoutEdges(h), `SELECT t.* FROM tenant.term AS t`: i.Terms(h),
		`SELECT t.* FROM tenant.topic AS t`: index.WithoutTopics(h), `SELECT m.* FROM tenant.member AS m`: index.WithoutTopics(h)} {
		if diff := cmp.Diff(columns(h, sql), columns(absent, sql)); diff != "" {
			t.Errorf("%s: %s", sql, diff)
		}
	}
}

package service_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/dataset/synthetic"
	"github.com/ragdhq/ragd/internal/service/testing/pgtest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// BenchmarkCitus compares a tenant in a database of one server with one in a Citus cluster, of the same service. It
// reports the median time of a call and its ratio to that on one server. Run it with hack/test-citus.sh.
func BenchmarkCitus(b *testing.B) {
	const vectors, documents = 5000, 200
	cluster, single := pgtest.Cluster(b)
	s := servicetest.New(b, service.Config{ListBytes: -1, AdminPool: pgtest.OpenPool(b, single), MasterKeys: servicetest.Keys(b)})
	s.Register(b, "cluster", cluster)
	stored := synthetic.Vectors(vectors, 1)
	clients := map[string]servicetest.Client{}
	places := []string{"main", "cluster"}
	for _, place := range places {
		c := s.TenantIn(b, place, "in-"+place)
		clients[place] = c
		if _, err := c.CreateIndex(b.Context(), &ragdv1.CreateIndexRequest{IndexName: "vectors", Dimension: synthetic.Dimension}); err != nil {
			b.Fatal(err)
		}
		for from := 0; from < vectors; from += 500 {
			if _, err := c.Upsert(b.Context(), entries(b, stored, from, from+500)); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := c.BuildIndex(b.Context(), &ragdv1.BuildIndexRequest{IndexName: "vectors"}); err != nil {
			b.Fatal(err)
		}
		c.Index(b, "docs")
		var all []*ragdv1.UploadDocumentRequest
		for n := range documents {
			all = append(all, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: fmt.Sprint("old-", n), Source: servicetest.Text(passage(n))})
		}
		c.UploadAll(b, all)
		c.AwaitAll(b, "docs")
		wait.For(b, "an answer by the Postgres index", func() bool {
			res, err := c.Query(b.Context(), &ragdv1.QueryRequest{IndexName: "vectors", QueryVector: stored[0], Explain: true})
			if err != nil {
				b.Fatal(err)
			}
			return res.Explain.Plan == "approximate"
		})
	}
	uploaded := 0
	for _, call := range []struct {
		name string
		do   func(c servicetest.Client, n int) error
	}{
		{"vector", func(c servicetest.Client, n int) error {
			_, err := c.Query(b.Context(), &ragdv1.QueryRequest{IndexName: "vectors", QueryVector: stored[n%vectors]})
			return err
		}},
		{"hybrid", func(c servicetest.Client, n int) error {
			_, err := c.VectorQuery(b.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: fmt.Sprint("the harbour of town ", n%documents), SearchMode: "hybrid"})
			return err
		}},
		{"upsert of 100", func(c servicetest.Client, n int) error {
			from := n * 100 % vectors
			_, err := c.Upsert(b.Context(), entries(b, stored, from, from+100))
			return err
		}},
		{"document until ready", func(c servicetest.Client, _ int) error {
			uploaded++
			c.Upload(b, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: fmt.Sprint("new-", uploaded), Source: servicetest.Text(passage(uploaded))})
			return nil
		}},
	} {
		var floor time.Duration
		for _, place := range places {
			b.Run(call.name+"/"+place, func(b *testing.B) {
				var took []time.Duration
				for b.Loop() {
					begun := time.Now()
					if err := call.do(clients[place], len(took)); err != nil {
						b.Fatal(err)
					}
					took = append(took, time.Since(begun))
				}
				slices.Sort(took)
				median := took[len(took)/2]
				if place == "main" {
					floor = median
				}
				b.ReportMetric(float64(median.Microseconds())/1000, "p50-ms")
				b.ReportMetric(float64(median)/float64(max(floor, 1)), "x-one-server")
			})
		}
	}
}

// entries returns a request that stores some of the vectors.
func entries(b *testing.B, vectors [][]float32, from, to int) *ragdv1.UpsertRequest {
	b.Helper()
	req := &ragdv1.UpsertRequest{IndexName: "vectors"}
	for n := from; n < to; n++ {
		metadata, err := structpb.NewStruct(synthetic.Metadata(n))
		if err != nil {
			b.Fatal(err)
		}
		req.Entries = append(req.Entries, &ragdv1.Entry{Id: fmt.Sprint(n), Values: vectors[n], Metadata: metadata})
	}
	return req
}

// passage returns a text of some chunks.
func passage(n int) string {
	return strings.Repeat(fmt.Sprintf("The harbour of town %d has %d berths for ships that carry grain. ", n, n%17), 60)
}

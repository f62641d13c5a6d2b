package query_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/dataset/synthetic"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// Scans that are far too narrow miss half of the nearest chunks. Landmarks show it, and the scan is made again, wider. Chunks
// that are no more cost one wider scan, and none of the others.
func TestLandmarksShowWhatAScanMissed(t *testing.T) {
	t.Parallel()
	const chunks, dimension = 2500, 16 // of so short vectors all those of a sample are landmarks: two fifths of the chunks
	ctx := t.Context()
	s := servicetest.New(t, service.Config{ListBytes: -1})
	c := s.Tenant(t, "acme")
	if _, err := c.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: "v", Dimension: dimension}); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	draw := func(n int) [][]float32 {
		out := make([][]float32, n)
		for i := range out {
			out[i] = make([]float32, dimension)
			for d := range out[i] {
				out[i][d] = float32(r.NormFloat64())
			}
		}
		return out
	}
	values, questions := draw(chunks), draw(100)
	entries := make([]*ragdv1.Entry, chunks)
	for n, v := range values {
		entries[n] = &ragdv1.Entry{Id: fmt.Sprint(n), Values: v, Document: fmt.Sprintf("Harbour %d has %d stones.", n, n%7)}
	}
	if _, err := c.Upsert(ctx, &ragdv1.UpsertRequest{IndexName: "v", Entries: entries}); err != nil {
		t.Fatal(err)
	}
	awaitBuilt(t, c, "v", questions[0])
	wait.For(t, "the search width to be measured", func() (done bool) {
		if err := s.Pool.QueryRow(ctx, `SELECT search_width > 0 AND build_job_id IS NULL FROM tenant_acme.indexes`).Scan(&done); err != nil {
			t.Fatal(err)
		}
		return done
	})
	setWidth := func(width int32) {
		t.Helper()
		if _, err := s.Pool.Exec(ctx, `
			UPDATE tenant_acme.indexes SET search_width = $1::int, recall_curve = jsonb_build_object(
				'target', recall_target, 'points', jsonb_build_array(jsonb_build_object('width', $1::int, 'recall', 1, 'variance', 0, 'questions', 1000)))`, width); err != nil {
			t.Fatal(err)
		}
		wait.For(t, "the service to know the width", func() bool {
			res, err := c.Query(ctx, &ragdv1.QueryRequest{IndexName: "v", QueryVector: questions[0], TopK: proto.Int32(1), Explain: true})
			if err != nil {
				t.Fatal(err)
			}
			for w := width; w < 1000; w *= 4 { // the search may have widened it
				if w == res.Explain.SearchWidth {
					return true
				}
			}
			return false
		})
	}

	setWidth(1)
	right := func(config *ragdv1.DatabaseConfig) (n int) {
		for _, q := range questions {
			res, err := c.Query(ctx, &ragdv1.QueryRequest{IndexName: "v", QueryVector: q, TopK: proto.Int32(1), DatabaseConfig: config})
			if err != nil {
				t.Fatal(err)
			}
			if len(res.Results) == 1 && res.Results[0].Id == fmt.Sprint(synthetic.Nearest(values, q, "", 1)[0]) {
				n++
			}
		}
		return n
	}
	named := right(&ragdv1.DatabaseConfig{Pgvector: &ragdv1.PgVectorConfig{Ef: proto.Int32(1)}})
	if guarded := right(nil); guarded < named+(len(questions)-named)/4 {
		t.Errorf("of %d nearest chunks a width of 1 finds %d, with landmarks %d", len(questions), named, guarded)
	}

	const width = 200 // finds all there is
	setWidth(width)
	for _, mode := range []string{"vector", "hybrid"} {
		widened := func(questions [][]float32) (n int) {
			for _, q := range questions {
				res, err := c.VectorQuery(ctx, &ragdv1.VectorQueryRequest{
					IndexName: "v", QueryVector: q, QueryText: "seven harbour stones", SearchMode: mode, TopK: proto.Int32(1), Explain: true,
				})
				if err != nil {
					t.Fatal(err)
				}
				if res.Explain.SearchWidth > width {
					n++
				}
			}
			return n
		}
		if n := widened(questions); n > 0 {
			t.Errorf("%s: %d searches are made again though they missed nothing", mode, n)
		}
		deleted := values[len(values)-40:]
		ids := make([]string, len(deleted))
		for n := range deleted {
			ids[n] = fmt.Sprint(len(values) - len(deleted) + n)
		}
		if _, err := c.Delete(ctx, &ragdv1.DeleteRequest{IndexName: "v", Ids: ids}); err != nil {
			t.Fatal(err)
		}
		values = values[:len(values)-len(deleted)]
		if first, again := widened(deleted), widened(deleted); first == 0 || again > 0 {
			t.Errorf("%s: of %d deleted chunks %d are missed at first, and %d again", mode, len(deleted), first, again)
		}
	}
}

package rpc_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// vectors creates an index whose vectors the caller supplies.
func vectors(t *testing.T, c servicetest.Client, req *ragdv1.CreateIndexRequest) {
	t.Helper()
	if _, err := c.CreateIndex(t.Context(), req); err != nil {
		t.Fatal(err)
	}
}

func upsert(t *testing.T, c servicetest.Client, req *ragdv1.UpsertRequest) []string {
	t.Helper()
	res, err := c.Upsert(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return res.Ids
}

// nearest returns the ids that a query returns, in order.
func nearest(t *testing.T, c servicetest.Client, req *ragdv1.QueryRequest) []string {
	t.Helper()
	res, err := c.Query(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, r := range res.Results {
		ids = append(ids, r.Id)
	}
	return ids
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func value(t *testing.T, v any) *structpb.Value {
	t.Helper()
	out, err := structpb.NewValue(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// count returns the number of vectors in the index, as DescribeIndex reports it.
func count(t *testing.T, c servicetest.Client, name string) int32 {
	t.Helper()
	d, err := c.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: name})
	if err != nil {
		t.Fatal(err)
	}
	return d.Count
}

func TestVectorsAreStoredAndFound(t *testing.T) {
	t.Parallel()
	acme := servicetest.New(t, service.Config{NoWorkers: true}).Tenant(t, "acme")
	vectors(t, acme, &ragdv1.CreateIndexRequest{IndexName: "v", Dimension: 2})
	entry := func(id string, x, y float32, kind string) *ragdv1.Entry {
		return &ragdv1.Entry{Id: id, Values: []float32{x, y}, Metadata: servicetest.Object(t, map[string]any{"kind": kind})}
	}
	east := &ragdv1.QueryRequest{IndexName: "v", QueryVector: []float32{1, 0}}

	ids := upsert(t, acme, &ragdv1.UpsertRequest{IndexName: "v", Entries: []*ragdv1.Entry{
		entry("b/2 ü'\"", 0, 1, "north"), entry("a", 1, 0, "north"), entry("", -1, 0, "west"), entry("a", 1, 0.1, "east"), entry("zero", 0, 0, "none"),
	}})
	if len(ids) != 5 || ids[0] != "b/2 ü'\"" || ids[1] != "a" || ids[2] == "" || ids[3] != "a" {
		t.Fatalf("ids = %q", ids)
	}
	same(t, "count", count(t, acme, "v"), int32(4))
	same(t, "nearest first, what has no direction last", nearest(t, acme, east), []string{"a", "b/2 ü'\"", ids[2], "zero"})

	res, err := acme.Query(t.Context(), &ragdv1.QueryRequest{
		IndexName: "v", QueryVector: []float32{1, 0}, Filter: value(t, map[string]any{"kind": "east"}), IncludeVector: true, Explain: true,
	})
	if err != nil || len(res.Results) != 1 {
		t.Fatalf("filtered: %v, %v", res, err)
	}
	same(t, "vector", res.Results[0].Vector, []float32{1, 0.1})
	same(t, "the last of a call wins", res.Results[0].Metadata.AsMap(), map[string]any{"kind": "east"})
	if want := 1 / math.Sqrt(1.01); math.Abs(res.Results[0].Score-want) > 1e-6 {
		t.Errorf("score = %v, want %v", res.Results[0].Score, want)
	}
	if !res.Explain.Exact || !res.Explain.Complete || res.Explain.Plan != "exact" {
		t.Errorf("explain = %v", res.Explain)
	}

	least := 0.0
	same(t, "minScore is strict", nearest(t, acme, &ragdv1.QueryRequest{IndexName: "v", QueryVector: []float32{1, 0}, MinScore: &least}), []string{"a"})
	least = -1
	same(t, "minScore hides exact opposites only when given", len(nearest(t, acme, &ragdv1.QueryRequest{IndexName: "v", QueryVector: []float32{1, 0}, MinScore: &least})), 2)
	same(t, "without a vector, by id", nearest(t, acme, &ragdv1.QueryRequest{IndexName: "v", Filter: value(t, map[string]any{"kind": map[string]any{"$in": []any{"east", "north"}}})}), []string{"a", "b/2 ü'\""})

	upsert(t, acme, &ragdv1.UpsertRequest{IndexName: "v", Namespace: "other", Entries: []*ragdv1.Entry{entry("a", 1, 0, "elsewhere")}})
	same(t, "another namespace", nearest(t, acme, &ragdv1.QueryRequest{IndexName: "v", QueryVector: []float32{1, 0}, Namespace: "other"}), []string{"a"})
	same(t, "the default namespace", nearest(t, acme, east)[0], "a")
	same(t, "pinecone's namespace, for a store named pinecone", nearest(t, acme, &ragdv1.QueryRequest{
		IndexName: "v", QueryVector: []float32{1, 0}, VectorStoreName: "pinecone",
		DatabaseConfig: &ragdv1.DatabaseConfig{Pinecone: &ragdv1.PineconeConfig{Namespace: "other"}},
	}), []string{"a"})
	ignored, err := acme.Query(t.Context(), &ragdv1.QueryRequest{
		IndexName: "v", QueryVector: []float32{1, 0}, DatabaseConfig: &ragdv1.DatabaseConfig{Pinecone: &ragdv1.PineconeConfig{Namespace: "other"}},
	})
	if err != nil || len(ignored.Results) != 4 || len(ignored.Warnings) != 1 {
		t.Errorf("a pinecone block for another store: %v, %v", ignored, err)
	}

	changed, err := acme.Update(t.Context(), &ragdv1.UpdateRequest{IndexName: "v", Id: "a", Metadata: servicetest.Object(t, map[string]any{"new": true})})
	if err != nil || changed.UpdatedCount != 1 {
		t.Fatalf("Update = %v, %v", changed, err)
	}
	if _, err := acme.Update(t.Context(), &ragdv1.UpdateRequest{IndexName: "v", Filter: value(t, map[string]any{"kind": "west"}), Values: []float32{1, 0}}); err != nil {
		t.Fatal(err)
	}
	same(t, "updated by filter", nearest(t, acme, east)[0], ids[2])
	same(t, "metadata is replaced as a whole", nearest(t, acme, &ragdv1.QueryRequest{IndexName: "v", Filter: value(t, map[string]any{"kind": map[string]any{"$exists": false}})}), []string{"a"})

	upsert(t, acme, &ragdv1.UpsertRequest{
		IndexName: "v", DeleteFilter: value(t, map[string]any{"kind": "north"}), Entries: []*ragdv1.Entry{entry("c", 1, 1, "north")},
	})
	same(t, "deleteFilter first, then the entries", nearest(t, acme, &ragdv1.QueryRequest{IndexName: "v", Filter: value(t, map[string]any{"kind": "north"})}), []string{"c"})
	deleted, err := acme.Delete(t.Context(), &ragdv1.DeleteRequest{IndexName: "v", Ids: []string{"c", "unknown", "a"}})
	if err != nil || deleted.DeletedCount != 2 {
		t.Errorf("Delete = %v, %v", deleted, err)
	}
	same(t, "count", count(t, acme, "v"), int32(3))
	deleted, err = acme.Delete(t.Context(), &ragdv1.DeleteRequest{IndexName: "v", Namespace: "other"})
	if err != nil || deleted.DeletedCount != 1 {
		t.Errorf("Delete a namespace = %v, %v", deleted, err)
	}
	same(t, "count", count(t, acme, "v"), int32(2))
}

func TestVectorTypesAndMetrics(t *testing.T) {
	t.Parallel()
	acme := servicetest.New(t, service.Config{NoWorkers: true}).Tenant(t, "acme")
	for n, tc := range []struct {
		vectorType, metric string
		stored, asked      []float32
		score              float64
	}{
		{"vector", "cosine", []float32{3, 4, 0}, []float32{1, 0, 0}, 0.6},
		{"vector", "euclidean", []float32{3, 4, 0}, []float32{0, 0, 0}, 1.0 / 6},
		{"vector", "dotproduct", []float32{3, 4, 0}, []float32{2, 1, 0}, 10},
		{"halfvec", "cosine", []float32{3, 4, 0}, []float32{1, 0, 0}, 0.6},
		{"halfvec", "euclidean", []float32{3, 4, 0}, []float32{0, 0, 0}, 1.0 / 6},
		{"halfvec", "dotproduct", []float32{3, 4, 0}, []float32{2, 1, 0}, 10},
		{"sparsevec", "cosine", []float32{3, 4, 0}, []float32{1, 0, 0}, 0.6},
		{"sparsevec", "euclidean", []float32{3, 4, 0}, []float32{0, 0, 0}, 1.0 / 6},
		{"sparsevec", "dotproduct", []float32{3, 4, 0}, []float32{2, 1, 0}, 10},
		{"bit", "hamming", []float32{1, 1, 0}, []float32{1, 0, 0}, 2.0 / 3},
		{"bit", "jaccard", []float32{1, 1, 0}, []float32{1, 0, 0}, 0.5},
	} {
		name := fmt.Sprintf("i%d", n)
		vectors(t, acme, &ragdv1.CreateIndexRequest{IndexName: name, Dimension: 3, VectorType: tc.vectorType, Metric: tc.metric})
		upsert(t, acme, &ragdv1.UpsertRequest{IndexName: name, Entries: []*ragdv1.Entry{{Id: "a", Values: tc.stored}}})
		res, err := acme.Query(t.Context(), &ragdv1.QueryRequest{IndexName: name, QueryVector: tc.asked, IncludeVector: true})
		if err != nil || len(res.Results) != 1 {
			t.Errorf("%s %s: %v, %v", tc.vectorType, tc.metric, res, err)
			continue
		}
		if math.Abs(res.Results[0].Score-tc.score) > 1e-6 {
			t.Errorf("%s %s scores %v, want %v", tc.vectorType, tc.metric, res.Results[0].Score, tc.score)
		}
		same(t, tc.vectorType, res.Results[0].Vector, tc.stored)
	}
	sparse := &ragdv1.SparseVector{Indices: []uint32{1}, Values: []float32{2}}
	upsert(t, acme, &ragdv1.UpsertRequest{IndexName: "i6", Entries: []*ragdv1.Entry{{Id: "b", SparseValues: sparse}}})
	same(t, "a sparse question", nearest(t, acme, &ragdv1.QueryRequest{
		IndexName: "i6", VectorStoreName: "pinecone", DatabaseConfig: &ragdv1.DatabaseConfig{Pinecone: &ragdv1.PineconeConfig{SparseVector: sparse}},
	}), []string{"b", "a"})
	for what, req := range map[string]struct {
		sparse *ragdv1.SparseVector
		dense  []float32
	}{
		"a dimension twice":      {sparse: &ragdv1.SparseVector{Indices: []uint32{1, 1}, Values: []float32{2, 3}}},
		"what is no number":      {sparse: &ragdv1.SparseVector{Indices: []uint32{1}, Values: []float32{float32(math.NaN())}}},
		"two questions":          {sparse: sparse, dense: []float32{1, 0}},
		"a value without number": {sparse: &ragdv1.SparseVector{Values: []float32{2}}},
	} {
		_, err := acme.Query(t.Context(), &ragdv1.QueryRequest{
			IndexName: "i6", VectorStoreName: "pinecone", QueryVector: req.dense,
			DatabaseConfig: &ragdv1.DatabaseConfig{Pinecone: &ragdv1.PineconeConfig{SparseVector: req.sparse}},
		})
		servicetest.WantCode(t, what, err, connect.CodeInvalidArgument)
		same(t, what, fieldOf(err), "databaseConfig.pinecone.sparseVector")
	}
	d, err := acme.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "wide", Dimension: 3072})
	if err != nil || d.VectorType != "halfvec" {
		t.Errorf("3,072 dimensions: %v, %v", d, err)
	}
}

// random returns unit vectors around a few centres, distributed like embeddings.
func random(n, dimension int, seed uint64) [][]float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	centres := make([][]float32, 50)
	fill := func(spread float64, from []float32) []float32 {
		v := make([]float32, dimension)
		for i := range v {
			v[i] = float32(r.NormFloat64() * spread)
			if from != nil {
				v[i] += from[i]
			}
		}
		return v
	}
	for i := range centres {
		centres[i] = fill(1, nil)
	}
	out := make([][]float32, n)
	for i := range out {
		out[i] = fill(0.7, centres[r.IntN(len(centres))])
	}
	return out
}

// load upserts vectors whose metadata has their number n and the bucket n % 100.
func load(t testing.TB, c servicetest.Client, index string, values [][]float32) {
	t.Helper()
	const batch = 1000
	for from := 0; from < len(values); from += batch {
		req := &ragdv1.UpsertRequest{IndexName: index}
		for n := from; n < min(from+batch, len(values)); n++ {
			metadata, err := structpb.NewStruct(map[string]any{"n": float64(n), "bucket": float64(n % 100)})
			if err != nil {
				t.Fatal(err)
			}
			req.Entries = append(req.Entries, &ragdv1.Entry{Id: fmt.Sprintf("%06d", n), Values: values[n], Metadata: metadata})
		}
		if _, err := c.Upsert(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitPlan waits until a query reports the plan.
func awaitPlan(t testing.TB, c servicetest.Client, index string, question []float32, plan string) {
	t.Helper()
	wait.For(t, "the plan "+plan, func() bool {
		res, err := c.Query(t.Context(), &ragdv1.QueryRequest{IndexName: index, QueryVector: question, Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		d, err := c.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: index})
		if err != nil {
			t.Fatal(err)
		}
		return res.Explain.Plan == plan && d.Status == "ready"
	})
}

func TestIndexesAreBuiltOnceTheyAreLargeEnough(t *testing.T) {
	t.Parallel()
	acme := servicetest.New(t, service.Config{ListBytes: -1}).Tenant(t, "acme")
	values := random(3000, 16, 1)
	for _, tc := range []*ragdv1.CreateIndexRequest{
		{IndexName: "hnsw", Dimension: 16},
		{IndexName: "half", Dimension: 16, VectorType: "halfvec", Metric: "dotproduct"},
		{IndexName: "ivf", Dimension: 16, Metric: "euclidean", IndexConfig: &ragdv1.IndexConfig{Type: "ivfflat"}},
		{IndexName: "sparse", Dimension: 16, VectorType: "sparsevec"},
	} {
		t.Run(tc.IndexName, func(t *testing.T) {
			t.Parallel()
			vectors(t, acme, tc)
			load(t, acme, tc.IndexName, values)
			ask := &ragdv1.QueryRequest{IndexName: tc.IndexName, QueryVector: values[7], Explain: true}
			exact := nearest(t, acme, ask)
			awaitPlan(t, acme, tc.IndexName, values[7], "approximate")
			found := map[string]bool{}
			for _, id := range nearest(t, acme, ask) {
				found[id] = true
			}
			missed := 0
			for _, id := range exact {
				if !found[id] {
					missed++
				}
			}
			if missed > 1 {
				t.Errorf("the Postgres index misses %d of 10", missed)
			}
			same(t, "few match, all are found", nearest(t, acme, &ragdv1.QueryRequest{
				IndexName: tc.IndexName, QueryVector: values[7], Filter: value(t, map[string]any{"n": map[string]any{"$in": []any{1.0, 2.0, 2999.0}}}),
			}) != nil, true)
		})
	}
}

func TestIndexLifecycle(t *testing.T) {
	t.Parallel()
	acme := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	vectors(t, acme, &ragdv1.CreateIndexRequest{IndexName: "v", Dimension: 8, MetadataIndexes: []string{"n"}})
	values := random(300, 8, 2)
	load(t, acme, "v", values)

	built, err := acme.BuildIndex(t.Context(), &ragdv1.BuildIndexRequest{IndexName: "v"})
	if err != nil {
		t.Fatal(err)
	}
	job := await(t, acme, built.JobId, "succeeded")
	if job.Kind != "build" || job.Progress.Done != 300 || job.Progress.Unit != "vectors" {
		t.Errorf("job = %v", job)
	}

	changed, err := acme.UpdateIndex(t.Context(), &ragdv1.UpdateIndexRequest{
		IndexName: "v", IndexConfig: &ragdv1.IndexConfig{Type: "flat"}, MetadataIndexes: &ragdv1.MetadataIndexes{Fields: []string{"bucket", "a'b"}},
	})
	if err != nil || changed.IndexConfig.Type != "flat" || !cmp.Equal(changed.MetadataIndexes, []string{"bucket", "a'b"}) {
		t.Fatalf("UpdateIndex = %v, %v", changed, err)
	}
	awaitPlan(t, acme, "v", values[0], "exact")
	_, err = acme.BuildIndex(t.Context(), &ragdv1.BuildIndexRequest{IndexName: "v"})
	servicetest.WantCode(t, "building a flat index", err, connect.CodeFailedPrecondition)
	same(t, "a filter on an indexed field", nearest(t, acme, &ragdv1.QueryRequest{
		IndexName: "v", Filter: value(t, map[string]any{"bucket": map[string]any{"$lt": 1.0}}),
	}), []string{"000000", "000100", "000200"})

	if _, err := acme.TruncateIndex(t.Context(), &ragdv1.TruncateIndexRequest{IndexName: "v"}); err != nil {
		t.Fatal(err)
	}
	same(t, "count", count(t, acme, "v"), int32(0))
	same(t, "nothing is left", nearest(t, acme, &ragdv1.QueryRequest{IndexName: "v", QueryVector: values[0]}), []string{})
	load(t, acme, "v", values[:10])
	same(t, "count", count(t, acme, "v"), int32(10))
}

func TestVectorErrors(t *testing.T) {
	t.Parallel()
	acme := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	vectors(t, acme, &ragdv1.CreateIndexRequest{IndexName: "v", Dimension: 2})
	vectors(t, acme, &ragdv1.CreateIndexRequest{IndexName: "bits", Dimension: 2, VectorType: "bit"})
	acme.Index(t, "docs")
	d := acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Source: servicetest.Text("a document")})
	ctx := t.Context()
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	upsert := func(index string, values []float32) func() error {
		return func() error {
			_, err := acme.Upsert(ctx, &ragdv1.UpsertRequest{IndexName: index, Entries: []*ragdv1.Entry{{Id: "x", Values: values}}})
			return err
		}
	}
	query := func(req *ragdv1.QueryRequest) func() error {
		return func() error { req.IndexName = "v"; _, err := acme.Query(ctx, req); return err }
	}
	update := func(req *ragdv1.UpdateRequest) func() error {
		return func() error { req.IndexName = "v"; _, err := acme.Update(ctx, req); return err }
	}
	remove := func(req *ragdv1.DeleteRequest) func() error {
		return func() error { req.IndexName = "v"; _, err := acme.Delete(ctx, req); return err }
	}
	empty, nothing := value(t, map[string]any{}), value(t, map[string]any{"$and": []any{}})
	zero, minus, huge := int32(0), int32(-1), int32(1_000_000_000)
	for _, tc := range []struct {
		name string
		call func() error
		code connect.Code
		text string
	}{
		{"NaN", upsert("v", []float32{1, nan}), connect.CodeInvalidArgument, "not a finite number at position 1"},
		{"infinity", upsert("v", []float32{inf, 1}), connect.CodeInvalidArgument, "not a finite number at position 0"},
		{"another dimension", upsert("v", []float32{1, 2, 3}), connect.CodeInvalidArgument, `has 3 dimensions, but index "v" has 2`},
		{"no bit", upsert("bits", []float32{1, 2}), connect.CodeInvalidArgument, "send 0 or 1"},
		{"an unknown index", upsert("nope", []float32{1, 2}), connect.CodeNotFound, "nope"},
		{"no entries", func() error { _, err := acme.Upsert(ctx, &ragdv1.UpsertRequest{IndexName: "v"}); return err }, connect.CodeInvalidArgument, "entries"},
		{"an empty deleteFilter", func() error {
			_, err := acme.Upsert(ctx, &ragdv1.UpsertRequest{IndexName: "v", DeleteFilter: empty, Entries: []*ragdv1.Entry{{Values: []float32{1, 2}}}})
			return err
		}, connect.CodeInvalidArgument, "empty filter"},
		{"a chunk of a document", func() error {
			_, err := acme.Upsert(ctx, &ragdv1.UpsertRequest{IndexName: "docs", Entries: []*ragdv1.Entry{{Id: d.DocumentId + ":0", Values: make([]float32, 512)}}})
			return err
		}, connect.CodePermissionDenied, "chunks of documents"},
		{"sparse values for dense vectors", func() error {
			_, err := acme.Upsert(ctx, &ragdv1.UpsertRequest{IndexName: "v", Entries: []*ragdv1.Entry{{SparseValues: &ragdv1.SparseVector{}}}})
			return err
		}, connect.CodeInvalidArgument, "not sparsevec"},

		{"query NaN", query(&ragdv1.QueryRequest{QueryVector: []float32{nan, 1}}), connect.CodeInvalidArgument, "queryVector"},
		{"query of another dimension", query(&ragdv1.QueryRequest{QueryVector: []float32{1}}), connect.CodeInvalidArgument, "has 1 dimensions"},
		{"neither vector nor filter", query(&ragdv1.QueryRequest{}), connect.CodeInvalidArgument, "Either queryVector or filter"},
		{"topK 0", query(&ragdv1.QueryRequest{QueryVector: []float32{1, 0}, TopK: &zero}), connect.CodeInvalidArgument, "topK"},
		{"topK -1", query(&ragdv1.QueryRequest{QueryVector: []float32{1, 0}, TopK: &minus}), connect.CodeInvalidArgument, "topK"},
		{"topK 10^9", query(&ragdv1.QueryRequest{QueryVector: []float32{1, 0}, TopK: &huge}), connect.CodeInvalidArgument, "topK"},
		{"an unknown operator", query(&ragdv1.QueryRequest{QueryVector: []float32{1, 0}, Filter: value(t, map[string]any{"a": map[string]any{"$near": 1.0}})}), connect.CodeInvalidArgument, "Unsupported operator"},
		{"ef 0", query(&ragdv1.QueryRequest{QueryVector: []float32{1, 0}, DatabaseConfig: &ragdv1.DatabaseConfig{Pgvector: &ragdv1.PgVectorConfig{Ef: &zero}}}), connect.CodeInvalidArgument, "databaseConfig.pgvector.ef"},
		{"a namespace with a null character", query(&ragdv1.QueryRequest{QueryVector: []float32{1, 0}, Namespace: "a\x00"}), connect.CodeInvalidArgument, "namespace"},

		{"update of nothing", update(&ragdv1.UpdateRequest{Values: []float32{1, 0}}), connect.CodeInvalidArgument, "Either id or filter must be provided"},
		{"update of both", update(&ragdv1.UpdateRequest{Id: "a", Filter: empty, Values: []float32{1, 0}}), connect.CodeInvalidArgument, "mutually exclusive"},
		{"update without a change", update(&ragdv1.UpdateRequest{Id: "a"}), connect.CodeInvalidArgument, "No updates provided"},
		{"update of everything", update(&ragdv1.UpdateRequest{Filter: nothing, Values: []float32{1, 0}}), connect.CodeInvalidArgument, "empty filter"},
		{"update of an unknown id", update(&ragdv1.UpdateRequest{Id: "unknown", Values: []float32{1, 0}}), 0, ""},

		{"delete nothing", remove(&ragdv1.DeleteRequest{}), connect.CodeInvalidArgument, "Either filter or ids must be provided"},
		{"delete no ids", remove(&ragdv1.DeleteRequest{}), connect.CodeInvalidArgument, "empty ids array"},
		{"delete everything", remove(&ragdv1.DeleteRequest{Filter: empty}), connect.CodeInvalidArgument, "empty filter"},
		{"delete everything in disguise", remove(&ragdv1.DeleteRequest{Filter: nothing}), connect.CodeInvalidArgument, "empty filter"},
		{"delete both", remove(&ragdv1.DeleteRequest{Filter: empty, Ids: []string{"a"}}), connect.CodeInvalidArgument, "mutually exclusive"},
		{"delete an unknown id", remove(&ragdv1.DeleteRequest{Ids: []string{"unknown"}}), 0, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.call()
			if tc.code == 0 {
				if err != nil {
					t.Error(err)
				}
				return
			}
			servicetest.WantCode(t, tc.name, err, tc.code)
			if err != nil && !strings.Contains(err.Error(), tc.text) {
				t.Errorf("error %q does not say %q", err, tc.text)
			}
		})
	}
}

// Calls of one tenant do not touch another tenant's index of the same name.
func TestVectorsOfTenantsAreApart(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	for _, c := range []servicetest.Client{acme, bolt} {
		vectors(t, c, &ragdv1.CreateIndexRequest{IndexName: "v", Dimension: 2})
	}
	entries := []*ragdv1.Entry{{Id: "a", Values: []float32{1, 0}, Metadata: servicetest.Object(t, map[string]any{"k": "x"}), Document: "theirs"}}
	upsert(t, bolt, &ragdv1.UpsertRequest{IndexName: "v", Entries: entries})
	ctx := t.Context()
	filter := value(t, map[string]any{"k": "x"})

	same(t, "Query", nearest(t, acme, &ragdv1.QueryRequest{IndexName: "v", QueryVector: []float32{1, 0}}), []string{})
	same(t, "Query by filter", nearest(t, acme, &ragdv1.QueryRequest{IndexName: "v", Filter: filter}), []string{})
	if res, err := acme.Update(ctx, &ragdv1.UpdateRequest{IndexName: "v", Filter: filter, Values: []float32{0, 1}}); err != nil || res.UpdatedCount != 0 {
		t.Errorf("Update = %v, %v", res, err)
	}
	if res, err := acme.Delete(ctx, &ragdv1.DeleteRequest{IndexName: "v", Ids: []string{"a"}}); err != nil || res.DeletedCount != 0 {
		t.Errorf("Delete = %v, %v", res, err)
	}
	upsert(t, acme, &ragdv1.UpsertRequest{IndexName: "v", DeleteFilter: filter, Entries: []*ragdv1.Entry{{Id: "a", Values: []float32{0, 1}}}})
	for what, call := range map[string]func() error{
		"UpdateIndex": func() error {
			_, err := acme.UpdateIndex(ctx, &ragdv1.UpdateIndexRequest{IndexName: "v", IndexConfig: &ragdv1.IndexConfig{Type: "flat"}})
			return err
		},
		"TruncateIndex": func() error {
			_, err := acme.TruncateIndex(ctx, &ragdv1.TruncateIndexRequest{IndexName: "v"})
			return err
		},
	} {
		if err := call(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	theirs, err := bolt.Query(ctx, &ragdv1.QueryRequest{IndexName: "v", QueryVector: []float32{1, 0}, IncludeVector: true})
	if err != nil || len(theirs.Results) != 1 || theirs.Results[0].Document != "theirs" {
		t.Fatalf("bolt's vectors = %v, %v", theirs, err)
	}
	same(t, "bolt's vector", theirs.Results[0].Vector, []float32{1, 0})
	same(t, "bolt's count", count(t, bolt, "v"), int32(1))
	d, err := bolt.DescribeIndex(ctx, &ragdv1.DescribeIndexRequest{IndexName: "v"})
	if err != nil || d.IndexConfig.Type != "hnsw" {
		t.Errorf("bolt's index = %v, %v", d, err)
	}
	vectors(t, bolt, &ragdv1.CreateIndexRequest{IndexName: "only bolt's"[:4], Dimension: 2})
	_, err = acme.BuildIndex(ctx, &ragdv1.BuildIndexRequest{IndexName: "only"})
	servicetest.WantCode(t, "BuildIndex", err, connect.CodeNotFound)
}

// A credential's mandatory filter applies to changes of vectors, too.
func TestMandatoryFilterOnVectors(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	vectors(t, acme, &ragdv1.CreateIndexRequest{IndexName: "v", Dimension: 2})
	team := func(name string) *structpb.Struct { return servicetest.Object(t, map[string]any{"team": name}) }
	upsert(t, acme, &ragdv1.UpsertRequest{IndexName: "v", Entries: []*ragdv1.Entry{
		{Id: "red", Values: []float32{1, 0}, Metadata: team("red")}, {Id: "blue", Values: []float32{1, 0}, Metadata: team("blue")},
	}})
	red := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"write"}, MandatoryFilter: team("red")}))
	ctx := t.Context()
	same(t, "Query", nearest(t, red, &ragdv1.QueryRequest{IndexName: "v", QueryVector: []float32{1, 0}}), []string{"red"})
	if res, err := red.Update(ctx, &ragdv1.UpdateRequest{IndexName: "v", Id: "blue", Values: []float32{0, 1}}); err != nil || res.UpdatedCount != 0 {
		t.Errorf("Update = %v, %v", res, err)
	}
	if res, err := red.Delete(ctx, &ragdv1.DeleteRequest{IndexName: "v", Ids: []string{"red", "blue"}}); err != nil || res.DeletedCount != 1 {
		t.Errorf("Delete = %v, %v", res, err)
	}
	_, err := red.Upsert(ctx, &ragdv1.UpsertRequest{IndexName: "v", Entries: []*ragdv1.Entry{{Id: "blue", Values: []float32{0, 1}, Metadata: team("red")}}})
	servicetest.WantCode(t, "Upsert over what is hidden", err, connect.CodePermissionDenied)
}

// A credential with a mandatory filter writes no vector that it could not read, and moves
// none out of the filter.
func TestMandatoryFilterBoundsVectorWrites(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	vectors(t, acme, &ragdv1.CreateIndexRequest{IndexName: "v", Dimension: 2})
	team := func(name string) *structpb.Struct { return servicetest.Object(t, map[string]any{"team": name}) }
	all := value(t, map[string]any{"team": map[string]any{"$in": []any{"red", "blue"}}})
	upsert(t, acme, &ragdv1.UpsertRequest{IndexName: "v", Entries: []*ragdv1.Entry{
		{Id: "red", Values: []float32{1, 0}, Metadata: team("red")}, {Id: "blue", Values: []float32{1, 0}, Metadata: team("blue")},
	}})
	red := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"write"}, MandatoryFilter: team("red")}))
	ctx := t.Context()
	for name, metadata := range map[string]*structpb.Struct{"another team's": team("blue"), "no team": nil, "a list": servicetest.Object(t, map[string]any{"team": []any{"blue"}})} {
		_, err := red.Upsert(ctx, &ragdv1.UpsertRequest{IndexName: "v", Entries: []*ragdv1.Entry{
			{Id: "ok", Values: []float32{0, 1}, Metadata: team("red")}, {Id: "new", Values: []float32{0, 1}, Metadata: metadata},
		}})
		servicetest.WantCode(t, "Upsert with "+name, err, connect.CodePermissionDenied)
		if !strings.Contains(err.Error(), "entries[1].metadata") {
			t.Errorf("Upsert with %s: the error does not name the entry: %v", name, err)
		}
	}
	_, err := red.Update(ctx, &ragdv1.UpdateRequest{IndexName: "v", Id: "red", Metadata: team("blue")})
	servicetest.WantCode(t, "Update of an id", err, connect.CodePermissionDenied)
	_, err = red.Update(ctx, &ragdv1.UpdateRequest{IndexName: "v", Filter: all, Metadata: team("blue")})
	servicetest.WantCode(t, "Update by a filter", err, connect.CodePermissionDenied)
	_, err = s.Client(red.Secret, "Ragd-Context", `{"filter": {"team": "blue"}}`).Update(ctx, &ragdv1.UpdateRequest{IndexName: "v", Id: "red", Metadata: team("blue")})
	servicetest.WantCode(t, "Update under a filter of the request context", err, connect.CodePermissionDenied)
	if res, err := red.Update(ctx, &ragdv1.UpdateRequest{IndexName: "v", Filter: all, Metadata: team("red")}); err != nil || res.UpdatedCount != 1 {
		t.Errorf("Update by a filter that selects hidden vectors: %v, %v", res, err)
	}
	if _, err := red.Upsert(ctx, &ragdv1.UpsertRequest{
		IndexName: "v", DeleteFilter: all, Entries: []*ragdv1.Entry{{Id: "red", Values: []float32{0, 1}, Metadata: team("red")}},
	}); err != nil {
		t.Errorf("Upsert of its own: %v", err)
	}
	same(t, "vectors of blue", nearest(t, acme, &ragdv1.QueryRequest{IndexName: "v", QueryVector: []float32{1, 0}, Filter: value(t, map[string]any{"team": "blue"})}), []string{"blue"})
	same(t, "vectors of red", nearest(t, acme, &ragdv1.QueryRequest{IndexName: "v", QueryVector: []float32{1, 0}, Filter: value(t, map[string]any{"team": "red"})}), []string{"red"})
}

// Concurrent upserts of the same ids succeed and keep the index's count right.
func TestConcurrentUpsertsOfTheSameIDs(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	vectors(t, acme, &ragdv1.CreateIndexRequest{IndexName: "v", Dimension: 2})
	ctx := t.Context()
	var group errgroup.Group
	for writer := range 8 {
		group.Go(func() error {
			r := rand.New(rand.NewPCG(uint64(writer), 5))
			for range 20 {
				req := &ragdv1.UpsertRequest{IndexName: "v"}
				var ids []string
				for range 30 {
					id := fmt.Sprint(r.IntN(60))
					ids = append(ids, id)
					req.Entries = append(req.Entries, &ragdv1.Entry{Id: id, Values: []float32{1, 0}})
				}
				if _, err := acme.Upsert(ctx, req); err != nil {
					return err
				}
				if _, err := acme.Delete(ctx, &ragdv1.DeleteRequest{IndexName: "v", Ids: ids[:10]}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	var stored int32
	if err := s.Pool.QueryRow(ctx, `SELECT count(*) FROM tenant_acme.chunk_1`).Scan(&stored); err != nil {
		t.Fatal(err)
	}
	same(t, "count", count(t, acme, "v"), stored)
}

func TestSparseVectorsBesideOthers(t *testing.T) {
	t.Parallel()
	acme := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	ctx := t.Context()
	vectorOf := func(pairs ...float32) *ragdv1.SparseVector {
		v := &ragdv1.SparseVector{}
		for n := 0; n < len(pairs); n += 2 {
			v.Indices, v.Values = append(v.Indices, uint32(pairs[n])), append(v.Values, pairs[n+1])
		}
		return v
	}
	for _, spec := range []*ragdv1.CreateIndexRequest{
		{IndexName: "products", Dimension: 2, Metric: "dotproduct"}, {IndexName: "angles", Dimension: 2, VectorType: "halfvec"},
	} {
		if _, err := acme.CreateIndex(ctx, spec); err != nil {
			t.Fatal(err)
		}
		upsert(t, acme, &ragdv1.UpsertRequest{IndexName: spec.IndexName, Entries: []*ragdv1.Entry{
			{Id: "a", Values: []float32{1, 0}}, {Id: "b", Values: []float32{0, 1}, SparseValues: vectorOf(7, 2, 900_000_000, 3)},
			{Id: "c", Values: []float32{0, 1}, SparseValues: vectorOf(8, 5)},
		}})
	}
	ranked := func(req *ragdv1.QueryRequest) (out []string) {
		t.Helper()
		res, err := acme.Query(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range res.Results {
			out = append(out, fmt.Sprintf("%s %.2f", r.Id, r.Score))
		}
		return out
	}
	query := &ragdv1.QueryRequest{IndexName: "products", QueryVector: []float32{3, 0.5}, SparseVector: vectorOf(7, 1, 900_000_000, 0.5)}
	same(t, "inner products", ranked(query), []string{"b 4.00", "a 3.00", "c 0.50"})
	query.IndexName, query.QueryVector = "angles", []float32{1, 0}
	same(t, "cosines", ranked(query), []string{"b 3.50", "a 1.00", "c 0.00"})
	query.SparseVector = nil
	query.DatabaseConfig, query.VectorStoreName = &ragdv1.DatabaseConfig{Pinecone: &ragdv1.PineconeConfig{SparseVector: vectorOf(8, 1)}}, "pinecone"
	same(t, "the block of a store", ranked(query), []string{"c 5.00", "a 1.00", "b 0.00"})
	if _, err := acme.BuildIndex(ctx, &ragdv1.BuildIndexRequest{IndexName: "angles"}); err != nil {
		t.Fatal(err)
	}
	res, err := acme.VectorQuery(ctx, &ragdv1.VectorQueryRequest{
		IndexName: "angles", QueryVector: []float32{1, 0}, VectorStoreName: "pinecone", DatabaseConfig: query.DatabaseConfig, TopK: new(int32(1)),
	})
	if err != nil || len(res.Sources) != 1 || res.Sources[0].Id != "c" || res.Sources[0].Score != 5 {
		t.Errorf("vector_query finds %v, %v", res, err)
	}
	if _, err := acme.Update(ctx, &ragdv1.UpdateRequest{IndexName: "angles", Id: "a", SparseValues: vectorOf(8, 9)}); err != nil {
		t.Fatal(err)
	}
	same(t, "after an update", ranked(query), []string{"a 10.00", "c 5.00", "b 0.00"})
	upsert(t, acme, &ragdv1.UpsertRequest{IndexName: "angles", Entries: []*ragdv1.Entry{{Id: "a", Values: []float32{1, 0}}}})
	same(t, "after a replacement", ranked(query), []string{"c 5.00", "a 1.00", "b 0.00"})

	if _, err := acme.CreateIndex(ctx, &ragdv1.CreateIndexRequest{IndexName: "near", Dimension: 2, Metric: "euclidean"}); err != nil {
		t.Fatal(err)
	}
	for what, tc := range map[string]struct {
		call  func() error
		field string
	}{
		"a sparse vector alone": {func() error {
			_, err := acme.Query(ctx, &ragdv1.QueryRequest{IndexName: "angles", SparseVector: vectorOf(1, 1)})
			return err
		}, "sparseVector"},
		"another metric": {func() error {
			_, err := acme.Query(ctx, &ragdv1.QueryRequest{IndexName: "near", QueryVector: []float32{1, 0}, SparseVector: vectorOf(1, 1)})
			return err
		}, "sparseVector"},
		"a keyword search": {func() error {
			_, err := acme.VectorQuery(ctx, &ragdv1.VectorQueryRequest{
				IndexName: "angles", QueryText: "a", SearchMode: "keyword", VectorStoreName: "pinecone", DatabaseConfig: query.DatabaseConfig,
			})
			return err
		}, "databaseConfig.pinecone.sparseVector"},
		"a dimension twice": {func() error {
			_, err := acme.Upsert(ctx, &ragdv1.UpsertRequest{IndexName: "angles", Entries: []*ragdv1.Entry{{Values: []float32{1, 0}, SparseValues: vectorOf(1, 1, 1, 2)}}})
			return err
		}, "entries[0].sparseValues"},
		"too many dimensions": {func() error {
			_, err := acme.Upsert(ctx, &ragdv1.UpsertRequest{IndexName: "angles", Entries: []*ragdv1.Entry{{Values: []float32{1, 0}, SparseValues: vectorOf(2_000_000_000, 1)}}})
			return err
		}, "entries[0].sparseValues"},
		"too many values": {func() error {
			v := &ragdv1.SparseVector{Indices: make([]uint32, 1001), Values: make([]float32, 1001)}
			_, err := acme.Upsert(ctx, &ragdv1.UpsertRequest{IndexName: "angles", Entries: []*ragdv1.Entry{{Values: []float32{1, 0}, SparseValues: v}}})
			return err
		}, "entries[0].sparseValues"},
		"what is no number": {func() error {
			_, err := acme.Update(ctx, &ragdv1.UpdateRequest{IndexName: "angles", Id: "a", SparseValues: vectorOf(1, float32(math.Inf(1)))})
			return err
		}, "sparseValues"},
	} {
		if err := tc.call(); connect.CodeOf(err) != connect.CodeInvalidArgument || fieldOf(err) != tc.field {
			t.Errorf("%s: %v, which blames %q instead of %q", what, err, fieldOf(err), tc.field)
		}
	}
}

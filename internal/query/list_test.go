package query_test

import (
	"strconv"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// below asks for the chunks nearest to chunk 0 of which n is below a number.
func below(t *testing.T, c servicetest.Client, n float64) (ids []string) {
	t.Helper()
	f, err := structpb.NewValue(map[string]any{"n": map[string]any{"$lt": n}})
	if err != nil {
		t.Fatal(err)
	}
	topK := int32(20)
	res, err := c.Query(t.Context(), &ragdv1.QueryRequest{IndexName: "v", QueryVector: []float32{1, 0}, Filter: f, TopK: &topK})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range res.Results {
		ids = append(ids, r.Id)
	}
	return ids
}

// Every answer has what was written before, also where the chunks of the filter are listed.
func TestAListOfAFilterIsNeverOutdated(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	c, other := sampled(t, s, "acme", 0), sampled(t, s, "bolt", 0)
	for _, client := range []servicetest.Client{c, other} {
		if _, err := client.BuildIndex(t.Context(), &ragdv1.BuildIndexRequest{IndexName: "v"}); err != nil {
			t.Fatal(err)
		}
		awaitBuilt(t, client, "v", []float32{1, 0})
	}
	want := func(what string, n int) {
		t.Helper()
		for range 3 {
			if got := below(t, c, 15); len(got) != n {
				t.Errorf("%s: %d chunks, want %d: %v", what, len(got), n, got)
			}
		}
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	entry := func(id string, n float64) *ragdv1.UpsertRequest {
		metadata, err := structpb.NewStruct(map[string]any{"n": n})
		do(err)
		return &ragdv1.UpsertRequest{IndexName: "v", Entries: []*ragdv1.Entry{{Id: id, Values: []float32{1, 0}, Metadata: metadata}}}
	}
	want("at first", 10) // 1 to 14 without multiples of 3
	if lists := s.Handlers.Queries.Lists(); lists != 1 {
		t.Errorf("%d lists", lists)
	}
	_, err := c.Upsert(t.Context(), entry("new", 7))
	do(err)
	want("after an insert", 11)
	_, err = c.Upsert(t.Context(), entry("new", 700))
	do(err)
	want("after a change", 10)
	metadata, err := structpb.NewStruct(map[string]any{"n": 3})
	do(err)
	_, err = c.Update(t.Context(), &ragdv1.UpdateRequest{IndexName: "v", Id: "new", Metadata: metadata})
	do(err)
	want("after a change of the metadata", 11)
	_, err = c.Delete(t.Context(), &ragdv1.DeleteRequest{IndexName: "v", Ids: []string{"new"}})
	do(err)
	want("after a deletion", 10)
	_, err = s.Pool.Exec(t.Context(), `VACUUM FULL tenant_acme.chunk_1`)
	do(err)
	want("after the rows were moved", 10)
	if got := below(t, other, 15); len(got) != 10 {
		t.Errorf("the other tenant: %v", got)
	}
	for n := range 30 { // a list that is outdated again and again
		_, err := c.Upsert(t.Context(), entry("e"+strconv.Itoa(n), 1))
		do(err)
		if got := below(t, c, 15); len(got) != min(20, 11+n) {
			t.Errorf("after %d inserts: %d chunks", n+1, len(got))
		}
	}
}

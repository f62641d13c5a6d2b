package query_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// TestPrunedKeywordSearchFindsTheBestOfAllChunks compares the answers of keyword searches
// with those for so many sources that nothing is pruned, also after entries have been
// replaced, deleted and added.
func TestPrunedKeywordSearchFindsTheBestOfAllChunks(t *testing.T) {
	t.Parallel()
	const passages = 2000
	c := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	if _, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "docs", Dimension: 1, IndexConfig: &ragdv1.IndexConfig{Type: "flat"}}); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	upsert := func(from, to int, namespace string) {
		req := &ragdv1.UpsertRequest{IndexName: "docs", Namespace: namespace}
		for id := from; id < to; id++ {
			metadata, err := structpb.NewStruct(map[string]any{"third": id % 3})
			if err != nil {
				t.Fatal(err)
			}
			req.Entries = append(req.Entries, &ragdv1.Entry{
				Id: fmt.Sprint(id), Values: []float32{1}, Metadata: metadata, Document: madeUp(r, 5+r.IntN(80)),
			})
		}
		if _, err := c.Upsert(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	upsert(0, passages, "")
	upsert(0, passages/4, "other")
	third := func(n int) *structpb.Value {
		v, err := structpb.NewValue(map[string]any{"third": n})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	compare := func(when string) {
		t.Helper()
		pruned := 0
		for n := range 24 {
			req := &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: madeUp(r, 2+r.IntN(6)), SearchMode: "keyword", Explain: true}
			switch n % 3 {
			case 1:
				req.Filter = third(1)
			case 2:
				req.Namespace = "other"
			}
			all := answer(t, c, req, 1000)
			got := answer(t, c, req, 10)
			// The frequencies of terms are counted again in the background.
			for again := answer(t, c, req, 1000); !slices.Equal(ranking(all), ranking(again)); again = answer(t, c, req, 1000) {
				all, got = again, answer(t, c, req, 10)
			}
			if !got.Explain.Exact {
				t.Errorf("%s: %q is not answered exactly", when, req.QueryText)
			}
			if got.Explain.Candidates < all.Explain.Candidates {
				pruned++
			}
			if diff := cmp.Diff(ranking(all)[:min(10, len(all.Sources))], ranking(got)); diff != "" {
				t.Errorf("%s: %q (-all +got):\n%s", when, req.QueryText, diff)
			}
		}
		if pruned < 4 {
			t.Errorf("%s: %d searches were pruned", when, pruned)
		}
	}
	compare("loaded")
	upsert(100, 300, "")
	upsert(passages, passages+300, "")
	if _, err := c.Delete(t.Context(), &ragdv1.DeleteRequest{IndexName: "docs", Filter: third(2)}); err != nil {
		t.Fatal(err)
	}
	compare("changed")
}

// madeUp returns a text of made-up words, of which few are frequent.
func madeUp(r *rand.Rand, words int) string {
	out := make([]string, words)
	for n := range out {
		out[n] = fmt.Sprintf("w%d", int(math.Exp(r.Float64()*8)))
	}
	return strings.Join(out, " ")
}

// answer returns the answer to a request for so many sources.
func answer(t *testing.T, c servicetest.Client, req *ragdv1.VectorQueryRequest, topK int32) *ragdv1.VectorQueryResponse {
	t.Helper()
	req.TopK = &topK
	res, err := c.VectorQuery(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// ranking returns the ids and the scores of the sources of an answer.
func ranking(res *ragdv1.VectorQueryResponse) (out []string) {
	for _, source := range res.Sources {
		out = append(out, fmt.Sprintf("%s %.4f", source.Id, source.Score))
	}
	return out
}

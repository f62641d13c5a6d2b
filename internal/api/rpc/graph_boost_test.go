package rpc_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// A walk with a boost returns the sources that have the best boosted scores of all that it reaches.
func TestABoostRanksRecentSourcesOfAWalkHigher(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, other := s.Tenant(t, "acme"), s.Tenant(t, "other")
	for name, c := range map[string]servicetest.Client{"acme": acme, "other": other} {
		c.Index(t, "docs")
		var uploads []*ragdv1.UploadDocumentRequest
		for n := range 30 {
			metadata := map[string]any{"number": n}
			if n%5 != 0 {
				metadata["when"] = time.Now().AddDate(0, 0, -20*(30-n)).Format(time.RFC3339)
			}
			text := fmt.Sprintf("Barge %d pays the toll of lock %d at the harbour, and then of lock %d.", n, n%7, (n+1)%7)
			uploads = append(uploads, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: fmt.Sprintf("%s/%d", name, n), Source: servicetest.Text(text), Metadata: servicetest.Object(t, metadata)})
		}
		c.UploadAll(t, uploads)
		c.AwaitAll(t, "docs")
	}
	// By the number of the barge in a uri.
	factorOf := func(uri string) (number int, factor float64) {
		if _, err := fmt.Sscanf(uri, "acme/%d", &number); err != nil {
			t.Fatalf("%s is not of the tenant: %v", uri, err)
		}
		if factor = 0.1; number%5 != 0 {
			factor += 0.9 * math.Exp2(-float64(20*(30-number))/100)
		}
		return number, factor
	}
	boost := &ragdv1.Boost{Field: "when", HalfLife: "100d", Weight: new(0.9)}
	for name, options := range map[string]*ragdv1.GraphOptions{"stored": nil, "candidates": {Candidates: 30, Threshold: new(0.1)}} {
		ask := func(topK int32, boost *ragdv1.Boost, reranker *ragdv1.Reranker) *ragdv1.GraphRagResponse {
			t.Helper()
			res, err := acme.GraphRag(t.Context(), &ragdv1.GraphRagRequest{
				QueryText: "which barge pays the toll of a lock", TopK: &topK, GraphOptions: options, Distinct: new(false), Boost: boost, Reranker: reranker, Explain: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			return res
		}
		for _, source := range ask(30, nil, nil).Sources {
			if source.Recency != nil {
				t.Errorf("%s: without a boost %s has recency %v", name, source.Uri, source.Recency)
			}
		}
		for _, topK := range []int32{3, 30} {
			res := ask(topK, boost, nil)
			var best []float64 // boosted scores of what the walk reaches
			walked := map[string]float64{}
			for _, node := range res.Explain.Nodes {
				_, factor := factorOf(node.Uri)
				best, walked[node.Uri] = append(best, node.Score*factor), node.Score
			}
			slices.SortFunc(best, func(a, b float64) int { return cmp.Compare(b, a) })
			var before []float64
			for n, source := range res.Sources {
				r := source.Recency
				number, factor := factorOf(source.Uri)
				if math.Abs(r.GetFactor()-factor) > 0.01 || math.Abs(source.Score-r.GetScore()*r.GetFactor()) > 1e-9 || (r.GetTime() == nil) != (number%5 == 0) {
					t.Errorf("%s: %s scores %g by %v, want the factor %g", name, source.Uri, source.Score, r, factor)
				}
				if options == nil && math.Abs(r.GetScore()-walked[source.Uri]) > 1e-9 {
					t.Errorf("%s: the walk is at %s with %g, recency %v", name, source.Uri, walked[source.Uri], r)
				}
				if n < len(best) && math.Abs(source.Score-best[n]) > 0.01*best[n] {
					t.Errorf("%s: source %d of %d scores %g, want %g", name, n, topK, source.Score, best[n])
				}
				before = append(before, r.GetScore())
			}
			if len(res.Sources) != int(topK) || !slices.IsSortedFunc(res.Sources, func(a, b *ragdv1.Source) int { return cmp.Compare(b.Score, a.Score) }) {
				t.Errorf("%s: the %d sources are %v", name, len(res.Sources), res.Sources)
			}
			if topK == 30 && slices.IsSortedFunc(before, func(a, b float64) int { return cmp.Compare(b, a) }) {
				t.Errorf("%s: the boost changes no order", name)
			}
		}
		if reranked := ask(3, boost, &ragdv1.Reranker{Kind: "lexical"}).Sources; len(reranked) != 3 || reranked[0].Recency == nil {
			t.Errorf("%s: reranked to %v", name, reranked)
		}
	}
	for want, req := range map[string]*ragdv1.GraphRagRequest{
		"boost.halfLife: must be a number with a unit":   {QueryText: "tolls", Boost: &ragdv1.Boost{Field: "when", HalfLife: "soon"}},
		"boost.field: is required":                       {QueryText: "tolls", Boost: &ragdv1.Boost{HalfLife: "1d"}},
		"boost: cannot be combined with scope global, w": {QueryText: "tolls", Scope: "global", Boost: &ragdv1.Boost{Field: "when", HalfLife: "1d"}},
	} {
		if _, err := acme.GraphRag(t.Context(), req); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", req, err, want)
		}
	}
}

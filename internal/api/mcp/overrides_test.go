package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// seen holds the parts of a caller's request that reach the API.
type seen struct {
	Tenant    tenant.ID
	Subject   string
	IndexName string
	TopK      int
	Filter    string
	Reranker  string
}

func seenIn(ctx context.Context) seen {
	r, _ := access.FromContext(ctx)
	s := seen{Tenant: r.Tenant, Subject: r.Principal.Subject, Filter: r.Overrides.Filter.String(), Reranker: string(r.Overrides.Reranker)}
	if r.Overrides.IndexName != nil {
		s.IndexName = *r.Overrides.IndexName
	}
	if r.Overrides.TopK != nil {
		s.TopK = *r.Overrides.TopK
	}
	return s
}

func TestOverridesReachTheAPI(t *testing.T) {
	t.Parallel()
	var got seen
	address := serve(t, &fakeAPI{vectorQuery: func(ctx context.Context, _ *ragdv1.VectorQueryRequest) (*ragdv1.VectorQueryResponse, error) {
		got = seenIn(ctx)
		return &ragdv1.VectorQueryResponse{}, nil
	}}, nil)
	const header = `{"indexName": "from-header", "topK": 3, "filter": {"a": 1}}`
	alice := seen{Tenant: "acme", Subject: "alice", Filter: "{}"}
	for _, tc := range []struct {
		name   string
		header string
		meta   map[string]any
		want   func(*seen)
	}{
		{name: "none", want: func(*seen) {}},
		{name: "the header's", header: header, want: func(s *seen) { s.IndexName, s.TopK, s.Filter = "from-header", 3, `{"a":1}` }},
		{name: "the call's", meta: map[string]any{"indexName": "from-meta", "filter": map[string]any{"b": 2}},
			want: func(s *seen) { s.IndexName, s.Filter = "from-meta", `{"b":2}` }},
		{name: "the header's reranker", header: `{"reranker": {"kind":"llm"}}`, meta: map[string]any{"topK": 2},
			want: func(s *seen) { s.TopK, s.Reranker = 2, `{"kind":"llm"}` }},
		{name: "the call's reranker", header: `{"reranker": {"kind":"llm"}}`, meta: map[string]any{"reranker": map[string]any{"kind": "lexical"}},
			want: func(s *seen) { s.Reranker = `{"kind":"lexical"}` }},
		{name: "the call's over the header's, and both filters", header: header,
			meta: map[string]any{"indexName": "from-meta", "filter": map[string]any{"b": 2}},
			want: func(s *seen) { s.IndexName, s.TopK, s.Filter = "from-meta", 3, `{"$and":[{"a":1},{"b":2}]}` }},
	} {
		for era, options := range mcptest.Eras {
			t.Run(tc.name+" "+era, func(t *testing.T) {
				headers := map[string]string{"Authorization": "Bearer acme alice"}
				if tc.header != "" {
					headers["Ragd-Context"] = tc.header
				}
				var meta map[string]any
				if tc.meta != nil {
					meta = map[string]any{metaContext: tc.meta}
				}
				if result, text := mcptest.Call(t, connectClient(t, address, options, headers), "vector_query", nil, meta); result.IsError {
					t.Fatal(text)
				}
				want := alice
				tc.want(&want)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
	t.Run("a misspelt one is refused", func(t *testing.T) {
		result, text := mcptest.Call(t, connectClient(t, address, nil, nil), "vector_query", nil,
			map[string]any{metaContext: map[string]any{"filtre": map[string]any{}}})
		if !result.IsError || !strings.Contains(text, "filtre") {
			t.Error(text)
		}
	})
}

// Concurrent callers of the tools are never confused.
func TestCallersAreKeptApart(t *testing.T) {
	t.Parallel()
	address := serve(t, &fakeAPI{vectorQuery: func(ctx context.Context, _ *ragdv1.VectorQueryRequest) (*ragdv1.VectorQueryResponse, error) {
		raw, err := json.Marshal(seenIn(ctx))
		return &ragdv1.VectorQueryResponse{RelevantContext: string(raw)}, err
	}}, nil)
	for era, options := range mcptest.Eras {
		for _, who := range []seen{{Tenant: "acme", Subject: "alice"}, {Tenant: "acme", Subject: "bob"}, {Tenant: "globex", Subject: "alice"}} {
			t.Run(era+" "+string(who.Tenant)+" "+who.Subject, func(t *testing.T) {
				t.Parallel()
				c := connectClient(t, address, options, map[string]string{"Authorization": "Bearer " + string(who.Tenant) + " " + who.Subject})
				for range 20 {
					_, text := mcptest.Call(t, c, "vector_query", nil, nil)
					var got seen
					if err := json.Unmarshal([]byte(text), &got); err != nil {
						t.Fatal(err)
					}
					got.Filter = ""
					if diff := cmp.Diff(who, got); diff != "" {
						t.Fatal(diff)
					}
				}
			})
		}
	}
}

package mcp_test

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// Two tenants have the same texts, in which each page names the next, and keys that must
// not see the page in the middle. graph_rag returns only the caller's pages and never
// walks through the hidden one, whatever the model or its client asks for.
func TestGraphRagReturnsOnlyWhatTheCallerMaySee(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	address := s.URL + mcphttp.Path
	open, err := structpb.NewStruct(map[string]any{"level": "open"})
	if err != nil {
		t.Fatal(err)
	}
	type caller struct {
		name, secret string
		own          map[string]bool // ids of the documents
		want         []string
	}
	var callers []caller
	for _, name := range []string{"acme", "bolt"} {
		admin := s.Tenant(t, name)
		admin.Index(t, "docs")
		own, visible := map[string]bool{}, map[string]bool{}
		for _, p := range [][4]string{
			{"film", "Dark River (2017 film)", "It was routed by Clio Barnard after a novel.", "open"},
			{"director", "Clio Barnard", "She grew up near Otley and paints.", "secret"},
			{"town", "Otley", "A market place on the Wharfe.", "open"},
		} {
			metadata, err := structpb.NewStruct(map[string]any{"level": p[3]})
			if err != nil {
				t.Fatal(err)
			}
			d := admin.Upload(t, &ragdv1.UploadDocumentRequest{Uri: p[0], Title: p[1], Metadata: metadata, Source: &ragdv1.UploadDocumentRequest_Text{Text: p[2]}})
			own[d.DocumentId], visible[d.DocumentId] = true, p[3] == "open"
		}
		limited := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: name, Scopes: []string{"read"}, MandatoryFilter: open})
		callers = append(callers,
			caller{name, admin.Secret, own, []string{"film", "director", "town"}},
			caller{name + ", limited", limited, visible, []string{"film"}})
	}
	for era, options := range mcptest.Eras {
		for _, by := range callers {
			t.Run(era+", "+by.name, func(t *testing.T) {
				c := mcptest.Connect(t, address, options, map[string]string{"Authorization": "Bearer " + by.secret})
				walk := func(what string, arguments, meta map[string]any) *ragdv1.GraphRagResponse {
					t.Helper()
					arguments["explain"] = true
					if arguments["queryText"] == nil {
						arguments["queryText"] = "Who made Dark River?"
					}
					result, text := mcptest.Call(t, c, "graph_rag", arguments, meta)
					if result.IsError {
						t.Fatalf("%s: %s", what, text)
					}
					var answer ragdv1.GraphRagResponse
					structuredInto(t, result, &answer)
					for _, source := range answer.GetSources() {
						if !by.own[source.GetDocumentId()] {
							t.Errorf("%s: leads to %s of others", what, source.GetUri())
						}
					}
					for _, node := range answer.GetExplain().GetNodes() {
						if !by.own[node.GetDocumentId()] {
							t.Errorf("%s: the walk sees %s of others", what, node.GetTitle())
						}
					}
					return &answer
				}
				var uris []string
				for _, source := range walk("plain", map[string]any{"searchMode": "keyword"}, nil).GetSources() {
					uris = append(uris, source.GetUri())
				}
				if !slices.Equal(uris, by.want) {
					t.Errorf("the walk leads to %v, want %v", uris, by.want)
				}
				everything := map[string]any{"level": map[string]any{"$in": []any{"open", "secret"}}}
				walk("a wider filter", map[string]any{"filter": everything}, nil)
				walk("a wider filter of the client", map[string]any{}, map[string]any{"ragd/context": map[string]any{"filter": everything}})
				walk("the hidden page by name", map[string]any{"queryText": "Where is Clio Barnard from?"}, nil)
				walk("candidates", map[string]any{"graphOptions": map[string]any{"candidates": 100, "threshold": -1}}, nil)
				walk("near ones", map[string]any{"graphOptions": map[string]any{"edgeTypes": []any{"similar"}, "threshold": -1}}, nil)
			})
		}
	}
}

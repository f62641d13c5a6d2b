package rpc_test

import (
	"slices"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

func startsWith(prefix string) map[string]any {
	return map[string]any{"$uri": map[string]any{"$startsWith": prefix}}
}

func TestFiltersSelectByURI(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, other := s.Tenant(t, "acme"), s.Tenant(t, "other")
	for _, c := range []servicetest.Client{acme, other} {
		c.Index(t, "docs")
		c.Index(t, "more")
	}
	for _, uri := range []string{"docs/a.md", "docs/b.md", "docs-old/c.md", "notes/d.md", "docs_e.md"} {
		acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: uri, Metadata: servicetest.Object(t, map[string]any{"team": uri[:4]}), Source: &ragdv1.UploadDocumentRequest_Text{Text: "The tide at " + uri}})
		acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "more", Uri: uri, Source: &ragdv1.UploadDocumentRequest_Text{Text: "The tide at " + uri}})
	}
	other.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "docs/a.md", Source: &ragdv1.UploadDocumentRequest_Text{Text: "The tide of another tenant"}})
	for _, tc := range []struct {
		name   string
		filter map[string]any
		want   []string
	}{
		{"a folder", startsWith("docs/"), []string{"docs/a.md", "docs/b.md"}},
		{"a prefix", startsWith("docs"), []string{"docs-old/c.md", "docs/a.md", "docs/b.md", "docs_e.md"}},
		{"one", map[string]any{"$uri": "notes/d.md"}, []string{"notes/d.md"}},
		{"several", map[string]any{"$uri": []any{"notes/d.md", "docs_e.md", "absent"}}, []string{"docs_e.md", "notes/d.md"}},
		{"all but a folder", map[string]any{"$not": startsWith("docs")}, []string{"notes/d.md"}},
		{"all but one, with metadata", map[string]any{"$uri": map[string]any{"$ne": "docs/a.md"}, "team": "docs"}, []string{"docs-old/c.md", "docs/b.md", "docs_e.md"}},
		{"one of two", map[string]any{"$or": []any{startsWith("docs/"), map[string]any{"team": "note"}}}, []string{"docs/a.md", "docs/b.md", "notes/d.md"}},
		{"metadata that begins so", map[string]any{"team": map[string]any{"$startsWith": "no"}}, []string{"notes/d.md"}},
		{"none", startsWith("absent/"), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			list, err := acme.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "docs", Filter: servicetest.Object(t, tc.filter)})
			if err != nil {
				t.Fatal(err)
			}
			var listed []string
			for _, d := range list.Documents {
				listed = append(listed, d.Uri)
			}
			slices.Sort(listed)
			if diff := cmp.Diff(tc.want, listed); diff != "" {
				t.Errorf("listed (-want +got)\n%s", diff)
			}
			value := structpb.NewStructValue(servicetest.Object(t, tc.filter))
			for _, mode := range []string{"vector", "keyword", "hybrid"} {
				res, err := acme.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: "tide", SearchMode: mode, Filter: value})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.want, urisOf(res.Sources)); diff != "" {
					t.Errorf("%s found (-want +got)\n%s", mode, diff)
				}
			}
			res, err := acme.GraphRag(t.Context(), &ragdv1.GraphRagRequest{IndexName: "docs", QueryText: "tide", Filter: value})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, urisOf(res.Sources)); diff != "" {
				t.Errorf("the walk found (-want +got)\n%s", diff)
			}
		})
	}
}

func urisOf(sources []*ragdv1.Source) (uris []string) {
	for _, s := range sources {
		uris = append(uris, s.Uri)
	}
	slices.Sort(uris)
	return slices.Compact(uris)
}

func TestDeletingByURIPrefixKeepsTheRest(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, other := s.Tenant(t, "acme"), s.Tenant(t, "other")
	for _, c := range []servicetest.Client{acme, other} {
		c.Index(t, "docs")
		for _, uri := range []string{"docs/a.md", "docs/b.md", "docs-old/c.md"} {
			c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: uri, Metadata: servicetest.Object(t, map[string]any{"uri": uri}), Source: &ragdv1.UploadDocumentRequest_Text{Text: uri}})
		}
	}
	restricted := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"write"}, MandatoryFilter: servicetest.Object(t, map[string]any{"uri": "docs/b.md"})}))
	for _, step := range []struct {
		caller servicetest.Client
		want   int32
	}{{restricted, 1}, {acme, 1}, {acme, 0}} { // the mandatory filter still hides the first document
		res, err := step.caller.DeleteDocuments(t.Context(), &ragdv1.DeleteDocumentsRequest{IndexName: "docs", Filter: servicetest.Object(t, startsWith("docs/"))})
		if err != nil || res.DeletedCount != step.want {
			t.Errorf("deleted %d, %v, want %d", res.GetDeletedCount(), err, step.want)
		}
	}
	for c, want := range map[*servicetest.Client]int{&acme: 1, &other: 3} {
		list, err := c.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "docs"})
		if err != nil || len(list.Documents) != want {
			t.Errorf("%d documents are left, %v, want %d", len(list.GetDocuments()), err, want)
		}
	}
	_, err := s.Operator().CreateApiKey(t.Context(), &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, startsWith("docs/"))})
	if connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("a mandatory filter on the uri: %v", err)
	}
}

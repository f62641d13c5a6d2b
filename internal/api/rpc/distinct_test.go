package rpc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// manual uploads a manual of one page for each command as text with marks, and as HTML: what is one passage
// for a reader. The pages as text are open to the team "open", the others to nobody but the whole tenant.
func manual(t testing.TB, c servicetest.Client, commands int) {
	t.Helper()
	const options, uses = "The option --keep leaves files as they are; without it they are removed for good.",
		"Use it on branches that nobody else has seen, because whoever has fetched the old commits keeps them and would bring them back with the next merge of both."
	var uploads []*ragdv1.UploadDocumentRequest
	for n := range commands {
		name := fmt.Sprintf("step%d", n)
		text := fmt.Sprintf("%s\n%s\n\nlinkgit:git-%s[1] undoes commit number %d.\n%s See 'git-redo' for the way back.\n%s\n", strings.ToUpper(name), strings.Repeat("=", len(name)), name, n, options, uses)
		html := fmt.Sprintf("<html><head><title>%s</title></head><body><h1>%s</h1><p>git-%s(1) undoes commit\nnumber %d. %s See <em>git-redo</em> for the way back. %s</p></body></html>", name, strings.ToUpper(name), name, n, options, uses)
		uploads = append(uploads,
			&ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "man/" + name + ".txt", ContentType: "text/plain", Source: servicetest.Text(text), Metadata: servicetest.Object(t, map[string]any{"team": "open"})},
			&ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "man/" + name + ".html", ContentType: "text/html", Source: servicetest.Text(html)})
	}
	c.UploadAll(t, uploads)
	c.AwaitAll(t, "docs")
}

// command returns the name of the command that a source or place describes.
func command(uri string) string { return strings.TrimSuffix(strings.TrimSuffix(uri, ".html"), ".txt") }

// wantDistinct requires so many sources of different commands. With all, the search found both forms of each;
// else those that it found are named.
func wantDistinct(t *testing.T, what string, sources []*ragdv1.Source, want int, all bool) (places int) {
	t.Helper()
	seen := map[string]bool{}
	for _, source := range sources {
		if seen[command(source.Uri)] {
			t.Errorf("%s: %s comes twice", what, source.Uri)
		}
		seen[command(source.Uri)] = true
		places += len(source.AlsoIn)
		switch {
		case int(source.AlsoInCount) != len(source.AlsoIn) || len(source.AlsoIn) > 1 || all && len(source.AlsoIn) == 0:
			t.Errorf("%s: %s is also in %d: %v", what, source.Uri, source.AlsoInCount, source.AlsoIn)
		case len(source.AlsoIn) == 1 && (source.AlsoIn[0].Uri == source.Uri || command(source.AlsoIn[0].Uri) != command(source.Uri)):
			t.Errorf("%s: %s is also in %v", what, source.Uri, source.AlsoIn)
		}
	}
	if len(sources) != want {
		t.Errorf("%s: %d sources, want %d", what, len(sources), want)
	}
	return places
}

func TestThePassageOfTwoFormsComesOnce(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	const commands = 14
	manual(t, acme, commands)
	const question = "How do I undo a commit that nobody else has seen?"
	for name, change := range map[string]func(*ragdv1.VectorQueryRequest){
		"hybrid":       func(*ragdv1.VectorQueryRequest) {},
		"vector":       func(r *ragdv1.VectorQueryRequest) { r.SearchMode = "vector" },
		"keyword":      func(r *ragdv1.VectorQueryRequest) { r.SearchMode = "keyword" },
		"reranked":     func(r *ragdv1.VectorQueryRequest) { r.Reranker = &ragdv1.Reranker{Kind: "lexical"} },
		"diverse":      func(r *ragdv1.VectorQueryRequest) { r.Diversity = 0.3 },
		"per document": func(r *ragdv1.VectorQueryRequest) { r.MaxPerDocument = 1 },
		"all":          func(r *ragdv1.VectorQueryRequest) { r.TopK = new(int32(100)) },
		"one":          func(r *ragdv1.VectorQueryRequest) { r.TopK = new(int32(1)) },
	} {
		req := &ragdv1.VectorQueryRequest{QueryText: question, IndexName: "docs", TopK: new(int32(10)), Explain: true}
		change(req)
		_, res := found(t, acme, req)
		places := wantDistinct(t, name, res.Sources, min(int(req.GetTopK()), commands), name == "all")
		if int(res.Explain.RepeatedCount) < places {
			t.Errorf("%s: %d repeated, %d places", name, res.Explain.RepeatedCount, places)
		}
		req.Distinct = new(false)
		_, each := found(t, acme, req)
		if len(each.Sources) != min(int(req.GetTopK()), 2*commands) || each.Explain.RepeatedCount != 0 {
			t.Errorf("%s: each: %d sources, %d repeated", name, len(each.Sources), each.Explain.RepeatedCount)
		}
		if slices.ContainsFunc(each.Sources, func(source *ragdv1.Source) bool { return len(source.AlsoIn) > 0 }) {
			t.Errorf("%s: each: a source has other places", name)
		}
	}
	for name, change := range map[string]func(*ragdv1.GraphRagRequest){
		"walk":       func(*ragdv1.GraphRagRequest) {},
		"candidates": func(r *ragdv1.GraphRagRequest) { r.GraphOptions = &ragdv1.GraphOptions{Candidates: 28} },
	} {
		req := &ragdv1.GraphRagRequest{QueryText: question, IndexName: "docs", TopK: new(int32(10)), Explain: true}
		change(req)
		res, err := acme.GraphRag(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		wantDistinct(t, name, res.Sources, 10, false)
		req.Distinct = new(false)
		each, err := acme.GraphRag(t.Context(), req)
		if err != nil || len(each.Sources) != 10 || each.Explain.RepeatedCount != 0 {
			t.Errorf("%s: each: %v, %v", name, each, err)
		}
	}
}

// Places that a caller may not read, or has not asked for, are neither named nor counted.
func TestPlacesOfAPassageThatAreHidden(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, globex := s.Tenant(t, "acme"), s.Tenant(t, "globex")
	for _, c := range []servicetest.Client{acme, globex} {
		c.Index(t, "docs")
		manual(t, c, 5)
	}
	bound := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "open"})}))
	req := &ragdv1.VectorQueryRequest{QueryText: "undo a commit", IndexName: "docs", TopK: new(int32(10)), Explain: true}
	_, res := found(t, bound, req)
	filtered := &ragdv1.VectorQueryRequest{QueryText: "undo a commit", IndexName: "docs", TopK: new(int32(10)), Explain: true, Filter: structpb.NewStructValue(servicetest.Object(t, map[string]any{"team": "open"}))}
	_, asked := found(t, acme, filtered)
	for what, answer := range map[string]*ragdv1.VectorQueryResponse{"a bound key": res, "a filter": asked} {
		if len(answer.Sources) != 5 || answer.Explain.RepeatedCount != 0 {
			t.Errorf("%s: %d sources, %d repeated", what, len(answer.Sources), answer.Explain.RepeatedCount)
		}
		for _, source := range answer.Sources {
			if !strings.HasSuffix(source.Uri, ".txt") || source.AlsoInCount != 0 || len(source.AlsoIn) != 0 {
				t.Errorf("%s: %s is also in %d: %v", what, source.Uri, source.AlsoInCount, source.AlsoIn)
			}
		}
	}
	_, whole := found(t, acme, req)
	wantDistinct(t, "the tenant", whole.Sources, 5, true)
	ids := map[string]bool{}
	for _, d := range listed(t, acme) {
		ids[d] = true
	}
	for _, source := range whole.Sources {
		for _, place := range source.AlsoIn {
			if !ids[place.DocumentId] {
				t.Errorf("document %s is of another tenant", place.DocumentId)
			}
		}
	}
}

func listed(t testing.TB, c servicetest.Client) (ids []string) {
	t.Helper()
	res, err := c.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "docs", PageSize: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range res.Documents {
		ids = append(ids, d.DocumentId)
	}
	return ids
}

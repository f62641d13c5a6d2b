package ingest_test

import (
	"fmt"
	"strings"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// subjects are what the sections of the handbook of these tests are about.
var subjects = []string{"tides", "berths", "pilots", "anchors", "lanterns", "cranes", "ropes", "dredgers", "ferries", "storms"}

// handbook returns a page with a table of contents of all sections and a few sentences in each.
func handbook() string {
	var toc, body strings.Builder
	for round := range 4 {
		for _, s := range subjects {
			id := fmt.Sprintf("%s-%d", s, round)
			fmt.Fprintf(&toc, `<li><a href="#%s">Rules for %s, part %d</a></li>`, id, s, round+1)
			fmt.Fprintf(&body, `<h2 id="%s">Rules for %s, part %d</h2><p>Whoever has to do with %s reports at the office first, and part %d of these rules says what follows. `+
				`The harbour master decides in all other cases.</p>`, id, s, round+1, s, round+1)
		}
	}
	return "<!DOCTYPE html><title>Harbour handbook</title><h1>Harbour handbook</h1><div><ul><li><a href=\"#lanterns-0\">Lantern Ordinance LO-19</a></li>" + toc.String() + "</ul></div>" + body.String()
}

func isContents(metadata interface {
	AsMap() map[string]any
}) bool {
	position, _ := metadata.AsMap()["position"].(map[string]any)
	return position["contents"] == true
}

func TestATableOfContentsIsOnePassage(t *testing.T) {
	t.Parallel()
	acme := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	acme.Index(t, "docs")
	size, overlap := int32(300), int32(30)
	for _, tc := range []struct {
		uri      string
		chunking *ragdv1.Chunking
		want     func(n int) bool
	}{
		{"usual", nil, func(n int) bool { return n == 1 }},
		{"small", &ragdv1.Chunking{MaxSize: &size, Overlap: &overlap}, func(n int) bool { return n > 1 }},
		{"sentences", &ragdv1.Chunking{Strategy: "sentence"}, func(n int) bool { return n == 1 }},
	} {
		d := acme.Upload(t, &ragdv1.UploadDocumentRequest{
			IndexName: "docs", Uri: tc.uri, ContentType: "text/html", Source: &ragdv1.UploadDocumentRequest_Text{Text: handbook()}, Chunking: tc.chunking,
		})
		listed, err := acme.ListChunks(t.Context(), &ragdv1.ListChunksRequest{IndexName: "docs", DocumentId: d.DocumentId, PageSize: 1000})
		if err != nil {
			t.Fatal(err)
		}
		contents := 0
		for _, c := range listed.Chunks {
			if is := isContents(c.Metadata); is {
				contents++
			} else if strings.Contains(c.Text, "\n- Rules") {
				t.Errorf("%s: the contents are in %q", tc.uri, c.Text)
			}
			if isContents(c.Metadata) && (strings.Contains(c.Text, "Whoever") || tc.chunking.GetMaxSize() > 0 && len(c.Text) > int(size)) {
				t.Errorf("%s: %d bytes are %q", tc.uri, len(c.Text), c.Text)
			}
		}
		if !tc.want(contents) {
			t.Errorf("%s: the contents are %d chunks", tc.uri, contents)
		}
	}
}

func TestATableOfContentsComesLast(t *testing.T) {
	t.Parallel()
	acme := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	acme.Index(t, "docs")
	d := acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "handbook", ContentType: "text/html", Source: &ragdv1.UploadDocumentRequest_Text{Text: handbook()}})
	for _, question := range []string{"rules for lanterns", "Who decides about ferries?", "storms part 3", "harbour handbook rules for pilots and anchors"} {
		for _, mode := range []string{"vector", "keyword", "hybrid"} {
			res, err := acme.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: question, SearchMode: mode, TopK: new(int32(5))})
			if err != nil {
				t.Fatal(err)
			}
			for n, s := range res.Sources {
				if isContents(s.Metadata) && n < len(res.Sources)-1 {
					t.Errorf("%s, %s: the contents are number %d of %d", mode, question, n+1, len(res.Sources))
				}
			}
		}
		res, err := acme.GraphRag(t.Context(), &ragdv1.GraphRagRequest{IndexName: "docs", QueryText: question, TopK: new(int32(5))})
		if err != nil {
			t.Fatal(err)
		}
		for n, s := range res.Sources {
			if isContents(s.Metadata) && n < len(res.Sources)-1 {
				t.Errorf("graph, %s: the contents are number %d of %d", question, n+1, len(res.Sources))
			}
		}
	}
	acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "later", Title: "Lantern Ordinance LO-19", Source: &ragdv1.UploadDocumentRequest_Text{Text: "They were changed in May."}})
	mentions := func(when string) {
		t.Helper()
		edges, err := acme.ListEdges(t.Context(), &ragdv1.ListEdgesRequest{IndexName: "docs", DocumentId: d.DocumentId, Ordinal: contentsOrdinal(t, acme, d.DocumentId)})
		if err != nil {
			t.Fatal(err)
		}
		for _, edge := range edges.Edges {
			if edge.Type == "mention" && edge.Direction == "out" {
				t.Errorf("%s: the contents have the edge %v", when, edge)
			}
		}
	}
	mentions("when another document came")
	rebuild, err := acme.RebuildGraph(t.Context(), &ragdv1.RebuildGraphRequest{IndexName: "docs"})
	if err != nil {
		t.Fatal(err)
	}
	acme.Await(t, "docs", rebuild.JobId, d.DocumentId)
	mentions("after a rebuild")
	// It is found if it alone has what is asked for, and nothing else is in the way.
	alone, err := acme.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: `"part 1 Rules for berths"`, SearchMode: "keyword"})
	if err != nil || len(alone.Sources) == 0 {
		t.Errorf("%d sources, %v", len(alone.GetSources()), err)
	}
}

// contentsOrdinal returns the number of the chunk of the handbook that is its table of contents.
func contentsOrdinal(t *testing.T, c servicetest.Client, documentID string) int32 {
	t.Helper()
	listed, err := c.ListChunks(t.Context(), &ragdv1.ListChunksRequest{IndexName: "docs", DocumentId: documentID, PageSize: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range listed.Chunks {
		if isContents(found.Metadata) {
			return found.Ordinal
		}
	}
	t.Fatal("no chunk is of the table of contents")
	return 0
}

func TestTargetsOfLinksAreNoWords(t *testing.T) {
	t.Parallel()
	acme := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	acme.Index(t, "docs")
	for uri, u := range map[string]struct{ contentType, text string }{
		"md":   {"text/markdown", "See [the rules](https://packages.example.org/unstable/admin) of the north quay."},
		"html": {"text/html", `<p>See <a href="https://packages.example.org/unstable/admin">the rules</a> of the south quay.</p>`},
		"txt":  {"text/plain", "See [the rules](https://packages.example.org/unstable/admin) of the east quay."},
	} {
		acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: uri, ContentType: u.contentType, Source: &ragdv1.UploadDocumentRequest_Text{Text: u.text}})
	}
	for question, want := range map[string]int{"packages.example.org": 1, "unstable": 1, "rules quay": 3} {
		res, err := acme.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: "docs", QueryText: question, SearchMode: "keyword"})
		if err != nil || len(res.Sources) != want {
			t.Errorf("%s: %d sources, %v", question, len(res.GetSources()), err)
		}
		for _, s := range res.GetSources() {
			if !strings.Contains(s.Metadata.AsMap()["text"].(string), "https://packages.example.org/unstable/admin") {
				t.Errorf("the target is not shown in %q", s.Metadata.AsMap()["text"])
			}
		}
	}
}

func TestHeadingsSaidTwiceStandOnceInThePath(t *testing.T) {
	t.Parallel()
	acme := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	acme.Index(t, "docs")
	for uri, u := range map[string]struct{ contentType, text string }{
		"html": {"text/html", `<h1>8.2 The quay</h1><h2>8.2 The quay</h2><p>Text</p><h3>Fees</h3><p>None.</p>`},
		"md":   {"text/markdown", "# 8.2 The quay\n\n## 8.2 The quay\n\nText\n\n### Fees\n\nNone."},
	} {
		size, overlap := int32(20), int32(0)
		d := acme.Upload(t, &ragdv1.UploadDocumentRequest{
			IndexName: "docs", Uri: uri, ContentType: u.contentType, Source: &ragdv1.UploadDocumentRequest_Text{Text: u.text},
			Chunking: &ragdv1.Chunking{Strategy: "markdown", MaxSize: &size, Overlap: &overlap},
		})
		listed, err := acme.ListChunks(t.Context(), &ragdv1.ListChunksRequest{IndexName: "docs", DocumentId: d.DocumentId})
		if err != nil || len(listed.Chunks) == 0 {
			t.Fatalf("%d chunks, %v", len(listed.GetChunks()), err)
		}
		last := listed.Chunks[len(listed.Chunks)-1].Metadata.AsMap()
		path := fmt.Sprint(last["headings"], " ", last["position"].(map[string]any)["section"])
		if !strings.HasSuffix(path, "8.2 The quay > Fees") || strings.Count(path, "8.2 The quay") > 2 || strings.Contains(path, "quay 8.2") {
			t.Errorf("%s: the path is %s", uri, path)
		}
	}
}

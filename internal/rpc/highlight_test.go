package rpc_test

import (
	"math"
	"strings"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/testing/servicetest"
)

// matched returns the words of a source that are highlighted.
func matched(source *ragdv1.Source) string {
	var words []string
	for _, m := range source.GetHighlight().GetMatches() {
		words = append(words, source.Document[m.StartByte:m.EndByte])
	}
	return strings.Join(words, " ")
}

func TestHighlightsCompareWordsAsTheIndexDoes(t *testing.T) {
	t.Parallel()
	acme := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	for _, tc := range []struct{ language, text, question, want string }{
		{"english", "Opening the gates at 6.30 floods washed-rind cellars.", "How long do gates open at 6.30 in washed-rind cellars?", "Opening gates 6.30 washed rind cellars"},
		{"german", "Die H\u00e4user \u00f6ffnen ihre T\u00fcren.", "Wann \u00f6ffnet das Haus?", "H\u00e4user"},
		{"simple", "Gates and gate, GATE.", "gate", "gate GATE"},
	} {
		_, err := acme.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: tc.language, TextLanguage: tc.language})
		if err != nil {
			t.Fatal(err)
		}
		acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: tc.language, Uri: "doc", Source: servicetest.Text(tc.text)})
		for _, mode := range []string{"keyword", "hybrid", "vector"} {
			_, res := found(t, acme, &ragdv1.VectorQueryRequest{QueryText: tc.question, IndexName: tc.language, SearchMode: mode, Highlight: true})
			if got := matched(res.Sources[0]); got != tc.want {
				t.Errorf("%s, %s: %q matches, want %q", tc.language, mode, got, tc.want)
			}
			if passage := res.Sources[0].Highlight.Passage; passage.StartByte != 0 || int(passage.EndByte) != len(tc.text) {
				t.Errorf("%s: the passage is %v", tc.language, passage)
			}
		}
		walked, err := acme.GraphRag(t.Context(), &ragdv1.GraphRagRequest{QueryText: tc.question, IndexName: tc.language, Highlight: true})
		if err != nil || matched(walked.Sources[0]) != tc.want {
			t.Errorf("%s, graph: %v, %v", tc.language, walked, err)
		}
		_, res := found(t, acme, &ragdv1.VectorQueryRequest{QueryText: tc.question, IndexName: tc.language})
		if res.Sources[0].Highlight != nil || res.Sources[0].Parts != nil {
			t.Errorf("%s: not asked for: %v", tc.language, res.Sources[0])
		}
	}
}

func TestExplainedScoresAreTheSumOfTheirParts(t *testing.T) {
	t.Parallel()
	acme := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	acme.Index(t, "docs")
	for uri, text := range map[string]string{"a": "the gates of the harbour", "b": "garden gates", "c": "ships at sea"} {
		acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: uri, Source: servicetest.Text(text)})
	}
	for _, req := range []*ragdv1.VectorQueryRequest{
		{SearchMode: "hybrid"}, {SearchMode: "hybrid", Hybrid: &ragdv1.Hybrid{Fusion: "rrf"}}, {SearchMode: "keyword"},
	} {
		req.QueryText, req.Explain = "harbour gates", true
		uris, res := found(t, acme, req)
		if len(uris) < 2 || uris[0] != "a" {
			t.Fatalf("found %v", uris)
		}
		for _, source := range res.Sources {
			parts := source.Parts
			if parts == nil || math.Abs(parts.KeywordShare+parts.VectorShare-source.Score) > 1e-9 || (parts.Vector == nil) != (req.SearchMode == "keyword") {
				t.Errorf("%v: score %v of %v", req, source.Score, parts)
			}
		}
		if res.Sources[0].Parts.Keyword <= res.Sources[1].Parts.Keyword {
			t.Errorf("%v: BM25 %v and %v", req, res.Sources[0].Parts, res.Sources[1].Parts)
		}
	}
}

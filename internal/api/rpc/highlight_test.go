package rpc_test

import (
	"strings"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
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
		{"english", "Opening the gates at 6.30 floods washed-rind cellars.", "How long do gates open at 6.30 in washed-rind cellars?", "Opening gates 6.30 washed-rind cellars"},
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
		if res.Sources[0].Highlight != nil {
			t.Errorf("%s: not asked for: %v", tc.language, res.Sources[0])
		}
	}
}

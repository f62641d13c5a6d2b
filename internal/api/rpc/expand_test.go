package rpc_test

import (
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// tides is a document with a short section, and a long one whose paragraphs are a chunk each.
func tides() string {
	var b strings.Builder
	b.WriteString("# Harbour\n\nThe harbour has two gates.\n\n## Fees\n\nYachts pay by the metre from stem to stern, and for each night.\n\nBarges pay by the day, whatever their length and their load.\n\n## Tides\n\n")
	for n := range 80 {
		fmt.Fprintf(&b, "Paragraph %d says what water mark %d means to the pilots of the outer basin, in many words.\n\n", n, n)
	}
	return b.String()
}

// expandable returns a tenant with the document tides.
func expandable(t *testing.T) (*servicetest.Service, servicetest.Client, *ragdv1.Document) {
	t.Helper()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	d := acme.Upload(t, &ragdv1.UploadDocumentRequest{
		IndexName: "docs", Uri: "tides.md", ContentType: "text/markdown", Source: servicetest.Text(tides()), Metadata: servicetest.Object(t, map[string]any{"level": "open"}),
		Chunking: &ragdv1.Chunking{Strategy: "markdown", MaxSize: new(int32(100)), Overlap: new(int32(0))},
	})
	return s, acme, d
}

// checkHits fails unless the hits of a source are where they say to be, in its text and in the document.
func checkHits(t *testing.T, source *ragdv1.Source) {
	t.Helper()
	if len(source.Hits) == 0 || source.Hits[0].Id != source.Id || source.Hits[0].Range.StartByte != source.Chunk.StartByte || source.Hits[0].Score != source.Score {
		t.Fatalf("the first hit of %v is not its chunk", source)
	}
	text := tides()
	for _, hit := range source.Hits {
		in := source.Document[hit.Range.StartByte:hit.Range.EndByte]
		if of := text[hit.StartByte:hit.EndByte]; in != of || hit.StartByte < source.StartByte || hit.EndByte > source.EndByte {
			t.Errorf("hit %d is %q in the source and %q in the document", hit.Ordinal, in, of)
		}
	}
}

func TestSourcesAreExpanded(t *testing.T) {
	t.Parallel()
	_, acme, d := expandable(t)
	ask := func(expand, question string, topK int32) []*ragdv1.Source {
		t.Helper()
		_, res := found(t, acme, &ragdv1.VectorQueryRequest{QueryText: question, SearchMode: "keyword", TopK: &topK, Expand: expand})
		for _, source := range res.Sources {
			checkHits(t, source)
			if !strings.Contains(res.RelevantContext, source.Document) || source.Metadata.Fields["text"].GetStringValue() != source.Document {
				t.Errorf("the context or the metadata have another text than %q", source.Document)
			}
		}
		return res.Sources
	}

	fees := ask("section", "what do barges pay", 1)
	if got := fees[0].Document; !strings.Contains(got, "Yachts pay by the metre") || strings.Contains(got, "two gates") || strings.Contains(got, "Paragraph") {
		t.Errorf("the section of a hit is %q", got)
	}
	if both := ask("section", "barges yachts pay", 2); len(both) != 1 || len(both[0].Hits) != 2 || both[0].Document != fees[0].Document || both[0].Hits[0].Score < both[0].Hits[1].Score {
		t.Errorf("two hits of a section are %v", both)
	}
	if one := ask("section", "paragraph 40", 1); len(one[0].Document) > 110 {
		t.Errorf("one hit in a long section is expanded to %q", one[0].Document)
	}
	if two := ask("section", `"outer basin" 40 41`, 2); len(two) != 1 || len(two[0].Hits) != 2 || len(two[0].Document) < 4000 || strings.Contains(two[0].Document, "Barges") {
		t.Errorf("two hits in a long section are %v", two)
	}
	whole := ask("document", "what do barges pay", 1)[0]
	if !strings.Contains(whole.Document, "two gates") || !strings.Contains(whole.Document, "Paragraph 79") || strings.Count(whole.Document, "Yachts") != 1 || whole.StartByte != 0 {
		t.Errorf("the document is %q", whole.Document)
	}
	near := ask("neighbours", "paragraph 40", 1)[0]
	if !strings.Contains(near.Document, "Paragraph 39") || !strings.Contains(near.Document, "Paragraph 41") || strings.Contains(near.Document, "Paragraph 42") {
		t.Errorf("the neighbours are %q", near.Document)
	}

	long := acme.Upload(t, &ragdv1.UploadDocumentRequest{
		IndexName: "docs", Uri: "long.txt", ContentType: "text/plain", Source: servicetest.Text(strings.Repeat("Dredging goes on. ", 3000) + "The quay has a crane. " + strings.Repeat("Dredging goes on. ", 3000)),
	})
	_, res := found(t, acme, &ragdv1.VectorQueryRequest{QueryText: "crane quay", SearchMode: "keyword", TopK: new(int32(1)), Expand: "document"})
	if got := res.Sources[0]; len(got.Document) > 16<<10 || len(got.Document) < 8<<10 || !strings.Contains(got.Document, "crane") || got.DocumentId != long.DocumentId {
		t.Errorf("a document over the limit is a source of %d bytes", len(got.Document))
	}
	_, res = found(t, acme, &ragdv1.VectorQueryRequest{QueryText: "crane quay", SearchMode: "keyword", TopK: new(int32(1)), Expand: "document", MaxTokens: new(int32(1000))})
	if got := res.Sources[0]; len(got.Document) > 2000 || !strings.Contains(got.Document, "crane") || res.Budget.UsedTokens > 1000 {
		t.Errorf("with maxTokens a source has %d bytes, budget %v", len(got.Document), res.Budget)
	}

	acme.Topics(t, "docs")
	for _, scope := range []string{"", "global"} {
		walked, err := acme.GraphRag(t.Context(), &ragdv1.GraphRagRequest{QueryText: "what do barges pay", TopK: new(int32(3)), Expand: "section", Scope: scope, Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, source := range walked.Sources {
			if source.DocumentId == d.DocumentId {
				checkHits(t, source)
			}
			for _, hit := range source.Hits {
				if seen[hit.Id] {
					t.Errorf("chunk %s is in two sources", hit.Id)
				}
				seen[hit.Id] = true
			}
			if source.Path == "" {
				t.Errorf("source %s has lost its path", source.Id)
			}
		}
	}
	for field, req := range map[string]*ragdv1.VectorQueryRequest{
		"expand":     {QueryText: "a", Expand: "chapter"},
		"neighbours": {QueryText: "a", Expand: "section", Neighbours: 2},
	} {
		_, err := acme.VectorQuery(t.Context(), req)
		if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), field+": ") {
			t.Errorf("%v: %v", req, err)
		}
	}
}

// What a caller may not read is not shown by an expansion: neither a chunk that a mandatory filter hides, nor
// one that the filter of the query leaves out, nor another namespace, nor another tenant.
func TestExpansionsShowNothingHidden(t *testing.T) {
	t.Parallel()
	s, acme, d := expandable(t)
	bolt := s.Tenant(t, "bolt")
	bolt.Index(t, "docs")
	bolt.Upload(t, &ragdv1.UploadDocumentRequest{
		IndexName: "docs", Uri: "tides.md", ContentType: "text/markdown", Source: servicetest.Text("# Harbour\n\n## Fees\n\nBarges of bolt pay nothing.\n\nThe bolt is secret."),
	})
	// The chunk about yachts is hidden.
	tag, err := s.Pool.Exec(t.Context(), `UPDATE tenant_acme.chunk_1 SET metadata = metadata || '{"level": "secret"}' WHERE text LIKE '%Yachts%'`)
	if err != nil || tag.RowsAffected() != 1 {
		t.Fatal(tag, err)
	}
	visitor := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", MandatoryFilter: servicetest.Object(t, map[string]any{"level": "open"})}))
	for _, expand := range []string{"section", "neighbours", "document"} {
		for name, ask := range map[string]func() (string, []*ragdv1.Source, error){
			"a mandatory filter": func() (string, []*ragdv1.Source, error) {
				res, err := visitor.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{QueryText: "what do barges pay", TopK: new(int32(2)), Expand: expand})
				return res.GetRelevantContext(), res.GetSources(), err
			},
			"a mandatory filter and a walk": func() (string, []*ragdv1.Source, error) {
				res, err := visitor.GraphRag(t.Context(), &ragdv1.GraphRagRequest{QueryText: "what do barges pay", TopK: new(int32(2)), Expand: expand})
				return res.GetRelevantContext(), res.GetSources(), err
			},
			"a filter": func() (string, []*ragdv1.Source, error) {
				res, err := acme.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{QueryText: "what do barges pay", TopK: new(int32(2)), Expand: expand, Filter: value(t, map[string]any{"level": "open"})})
				return res.GetRelevantContext(), res.GetSources(), err
			},
		} {
			context, sources, err := ask()
			if err != nil || len(sources) == 0 || !strings.Contains(context, "Barges") || sources[0].DocumentId != d.DocumentId {
				t.Fatalf("%s, expand %s: %v, %v", name, expand, sources, err)
			}
			if strings.Contains(context, "Yachts") || strings.Contains(context, "bolt") {
				t.Errorf("%s: expand %s shows what is hidden: %q", name, expand, context)
			}
		}
	}
}

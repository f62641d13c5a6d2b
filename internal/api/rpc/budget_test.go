package rpc_test

import (
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/chunk/tokenizer"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// section is a section of ten sentences about a tower.
func section(tower int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## Tower %d\n\n", tower)
	for i := range 10 {
		fmt.Fprintf(&b, "The lamp of tower %d burns oil number %d, which a keeper carries up at dusk. ", tower, i)
	}
	return strings.TrimSpace(b.String()) + "\n\n"
}

// towers uploads documents of several sections.
func towers(t testing.TB, c servicetest.Client, index string, documents, sections int) {
	t.Helper()
	var uploads []*ragdv1.UploadDocumentRequest
	for d := range documents {
		var b strings.Builder
		for s := range sections {
			b.WriteString(section(d*sections + s))
		}
		uploads = append(uploads, &ragdv1.UploadDocumentRequest{IndexName: index, Uri: fmt.Sprintf("towers/%d.md", d), Source: servicetest.Text(b.String())})
	}
	c.UploadAll(t, uploads)
	c.AwaitAll(t, index)
}

func tokensOf(encoding, text string) int { return tokenizer.Load(encoding).Count(text, nil) }

// wantWithin requires that an answer keeps to a budget: the first sources of the answer without
// one, the last of them cut at the end of a sentence.
func wantWithin(t *testing.T, what string, most int, encoding, relevant string, sources, all []*ragdv1.Source, b *ragdv1.Budget) {
	t.Helper()
	used := tokensOf(encoding, relevant)
	if used > most || int(b.GetUsedTokens()) != used || int(b.GetMaxTokens()) != most || b.GetEncodingName() != encoding {
		t.Errorf("%s: uses %d tokens, says %v", what, used, b)
	}
	if len(sources) == 0 || len(sources)+int(b.OmittedCount) != len(all) || b.OmittedTokens <= 0 {
		t.Fatalf("%s: %d of %d sources, says %v", what, len(sources), len(all), b)
	}
	for i, source := range sources {
		if source.Id != all[i].Id {
			t.Errorf("%s: source %d is %s, want %s", what, i, source.Id, all[i].Id)
		}
		switch last := i == len(sources)-1; {
		case !last && source.Document != all[i].Document:
			t.Errorf("%s: source %d is cut", what, i)
		case last && b.CutId != "":
			if b.CutId != source.Id || !strings.Contains(all[i].Document, source.Document) || len(source.Document) == len(all[i].Document) || !strings.HasSuffix(source.Document, ".") {
				t.Errorf("%s: source %d is %q, says %v", what, i, source.Document, b)
			}
			if text := source.Metadata.Fields["text"].GetStringValue(); text != source.Document {
				t.Errorf("%s: the metadata of the source that was cut have %q", what, text)
			}
		}
		if !strings.Contains(relevant, source.Document) {
			t.Errorf("%s: the context lacks source %d", what, i)
		}
	}
	for i, omitted := range b.Omitted {
		if want := all[len(sources)+i]; omitted.Id != want.Id || omitted.Uri != want.Uri || omitted.Score != want.Score || int(omitted.Tokens) < tokensOf(encoding, want.Document)*2/3 || int(omitted.Tokens) > tokensOf(encoding, want.Document)*3/2+20 {
			t.Errorf("%s: names %v, left out was %v", what, omitted, want)
		}
	}
	if want := min(int(b.OmittedCount), 20); len(b.Omitted) != want {
		t.Errorf("%s: names %d of %d", what, len(b.Omitted), b.OmittedCount)
	}
}

func TestAnswersKeepToTheirBudget(t *testing.T) {
	t.Parallel()
	acme := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	acme.Index(t, "docs")
	towers(t, acme, "docs", 10, 6)
	const question = "Which oil does the lamp of tower 7 burn?"
	for name, change := range map[string]func(*ragdv1.VectorQueryRequest){
		"hybrid":     func(*ragdv1.VectorQueryRequest) {},
		"vector":     func(r *ragdv1.VectorQueryRequest) { r.SearchMode = "vector" },
		"keyword":    func(r *ragdv1.VectorQueryRequest) { r.SearchMode = "keyword" },
		"reranked":   func(r *ragdv1.VectorQueryRequest) { r.Reranker = &ragdv1.Reranker{Kind: "lexical"} },
		"explained":  func(r *ragdv1.VectorQueryRequest) { r.Explain, r.Highlight = true, true },
		"neighbours": func(r *ragdv1.VectorQueryRequest) { r.Neighbours, r.MaxPerDocument = 1, 1 },
	} {
		for _, encoding := range []string{"cl100k_base", "o200k_base", "gpt2"} {
			for _, most := range []int32{512, 900, 2000} {
				req := &ragdv1.VectorQueryRequest{QueryText: question, IndexName: "docs", TopK: new(int32(40))}
				change(req)
				_, whole := found(t, acme, req)
				if whole.Budget != nil {
					t.Errorf("%s: not asked for: %v", name, whole.Budget)
				}
				req.MaxTokens, req.EncodingName = &most, encoding
				_, res := found(t, acme, req)
				what := fmt.Sprint(name, " ", encoding, " ", most)
				wantWithin(t, what, int(most), encoding, res.RelevantContext, res.Sources, whole.Sources, res.Budget)
				for _, source := range res.Sources {
					if h := source.Highlight; req.Highlight && (h == nil || int(h.Passage.EndByte) > len(source.Document)) {
						t.Errorf("%s: highlights %v of %d bytes", what, h, len(source.Document))
					}
					if req.Neighbours > 0 && !strings.Contains(source.Document[source.Chunk.GetStartByte():source.Chunk.GetEndByte()], "lamp") {
						t.Errorf("%s: the chunk is %v", what, source.Chunk)
					}
				}
				if req.Explain && res.Explain.Complete {
					t.Errorf("%s: says that it is complete", what)
				}
				req.IncludeSources = new(false)
				if _, bare := found(t, acme, req); bare.RelevantContext != res.RelevantContext || len(bare.Sources) > 0 || bare.Budget.GetOmittedCount() != res.Budget.OmittedCount {
					t.Errorf("%s: without sources: %v", what, bare.Budget)
				}
			}
		}
	}
	_, all := found(t, acme, &ragdv1.VectorQueryRequest{QueryText: question, IndexName: "docs", MaxTokens: new(int32(100000))})
	if len(all.Sources) != 10 || all.Budget.OmittedCount != 0 || all.Budget.OmittedTokens != 0 || all.Budget.CutId != "" {
		t.Errorf("all fit: %v", all.Budget)
	}
	for _, req := range []*ragdv1.GraphRagRequest{
		{QueryText: question}, {QueryText: question, Explain: true}, {QueryText: question, Reranker: &ragdv1.Reranker{Kind: "lexical"}},
		{QueryText: question, GraphOptions: &ragdv1.GraphOptions{Candidates: 30}},
	} {
		req.IndexName, req.TopK = "docs", new(int32(20))
		whole, err := acme.GraphRag(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		req.MaxTokens = new(int32(900))
		res, err := acme.GraphRag(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		wantWithin(t, fmt.Sprint("graph ", req), 900, "cl100k_base", res.RelevantContext, res.Sources, whole.Sources, res.Budget)
		shown := 0
		for _, node := range res.GetExplain().GetNodes() {
			if node.Source {
				shown++
			}
		}
		if shown > len(res.Sources) {
			t.Errorf("%v: %d nodes are sources of %d", req, shown, len(res.Sources))
		}
	}
}

// What a caller may not read is neither named nor counted among what was left out.
func TestABudgetNamesOnlyWhatTheCallerMayRead(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	for _, c := range []servicetest.Client{acme, bolt} {
		c.Index(t, "docs")
	}
	for d := range 8 {
		for c, team := range map[*servicetest.Client]string{&acme: []string{"open", "closed"}[d%2], &bolt: "bolt"} {
			c.Upload(t, &ragdv1.UploadDocumentRequest{
				IndexName: "docs", Uri: fmt.Sprint(team, "/", d, ".md"), Source: servicetest.Text(section(d) + section(d)), Metadata: servicetest.Object(t, map[string]any{"team": team}),
			})
		}
	}
	bound := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "open"})}))
	const question = "Which oil does the lamp burn?"
	whole, err := bound.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{QueryText: question, IndexName: "docs", TopK: new(int32(1000))})
	if err != nil {
		t.Fatal(err)
	}
	asked, err := bound.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{QueryText: question, IndexName: "docs", TopK: new(int32(1000)), MaxTokens: new(int32(512))})
	if err != nil {
		t.Fatal(err)
	}
	walked, err := bound.GraphRag(t.Context(), &ragdv1.GraphRagRequest{QueryText: question, IndexName: "docs", TopK: new(int32(1000)), MaxTokens: new(int32(512))})
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]*ragdv1.Budget{"query": asked.Budget, "graph": walked.Budget} {
		if b.OmittedCount == 0 || int(b.OmittedCount) >= len(whole.Sources) {
			t.Errorf("%s: %d of %d left out", name, b.OmittedCount, len(whole.Sources))
		}
		for _, omitted := range b.Omitted {
			if !strings.HasPrefix(omitted.Uri, "open/") {
				t.Errorf("%s: names %v", name, omitted)
			}
		}
	}
}

func TestBadBudgetsAreRefused(t *testing.T) {
	t.Parallel()
	acme := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	acme.Index(t, "docs")
	document := acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "a", Source: servicetest.Text("A text.")})
	for _, tc := range []struct {
		most     *int32
		encoding string
		field    string
	}{{new(int32(511)), "", "maxTokens"}, {new(int32(0)), "", "maxTokens"}, {new(int32(1000001)), "", "maxTokens"}, {new(int32(600)), "words", "encodingName"}, {nil, "gpt2", "encodingName"}} {
		_, asked := acme.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{QueryText: "x", MaxTokens: tc.most, EncodingName: tc.encoding})
		_, walked := acme.GraphRag(t.Context(), &ragdv1.GraphRagRequest{QueryText: "x", MaxTokens: tc.most, EncodingName: tc.encoding})
		_, read := acme.ReadDocument(t.Context(), &ragdv1.ReadDocumentRequest{DocumentId: document.DocumentId, MaxTokens: tc.most, EncodingName: tc.encoding})
		for _, err := range []error{asked, walked, read} {
			servicetest.WantCode(t, tc.field, err, connect.CodeInvalidArgument)
			if err != nil && !strings.Contains(err.Error(), tc.field+": ") {
				t.Errorf("%s: %v", tc.field, err)
			}
		}
	}
}

func TestDocumentsAreReadWithinABudget(t *testing.T) {
	t.Parallel()
	acme := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	acme.Index(t, "docs")
	text := ""
	for i := range 30 {
		text += section(i)
	}
	document := acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "a.md", Source: servicetest.Text(text)})
	read := ""
	for start := uint32(0); ; {
		res, err := acme.ReadDocument(t.Context(), &ragdv1.ReadDocumentRequest{DocumentId: document.DocumentId, StartByte: start, MaxTokens: new(int32(800))})
		if err != nil {
			t.Fatal(err)
		}
		if used := tokensOf("cl100k_base", res.Text); used > 800 || used < 500 || int(res.Budget.UsedTokens) != used {
			if res.EndByte < res.ByteSize {
				t.Errorf("%d tokens, says %v", used, res.Budget)
			}
		}
		read += res.Text
		if start = res.EndByte; start == res.ByteSize {
			if res.Budget.OmittedTokens != 0 {
				t.Errorf("at the end: %v", res.Budget)
			}
			break
		}
		if !strings.HasSuffix(res.Text, ".") || res.Budget.OmittedTokens == 0 {
			t.Errorf("ends with %q, says %v", res.Text[len(res.Text)-20:], res.Budget)
		}
	}
	if strings.TrimSpace(read) != strings.TrimSpace(text) {
		t.Errorf("reading on gives %d bytes of %d", len(read), len(text))
	}
}

// A text that is in the metadata of a ready-made vector is cut there, too.
func TestABudgetCutsTheTextOfReadyMadeVectors(t *testing.T) {
	t.Parallel()
	acme := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	vectors(t, acme, &ragdv1.CreateIndexRequest{IndexName: "v", Dimension: 2})
	text := section(1) + section(2) + section(3) + section(4)
	entry := &ragdv1.Entry{Id: "a", Values: []float32{1, 0}, Metadata: servicetest.Object(t, map[string]any{"text": text, "page": 3})}
	if _, err := acme.Upsert(t.Context(), &ragdv1.UpsertRequest{IndexName: "v", Entries: []*ragdv1.Entry{entry}}); err != nil {
		t.Fatal(err)
	}
	_, res := found(t, acme, &ragdv1.VectorQueryRequest{QueryVector: []float32{1, 0}, IndexName: "v", MaxTokens: new(int32(600))})
	source := res.Sources[0]
	if got := source.Metadata.Fields["text"].GetStringValue(); got != source.Document || !strings.HasPrefix(text, got) || len(got) == len(text) || source.Metadata.Fields["page"].GetNumberValue() != 3 {
		t.Errorf("the metadata have %q", source.Metadata)
	}
}

// BenchmarkBudget measures queries for 50 sources over Connect, without a budget and with one.
func BenchmarkBudget(b *testing.B) {
	acme := servicetest.New(b, service.Config{}).Tenant(b, "acme")
	acme.Index(b, "docs")
	towers(b, acme, "docs", 20, 6)
	for _, most := range []*int32{nil, new(int32(4000))} {
		b.Run(fmt.Sprint(most != nil), func(b *testing.B) {
			for b.Loop() {
				_, err := acme.VectorQuery(b.Context(), &ragdv1.VectorQueryRequest{QueryText: "Which oil does the lamp of tower 7 burn?", IndexName: "docs", TopK: new(int32(50)), MaxTokens: most})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

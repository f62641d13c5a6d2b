package rpc_test

import (
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

func TestCheckGrounding(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	for _, c := range []servicetest.Client{acme, bolt} {
		c.Index(t, "main")
	}
	acme.Index(t, "other")
	put := func(index, uri, text, level string) *ragdv1.Document {
		return acme.Upload(t, &ragdv1.UploadDocumentRequest{
			IndexName: index, Uri: uri, Title: uri, Source: servicetest.Text(text), Metadata: servicetest.Object(t, map[string]any{"level": level}),
		})
	}
	kiln := put("main", "kiln", "The kiln fires at 1,240 degrees for 9 hours. It was bought in 2019.", "open")
	glaze := put("main", "glaze", "The blue glaze was mixed by Hedda Quill and holds 14 percent cobalt.", "secret")
	put("other", "wheel", "The wheel turns 230 times a minute.", "open")
	theirs := bolt.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "main", Uri: "kiln", Source: servicetest.Text("The bolt kiln burns wood.")})
	chunks, err := acme.ListChunks(t.Context(), &ragdv1.ListChunksRequest{IndexName: "main", DocumentId: glaze.DocumentId})
	noError(t, err)
	glazeChunk := chunks.Chunks[0].ChunkId
	filtered := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"level": "open"})}))
	bound := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, Indexes: names("other")}))
	const answer = "The kiln fires for 9 hours at 1240 degrees [1]. Hedda Quill mixed the blue glaze. It costs 30 euros."

	t.Run("sentences have states, spans and quotes", func(t *testing.T) {
		t.Parallel()
		res, err := acme.CheckGrounding(t.Context(), &ragdv1.CheckGroundingRequest{
			Answer: answer, IndexName: "main", DocumentIds: []string{kiln.DocumentId}, ChunkIds: []string{glazeChunk}, QueryText: "kiln",
			Texts: []*ragdv1.GroundingText{{Text: "Nothing of interest is said here."}},
		})
		noError(t, err)
		if len(res.Sentences) != 3 || len(res.Sources) != 3 || res.SupportedCount != 2 || res.UnsupportedCount != 1 {
			t.Fatalf("the answer is %v", res)
		}
		for n, want := range []string{"supported", "supported", "unsupported"} {
			if got := res.Sentences[n]; got.State != want || answer[got.Range.StartByte:got.Range.EndByte] != got.Text {
				t.Errorf("sentence %d is %v, want %s", n, got, want)
			}
		}
		quote := res.Sentences[0].Quotes[0]
		if source := res.Sources[quote.Source]; source.DocumentId != kiln.DocumentId || source.Uri != "kiln" || quote.Text != "The kiln fires at 1,240 degrees for 9 hours." {
			t.Errorf("the quote is %v of %v", quote, source)
		}
		if missing := res.Sentences[2].Missing; len(missing) != 1 || missing[0].Kind != "number" || !strings.Contains(missing[0].Text, "30") || missing[0].Elsewhere {
			t.Errorf("the last sentence lacks %v", missing)
		}
	})
	t.Run("a question finds the sources", func(t *testing.T) {
		t.Parallel()
		res, err := acme.CheckGrounding(t.Context(), &ragdv1.CheckGroundingRequest{Answer: "The wheel turns 230 times per minute.", IndexName: "other", QueryText: "How fast is the wheel?", TopK: new(int32(1))})
		noError(t, err)
		if res.SupportedCount != 1 || res.Sources[0].Uri != "wheel" {
			t.Errorf("the answer is %v", res)
		}
	})
	t.Run("nothing beyond its bounds is compared with", func(t *testing.T) {
		t.Parallel()
		for name, c := range map[string]servicetest.Client{"another tenant": bolt, "a key with a filter": filtered, "a bound key": bound} {
			for _, req := range []*ragdv1.CheckGroundingRequest{{DocumentIds: []string{glaze.DocumentId}}, {ChunkIds: []string{glazeChunk}}} {
				req.Answer, req.IndexName = answer, "main"
				_, err := c.CheckGrounding(t.Context(), req)
				servicetest.WantCode(t, name, err, connect.CodeNotFound)
			}
		}
		_, err := acme.CheckGrounding(t.Context(), &ragdv1.CheckGroundingRequest{Answer: answer, IndexName: "main", DocumentIds: []string{theirs.DocumentId}})
		servicetest.WantCode(t, "a document of another tenant", err, connect.CodeNotFound)
		res, err := filtered.CheckGrounding(t.Context(), &ragdv1.CheckGroundingRequest{Answer: answer, IndexName: "main", QueryText: "Who mixed the blue glaze?"})
		noError(t, err)
		for _, source := range res.Sources {
			if source.DocumentId == glaze.DocumentId {
				t.Error("a key with a filter sees what that hides")
			}
		}
		if res.Sentences[1].State != "unsupported" {
			t.Errorf("with a filter, %v", res.Sentences[1])
		}
	})
	t.Run("bad input names its field", func(t *testing.T) {
		t.Parallel()
		text := []*ragdv1.GroundingText{{Text: "x"}}
		for field, req := range map[string]*ragdv1.CheckGroundingRequest{
			"answer":         {Answer: " ", Texts: text},
			"texts":          {Answer: "x"},
			"texts[1].text":  {Answer: "x", Texts: append(text, &ragdv1.GroundingText{Title: "y"})},
			"topK":           {Answer: "x", Texts: text, TopK: new(int32(3))},
			"documentIds[0]": {Answer: "x", IndexName: "main", DocumentIds: []string{"kiln"}},
			"chunkIds":       {Answer: "x", IndexName: "main", ChunkIds: make([]string, 101)},
		} {
			_, err := acme.CheckGrounding(t.Context(), req)
			servicetest.WantCode(t, field, err, connect.CodeInvalidArgument)
			if err != nil && !strings.Contains(err.Error(), field) {
				t.Errorf("%s: %v", field, err)
			}
		}
		for name, long := range map[string]string{"bytes": strings.Repeat("x", 64<<10+1), "sentences": strings.Repeat("It is so. ", 1001)} {
			_, err := acme.CheckGrounding(t.Context(), &ragdv1.CheckGroundingRequest{Answer: long, Texts: text})
			servicetest.WantCode(t, name, err, connect.CodeInvalidArgument)
		}
	})
}

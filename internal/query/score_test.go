package query_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// vectors returns a client of a tenant whose index of ready-made vectors has these texts,
// each with a vector at another angle to [1, 0], in steps of five degrees.
func vectors(t *testing.T, texts ...string) servicetest.Client {
	t.Helper()
	c := servicetest.New(t, service.Config{}).Tenant(t, "acme")
	if _, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "v", Dimension: 2}); err != nil {
		t.Fatal(err)
	}
	req := &ragdv1.UpsertRequest{IndexName: "v"}
	for n, text := range texts {
		angle := float64(n) * 5 * math.Pi / 180
		req.Entries = append(req.Entries, &ragdv1.Entry{
			Id: fmt.Sprint(n), Document: text, Values: []float32{float32(math.Cos(angle)), float32(math.Sin(angle))},
			Metadata: servicetest.Object(t, map[string]any{"even": n%2 == 0}),
		})
	}
	if _, err := c.Upsert(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	return c
}

func ask(t *testing.T, c servicetest.Client, req *ragdv1.VectorQueryRequest) []*ragdv1.Source {
	t.Helper()
	res, err := c.VectorQuery(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return res.GetSources()
}

func TestTheSameEmbeddingScoresHighWithoutASharedTerm(t *testing.T) {
	t.Parallel()
	c := vectors(t, "ships at sea", "the gates of the harbour", "garden gates")
	found := ask(t, c, &ragdv1.VectorQueryRequest{QueryText: "vessels", QueryVector: []float32{1, 0}, SearchMode: "hybrid", MinScore: new(0.7)})
	if len(found) == 0 || found[0].Id != "0" || found[0].GetSimilarity() != 1 || found[0].KeywordScore != nil {
		t.Errorf("found %v", found)
	}
	found = ask(t, c, &ragdv1.VectorQueryRequest{QueryText: "stars above", QueryVector: []float32{0, -1}, SearchMode: "hybrid", MinScore: new(0.5)})
	if len(found) > 0 {
		t.Errorf("what is unlike the question in every way scores more than 0.5: %v", found)
	}
}

// A score tells how well a chunk answers, whatever else there is to find.
func TestScoresDoNotDependOnWhatElseIsFound(t *testing.T) {
	t.Parallel()
	texts := make([]string, 60)
	words := []string{"harbour", "gates", "ships", "sea", "garden", "tower", "storm", "rope"}
	for n := range texts {
		texts[n] = fmt.Sprintf("the %s of the %s and %s number %d", words[n%8], words[n*3%7], words[n*5%6], n)
	}
	c := vectors(t, texts...)
	for _, mode := range []string{"vector", "keyword", "hybrid"} {
		for _, question := range []string{"harbour gates in a storm", "tower", "a zeppelin above the garden"} {
			request := func() *ragdv1.VectorQueryRequest {
				return &ragdv1.VectorQueryRequest{QueryText: question, QueryVector: []float32{1, 0.5}, SearchMode: mode, TopK: new(int32(60))}
			}
			all := map[string]*ragdv1.Source{}
			for _, s := range ask(t, c, request()) {
				all[s.Id] = s
			}
			few, filtered, spread, explained := request(), request(), request(), request()
			few.TopK = new(int32(3))
			filtered.Filter = structpb.NewStructValue(servicetest.Object(t, map[string]any{"even": true}))
			spread.MaxPerDocument = 1
			explained.Explain, explained.MinSimilarity = true, new(0.8)
			for name, req := range map[string]*ragdv1.VectorQueryRequest{"topK": few, "filter": filtered, "maxPerDocument": spread, "explain": explained} {
				found := ask(t, c, req)
				if len(found) == 0 {
					t.Errorf("%s, %q, %s: nothing was found", mode, question, name)
				}
				for _, s := range found {
					same := all[s.Id]
					if s.Score != same.Score || s.GetSimilarity() != same.GetSimilarity() || s.GetKeywordScore() != same.GetKeywordScore() {
						t.Errorf("%s, %q, %s: chunk %s has %v, %v, %v, and without it %v, %v, %v", mode, question, name, s.Id,
							s.Score, s.GetSimilarity(), s.GetKeywordScore(), same.Score, same.GetSimilarity(), same.GetKeywordScore())
					}
				}
			}
		}
	}
}

// What has all words of a question, side by side, answers it although they are common and its embedding is far off.
func TestAVerbatimPhraseOfCommonWordsIsFoundFarFromTheQuestion(t *testing.T) {
	t.Parallel()
	common := []string{"update", "the", "configuration", "of", "server", "drivers", "a", "file"}
	texts := make([]string, 40)
	for n := range texts {
		texts[n] = fmt.Sprintf("%s %s passage %d about %s %s", common[n%8], common[n/2%8], n, common[n*5%8], common[n*3%8])
	}
	const near, phrase = "0", 5 // 50 and 75 degrees off
	texts[phrase] = "how to update the configuration of a file"
	for _, weight := range []float64{0.55, 0.7} {
		c := vectors(t, texts...)
		req := &ragdv1.VectorQueryRequest{QueryText: "update the configuration of", QueryVector: []float32{0.643, -0.766}, Hybrid: &ragdv1.Hybrid{VectorWeight: &weight}}
		found := ask(t, c, req)
		if len(found) == 0 || found[0].Id != fmt.Sprint(phrase) {
			t.Errorf("where embeddings weigh %v the first are %v", weight, found[:min(2, len(found))])
		}
		all := 1.0
		req.Hybrid.VectorWeight = &all
		if found = ask(t, c, req); len(found) == 0 || found[0].Id != near {
			t.Errorf("embeddings alone find %v first", found[:min(2, len(found))])
		}
	}
}

// The log-odds of a score are a mean of those of both legs, so that a chunk which both find likely stays so, and one that
// both find unlikely too, whatever is added to the weight of the embeddings.
func TestAnAdditionToTheWeightKeepsTheMeaningOfScores(t *testing.T) {
	t.Parallel()
	c := vectors(t, "the gates of the harbour", "harbour of ships", "a garden", "a tower", "a storm at sea", "ropes")
	before := 0.0
	for _, added := range []float64{-6, -2, 0, 2, 6} {
		res, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{
			QueryText: "gates of the harbour", QueryVector: []float32{1, 0}, Explain: true, Hybrid: &ragdv1.Hybrid{VectorLogOdds: &added},
		})
		if err != nil {
			t.Fatal(err)
		}
		explain := res.GetExplain()
		if explain.GetVectorLogOdds() != added || explain.GetVectorWeight() <= before || explain.GetVectorWeight() >= 1 {
			t.Errorf("with %v the embeddings weigh %v, after %v", added, explain.GetVectorWeight(), before)
		}
		before = explain.GetVectorWeight()
		if best := res.GetSources()[0]; best.GetId() != "0" || best.GetScore() < 0.5 {
			t.Errorf("with %v the first is %v", added, best)
		}
		unlike := ask(t, c, &ragdv1.VectorQueryRequest{
			QueryText: "stars", QueryVector: []float32{0, -1}, SearchMode: "hybrid", MinScore: new(0.5), Hybrid: &ragdv1.Hybrid{VectorLogOdds: &added},
		})
		if len(unlike) > 0 {
			t.Errorf("with %v what is unlike the question in every way scores more than 0.5: %v", added, unlike)
		}
	}
	tooMuch := 7.0
	_, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{QueryText: "ships", QueryVector: []float32{1, 0}, Hybrid: &ragdv1.Hybrid{VectorLogOdds: &tooMuch}})
	if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(fmt.Sprint(err), "hybrid.vectorLogOdds: must be from -6 to 6, got 7") {
		t.Errorf("an addition of 7: %v", err)
	}
}

func TestMinSimilarityHoldsInEveryMode(t *testing.T) {
	t.Parallel()
	c := vectors(t, "harbour gates", "ships", "harbour", "gates", "harbour harbour", "gates of the harbour", "sea")
	for _, mode := range []string{"vector", "keyword", "hybrid"} {
		for _, perDocument := range []int32{0, 1} {
			found := ask(t, c, &ragdv1.VectorQueryRequest{
				QueryText: "harbour gates", QueryVector: []float32{1, 0}, SearchMode: mode, MinSimilarity: new(0.97), TopK: new(int32(2)), MaxPerDocument: perDocument,
			})
			if len(found) != 2 {
				t.Errorf("%s: found %v, want 2 sources", mode, found)
			}
			for _, s := range found {
				if s.GetSimilarity() <= 0.97 {
					t.Errorf("%s: source %s has similarity %v", mode, s.Id, s.Similarity)
				}
			}
		}
	}
	_, err := c.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{QueryText: "gates", SearchMode: "keyword", MinSimilarity: new(0.5)})
	servicetest.WantCode(t, "a least similarity without an embedding", err, connect.CodeInvalidArgument)
}

func TestThresholdsOfTheRequestContextReplaceThoseOfTheBody(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme := s.Tenant(t, "acme")
	acme.Index(t, "docs")
	for _, text := range []string{"the gates of the harbour", "garden gates", "ships at sea"} {
		acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: text, Source: servicetest.Text(text)})
	}
	key := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}})
	for _, mode := range []string{"hybrid", "keyword"} {
		low := &ragdv1.VectorQueryRequest{QueryText: "harbour gates", SearchMode: mode, MinScore: new(0.0)}
		if found := ask(t, s.Client(key), low); len(found) < 2 {
			t.Fatalf("%s: found %v", mode, found)
		}
		for _, context := range []string{`{"minScore": 0.9999}`, `{"databaseConfig": {"pgvector": {"minScore": 0.9999}}}`, `{"minSimilarity": 0.9999}`} {
			if found := ask(t, s.Client(key, "Ragd-Context", context), low); len(found) > 0 {
				t.Errorf("%s, %s: found %v", mode, context, found)
			}
		}
	}
	walked, err := s.Client(key, "Ragd-Context", `{"minScore": 0.9999}`).GraphRag(t.Context(), &ragdv1.GraphRagRequest{QueryText: "harbour gates"})
	if err != nil || len(walked.Sources) > 0 {
		t.Errorf("the walk starts at %v, %v", walked, err)
	}
	walked, err = acme.GraphRag(t.Context(), &ragdv1.GraphRagRequest{QueryText: "harbour gates"})
	if err != nil || len(walked.Sources) == 0 {
		t.Fatalf("walked to %v, %v", walked, err)
	}
	best := walked.Sources[0].GetSimilarity()
	walked, err = acme.GraphRag(t.Context(), &ragdv1.GraphRagRequest{QueryText: "harbour gates", MinSimilarity: new(best - 0.001)})
	if err != nil || len(walked.Sources) != 1 || walked.Sources[0].KeywordScore == nil {
		t.Errorf("walked to %v, %v", walked, err)
	}
}

// The score of a chunk must not tell whether a chunk that the credential may not see has
// a term of the question.
func TestKeywordScoresDoNotTellOfHiddenChunks(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	scores := map[string]float64{}
	for name, hidden := range map[string]string{"absent": "bravo charlie", "present": "zeppelin zeppelin"} {
		c := s.Tenant(t, name)
		c.Index(t, "docs")
		for n := range 4 {
			c.Upload(t, &ragdv1.UploadDocumentRequest{
				IndexName: "docs", Uri: fmt.Sprint("hidden", n), Source: servicetest.Text(hidden), Metadata: servicetest.Object(t, map[string]any{"team": "b"}),
			})
		}
		c.Upload(t, &ragdv1.UploadDocumentRequest{
			IndexName: "docs", Uri: "seen", Source: servicetest.Text("the harbour gates"), Metadata: servicetest.Object(t, map[string]any{"team": "a"}),
		})
		key := s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: name, Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "a"})})
		found := ask(t, s.Client(key), &ragdv1.VectorQueryRequest{QueryText: "harbour zeppelin", SearchMode: "keyword"})
		if len(found) != 1 {
			t.Fatalf("found %v", found)
		}
		scores[name] = found[0].Score
	}
	if scores["absent"] != scores["present"] {
		t.Errorf("the score is %v, and %v where a hidden chunk has a term", scores["absent"], scores["present"])
	}
}

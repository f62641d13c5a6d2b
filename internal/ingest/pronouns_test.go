package ingest_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// pronouns are documents about several things each, most of whose passages name theirs only by a pronoun. A question names it.
type pronouns struct {
	Documents []struct {
		URI, Title string
		Passages   []struct{ Text, Sentence, Question string }
	}
}

func readPronouns(t *testing.T) (set pronouns) {
	t.Helper()
	raw, err := os.ReadFile("testdata/pronouns/set.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &set); err != nil {
		t.Fatal(err)
	}
	return set
}

// sentence returns what the scripted model writes for a passage.
func (p pronouns) sentence(text string) string {
	for _, d := range p.Documents {
		for _, passage := range d.Passages {
			if passage.Text == text {
				return passage.Sentence
			}
		}
	}
	return ""
}

// situating answers a call for sentences of context with those that sentence returns for the passages.
func situating(sentence func(text string) string) func(modelserver.Chat) string {
	return func(c modelserver.Chat) string {
		var message struct {
			Passages []struct {
				Passage int
				Text    string
			}
			Situate []int
		}
		_ = json.Unmarshal([]byte(c.User), &message)
		texts := map[int]string{}
		for _, p := range message.Passages {
			texts[p.Passage] = p.Text
		}
		written := []map[string]any{}
		for _, n := range message.Situate {
			written = append(written, map[string]any{"passage": n, "sentence": sentence(texts[n])})
		}
		raw, _ := json.Marshal(map[string]any{"sentences": written})
		return string(raw)
	}
}

// A question that names what its passage calls "it" finds the passage by its sentence of context. The sentences are scripted: they
// are in the set, written by hand, and the model server only returns them.
func TestContextFindsPassagesWithPronouns(t *testing.T) {
	t.Parallel()
	set := readPronouns(t)
	fake := modelserver.New(t)
	fake.Chat = situating(set.sentence)
	s := servicetest.New(t, service.Config{Providers: service.Providers{OpenAI: endpoint.Config{BaseURL: fake.URL + "/v1", APIKey: modelserver.Key, MaxAttempts: 1}}})
	acme := s.Tenant(t, "acme")
	type measured struct{ first, third, mrr float64 }
	results := map[string]measured{}
	for _, index := range []string{"titles", "sentences"} {
		req := &ragdv1.CreateIndexRequest{IndexName: index, Chunking: &ragdv1.Chunking{Strategy: "character", Separator: new("\n\n"), MaxSize: new(int32(210))}}
		if index == "sentences" {
			req.Extract = servicetest.Object(t, map[string]any{"context": map[string]any{"model": "openai/scripted"}})
		}
		if _, err := acme.CreateIndex(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		for _, d := range set.Documents {
			texts := make([]string, len(d.Passages))
			for n, p := range d.Passages {
				texts[n] = p.Text
			}
			stored := acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: index, Uri: d.URI, Title: d.Title, Source: servicetest.Text(strings.Join(texts, "\n\n"))})
			if int(stored.ChunkCount) != len(texts) || stored.Notice != "" {
				t.Fatalf("%s has %d chunks of %d passages, notice %q", d.URI, stored.ChunkCount, len(texts), stored.Notice)
			}
		}
		for _, mode := range []string{"keyword", "vector", "hybrid"} {
			var m measured
			asked := 0.0
			for _, d := range set.Documents {
				for _, p := range d.Passages {
					if p.Question == "" {
						continue
					}
					asked++
					res, err := acme.VectorQuery(t.Context(), &ragdv1.VectorQueryRequest{IndexName: index, QueryText: p.Question, SearchMode: mode, TopK: new(int32(10))})
					if err != nil {
						t.Fatal(err)
					}
					for rank, source := range res.Sources {
						if source.Document != p.Text {
							continue
						}
						m.mrr += 1 / float64(rank+1)
						if rank < 1 {
							m.first++
						}
						if rank < 3 {
							m.third++
						}
					}
				}
			}
			m = measured{m.first / asked, m.third / asked, m.mrr / asked}
			results[index+" "+mode] = m
			t.Logf("%-9s %-8s recall@1 %.3f, recall@3 %.3f, MRR %.3f over %.0f questions", index, mode, m.first, m.third, m.mrr, asked)
		}
	}
	for _, mode := range []string{"keyword", "vector", "hybrid"} {
		before, after := results["titles "+mode], results["sentences "+mode]
		if after.first < before.first+0.2 || after.third < before.third {
			t.Errorf("%s: %+v with titles alone, %+v with sentences", mode, before, after)
		}
	}
}

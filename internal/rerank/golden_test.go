package rerank_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/rerank"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
)

type goldenCase struct {
	Name    string
	Query   string
	Results []struct {
		ID       string
		Score    float64
		Metadata struct{ Text string }
		Semantic float64
	}
	Options struct {
		TopK           *int
		Weights        json.RawMessage
		QueryEmbedding []float64
	}
	FailingIndex *int `json:"failing_index"`
	Expected     []struct {
		ID      string
		Score   float64
		Details struct {
			Semantic, Vector, Position float64
			QueryAnalysis              *rerank.QueryAnalysis
		}
	}
	Error string
	Quirk bool `json:"reference_quirk"`
}

func TestGolden(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("testdata", "golden-rerank.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden struct{ Cases []goldenCase }
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	for _, tc := range golden.Cases {
		t.Run(tc.Name, func(t *testing.T) {
			t.Parallel()
			ai, reranker := setup(t)
			semantic := map[string]float64{}
			request := rerank.Request{Query: tc.Query, Kind: rerank.LLMPassage, Model: "openai/m", TopK: rerank.DefaultTopK, QueryEmbedding: tc.Options.QueryEmbedding}
			for _, r := range tc.Results {
				request.Candidates = append(request.Candidates, rerank.Candidate{Text: r.Metadata.Text, Score: r.Score})
				semantic[r.Metadata.Text] = r.Semantic
			}
			ai.Chat = func(c modelserver.Chat) string {
				return `{"score":` + strconv.FormatFloat(semantic[shown(t, c).Passage], 'g', -1, 64) + `}`
			}
			if tc.FailingIndex != nil {
				marker := tc.Results[*tc.FailingIndex].Metadata.Text[:12]
				ai.Set(modelserver.Fault{Status: 400, When: func(r modelserver.Request) bool { return strings.Contains(r.Raw, marker) }})
			}
			if tc.Options.TopK != nil {
				request.TopK = *tc.Options.TopK
			}
			var unknown bool
			request.Weights, unknown = goldenWeights(tc.Options.Weights)
			result, err := reranker.Rerank(t.Context(), request)
			switch {
			case tc.Name == "scorer-fails-once":
				if err != nil || len(result.Warnings) != 1 || len(result.Ranked) != len(tc.Results) {
					t.Errorf("%+v, %v", result, err)
				}
			case tc.Error != "" || tc.Quirk:
				if !unknown && fault.KindOf(err) != fault.Invalid {
					t.Errorf("%+v, %v, want a refusal", result, err)
				}
			case err != nil:
				t.Fatal(err)
			default:
				want := []rerank.Ranked{}
				for _, e := range tc.Expected {
					index := -1
					for i, r := range tc.Results {
						if r.ID == e.ID {
							index = i
						}
					}
					want = append(want, rerank.Ranked{Index: index, Score: e.Score, Details: rerank.Details{
						Semantic: e.Details.Semantic, Vector: e.Details.Vector, Position: e.Details.Position, Query: e.Details.QueryAnalysis,
					}})
				}
				if diff := cmp.Diff(want, result.Ranked, cmpopts.EquateApprox(0, 1e-9), cmpopts.EquateEmpty()); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// goldenWeights decodes weights. Like the API, it rejects unknown names.
func goldenWeights(raw json.RawMessage) (w rerank.Weights, unknown bool) {
	if raw == nil {
		return w, false
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return w, d.Decode(&w) != nil
}

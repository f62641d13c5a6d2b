package rerank_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/rerank"
)

func TestLexicalPutsTheBetterTextFirst(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, query, better, worse string }{
		{"more of the words", "tide table of the harbour", "The harbour prints a tide table.", "The harbour is closed."},
		{"the same words closer together", "tide table", "A tide table hangs there.", "A table stands where the tide comes in."},
		{"a rare word over a common one", "first lighthouse", "A lighthouse stands there.", "The first stands there."},
		{"more often", "lighthouse", "The lighthouse is a lighthouse.", "The lighthouse is a house."},
		{"shorter", "lighthouse", "The lighthouse.", "The lighthouse" + strings.Repeat(" and whatever else there is", 20)},
		{"another ending", "repainting", "It was repainted.", "It was rebuilt."},
		{"a word that begins alike over none", "pilotage", "The pilots wait.", "The tugs wait."},
		{"Chinese", "东京铁塔", "东京铁塔是一座电视塔。", "北京烤鸭很好吃。"},
		{"grammar, when there is nothing else", "who is who", "Who is it?", "Nobody."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			result, err := rerank.New(rerank.Config{}).Rerank(t.Context(), rerank.Request{
				Query: tc.query, Candidates: []rerank.Candidate{{Text: tc.worse}, {Text: tc.better}}, Weights: semanticOnly(), TopK: 2,
			})
			if err != nil {
				t.Fatal(err)
			}
			if result.Ranked[0].Index != 1 || result.Ranked[0].Score == result.Ranked[1].Score {
				t.Errorf("%+v", result.Ranked)
			}
		})
	}
}

func TestLexicalScoresAreBetween0And1(t *testing.T) {
	t.Parallel()
	texts := []string{"tide table tide table tide table", "!!", "table", strings.Repeat("tide ", 1000), "nothing of it"}
	for _, query := range []string{"tide table", "tide", "??", "the", strings.Repeat("tide table ", 50)} {
		var candidates []rerank.Candidate
		for _, text := range texts {
			candidates = append(candidates, rerank.Candidate{Text: text})
		}
		result, err := rerank.New(rerank.Config{}).Rerank(t.Context(), rerank.Request{Query: query, Candidates: candidates, Kind: rerank.Lexical, Model: "builtin/lexical", Weights: semanticOnly(), TopK: 9})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range result.Ranked {
			if !(r.Score >= 0 && r.Score <= 1) {
				t.Errorf("%.20q in %.20q: %v", query, texts[r.Index], r.Score)
			}
		}
	}
}

func TestLexicalEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := rerank.New(rerank.Config{}).Rerank(ctx, rerank.Request{Query: "q", Candidates: numbered(5), TopK: 2})
	if fault.KindOf(err) != fault.Canceled {
		t.Error(err)
	}
}

func FuzzLexical(f *testing.F) {
	f.Add("tide table", "The tide table, Tide-Table!")
	f.Add("北京", "北京市\xff")
	f.Add("", "a")
	reranker := rerank.New(rerank.Config{})
	f.Fuzz(func(t *testing.T, query, text string) {
		result, err := reranker.Rerank(t.Context(), rerank.Request{
			Query: query + "x", TopK: 3, Weights: semanticOnly(), Candidates: []rerank.Candidate{{Text: text}, {Text: text + query}, {Text: fmt.Sprint(query, query)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range result.Ranked {
			if !(r.Score >= 0 && r.Score <= 1) {
				t.Fatalf("%q in %q: %v", query, text, r.Score)
			}
		}
	})
}

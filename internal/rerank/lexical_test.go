package rerank_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/rerank"
)

const filler = " And then there is whatever else can be said of tugs and sails and of the weather, day by day."

func TestLexicalPutsTheBetterTextFirst(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, query, better, worse string }{
		{"more of the words", "tide table of the harbour", "The harbour prints a tide table.", "The harbour is closed."},
		{"the same words closer together", "tide table", "A tide table hangs there.", "A table stands where the tide comes in."},
		{"a rare word over a common one", "first lighthouse", "A lighthouse stands there.", "The first stands there."},
		{"more often", "lighthouse", "The lighthouse is a lighthouse.", "The lighthouse is a house."},
		{"the words in one place", "old harbour lighthouse keeper", "The lighthouse has a keeper in the old harbour." + filler, "The lighthouse." + filler + "A keeper. " + filler + "The old harbour."},
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

func TestLexicalFollowsTitles(t *testing.T) {
	t.Parallel()
	film := rerank.Candidate{Title: "Dark River (2017 film)", Text: "It was directed by Clio Barnard, as 2017 was ending, with an ox."}
	stranger := rerank.Candidate{Title: "Ropes", Text: "A rope is spliced by hand."}
	for _, tc := range []struct {
		name    string
		named   rerank.Candidate
		follows bool // whether the text ranks before the unrelated one
	}{
		{"a title", rerank.Candidate{Title: "Clio Barnard", Text: "She paints."}, true},
		{"a title with an aside", rerank.Candidate{Title: "Clio Barnard (director)", Text: "She paints."}, true},
		{"half of a title", rerank.Candidate{Title: "Clio Barnard Smith", Text: "She paints."}, false},
		{"a number", rerank.Candidate{Title: "2017", Text: "A year."}, false},
		{"a word that is no name there", rerank.Candidate{Title: "Ox", Text: "A beast."}, false},
		{"no title", rerank.Candidate{Text: "Clio Barnard paints."}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			result, err := rerank.New(rerank.Config{}).Rerank(t.Context(), rerank.Request{
				Query: "who made Dark River", Candidates: []rerank.Candidate{film, stranger, tc.named}, Weights: semanticOnly(), TopK: 3,
			})
			if err != nil {
				t.Fatal(err)
			}
			if second := result.Ranked[1]; result.Ranked[0].Index != 0 || (second.Index == 2) != tc.follows || second.Score >= result.Ranked[0].Score {
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

// The worst case of hostile texts: each repeats a title that all of them share, and the
// question has thousands of words.
func TestLexicalIsBoundedInTime(t *testing.T) {
	t.Parallel()
	texts := make([]rerank.Candidate, 300)
	for i := range texts {
		texts[i] = rerank.Candidate{Title: fmt.Sprintf("Tide (%d)", i), Text: strings.Repeat("Tide ", 6000)}
	}
	var question strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&question, "word%d ", i)
	}
	start := time.Now()
	result, err := rerank.New(rerank.Config{Timeout: 2 * time.Minute}).Rerank(t.Context(), rerank.Request{
		Query: "tide " + question.String(), Candidates: texts, TopK: 2,
	})
	if err != nil || !result.Reranked {
		t.Errorf("after %v: %v, %v", time.Since(start), result.Warnings, err)
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

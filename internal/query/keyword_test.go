package query

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/index"
)

func TestQuoted(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text    string
		phrases []string
	}{
		{`plain words`, nil},
		{`say "two words" and “two more”`, []string{"two words", "two more"}},
		{`an "open one`, nil},
		{`""`, nil},
		{strings.Repeat("word ", 32) + `"two words"`, []string{"two words"}},
		{strings.Repeat("word ", 33) + `"two words"`, nil},
	} {
		if diff := cmp.Diff(tc.phrases, quoted(tc.text)); diff != "" {
			t.Errorf("%s: %s", tc.text, diff)
		}
	}
}

// someTerms returns terms of an index of 100,000 chunks.
func someTerms() queryTerms {
	return queryTerms{terms: []term{
		{Quoted: "'rare'", Dimension: 1, Chunks: 10, Strong: 1, Total: 100_000},
		{Quoted: "'common'", Dimension: 2, Chunks: 900, Strong: 90, Total: 100_000},
		{Quoted: "'everywhere'", Dimension: 3, Chunks: 50_000, Strong: 5_000, Total: 100_000},
	}}
}

func TestKeywordsAreOfAllTerms(t *testing.T) {
	t.Parallel()
	asked := someTerms()
	k := asked.keywords()
	if k.match != "'rare' | 'common' | 'everywhere'" || k.matching != 50_910 || k.leftOut != 0 {
		t.Errorf("%+v", k)
	}
	if n := len(k.weights.Indices()); n != 3 {
		t.Errorf("%d terms are scored, want 3", n)
	}
	asked.terms[0].Total, asked.terms[1].Chunks = 50_100, 50_000
	if k := asked.keywords(); k.matching != 50_100 {
		t.Errorf("%d chunks have the terms, of 50,100", k.matching)
	}
	asked.phrases = []phrase{{"a b", "'a' <-> 'b'"}, {"c d", "'c' <-> 'd'"}}
	if k := asked.pruned(0, 1000); k.match != "('a' <-> 'b') & ('c' <-> 'd')" || k.required != k.match || k.leftOut != 0 {
		t.Errorf("with phrases: %+v", k)
	}
	asked.anyPhrase = true
	if k := asked.pruned(0, 1000); k.match != "('a' <-> 'b') | ('c' <-> 'd')" || k.required != k.match || k.leftOut != 0 {
		t.Errorf("with any of the phrases: %+v", k)
	}
	if k := (queryTerms{}).pruned(0, 1000); k != nil {
		t.Errorf("without terms: %+v", k)
	}
}

func TestPrunedKeywordsAreAboutAsManyAsTheLimit(t *testing.T) {
	t.Parallel()
	asked := someTerms()
	for limit, match := range map[int64]string{
		1:       "'rare' & ('common\x01' & ('everywhere')) | 'rare\x01' & ('common' | 'everywhere')",
		1000:    "'rare' | 'common'",
		100_000: "'rare' | 'common' | 'everywhere'",
	} {
		if k := asked.pruned(0, limit); k.match != match || k.matching > limit {
			t.Errorf("up to %d: %s, %d of them, others score up to %v", limit, k.match, k.matching, k.leftOut)
		}
	}
}

// TestNoChunkThatPruningLeavesOutScoresMore compares the bound of the score of chunks
// outside of a pruned query with the score of chunks that do not match it.
func TestNoChunkThatPruningLeavesOutScoresMore(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		var asked queryTerms
		for n := range 1 + r.IntN(7) {
			chunks := int64(math.Exp(r.Float64() * 11))
			asked.terms = append(asked.terms, term{
				Quoted: fmt.Sprintf("'%d'", n), Dimension: int32(n + 1), Chunks: chunks, Strong: r.Int64N(chunks + 1), Total: 100_000,
			})
		}
		k := asked.pruned(r.Float64()*10, 1+r.Int64N(2000))
		for range 300 {
			score, has := 0.0, map[string]bool{}
			for _, term := range asked.terms {
				weight := max(0, r.Float64()*2-0.6)
				score += weight * term.weight()
				has[term.Quoted] = weight > 0
				has[strings.TrimSuffix(term.Quoted, "'")+index.StrongMark+"'"] = weight > index.WeakWeight
			}
			if !matches(k.match, has) && score > k.leftOut {
				t.Fatalf("%s leaves out %v, which scores %v and not at most %v", k.match, has, score, k.leftOut)
			}
		}
	}
}

// matches evaluates a tsquery of terms, " & (", ")" and " | ", for a chunk that has terms.
func matches(query string, has map[string]bool) bool {
	or, depth, from := false, 0, 0
	for i := 0; i <= len(query); i++ {
		switch {
		case i == len(query) || depth == 0 && strings.HasPrefix(query[i:], " | "):
			first, rest, more := strings.Cut(query[from:i], " & (")
			or = or || has[first] && (!more || matches(strings.TrimSuffix(rest, ")"), has))
			from = i + len(" | ")
		case query[i] == '(':
			depth++
		case query[i] == ')':
			depth--
		}
	}
	return or
}

func TestALongQuestionIsAskedByItsRarestTerms(t *testing.T) {
	t.Parallel()
	var asked queryTerms
	for n := range 100 {
		asked.terms = append(asked.terms, term{Quoted: fmt.Sprintf("'%d'", n), Dimension: int32(n + 1), Chunks: 1000, Strong: 100, Total: 100_000})
	}
	k := asked.pruned(0, 1000)
	if k.match != "'0' | '1' | '2'" || k.matching != 3000 {
		t.Errorf("%s, %d of them", k.match, k.matching)
	}
	if want := 97 * asked.terms[0].weight() * index.MaxTermWeight; math.Abs(k.leftOut-want) > 1e-4 {
		t.Errorf("what was left out can add %v, want %v", k.leftOut, want)
	}
}

func TestFusionWeights(t *testing.T) {
	t.Parallel()
	weight := func(x float64) *float64 { return &x }
	for _, tc := range []struct {
		fusion          Fusion
		model           string
		vector, keyword float64
	}{
		{Fusion{}, "openai/text-embedding-3-small", 0.5, 0.5},
		{Fusion{Method: Weighted}, "builtin/hash-512", 0.001, 0.999},
		{Fusion{Method: RRF}, "builtin/hash-512", 0.5, 0.5},
		{Fusion{VectorWeight: weight(3), KeywordWeight: weight(1)}, "builtin/hash-512", 0.75, 0.25},
		{Fusion{VectorWeight: weight(0.7)}, "", 0.7, 0.3},
		{Fusion{KeywordWeight: weight(2)}, "", 0, 1},
		{Fusion{VectorLogOdds: weight(0)}, "", 0.5, 0.5},
		{Fusion{VectorLogOdds: weight(math.Log(3))}, "", 0.75, 0.25},
		{Fusion{VectorLogOdds: weight(-math.Log(3))}, "", 0.25, 0.75},
		{Fusion{VectorLogOdds: weight(math.Log(111))}, "builtin/hash-512", 0.1, 0.9},
		{Fusion{Method: RRF, VectorLogOdds: weight(math.Log(3))}, "", 0.75, 0.25},
		{Fusion{VectorWeight: weight(math.MaxFloat64), KeywordWeight: weight(math.MaxFloat64)}, "", 0.5, 0.5},
	} {
		vector, keyword := tc.fusion.weights(tc.model, rarityMiddle)
		if math.Abs(vector-tc.vector) > 1e-9 || math.Abs(keyword-tc.keyword) > 1e-9 {
			t.Errorf("%+v with %q: %v, %v, want %v, %v", tc.fusion, tc.model, vector, keyword, tc.vector, tc.keyword)
		}
	}
	for _, bad := range []Fusion{{Method: "magic"}, {VectorWeight: weight(-1)}, {VectorWeight: weight(math.NaN())}, {VectorWeight: weight(0), KeywordWeight: weight(0)},
		{VectorLogOdds: weight(6.1)}, {VectorLogOdds: weight(math.NaN())}, {VectorLogOdds: weight(1), VectorWeight: weight(0.5)}, {VectorLogOdds: weight(1), KeywordWeight: weight(0.5)}} {
		if err := bad.check(); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

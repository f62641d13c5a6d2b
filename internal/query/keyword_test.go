package query

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/index"
)

func TestQuoted(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text    string
		phrases []string
		rest    string
	}{
		{`plain words`, nil, `plain words`},
		{`say "two words" and “two more”`, []string{"two words", "two more"}, `say   and  `},
		{`an "open one`, nil, `an "open one`},
		{`""`, nil, `""`},
	} {
		phrases, rest := quoted(tc.text)
		if diff := cmp.Diff(tc.phrases, phrases); diff != "" || rest != tc.rest {
			t.Errorf("%s: %q, rest %q, want %q", tc.text, phrases, rest, tc.rest)
		}
	}
}

func TestKeywordsTakeTheRarestTermsFirst(t *testing.T) {
	t.Parallel()
	asked := queryTerms{terms: []term{
		{Quoted: "'rare'", Dimension: 1, Chunks: 10, Total: 100_000},
		{Quoted: "'common'", Dimension: 2, Chunks: 900, Total: 100_000},
		{Quoted: "'everywhere'", Dimension: 3, Chunks: 50_000, Total: 100_000},
	}}
	k := asked.keywords(1000)
	if k.match != "'rare' | 'common'" || k.matching != 910 {
		t.Errorf("candidates are %s, %d of them", k.match, k.matching)
	}
	if want := math.Log(2) * index.MaxTermWeight; math.Abs(k.leftOut-want) > 1e-4 {
		t.Errorf("what was left out can add %v, want %v", k.leftOut, want)
	}
	if n := len(k.weights.Indices()); n != 3 {
		t.Errorf("%d terms are scored, want 3", n)
	}
	if k := asked.keywords(1); k.match != "'rare'" {
		t.Errorf("the rarest term is always searched for, got %s", k.match)
	}
	asked.terms[0].Total, asked.terms[1].Chunks = 50_100, 50_000
	if k := asked.keywords(1_000_000); k.matching != 50_100 {
		t.Errorf("%d chunks have the terms, of 50,100", k.matching)
	}
	asked.phrases = []phrase{{"a b", "'a' <-> 'b'"}, {"c d", "'c' <-> 'd'"}}
	if k := asked.keywords(1000); k.match != "('a' <-> 'b') & ('c' <-> 'd')" || k.required != k.match || k.leftOut != 0 {
		t.Errorf("with phrases: %+v", k)
	}
	asked.anyPhrase = true
	if k := asked.keywords(1000); k.match != "('a' <-> 'b') | ('c' <-> 'd')" || k.required != k.match || k.leftOut != 0 {
		t.Errorf("with any of the phrases: %+v", k)
	}
	if k := (queryTerms{}).keywords(1000); k != nil {
		t.Errorf("without terms: %+v", k)
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
		{Fusion{VectorWeight: weight(math.MaxFloat64), KeywordWeight: weight(math.MaxFloat64)}, "", 0.5, 0.5},
	} {
		vector, keyword := tc.fusion.weights(tc.model)
		if math.Abs(vector-tc.vector) > 1e-9 || math.Abs(keyword-tc.keyword) > 1e-9 {
			t.Errorf("%+v with %q: %v, %v, want %v, %v", tc.fusion, tc.model, vector, keyword, tc.vector, tc.keyword)
		}
	}
	for _, bad := range []Fusion{{Method: "magic"}, {VectorWeight: weight(-1)}, {VectorWeight: weight(math.NaN())}, {VectorWeight: weight(0), KeywordWeight: weight(0)}} {
		if err := bad.check(); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

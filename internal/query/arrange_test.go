package query

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func ids(sources []Source) string {
	var out []string
	for _, s := range sources {
		out = append(out, s.ID)
	}
	return strings.Join(out, " ")
}

func TestDiverse(t *testing.T) {
	t.Parallel()
	// a and b say the same, c something else, d the opposite.
	sources := []Source{
		{ID: "a", Score: 0.9, Vector: []float32{1, 0}}, {ID: "b", Score: 0.89, Vector: []float32{1, 0.01}},
		{ID: "c", Score: 0.7, Vector: []float32{0, 1}}, {ID: "d", Score: 0.1, Vector: []float32{-1, 0}},
	}
	for _, tc := range []struct {
		diversity float64
		k         int
		want      string
	}{
		{0, 4, "a b c d"}, {0.4, 2, "a c"}, {1, 4, "a d c b"}, {0.4, 10, "a c b d"}, {0.4, 1, "a"},
	} {
		chosen, err := diverse(t.Context(), sources, tc.k, tc.diversity)
		if got := ids(chosen); got != tc.want || err != nil {
			t.Errorf("diversity %g, %d: %s, want %s", tc.diversity, tc.k, got, tc.want)
		}
	}
	if got, err := diverse(t.Context(), nil, 3, 0.5); len(got) != 0 || err != nil {
		t.Errorf("of nothing: %v", got)
	}
	level := []Source{{ID: "a", Vector: []float32{0, 0}}, {ID: "b", Vector: []float32{0, 0}}}
	chosen, err := diverse(t.Context(), level, 2, 0.5)
	if got := ids(chosen); got != "a b" || err != nil {
		t.Errorf("without directions: %s", got)
	}
}

func TestPerDocument(t *testing.T) {
	t.Parallel()
	sources := []Source{{ID: "1", DocumentID: "x"}, {ID: "2", DocumentID: "x"}, {ID: "3"}, {ID: "4", DocumentID: "y"}, {ID: "5"}, {ID: "6", DocumentID: "x"}}
	if got := ids(perDocument(sources, 1)); got != "1 3 4 5" {
		t.Errorf("got %s", got)
	}
	if got := ids(perDocument(sources, 2)); got != "1 2 3 4 5" {
		t.Errorf("got %s", got)
	}
}

func TestWiden(t *testing.T) {
	t.Parallel()
	// The document "abcdefghij" in pieces of 4 that repeat 1, and a fourth that is
	// not as in the document.
	pieces := []piece{
		{1, "x2", "x", 2, "ghij", 6, 10}, {1, "x0", "x", 0, "abcd", 0, 4}, {1, "x1", "x", 1, "defg", 3, 7}, {1, "x3", "x", 3, "(end)", 9, 10},
		{2, "y4", "y", 4, "far", 40, 43}, {2, "y7", "y", 7, "away", 70, 74}, {3, "y8", "y", 8, "next", 75, 79}, {3, "y9", "y", 9, "last", 81, 85},
	}
	sources := []Source{
		{ID: "x1", DocumentID: "x", Ordinal: 1, Text: "defg", StartByte: 3, EndByte: 7},
		{ID: "y7", DocumentID: "y", Ordinal: 7, Text: "away", StartByte: 70, EndByte: 74},
		{ID: "x3", DocumentID: "x", Ordinal: 3, Text: "(end)"},
		{ID: "y9", DocumentID: "y", Ordinal: 9, Text: "last", StartByte: 81, EndByte: 85},
		{ID: "gone", DocumentID: "x", Ordinal: 0, Text: "of a version before"},
		{ID: "v", Text: "a vector"},
	}
	got := widen(sources, pieces)
	want := []Source{
		{ID: "x1", DocumentID: "x", Ordinal: 1, Text: "abcdefghij\n(end)", StartByte: 0, EndByte: 10, Chunk: &Span{3, 7}, Hits: []Hit{{ID: "x1", Ordinal: 1, StartByte: 3, EndByte: 7, Span: Span{3, 7}}, {ID: "x3", Ordinal: 3, Span: Span{11, 16}}}},
		{ID: "y7", DocumentID: "y", Ordinal: 7, Text: "away", StartByte: 70, EndByte: 74, Chunk: &Span{0, 4}, Hits: []Hit{{ID: "y7", Ordinal: 7, StartByte: 70, EndByte: 74, Span: Span{0, 4}}}},
		{ID: "y9", DocumentID: "y", Ordinal: 9, Text: "next\n\nlast", StartByte: 75, EndByte: 85, Chunk: &Span{6, 10}, Hits: []Hit{{ID: "y9", Ordinal: 9, StartByte: 81, EndByte: 85, Span: Span{6, 10}}}},
		{ID: "gone", DocumentID: "x", Ordinal: 0, Text: "of a version before"},
		{ID: "v", Text: "a vector"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestVectorsWithoutDirectionComeLast(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ scores, want []float64 }{
		{[]float64{0.5, 0.1, math.NaN()}, []float64{0.5, 0.1, 0}},
		{[]float64{0.5, -0.5, math.NaN(), math.NaN()}, []float64{0.5, -0.5, -0.5, -0.5}},
		{[]float64{math.NaN()}, []float64{0}},
	} {
		sources := make([]Source, len(tc.scores))
		for n, score := range tc.scores {
			sources[n].Score = score
		}
		withoutDirection(sources)
		for n := range sources {
			if sources[n].Score != tc.want[n] {
				t.Errorf("%v: score %d is %v, want %v", tc.scores, n, sources[n].Score, tc.want[n])
			}
		}
	}
}

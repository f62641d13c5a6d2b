package query

import (
	"math"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/index/analyzer"
)

func TestPairsWeighAsMuchAsTheirMoreFrequentWord(t *testing.T) {
	t.Parallel()
	const question = "the harbour tides of today"
	languages := []string{analyzer.English}
	q := queryTerms{terms: []term{
		{Word: 0, Chunks: 50, Frequent: 50, Total: 1000, Visible: true},
		{Word: 1, Chunks: 5, Frequent: 5, Total: 1000, Visible: true},
		{Word: 2, Chunks: 900, Frequent: 900, Total: 1000}, // hidden
	}}
	words := analyzer.Informative(analyzer.Question(question, languages))
	got := q.pairsOf(question, words, languages)
	if got.phrases[0] != "('harbour') <1> ('tide')" || got.weights[0] != index.InverseFrequency(50, 1000) {
		t.Errorf("the heaviest pair is %s with %g", got.phrases[0], got.weights[0])
	}
	for n, weight := range got.weights[1:] { // with a stop word
		if weight != stopWeight {
			t.Errorf("%s weighs %g", got.phrases[n+1], weight)
		}
	}
	if want := index.InverseFrequency(50, 1000) + 3*stopWeight; math.Abs(got.total-want) > 1e-9 {
		t.Errorf("all pairs weigh %g, want %g", got.total, want)
	}

	long := strings.Repeat("a b c d e f g h i j k l m n o p q r s t u v w x y z 1 2 3 4 5 6 7 8 9 ", 3)
	got = q.pairsOf(long, words, languages)
	if len(got.phrases) != maxPairs || got.total <= 0 {
		t.Errorf("%d pairs of a long question", len(got.phrases))
	}
	if got := (queryTerms{}).pairsOf(question, words, languages); got.total != 0 {
		t.Errorf("pairs of a question without terms: %v", got)
	}
}

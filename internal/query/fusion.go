package query

import (
	"cmp"
	"math"
	"strings"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Method is how a hybrid search fuses its two legs.
type Method string

// The methods.
const (
	// Weighted is the weighted mean of the evidence of both legs, and more where terms match strongly; see evidence.
	Weighted Method = "weighted"
	// RRF is reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009):
	// the sum of weight/(60 + rank) over both legs.
	RRF Method = "rrf"
)

// Fusion configures how the legs of a hybrid search are joined. The zero value is
// Weighted with the default weights.
type Fusion struct {
	Method        Method   `json:"fusion,omitempty"`
	VectorWeight  *float64 `json:"vectorWeight,omitempty"` // only the ratio of the weights matters
	KeywordWeight *float64 `json:"keywordWeight,omitempty"`
	// VectorLogOdds is added to the log-odds of the weight of the vector leg, which is not given then.
	VectorLogOdds *float64 `json:"vectorLogOdds,omitempty"`
}

// Default weights of the vector leg; the keyword leg has the rest. The builtin model
// compares words as keyword search does, only less well, so its leg breaks ties and
// finds something where no term matches: on both labelled sets any larger weight
// lowers nDCG@10.
//
// For models of meaning the weight depends on the question. One of names and identifiers, which few
// chunks have, is answered by its terms; one in common words by its meaning. The weight is
//
//	1 / (1 + exp(-raritySlope * (rarityMiddle - rarity)))
//
// where rarity is the mean rarity of the question's terms, see queryTerms.rarity. Both constants lie in the middle of those
// that were best whichever labelled set was left out (see docs/explanation/retrieval.md).
const (
	builtinVectorWeight = 0.001
	rarityMiddle        = 0.55
	raritySlope         = 6
)

func (f *Fusion) check() error {
	f.Method = cmp.Or(f.Method, Weighted)
	if f.Method != Weighted && f.Method != RRF {
		return fault.Field("hybrid.fusion", "unknown fusion %q; known are weighted and rrf", f.Method)
	}
	for field, weight := range map[string]*float64{"hybrid.vectorWeight": f.VectorWeight, "hybrid.keywordWeight": f.KeywordWeight} {
		if weight != nil && (!finite(*weight) || *weight < 0) {
			return fault.Field(field, "must be a number that is not negative, got %g", *weight)
		}
	}
	if f.VectorWeight != nil && f.KeywordWeight != nil && *f.VectorWeight+*f.KeywordWeight == 0 {
		return fault.Field("hybrid.vectorWeight", "and keywordWeight must not both be 0")
	}
	switch x := f.VectorLogOdds; {
	case x == nil:
	case !(math.Abs(*x) <= index.MaxVectorLogOdds):
		return fault.Field("hybrid.vectorLogOdds", "must be from -%d to %d, got %g", index.MaxVectorLogOdds, index.MaxVectorLogOdds, *x)
	case f.VectorWeight != nil || f.KeywordWeight != nil:
		return fault.Field("hybrid.vectorLogOdds", "shifts the weight that a question has by itself: leave out vectorWeight and keywordWeight")
	}
	return nil
}

// or returns the fusion with what a tuning of the index adds, if it has the default weights.
func (f Fusion) or(tuned float64) Fusion {
	if tuned != 0 && f.Method == Weighted && f.VectorWeight == nil && f.KeywordWeight == nil && f.VectorLogOdds == nil {
		f.VectorLogOdds = &tuned
	}
	return f
}

// logOdds returns what is added to the log-odds of the weight of the vector leg.
func (f Fusion) logOdds() float64 {
	if f.VectorLogOdds == nil {
		return 0
	}
	return *f.VectorLogOdds
}

// weights returns the weights of both legs for embeddings of the model and a question whose terms are
// so rare. They add up to 1; a weight that was not given is the rest.
func (f Fusion) weights(model string, rarity float64) (vector, keyword float64) {
	switch {
	case f.VectorWeight != nil && f.KeywordWeight != nil:
		vector, keyword = *f.VectorWeight, *f.KeywordWeight
	case f.VectorWeight != nil:
		vector, keyword = *f.VectorWeight, max(1-*f.VectorWeight, 0)
	case f.KeywordWeight != nil:
		vector, keyword = max(1-*f.KeywordWeight, 0), *f.KeywordWeight
	case f.Method == RRF:
		vector, keyword = 1, 1
	case strings.HasPrefix(model, "builtin/"):
		vector, keyword = builtinVectorWeight, 1-builtinVectorWeight
	default:
		vector = logistic(raritySlope * (rarityMiddle - rarity))
		keyword = 1 - vector
	}
	most := max(vector, keyword)
	if most == 0 {
		return 0.5, 0.5
	}
	vector, keyword = vector/most, keyword/most // so that no sum is infinite
	vector *= math.Exp(f.logOdds())
	return vector / (vector + keyword), keyword / (vector + keyword)
}

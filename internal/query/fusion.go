package query

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/ragdhq/ragd/internal/fault"
)

// Method is how a hybrid search joins its two legs.
type Method string

// The methods.
const (
	// Weighted is the mean of both scores, each scaled to [0,1] over the
	// candidates: the embedding's from the furthest to the nearest, the keywords'
	// from none to the best.
	Weighted Method = "weighted"
	// RRF is reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009):
	// the sum of weight/(60 + rank), which looks at places alone.
	RRF Method = "rrf"
)

// Fusion says how the legs of a hybrid search are joined. The zero value is
// Weighted with the default weights.
type Fusion struct {
	Method        Method
	VectorWeight  *float64 // only the ratio of the weights matters
	KeywordWeight *float64
}

// Default weights. Embeddings that know meanings are worth as much as words. The
// builtin model compares words as keyword search does, only less well, so its
// leg breaks ties and fills in where no word is found: on both labelled sets any
// larger weight lowers nDCG@10 (see docs/retrieval.md).
const (
	defaultWeight        = 0.5
	builtinVectorWeight  = 0.001
	builtinKeywordWeight = 1 - builtinVectorWeight
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
	return nil
}

// weights returns the weights of both legs for embeddings of the model, adding
// up to 1. A weight that was not given is what is left of 1.
func (f Fusion) weights(model string) (vector, keyword float64) {
	switch {
	case f.VectorWeight != nil && f.KeywordWeight != nil:
		vector, keyword = *f.VectorWeight, *f.KeywordWeight
	case f.VectorWeight != nil:
		vector, keyword = *f.VectorWeight, max(1-*f.VectorWeight, 0)
	case f.KeywordWeight != nil:
		vector, keyword = max(1-*f.KeywordWeight, 0), *f.KeywordWeight
	case strings.HasPrefix(model, "builtin/") && f.Method == Weighted:
		vector, keyword = builtinVectorWeight, builtinKeywordWeight
	default:
		vector, keyword = defaultWeight, defaultWeight
	}
	most := max(vector, keyword)
	if most == 0 {
		return defaultWeight, defaultWeight
	}
	vector, keyword = vector/most, keyword/most // so that no sum is infinite
	return vector / (vector + keyword), keyword / (vector + keyword)
}

// rrfK damps the lead of the first ranks.
const rrfK = 60

// sql is the score, fused with these weights, over rows with a distance, which may
// be NaN for a vector without direction, and a keyword score.
func (f Fusion) sql(vector, keyword float64) string {
	const near = "nullif(distance, 'NaN')"
	if f.Method == RRF {
		return fmt.Sprintf(`%s / (%d + row_number() OVER (ORDER BY %s, chunk_id))
				+ CASE WHEN keyword > 0 THEN %s / (%d + row_number() OVER (ORDER BY keyword DESC, chunk_id)) ELSE 0 END`,
			number(vector), rrfK, near, number(keyword), rrfK)
	}
	return fmt.Sprintf(`%s * coalesce((max(%[2]s) OVER () - %[2]s) / nullif(max(%[2]s) OVER () - min(%[2]s) OVER (), 0),
				CASE WHEN %[2]s IS NULL THEN 0 ELSE 1 END)
				+ %[3]s * coalesce(keyword / nullif(max(keyword) OVER (), 0), 0)`,
		number(vector), near, number(keyword))
}

// number writes a finite number as SQL.
func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) + "::float8" }

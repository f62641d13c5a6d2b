package query

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/ragdhq/ragd/internal/fault"
)

// Method is how a hybrid search fuses its two legs.
type Method string

// The methods.
const (
	// Weighted is the weighted mean of both scores, each scaled to [0,1] over the
	// candidates: the embedding's from the furthest to the nearest, the keyword
	// score's from none to the best.
	Weighted Method = "weighted"
	// RRF is reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009):
	// the sum of weight/(60 + rank) over both legs.
	RRF Method = "rrf"
)

// Fusion configures how the legs of a hybrid search are joined. The zero value is
// Weighted with the default weights.
type Fusion struct {
	Method        Method
	VectorWeight  *float64 // only the ratio of the weights matters
	KeywordWeight *float64
}

// Default weights. Embeddings of meaning weigh as much as keywords. The builtin model
// compares words as keyword search does, only less well, so its leg breaks ties and
// finds something where no term matches: on both labelled sets any larger weight
// lowers nDCG@10 (see docs/explanation/retrieval.md).
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

// weights returns the weights of both legs for embeddings of the model. They add up
// to 1; a weight that was not given is the rest.
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

// sql returns what each leg adds to the fused score as SQL, over rows with a keyword
// score and a distance, which is NaN for a vector of length 0.
func (f Fusion) sql(vector, keyword float64) (vectorShare, keywordShare string) {
	const near = "nullif(distance, 'NaN')"
	if f.Method == RRF {
		return fmt.Sprintf(`%s / (%d + row_number() OVER (ORDER BY %s, chunk_id))`, number(vector), rrfK, near),
			fmt.Sprintf(`CASE WHEN keyword > 0 THEN %s / (%d + row_number() OVER (ORDER BY keyword DESC, chunk_id)) ELSE 0 END`, number(keyword), rrfK)
	}
	vectorShare = fmt.Sprintf(`%[1]s * coalesce(
			(max(%[2]s) OVER () - %[2]s) / nullif(max(%[2]s) OVER () - min(%[2]s) OVER (), 0),
			CASE WHEN %[2]s IS NULL THEN 0 ELSE 1 END)`, number(vector), near)
	return vectorShare, number(keyword) + ` * coalesce(keyword / nullif(max(keyword) OVER (), 0), 0)`
}

// number returns a finite number as SQL.
func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) + "::float8" }

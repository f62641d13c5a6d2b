package rerank

import (
	"math"
	"math/big"
	"slices"
	"strconv"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Weights are the weights of the components of a score, each 0..1 and together 1. Nil
// means the default: 0.4, 0.4 and 0.2 in the order of the fields.
type Weights struct {
	Semantic *float64 `json:"semantic"`
	Vector   *float64 `json:"vector"`
	Position *float64 `json:"position"`
}

// resolved holds weights with the defaults filled in.
type resolved struct{ semantic, vector, position float64 }

// resolve fills in the defaults and checks the sum. The sum is computed in decimal, as
// the caller wrote the numbers, so that 0.1 + 0.2 + 0.7 is exactly 1.
func (w Weights) resolve(normalize bool) (resolved, error) {
	out := resolved{0.4, 0.4, 0.2}
	sum := new(big.Rat)
	for _, part := range []struct {
		name  string
		given *float64
		value *float64
	}{{"semantic", w.Semantic, &out.semantic}, {"vector", w.Vector, &out.vector}, {"position", w.Position, &out.position}} {
		if part.given != nil {
			*part.value = *part.given
		}
		if x := *part.value; !(x >= 0 && x <= 1) { // also true for NaN
			return out, fault.Field("weights."+part.name, "must be between 0 and 1, got %v", x)
		}
		decimal, _ := new(big.Rat).SetString(strconv.FormatFloat(*part.value, 'g', -1, 64))
		sum.Add(sum, decimal)
	}
	total, _ := sum.Float64()
	switch {
	case normalize && total > 0:
		return resolved{out.semantic / total, out.vector / total, out.position / total}, nil
	case sum.Cmp(big.NewRat(1, 1)) != 0:
		return out, fault.Field("weights", "must add up to 1, got %v (defaults fill in what is left out: semantic 0.4, vector 0.4, position 0.2)", total)
	}
	return out, nil
}

// QueryAnalysis describes a query's embedding.
type QueryAnalysis struct {
	Magnitude        float64 // its Euclidean length
	DominantFeatures []int   // indexes of its five largest absolute values, largest first
}

func analyze(embedding []float64) *QueryAnalysis {
	if len(embedding) == 0 {
		return nil
	}
	a := &QueryAnalysis{}
	for i, x := range embedding {
		a.Magnitude += x * x
		a.DominantFeatures = append(a.DominantFeatures, i)
	}
	a.Magnitude = math.Sqrt(a.Magnitude)
	slices.SortStableFunc(a.DominantFeatures, func(i, j int) int {
		switch x, y := math.Abs(embedding[i]), math.Abs(embedding[j]); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	a.DominantFeatures = a.DominantFeatures[:min(5, len(embedding))]
	return a
}

// factor returns the factor that a query embedding applies to all scores.
func (a *QueryAnalysis) factor() float64 {
	switch {
	case a == nil || a.Magnitude <= 5:
		return 1
	case a.Magnitude <= 10:
		return 1.05
	}
	return 1.1 * 1.05
}

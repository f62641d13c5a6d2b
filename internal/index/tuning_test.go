package index

import (
	"math"
	"testing"
)

func TestATuningHoldsForItsModelAndWithinBounds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		tuning *Tuning
		want   float64
	}{
		{nil, 0},
		{&Tuning{VectorLogOdds: 1.5, EmbeddingModel: "openai/m"}, 1.5},
		{&Tuning{VectorLogOdds: -MaxVectorLogOdds, EmbeddingModel: "openai/m"}, -MaxVectorLogOdds},
		{&Tuning{VectorLogOdds: 1.5, EmbeddingModel: "openai/other"}, 0},
		{&Tuning{VectorLogOdds: 1e300, EmbeddingModel: "openai/m"}, 0},
		{&Tuning{VectorLogOdds: math.NaN(), EmbeddingModel: "openai/m"}, 0},
	} {
		i := Index{EmbeddingModel: "openai/m", tunings: tunings{Present: tc.tuning}}
		if got := i.VectorLogOdds(); got != tc.want {
			t.Errorf("%+v adds %v, want %v", tc.tuning, got, tc.want)
		}
	}
}

func TestTheVersionOfACalibrationChangesWithTheTuning(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, tuned := range []float64{0, 1, -1} {
		for _, scale := range []Scale{{}, {Match: 0.5, Chunks: 300}} {
			seen[versionOf(scale, 0, tuned)] = true
		}
	}
	if len(seen) != 6 || !seen[DefaultVersion] {
		t.Errorf("versions %v", seen)
	}
}

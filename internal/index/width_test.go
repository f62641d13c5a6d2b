package index

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// neighbours says from which width on each neighbour of each question is found.
type neighbours [][widthNeighbours]float64

// made returns questions, some of which are harder than others, so that their neighbours are missed
// together.
func made(r *rand.Rand, questions int, typical, uneven float64) neighbours {
	out := make(neighbours, questions)
	for q := range out {
		hard := typical * math.Exp(uneven*r.NormFloat64())
		for n := range out[q] {
			out[q][n] = hard * r.ExpFloat64()
		}
	}
	return out
}

func (n neighbours) recall(width int) (sampleRecall, error) {
	sum, squares := 0.0, 0.0
	for _, question := range n {
		found := 0.0
		for _, from := range question {
			if float64(width) >= from {
				found += 1.0 / widthNeighbours
			}
		}
		sum, squares = sum+found, squares+found*found
	}
	count := float64(len(n))
	mean := sum / count
	return sampleRecall{Mean: mean, Variance: max(squares/count-mean*mean, 0) * count / (count - 1), Questions: len(n)}, nil
}

// TestTheLeastWidthIsFound measures samples of questions of which the right width is known, from
// all questions.
func TestTheLeastWidthIsFound(t *testing.T) {
	t.Parallel()
	const questions, samples = 100_000, 200
	for _, tc := range []struct {
		typical, uneven float64
		asked           int
		target          float64
		most            float64 // times the right width, in nine of ten samples
	}{
		{typical: 40, uneven: 0, asked: 500, target: 0.95, most: 1.15},
		{typical: 40, uneven: 0.5, asked: 500, target: 0.95, most: 1.15},
		{typical: 80, uneven: 0.3, asked: 500, target: 0.95, most: 1.15},
		{typical: 40, uneven: 0.5, asked: 128, target: 0.95, most: 1.45},
		{typical: 5, uneven: 0.5, asked: 500, target: 0.95, most: 1},
		{typical: 80, uneven: 0.3, asked: 500, target: 0.9, most: 1.15},
		{typical: 40, uneven: 0.3, asked: 500, target: 0.99, most: 1.3},
	} {
		t.Run(fmt.Sprintf("%v,%v,%d,%v", tc.typical, tc.uneven, tc.asked, tc.target), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, uint64(tc.asked)))
			all := made(r, questions, tc.typical, tc.uneven)
			right := MinSearchWidth
			for ; right < maxMeasuredEf; right++ {
				if recall, _ := all.recall(right); recall.Mean >= tc.target {
					break
				}
			}
			kept, near, looks := 0, 0, 0
			for range samples {
				sample := made(r, tc.asked, tc.typical, tc.uneven)
				width, found, err := widths{MinSearchWidth, maxMeasuredEf, func(width int) (sampleRecall, error) {
					looks++
					return sample.recall(width)
				}}.holding(tc.target, widthStep)
				if err != nil || !found.holds(tc.target) {
					t.Fatalf("%d: %v, %v", width, found, err)
				}
				if truth, _ := all.recall(width); truth.Mean >= tc.target {
					kept++
				}
				if float64(width) <= tc.most*float64(right) {
					near++
				}
			}
			t.Logf("%d is right; the promise is kept by %d of %d measurements, near are %d, with %d looks each", right, kept, samples, near, looks/samples)
			if kept < samples*93/100 { // of 95, by chance
				t.Errorf("the promise is kept by %d of %d measurements", kept, samples)
			}
			if near < samples*9/10 {
				t.Errorf("%d of %d widths are at most %v times the right one, %d", near, samples, tc.most, right)
			}
			if looks > 12*samples {
				t.Errorf("%d looks for %d measurements", looks, samples)
			}
		})
	}
}

func TestAWidthThatNothingSatisfiesIsTheLargest(t *testing.T) {
	t.Parallel()
	always := func(r sampleRecall, err error) widths {
		return widths{MinSearchWidth, maxMeasuredEf, func(int) (sampleRecall, error) { return r, err }}
	}
	width, found, err := always(sampleRecall{Mean: 0.9, Variance: 0.01, Questions: 500}, nil).holding(0.95, widthStep)
	if width != maxMeasuredEf || found.Mean != 0.9 || err != nil {
		t.Errorf("%d, %v, %v", width, found, err)
	}
	broken := errors.New("broken")
	if _, _, err := always(sampleRecall{}, broken).holding(0.95, widthStep); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	// What misses nothing is not made better by width, however few questions there are.
	if width, found, err = always(sampleRecall{Mean: 1, Questions: 40}, nil).holding(0.95, widthStep); width != MinSearchWidth || found.Mean != 1 || err != nil {
		t.Errorf("%d, %v, %v", width, found, err)
	}
}

// Few questions prove little, and neighbours that are missed together count for fewer.
func TestConfidenceGrowsWithIndependentAnswers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		recall sampleRecall
		holds  bool
	}{
		{sampleRecall{Mean: 1, Questions: 40}, false},
		{sampleRecall{Mean: 1, Questions: 64}, true},
		{sampleRecall{Mean: 0.96, Variance: 0.00384, Questions: 128}, false}, // as if all were independent
		{sampleRecall{Mean: 0.965, Variance: 0.0033775, Questions: 128}, true},
		{sampleRecall{Mean: 0.965, Variance: 0.033775, Questions: 128}, false}, // all or none
		{sampleRecall{Mean: 0.965, Variance: 0.033775, Questions: 1280}, true},
		{sampleRecall{Mean: 1}, true}, // nothing to find
	} {
		if got := tc.recall.holds(0.95); got != tc.holds {
			t.Errorf("%+v: %v, want %v", tc.recall, got, tc.holds)
		}
	}
}

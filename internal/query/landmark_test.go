package query

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/index/wording"
)

func TestTheNearestLandmark(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	draw := func() []float32 {
		v := make([]float32, 24)
		for d := range v {
			v[d] = float32(r.NormFloat64() * 3)
		}
		return v
	}
	vectors := make([][]float32, 50)
	for n := range vectors {
		vectors[n] = draw()
	}
	for _, metric := range []index.Metric{index.Cosine, index.Euclidean, index.DotProduct} {
		i := index.Index{Metric: metric, Dimension: 24, VectorType: index.Vector}
		landmarks := make([]*landmark, len(vectors))
		for n, v := range vectors {
			landmarks[n] = newLandmark(string(rune('A'+n)), metric, append([]float32(nil), v...))
		}
		for range 20 {
			question := draw()
			best, least := 0, math.Inf(1)
			for n, v := range vectors {
				if d := distance(metric, v, question); d < least {
					best, least = n, d
				}
			}
			found, at := nearestLandmark(i, question, landmarks)
			if found != landmarks[best] || math.Abs(at-least) > 1e-4*(1+math.Abs(least)) {
				t.Fatalf("%s: landmark %q at %v, want %q at %v", metric, found.id, at, landmarks[best].id, least)
			}
		}
	}
	if newLandmark("zero", index.Cosine, make([]float32, 3)) != nil {
		t.Error("a vector of length 0 is a landmark")
	}
	if found, _ := nearestLandmark(index.Index{Metric: index.Cosine}, make([]float32, 3), nil); found != nil {
		t.Error("a question of length 0 has a nearest landmark")
	}
}

func TestALandmarkThatAScanMissed(t *testing.T) {
	t.Parallel()
	i := index.Index{Dimension: 2, VectorType: index.Vector, Metric: index.Cosine, Config: index.Config{Type: index.HNSW}}
	at := func(degrees float64) []float32 {
		return []float32{float32(math.Cos(degrees * math.Pi / 180)), float32(math.Sin(degrees * math.Pi / 180))}
	}
	score := func(degrees float64) float64 { return math.Cos(degrees * math.Pi / 180) }
	found := []Source{{ID: "a", Score: score(10)}, {ID: "b", Score: score(30)}}
	for name, tc := range map[string]struct {
		id      string
		degrees float64
		edit    func(s *search, l *landmark)
		missed  bool
	}{
		"nearer than the last":      {id: "c", degrees: 20, missed: true},
		"nearer than all":           {id: "c", degrees: 1, missed: true},
		"found":                     {id: "b", degrees: 20},
		"further":                   {id: "c", degrees: 31},
		"as far":                    {id: "c", degrees: 29.99},
		"gone":                      {id: "c", degrees: 1, edit: func(_ *search, l *landmark) { l.gone.Store(true) }},
		"more are wanted than were": {id: "c", degrees: 1, edit: func(s *search, _ *landmark) { s.request.topK = 3 }},
		"the caller named a width":  {id: "c", degrees: 1, edit: func(s *search, _ *landmark) { s.request.ef = 40 }},
		"the search is exact":       {id: "c", degrees: 1, edit: func(s *search, _ *landmark) { s.plan = exact }},
		"a chunk is left out":       {id: "c", degrees: 1, edit: func(s *search, _ *landmark) { s.request.examples.chunks = []string{"c"} }},
		"a document is hidden":      {id: "c", degrees: 1, edit: func(s *search, _ *landmark) { s.request.curated.hides = make([]wording.Curated, 1) }},
		"scores are ranks":          {id: "c", degrees: 1, edit: func(s *search, _ *landmark) { s.request.mode, s.request.fusion.Method = Hybrid, RRF }},
	} {
		l := newLandmark(tc.id, index.Cosine, at(tc.degrees))
		s := search{index: i, plan: indexScan, estimate: estimate{landmarks: func() []*landmark { return []*landmark{l} }}}
		s.request.mode, s.request.topK, s.request.vector = Vector, 2, at(0)
		if tc.edit != nil {
			tc.edit(&s, l)
		}
		if got := s.missed(found) == l; got != tc.missed {
			t.Errorf("%s: missed %v, want %v", name, got, tc.missed)
		}
	}
}

func TestAScanWidensToTheLargestWidth(t *testing.T) {
	t.Parallel()
	s := search{index: ofVectors, plan: indexScan, scanWidth: 40}
	var widths []int
	for s.widen() {
		widths = append(widths, s.scanWidth)
	}
	if want := []int{160, 640, maxEf}; len(widths) != 3 || widths[0] != want[0] || widths[1] != want[1] || widths[2] != want[2] {
		t.Errorf("widths %v, want %v", widths, want)
	}
}

func BenchmarkNearestLandmark(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	draw := func() []float32 {
		v := make([]float32, ofVectors.Dimension)
		for d := range v {
			v[d] = float32(r.NormFloat64())
		}
		return v
	}
	landmarks := make([]*landmark, sampleVectorBytes/(4*ofVectors.Dimension))
	for n := range landmarks {
		landmarks[n] = newLandmark("a", index.Cosine, draw())
	}
	question, i := draw(), index.Index{Metric: index.Cosine}
	for b.Loop() {
		nearestLandmark(i, question, landmarks)
	}
}

package localmodel

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/ragdhq/ragd/internal/model/localmodel/kernel"
)

// cosine returns the cosine of two vectors.
func cosine(a, b []float32) float64 {
	var product, x, y float64
	for i := range a {
		product += float64(a[i]) * float64(b[i])
		x += float64(a[i]) * float64(a[i])
		y += float64(b[i]) * float64(b[i])
	}
	return product / math.Sqrt(x*y)
}

func TestVectorsInIntegersAreNearThoseInFloats(t *testing.T) {
	t.Parallel()
	for _, engine := range kernel.Engines() {
		if !engine.HasInt8() {
			continue
		}
		models := New(Config{Dir: testModels, Engine: &engine})
		for _, name := range []string{"bert-mean", "bert-cls-dense", "bert-max", "distilbert", "xlm-roberta", "mpnet"} {
			t.Run(engine.String()+" "+name, func(t *testing.T) {
				t.Parallel()
				want := load(t, filepath.Join(testModels, name))
				got, err := models.Embed(t.Context(), "acme", name, want.Texts, false)
				if err != nil {
					t.Fatal(err)
				}
				exact := 0
				for i := range got {
					if c := cosine(got[i], want.Document[i]); c < 0.9999 {
						t.Errorf("the cosine of the vectors of %.40q is %.5f", want.Texts[i], c)
					}
					if difference(t, got[i], want.Document[i]) < 1e-5 {
						exact++
					}
				}
				if exact == len(got) {
					t.Error("the vectors are those of floats")
				}
			})
		}
	}
}

func TestScoresInIntegersAreNearThoseInFloats(t *testing.T) {
	t.Parallel()
	models, exact := New(Config{Dir: testModels}), New(Config{Dir: testModels, Precision: Float32})
	for _, name := range []string{"cross-bert", "cross-xlm-roberta", "cross-distilbert"} {
		for _, pair := range load(t, filepath.Join(testModels, name)).Pairs {
			got, err := models.Score(t.Context(), "acme", name, pair[0], []string{pair[1]})
			if err != nil {
				t.Fatal(err)
			}
			want, err := exact.Score(t.Context(), "acme", name, pair[0], []string{pair[1]})
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(got[0]-want[0]) > 0.01 {
				t.Errorf("%s: the score of %.40q is %g, in floats %g", name, pair, got[0], want[0])
			}
		}
	}
}

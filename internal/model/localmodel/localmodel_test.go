package localmodel

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/ragdhq/ragd/internal/model/localmodel/kernel"
)

const testModels = "testdata/models"

// expected is what PyTorch computes for a model.
type expected struct {
	Texts              []string
	Document, Question [][]float32
	Pairs              [][2]string
	Scores             []float64
}

func load(t testing.TB, folder string) expected {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var e expected
	if err := json.Unmarshal(data, &e); err != nil {
		t.Fatal(err)
	}
	return e
}

// difference returns the greatest difference of two vectors, relative to the longer values.
func difference(t *testing.T, got, want []float32) float64 {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("a vector has %d values, want %d", len(got), len(want))
	}
	greatest := 0.0
	for i := range want {
		greatest = max(greatest, math.Abs(float64(got[i]-want[i]))/max(1, math.Abs(float64(want[i]))))
	}
	return greatest
}

func TestVectorsAreThoseOfPyTorch(t *testing.T) {
	t.Parallel()
	for _, engine := range kernel.Engines() {
		models := New(Config{Dir: testModels, Engine: &engine, Precision: Float32})
		for _, name := range []string{"bert-mean", "bert-mean-f16", "bert-mean-bf16", "bert-cls-dense", "bert-max", "distilbert", "xlm-roberta", "mpnet"} {
			t.Run(fmt.Sprint(engine, " ", name), func(t *testing.T) {
				t.Parallel()
				want := load(t, filepath.Join(testModels, name))
				description, err := models.describe("", name)
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range []struct {
					question bool
					want     [][]float32
				}{{false, want.Document}, {true, want.Question}} {
					got, err := models.Embed(t.Context(), "acme", name, want.Texts, c.question)
					if err != nil {
						t.Fatal(err)
					}
					for i := range got {
						if d := difference(t, got[i], c.want[i]); d > 1e-5 {
							t.Errorf("the vector of %.40q differs by %g", want.Texts[i], d)
						}
						if len(got[i]) != description.Dimension {
							t.Errorf("the vector has %d values, the description says %d", len(got[i]), description.Dimension)
						}
					}
				}
			})
		}
	}
}

func TestScoresAreThoseOfPyTorch(t *testing.T) {
	t.Parallel()
	models := New(Config{Dir: testModels, Precision: Float32})
	for _, name := range []string{"cross-bert", "cross-bert-logits", "cross-bert-untyped", "cross-xlm-roberta", "cross-distilbert"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := load(t, filepath.Join(testModels, name))
			for i, pair := range want.Pairs {
				got, err := models.Score(t.Context(), "acme", name, pair[0], []string{pair[1]})
				if err != nil {
					t.Fatal(err)
				}
				score := want.Scores[i]
				if name == "cross-bert-logits" {
					score = 1 / (1 + math.Exp(-score))
				}
				if math.Abs(got[0]-score) > 1e-5 {
					t.Errorf("the score of %.40q is %g, want %g", pair, got[0], score)
				}
			}
		})
	}
}

func TestTextsOfOneRequestDoNotInfluenceEachOther(t *testing.T) {
	t.Parallel()
	models := New(Config{Dir: testModels, Threads: 2, Precision: Float32})
	want := load(t, filepath.Join(testModels, "bert-mean"))
	var texts []string
	for range 20 {
		texts = append(texts, want.Texts...)
	}
	got, err := models.Embed(context.Background(), "acme", "bert-mean", texts, false)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if d := difference(t, got[i], want.Document[i%len(want.Texts)]); d > 1e-5 {
			t.Errorf("vector %d differs by %g", i, d)
		}
	}
}

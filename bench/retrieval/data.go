package main

import (
	"context"
	"fmt"

	"github.com/ragdhq/ragd/internal/service/testing/dataset/synthetic"
)

const topK = 10

// data has the vectors and the questions for both sides.
type data struct {
	values [][]float32
	asked  [][]float32
	loaded int // number of values loaded first; the others are for live writes
	// metadata returns the metadata of value n.
	metadata func(n int) map[string]any
}

func (d data) question(n int) []float32 { return d.asked[n%len(d.asked)] }

func entryID(n int) string { return fmt.Sprintf("%06d", n) }

// recall returns the fraction of the nearest loaded vectors with the field set to 1 that a
// query finds; an empty field means all vectors. A query that fails finds nothing.
func recall(ctx context.Context, d data, query func(ctx context.Context, question []float32, field string) ([]string, error), field string) float64 {
	found, wanted := 0, 0
	for _, question := range d.asked[:min(len(d.asked), 50)] {
		exact := map[string]bool{}
		for _, n := range synthetic.Nearest(d.values[:d.loaded], question, field, topK) {
			exact[entryID(n)] = true
		}
		wanted += len(exact)
		ids, _ := query(ctx, question, field)
		for _, id := range ids {
			if exact[id] {
				found++
			}
		}
	}
	return float64(found) / float64(wanted)
}

package main

import (
	"context"
	"fmt"

	"github.com/ragdhq/ragd/internal/testing/dataset/synthetic"
)

const topK = 10

// data is what both sides hold and are asked.
type data struct {
	values [][]float32
	asked  [][]float32
	loaded int // of values; the rest is for writing live
}

func (d data) question(n int) []float32 { return d.asked[n%len(d.asked)] }

func entryID(n int) string { return fmt.Sprintf("%06d", n) }

// recall is the share of the nearest that ragd finds among the loaded vectors
// whose field is 1; of all with an empty field. NaN if a query fails.
func recall(ctx context.Context, d data, r *ragd, field string) float64 {
	found, wanted := 0, 0
	for _, question := range d.asked[:min(len(d.asked), 50)] {
		exact := map[string]bool{}
		for _, n := range synthetic.Nearest(d.values[:d.loaded], question, field, topK) {
			exact[entryID(n)] = true
		}
		wanted += len(exact)
		ids, _ := r.query(ctx, question, field)
		for _, id := range ids {
			if exact[id] {
				found++
			}
		}
	}
	return float64(found) / float64(wanted)
}

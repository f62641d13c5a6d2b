package main

import (
	"context"
	"fmt"

	"github.com/ragdhq/ragd/internal/chunk"
)

const (
	topK   = 5
	budget = 4000 // size in bytes of the context into which chunks are filled
)

// score has the measures of one configuration. All but chunks are means over the
// questions; unless noted, the topK best chunks of a question are retrieved.
type score struct {
	chunks         int     // number of chunks of all documents
	recall         float64 // fraction of the answer that is in the retrieved chunks
	precision      float64 // fraction of the retrieved text that is in the answer
	iou            float64 // intersection over union of the answer and the retrieved text
	characters     float64 // bytes of the retrieved chunks, with overlaps repeated
	recallAtBudget float64 // recall of the best chunks that fit into the budget
}

// documentChunk is a chunk with the index of its document.
type documentChunk struct {
	chunk.Chunk
	document int
}

func evaluate(ctx context.Context, set *dataset, opts chunk.Options) (score, error) {
	var all []documentChunk
	var texts []string
	for i, d := range set.documents {
		chunks, err := chunk.Split(ctx, d.Text, opts)
		if err != nil {
			return score{}, fmt.Errorf("%s: %w", d.ID, err)
		}
		for _, c := range chunks {
			all = append(all, documentChunk{c, i})
			texts = append(texts, c.Text)
		}
	}
	r := newRanker(texts)
	total := score{chunks: len(all)}
	n := float64(len(set.questions))
	for _, q := range set.questions {
		var best, fitting []documentChunk
		left := budget
		for i, index := range r.rank(q.Text) {
			c := all[index]
			if i < topK {
				best = append(best, c)
			}
			if left -= c.EndByte - c.StartByte; left >= 0 {
				fitting = append(fitting, c)
			} else if i >= topK {
				break
			}
		}
		gold, found, returned := overlapOf(set, q, best)
		total.recall += found / gold / n
		if returned > 0 {
			total.precision += found / returned / n
		}
		total.iou += found / (returned + gold - found) / n
		total.characters += returned / n
		_, found, _ = overlapOf(set, q, fitting)
		total.recallAtBudget += found / gold / n
	}
	return total, nil
}

// overlapOf returns the sizes in bytes of the answer (gold), of what the chunks cover of
// it (found), and of the chunks together (returned).
func overlapOf(set *dataset, q question, chunks []documentChunk) (gold, found, returned float64) {
	covered := map[int][]bool{}
	for _, c := range chunks {
		if covered[c.document] == nil {
			covered[c.document] = make([]bool, len(set.documents[c.document].Text))
		}
		for i := c.StartByte; i < c.EndByte; i++ {
			covered[c.document][i] = true
		}
		returned += float64(c.EndByte - c.StartByte)
	}
	for _, g := range q.gold {
		gold += float64(g.end - g.start)
		for i := g.start; i < g.end; i++ {
			if c := covered[g.document]; c != nil && c[i] {
				found++
			}
		}
	}
	return gold, found, returned
}

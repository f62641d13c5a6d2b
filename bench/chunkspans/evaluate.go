package main

import (
	"fmt"

	"github.com/ragdhq/ragd/internal/chunk"
)

const (
	topK   = 5
	budget = 4000 // characters that fit into the context of the reader
)

// score is the mean over all questions of what the best topK chunks give.
type score struct {
	chunks         int
	recall         float64 // fraction of the answer that was retrieved
	precision      float64 // fraction of what was retrieved that is answer
	iou            float64 // answer retrieved over all that is either
	characters     float64 // retrieved; what overlaps counts each time
	recallAtBudget float64 // recall of as many of the best chunks as fit into the budget
}

// placed is a chunk with the document that it is from.
type placed struct {
	chunk.Chunk
	document int
}

func evaluate(set *dataset, opts chunk.Options) (score, error) {
	var all []placed
	var texts []string
	for i, d := range set.documents {
		chunks, err := chunk.Split(d.Text, opts)
		if err != nil {
			return score{}, fmt.Errorf("%s: %w", d.ID, err)
		}
		for _, c := range chunks {
			all = append(all, placed{c, i})
			texts = append(texts, c.Text)
		}
	}
	r := newRanker(texts)
	total := score{chunks: len(all)}
	n := float64(len(set.questions))
	for _, q := range set.questions {
		var best, fitting []placed
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

// overlapOf returns the bytes of the answer, those of them that the chunks
// cover, and those of the chunks.
func overlapOf(set *dataset, q question, chunks []placed) (gold, found, returned float64) {
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

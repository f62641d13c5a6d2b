package query

import (
	"cmp"
	"fmt"

	"github.com/ragdhq/ragd/internal/index"
)

// Bounds of what a caller may ask of the Postgres index over the embeddings.
const (
	maxEf     = 1000
	maxProbes = 32_768
)

// plan is how the nearest embeddings are found.
type plan string

const (
	// exact compares the question with every chunk of the scope.
	exact plan = "exact"
	// indexScan scans the Postgres index over the embeddings, past chunks outside
	// the scope, until it has enough. Callers know it as approximate.
	indexScan plan = "approximate"
)

// costs are times of reading one chunk, in microseconds, on a warm cache, of which only the
// ratios matter, and the margin of an index scan.
type costs struct {
	fetch   float64 // read a chunk that a Postgres index found
	scan    float64 // read the next chunk of the table, and test it
	compare float64 // compare its embedding with the question
	visit   float64 // visit a candidate of an HNSW scan, which compares many links
	code    float64 // compare its code with the question
	encode  float64 // read its embedding, and make its code
	margin  float64
}

// costsOf returns the costs for an index, as measured for vectors of 384 dimensions inside
// their rows and of 1,536 outside.
func costsOf(i index.Index) costs {
	size, inline := i.EmbeddingSize()
	perByte := float64(size) / 1000
	c := costs{fetch: 0.6, scan: 0.7, compare: 0.4 + 0.3*perByte, visit: 5 + 2*perByte, code: 0.01 + 0.004*perByte, encode: 2 + 1.8*perByte, margin: margin(i)}
	if inline {
		c.scan += 0.1 * perByte
	} else {
		c.compare += 3 + 0.5*perByte // of TOAST
	}
	return c
}

// Bounds of the margin of an index scan.
const (
	minMargin = 2
	maxMargin = 6
)

// margin multiplies the candidates of a filtered index scan: the furthest candidates of a
// scan are not all the nearest chunks there are. The harder the data is, the more are
// missing, and the larger is the width that was measured for it.
func margin(i index.Index) float64 {
	return min(max(float64(i.SearchWidth())/index.MinSearchWidth, minMargin), maxMargin)
}

// candidates returns how many chunks an index scan visits to find the nearest
// wanted ones of a scope whose chunks are spread evenly.
func (e estimate) candidates(wanted int, margin float64) float64 {
	if e.matching == 0 || e.matching >= e.total {
		return float64(wanted)
	}
	return margin * float64(wanted) * e.total / e.matching
}

// exactCost returns the cost of the exact plan.
func (e estimate) exactCost(c costs) float64 {
	if e.indexed {
		return e.matching * (c.fetch + c.compare)
	}
	return e.total*c.scan + e.matching*c.compare
}

// scanCost returns the cost of an index scan for the nearest wanted chunks, which visits at
// least width candidates. Candidates beyond maxEf are found by scans that start again.
func (e estimate) scanCost(c costs, wanted, width int) float64 {
	visits := max(e.candidates(wanted, c.margin), float64(width))
	return (visits + max(visits-maxEf, 0)) * c.visit
}

// choose returns the cheaper plan for the nearest wanted chunks of a scope.
func (e estimate) choose(c costs, wanted, width int) plan {
	if e.matching <= float64(wanted) || e.exactCost(c) <= e.scanCost(c, wanted, width) {
		return exact
	}
	if (e.scans.runDry() || e.deep(c, wanted)) && e.affordsExact(c, wanted, width) {
		return exact
	}
	return indexScan
}

// maxDepth divided by the margin is the number of nearest chunks of which an HNSW scan misses
// about one in twenty, as measured on vectors that are hard to search, with a margin of 3.
const maxDepth = 450

// deep reports whether the wanted chunks are spread over so many of the nearest that an index
// scan misses some, however wide it is.
func (e estimate) deep(c costs, wanted int) bool {
	return e.candidates(wanted, 1) > maxDepth/c.margin
}

// affordable is how many times the cost of an index scan an exact search may cost to follow
// at once on a scan that found too few chunks, without a wider one in between.
const affordable = 8

// affordsExact reports whether an exact search costs little more than an index scan.
func (e estimate) affordsExact(c costs, wanted, width int) bool {
	return e.exactCost(c) <= affordable*e.scanCost(c, wanted, width)
}

// iterates reports whether an HNSW scan must start again to visit enough candidates.
//
// Other scans do not when they find too few chunks: then the scope is far from the question,
// and a scan that starts again reaches it late, and not its nearest chunks.
func (e estimate) iterates(c costs, wanted int) bool { return e.candidates(wanted, c.margin) > maxEf }

// tupleCost is the time of visiting one more vector by HNSW scans that start again, in
// microseconds.
const tupleCost = 14

// Bounds of hnsw.max_scan_tuples.
const (
	minScanTuples = 20_000
	maxScanTuples = 200_000
)

// scanTuples returns the number of vectors after which an HNSW scan that starts again gives
// up: then it has cost as much as the exact search that follows.
func (e estimate) scanTuples(c costs) int {
	return int(min(max(e.exactCost(c)/tupleCost, minScanTuples), maxScanTuples))
}

// unprovenWarning says that the recall target of a query is not known to hold.
func unprovenWarning(i index.Index) string {
	if i.Measured().Width == 0 {
		return fmt.Sprintf("recallTarget %g: the recall of index %q has not been measured yet; the search width was %d", i.RecallTarget, i.Name, i.SearchWidth())
	}
	return fmt.Sprintf("recallTarget %g was not proven by the %d questions that index %q was measured with; the widest search that was measured found %.4f. "+
		"Set recallTarget of the index, which is then measured with enough questions", i.RecallTarget, i.Measured().Questions, i.Name, i.Measured().Recall)
}

// width returns the search width of an index scan, hnsw.ef_search or ivfflat.probes:
// the caller's, else the index's own, widened as far as the scope makes necessary.
func (p prepared) width(i index.Index, e estimate) int {
	if i.Config.Type == index.IVFFlat {
		return min(cmp.Or(p.probes, i.SearchWidth()), maxProbes)
	}
	needed := min(e.candidates(p.candidates(), margin(i)), maxEf)
	return min(cmp.Or(p.ef, max(i.SearchWidth(), int(needed))), maxEf)
}

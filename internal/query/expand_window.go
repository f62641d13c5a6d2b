package query

import (
	"cmp"
	"slices"
	"strings"
)

// chunkAt is a chunk by its position.
type chunkAt struct {
	document string
	ordinal  int
}

// window is a range of the chunks of a document, both ends inclusive.
type window struct {
	document  string
	low, high int
}

// windowColumns returns windows as the columns of a table: documents, and the first and last ordinals.
func windowColumns(windows []window) (documents []string, from, to []int32) {
	for _, w := range windows {
		documents, from, to = append(documents, w.document), append(from, int32(w.low)), append(to, int32(w.high))
	}
	return documents, from, to
}

// around returns the windows of n chunks before and after each of the hits. Those that overlap or touch are
// one.
func around(hits []chunkAt, n int) []window {
	windows := make([]window, len(hits))
	for i, hit := range hits {
		windows[i] = window{hit.document, max(0, hit.ordinal-n), hit.ordinal + n}
	}
	slices.SortFunc(windows, func(a, b window) int {
		return cmp.Or(strings.Compare(a.document, b.document), cmp.Compare(a.low, b.low))
	})
	var merged []window
	for _, w := range windows {
		if last := len(merged) - 1; last >= 0 && merged[last].document == w.document && w.low <= merged[last].high+1 {
			merged[last].high = max(merged[last].high, w.high)
			continue
		}
		merged = append(merged, w)
	}
	return merged
}

// outlinedChunk is a chunk that may be shown.
type outlinedChunk struct {
	DocumentID string
	Ordinal    int
	Bytes      int    // of its text
	Section    string // the headings above it, as JSON
}

// chooseWindows returns which of the chunks to show for the hits, best first. The outline is in the order of
// documents and ordinals. A section are adjacent chunks with the same headings above them. It is shown if it
// has several hits or at most short bytes; at most maxBytes of it for one window, around the hits. Of another
// section the hit alone is shown.
func chooseWindows(outline []outlinedChunk, hits []chunkAt, short, maxBytes int) []window {
	sections, of := sectionsOf(outline)
	count := make([]int, len(sections)) // hits
	for _, hit := range hits {
		if at, ok := of[hit]; ok {
			count[at.section]++
		}
	}
	taken := make([]bool, len(outline))
	var windows []window
	for _, hit := range hits {
		at, ok := of[hit]
		if !ok || taken[at.chunk] {
			continue
		}
		s := sections[at.section]
		low, high := at.chunk, at.chunk
		if count[at.section] > 1 || s.bytes <= short {
			low, high = grow(outline, taken, s, at.chunk, maxBytes)
		}
		for n := low; n <= high; n++ {
			taken[n] = true
		}
		windows = append(windows, window{hit.document, outline[low].Ordinal, outline[high].Ordinal})
	}
	return windows
}

// outlinedSection is a section of an outline: outline[from:to].
type outlinedSection struct{ from, to, bytes int }

// outlinePosition says where a chunk is in an outline.
type outlinePosition struct{ section, chunk int }

func sectionsOf(outline []outlinedChunk) (sections []outlinedSection, of map[chunkAt]outlinePosition) {
	of = make(map[chunkAt]outlinePosition, len(outline))
	for n, c := range outline {
		if n == 0 || !outline[n-1].precedes(c) {
			sections = append(sections, outlinedSection{from: n})
		}
		s := &sections[len(sections)-1]
		s.to, s.bytes = n+1, s.bytes+c.Bytes
		of[chunkAt{c.DocumentID, c.Ordinal}] = outlinePosition{len(sections) - 1, n}
	}
	return sections, of
}

// precedes reports whether the next chunk goes on with the same section.
func (c outlinedChunk) precedes(next outlinedChunk) bool {
	return c.DocumentID == next.DocumentID && c.Ordinal+1 == next.Ordinal && c.Section == next.Section
}

// grow returns the first and the last chunk of a range around a chunk of a section: by turns the next chunk
// after it and before it that is not taken, while all have at most maxBytes.
func grow(outline []outlinedChunk, taken []bool, s outlinedSection, at, maxBytes int) (low, high int) {
	low, high = at, at
	bytes := outline[at].Bytes
	fits := func(n int) bool {
		if n < s.from || n >= s.to || taken[n] || bytes+outline[n].Bytes > maxBytes {
			return false
		}
		bytes += outline[n].Bytes
		return true
	}
	for after, before := true, true; after || before; {
		if after = after && fits(high+1); after {
			high++
		}
		if before = before && fits(low-1); before {
			low--
		}
	}
	return low, high
}

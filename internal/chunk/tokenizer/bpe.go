package tokenizer

import "math"

const (
	noRank = math.MaxUint32
	// maxMerge is the largest number of bytes that are merged together. A longer
	// pre-token, such as an encoded image, is encoded in segments, each of which
	// costs at most a token or two more.
	maxMerge = 4 << 10
	// scanMerge is the length in bytes up to which a scan of all pairs for the
	// lowest rank is faster than a heap.
	scanMerge = 96
)

// pairMerger merges the bytes of pre-tokens into tokens. It reuses its memory for the
// next pre-token.
type pairMerger struct {
	parts []mergePart
	heap  []mergePair
}

// mergePart is a sequence of bytes that are merged already. It ends at the start of the
// next one.
type mergePart struct {
	start      int32  // offset in the pre-token
	rank       uint32 // of this part merged with the next one; noRank if that is not a token
	prev, next int32  // indexes; used by mergeHeap
}

// merge calls yield with the ends of the tokens of the pre-token text[from:to].
func (m *pairMerger) merge(e *Encoding, text string, from, to int, yield func(end int)) {
	word := text[from:to]
	if _, ok := e.ranks[word]; ok || len(word) < 2 {
		yield(to)
		return
	}
	m.parts = m.parts[:0]
	for i := range len(word) {
		p := mergePart{start: int32(i), rank: noRank, prev: int32(i) - 1, next: int32(i) + 1}
		if i+1 < len(word) {
			p.rank = e.pairs[int(word[i])<<8|int(word[i+1])]
		}
		m.parts = append(m.parts, p)
	}
	m.parts = append(m.parts, mergePart{start: int32(len(word)), rank: noRank, prev: int32(len(word)) - 1, next: -1})
	if len(word) <= scanMerge {
		m.mergeScan(e, word)
		for _, p := range m.parts[1:] {
			yield(from + int(p.start))
		}
		return
	}
	m.mergeHeap(e, word)
	for i := m.parts[0].next; i >= 0; i = m.parts[i].next {
		yield(from + int(m.parts[i].start))
	}
}

// mergeScan merges the pair of the lowest rank, the leftmost if ranks are equal, until
// no pair is a token.
func (m *pairMerger) mergeScan(e *Encoding, word string) {
	for {
		best, at := uint32(noRank), 0
		for i, p := range m.parts {
			if p.rank < best {
				best, at = p.rank, i
			}
		}
		if best == noRank {
			return
		}
		m.parts = append(m.parts[:at+1], m.parts[at+2:]...)
		m.parts[at].rank = m.rankAt(e, word, at, at+1, at+2)
		if at > 0 {
			m.parts[at-1].rank = m.rankAt(e, word, at-1, at, at+1)
		}
	}
}

// rankAt returns the rank of part i merged with its neighbour j, which ends at the
// start of part k.
func (m *pairMerger) rankAt(e *Encoding, word string, i, j, k int) uint32 {
	if j >= len(m.parts) || k >= len(m.parts) {
		return noRank
	}
	if rank, ok := e.ranks[word[m.parts[i].start:m.parts[k].start]]; ok {
		return rank
	}
	return noRank
}

// mergePair is an entry of the heap: the rank of a part and its next one. It is stale
// if the rank of the part has changed since.
type mergePair struct {
	rank uint32
	part int32
}

func (a mergePair) less(b mergePair) bool {
	return a.rank < b.rank || a.rank == b.rank && a.part < b.part
}

// mergeHeap does the same as mergeScan in O(n log n). The parts are a linked list.
func (m *pairMerger) mergeHeap(e *Encoding, word string) {
	m.heap = m.heap[:0]
	for i, p := range m.parts {
		if p.rank != noRank {
			m.push(mergePair{p.rank, int32(i)})
		}
	}
	for len(m.heap) > 0 {
		top := m.pop()
		p := &m.parts[top.part]
		if p.rank != top.rank {
			continue
		}
		gone := &m.parts[p.next]
		gone.rank = noRank
		p.next = gone.next
		m.parts[p.next].prev = top.part
		m.renew(e, word, top.part)
		if p.prev >= 0 {
			m.renew(e, word, p.prev)
		}
	}
}

// renew updates the rank of a part and pushes it on the heap.
func (m *pairMerger) renew(e *Encoding, word string, i int32) {
	p := &m.parts[i]
	p.rank = noRank
	if p.next < 0 || m.parts[p.next].next < 0 {
		return
	}
	end := m.parts[m.parts[p.next].next].start
	if rank, ok := e.ranks[word[p.start:end]]; ok {
		p.rank = rank
		m.push(mergePair{rank, i})
	}
}

func (m *pairMerger) push(p mergePair) {
	m.heap = append(m.heap, p)
	for i := len(m.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !m.heap[i].less(m.heap[parent]) {
			return
		}
		m.heap[i], m.heap[parent] = m.heap[parent], m.heap[i]
		i = parent
	}
}

func (m *pairMerger) pop() mergePair {
	top := m.heap[0]
	last := len(m.heap) - 1
	m.heap[0] = m.heap[last]
	m.heap = m.heap[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return top
		}
		if child+1 < last && m.heap[child+1].less(m.heap[child]) {
			child++
		}
		if !m.heap[child].less(m.heap[i]) {
			return top
		}
		m.heap[i], m.heap[child] = m.heap[child], m.heap[i]
		i = child
	}
}

package chunk

// piece is the text of the source between two cuts.
type piece struct {
	start, end int // bytes
	size       int // units
	gap        int // units between the piece before it and this one
}

// merger joins pieces into chunks of at most max units. A chunk reaches from the
// start of its first piece to the end of its last one and keeps the text between
// them. When a chunk is full, the pieces at its end that fit into the overlap also
// begin the next chunk.
type merger struct {
	max, overlap int
	emit         func(start, end int)
	pieces       []piece // pieces[head:] are those of the current chunk
	head         int
	total        int // units from the first piece's start to the last one's end
}

// add appends a piece to the current chunk. If it does not fit, add first emits the
// chunk.
func (m *merger) add(p piece) {
	if m.head < len(m.pieces) {
		if m.total+p.gap+p.size > m.max {
			m.emitCurrent()
			m.keepOverlap(p)
		}
	}
	if m.head == len(m.pieces) {
		m.pieces, m.head, m.total = m.pieces[:0], 0, p.size
	} else {
		m.total += p.gap + p.size
	}
	m.pieces = append(m.pieces, p)
}

// flush emits the current chunk, without an overlap to the next one.
func (m *merger) flush() {
	if m.head < len(m.pieces) {
		m.emitCurrent()
	}
	m.pieces, m.head, m.total = m.pieces[:0], 0, 0
}

func (m *merger) emitCurrent() {
	m.emit(m.pieces[m.head].start, m.pieces[len(m.pieces)-1].end)
}

// keepOverlap drops pieces from the front until the rest fits into the overlap and
// next fits into the chunk. As in the reference data, the gap after the first
// piece counts for the size but not for the overlap.
func (m *merger) keepOverlap(next piece) {
	for m.head < len(m.pieces) {
		counted := m.total
		if m.head+1 < len(m.pieces) {
			counted -= m.pieces[m.head+1].gap
		}
		if counted <= m.overlap && m.total+next.gap+next.size <= m.max {
			break
		}
		m.total -= m.pieces[m.head].size
		m.head++
		if m.head < len(m.pieces) {
			m.total -= m.pieces[m.head].gap
		}
	}
	if m.head > len(m.pieces)/2 { // bounds the memory
		m.pieces = append(m.pieces[:0], m.pieces[m.head:]...)
		m.head = 0
	}
}

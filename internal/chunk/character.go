package chunk

import "github.com/ragdhq/ragd/internal/operate/limit"

// splitCharacter cuts a text at every separator. It does not join or trim the pieces.
// A piece that is too long is cut into overlapping windows. The windows are cut at code
// points, as in the reference data; the other strategies cut at grapheme clusters.
func splitCharacter(steps *limit.Steps, text string, o *Options) ([]Chunk, error) {
	seps, err := newSeparators(steps, []string{o.Separator}, o.IsSeparatorRegex)
	if err != nil {
		return nil, err
	}
	kept := *o
	kept.StripWhitespace = false
	b := &builder{steps: steps, src: newSource(text), opts: &kept}
	windows := merger{max: o.MaxSize, overlap: o.Overlap, emit: b.add}
	eachPiece(text, 0, len(text), seps[0], o.SeparatorPosition, func(start, end int) bool {
		if b.src.size(start, end) <= o.MaxSize {
			b.add(start, end)
			return b.step(pieceSteps + end - start)
		}
		c := runeCutter{text: text, pos: start}
		for from := start; from < end && b.step(pieceSteps); {
			to := c.next()
			windows.add(piece{start: from, end: to, size: b.src.size(from, to)})
			from = to
		}
		windows.flush()
		return b.err == nil
	})
	if e, ok := seps[0].(*expression); ok && e.err != nil {
		return nil, e.err
	}
	return b.chunks, b.err
}

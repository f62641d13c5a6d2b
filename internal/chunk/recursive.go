package chunk

import (
	"slices"

	"github.com/ragdhq/ragd/internal/chunk/sentence"
	"github.com/ragdhq/ragd/internal/chunk/textspan"
	"github.com/ragdhq/ragd/internal/operate/limit"
)

// splitRecursive cuts a text at the coarsest separator that occurs in it, joins
// pieces up to maxSize, and cuts pieces that are longer at the next finer
// separator.
func splitRecursive(steps *limit.Steps, text string, o *Options) ([]Chunk, error) {
	seps, position, err := separatorsOf(steps, text, o)
	if err != nil {
		return nil, err
	}
	b := &builder{steps: steps, src: newSource(text), opts: o}
	r := recursion{src: b.src, seps: seps, position: position, out: b}
	r.merger = merger{max: o.MaxSize, overlap: o.Overlap, emit: b.add}
	r.split(0, len(text), 0)
	for _, s := range seps {
		if e, ok := s.(*expression); ok && e.err != nil {
			return nil, e.err
		}
	}
	return b.chunks, b.err
}

// separatorsOf returns the separators of the strategies recursive, markdown without
// headers, and latex, and the position of separators. The separators of a preset,
// such as keywords and headings, stay with the text that follows them unless the
// caller sets another position.
func separatorsOf(steps *limit.Steps, text string, o *Options) ([]separator, SeparatorPosition, error) {
	language := o.Language
	switch o.Strategy {
	case Markdown:
		language = "markdown"
	case LaTeX:
		language = "latex"
	}
	switch {
	case language == "markdown" && o.SeparatorPosition == SeparatorDropped:
		return append(markdownSeparators(steps, text), generalSeparators(o.Cuts)...), SeparatorStart, nil
	case language != "":
		position := o.SeparatorPosition
		if position == SeparatorDropped {
			position = SeparatorStart
		}
		return append(presets[language], generalSeparators(o.Cuts)...), position, nil
	case o.Separators != nil:
		given, followed := o.Separators, o.Separator != "" && slices.Equal(o.Separators[1:], defaultSeparators)
		if followed {
			given = given[:1]
		}
		seps, err := newSeparators(steps, given, o.IsSeparatorRegex)
		if followed {
			seps = append(seps, generalSeparators(o.Cuts)...)
		}
		return seps, o.SeparatorPosition, err
	}
	return generalSeparators(o.Cuts), o.SeparatorPosition, nil
}

type recursion struct {
	src      source // src.ascii describes the section that is being cut
	spaced   bool   // the section is known to have no sentences, clauses or words without spaces
	seps     []separator
	position SeparatorPosition
	merger   merger
	out      *builder
}

// split cuts text[start:end] with the separators from level on. The merger must be
// empty and is empty afterwards, so that no overlap crosses start or end.
func (r *recursion) split(start, end, level int) {
	// A section without accents is fast to measure, even if the source has some.
	ascii, spaced := r.src.ascii, r.spaced
	r.src.ascii = ascii || textspan.IsASCII(r.src.text[start:end])
	r.spaced = spaced || r.src.ascii
	r.splitAt(start, end, level)
	r.src.ascii, r.spaced = ascii, spaced
}

func (r *recursion) splitAt(start, end, level int) {
	// The first separator that occurs, else the last one.
	for ; ; level++ {
		switch r.seps[level].(type) {
		case anywhere:
			r.splitAnywhere(newCutter(&r.src, start, end, r.merger.max), start, end, level+1)
			return
		case betweenWords:
			r.splitAnywhere(wordCutter{sentence.NewWords(r.src.text, start, end)}, start, end, level+1)
			return
		case wrappedSentence:
			if !isWrapped(r.src.text[start:end]) {
				continue
			}
		case wide:
			if r.spaced = r.spaced || sentence.IsSpaced(r.src.text[start:end]); r.spaced {
				continue
			}
		}
		if at, _ := r.seps[level].find(r.src.text, start, end); at >= 0 || level == len(r.seps)-1 {
			break
		}
	}
	last := start
	eachPiece(r.src.text, start, end, r.seps[level], r.position, func(from, to int) bool {
		r.piece(from, to, &last, level+1)
		return r.out.step(pieceSteps + to - from)
	})
	r.merger.flush()
}

// piece merges text[start:end] or, if it is too long, cuts it at the separators
// from level on. last is the end of the piece before it.
func (r *recursion) piece(start, end int, last *int, level int) {
	size := r.src.size(start, end)
	switch {
	case size < r.merger.max:
		r.merger.add(piece{start: start, end: end, size: size, gap: r.src.size(*last, start)})
	case level < len(r.seps):
		r.merger.flush()
		r.split(start, end, level)
	default: // no separator cuts it
		r.merger.flush()
		r.out.add(start, end)
	}
	*last = end
}

// splitAnywhere cuts text[start:end] between the characters or words of a cutter.
func (r *recursion) splitAnywhere(c cutter, start, end, level int) {
	last := start
	for from := start; from < end && r.out.step(pieceSteps); {
		to := c.next()
		r.piece(from, to, &last, level)
		from = to
	}
	r.merger.flush()
}

package chunk

import (
	"github.com/ragdhq/ragd/internal/chunk/assembly"
	"github.com/ragdhq/ragd/internal/chunk/outline"
	"github.com/ragdhq/ragd/internal/chunk/textspan"
	"github.com/ragdhq/ragd/internal/operate/limit"
)

// rebuilder collects chunks whose texts are not slices of the source. With
// AddStartIndex their startIndex is StartByte in UTF-16 code units.
type rebuilder struct {
	builder
	cut   Options // for texts that are longer than maxSize
	trims bool    // trim texts
}

func newRebuilder(steps *limit.Steps, text string, o *Options) rebuilder {
	r := rebuilder{builder: builder{steps: steps, opts: o}, cut: *o}
	if o.AddStartIndex {
		r.src = newSource(text)
	}
	r.cut.Strategy, r.cut.Language, r.cut.AddStartIndex = Recursive, "", false
	return r
}

// tracks reports whether assemblies must track the origin of their text.
func (r *rebuilder) tracks() bool { return r.opts.MaxSize > 0 }

// addAssembly adds the text of a as a chunk, or as several if it is longer than
// maxSize. The fields become the metadata.
func (r *rebuilder) addAssembly(a *assembly.Text, fields []outline.Field) {
	if a.Len() == 0 {
		return
	}
	text, from := a.Take(), 0
	if r.trims {
		start, end := textspan.Trim(text, 0, len(text))
		text, from = text[start:end], start
	}
	if !r.tooLong(text) {
		span := a.Span()
		r.addChunk(Chunk{Text: text, StartByte: span.Start, EndByte: span.End}, fields)
		return
	}
	for _, c := range r.cutText(text) {
		c.StartByte, c.EndByte = a.Bounds(from+c.StartByte, from+c.EndByte)
		r.addChunk(c, fields)
	}
}

// addText adds a text that was made from the given span of the source as a chunk,
// or as several, with the same bounds, if it is longer than maxSize.
func (r *rebuilder) addText(text string, from textspan.Span, fields []outline.Field) {
	if !r.tooLong(text) {
		r.addChunk(Chunk{Text: text, StartByte: from.Start, EndByte: from.End}, fields)
		return
	}
	for _, c := range r.cutText(text) {
		c.StartByte, c.EndByte = from.Start, from.End
		r.addChunk(c, fields)
	}
}

func (r *rebuilder) tooLong(text string) bool {
	return r.opts.MaxSize > 0 && len(text) > r.opts.MaxSize && textspan.Units(text) > r.opts.MaxSize
}

// cutText cuts a text by the recursive strategy.
func (r *rebuilder) cutText(text string) []Chunk {
	chunks, err := splitRecursive(r.steps, text, &r.cut)
	if err != nil && r.err == nil {
		r.err = err
	}
	return chunks
}

// addChunk appends a chunk. Chunks must be added in order of their start.
func (r *rebuilder) addChunk(c Chunk, fields []outline.Field) {
	switch {
	case !r.step(chunkSteps + len(c.Text)):
		return
	case len(r.chunks) == MaxChunks:
		r.err = tooManyChunks()
		return
	}
	c.Metadata = outline.Metadata(fields)
	if r.opts.AddStartIndex {
		r.lastUnit += r.src.size(r.lastByte, c.StartByte)
		r.lastByte = c.StartByte
		if c.Metadata == nil {
			c.Metadata = map[string]any{}
		}
		c.Metadata[startIndexKey] = r.lastUnit
	}
	r.chunks = append(r.chunks, c)
}

package chunk

import (
	"github.com/ragdhq/ragd/internal/chunk/assembly"
	"github.com/ragdhq/ragd/internal/chunk/outline"
	"github.com/ragdhq/ragd/internal/chunk/textspan"
)

// rebuilder collects the chunks of the strategies that put texts together. With
// AddStartIndex they get the index of StartByte in the source, in UTF-16 code
// units.
type rebuilder struct {
	builder
	cut   Options // for what is longer than maxSize
	trims bool    // texts are trimmed
}

func newRebuilder(text string, o *Options) rebuilder {
	r := rebuilder{builder: builder{opts: o}, cut: *o}
	if o.AddStartIndex {
		r.src = newSource(text)
	}
	r.cut.Strategy, r.cut.Language, r.cut.AddStartIndex = Recursive, "", false
	return r
}

// tracks reports whether assemblies must know where their parts came from.
func (r *rebuilder) tracks() bool { return r.opts.MaxSize > 0 }

// addAssembly adds the text of a, cut further by the recursive strategy where it
// is longer than the options allow. The fields become the metadata.
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
	for _, c := range r.parts(text) {
		c.StartByte, c.EndByte = a.Bounds(from+c.StartByte, from+c.EndByte)
		r.addChunk(c, fields)
	}
}

// addText adds a text that was made from the given part of the source. If it is
// cut, each of its parts is said to be made from all of that.
func (r *rebuilder) addText(text string, from textspan.Span, fields []outline.Field) {
	if !r.tooLong(text) {
		r.addChunk(Chunk{Text: text, StartByte: from.Start, EndByte: from.End}, fields)
		return
	}
	for _, c := range r.parts(text) {
		c.StartByte, c.EndByte = from.Start, from.End
		r.addChunk(c, fields)
	}
}

func (r *rebuilder) tooLong(text string) bool {
	return r.opts.MaxSize > 0 && len(text) > r.opts.MaxSize && textspan.Units(text) > r.opts.MaxSize
}

// parts cuts a text by the recursive strategy.
func (r *rebuilder) parts(text string) []Chunk {
	chunks, err := splitRecursive(text, &r.cut)
	if err != nil && r.err == nil {
		r.err = err
	}
	return chunks
}

// addChunk appends a chunk. Chunks come in order of their start.
func (r *rebuilder) addChunk(c Chunk, fields []outline.Field) {
	switch {
	case r.err != nil:
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
		c.Metadata["startIndex"] = r.lastUnit
	}
	r.chunks = append(r.chunks, c)
}

package ingest

import (
	"slices"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/chunk/textspan"
	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/ingest/parse/pdftext"
)

// Metadata of the chunk of a figure.
const (
	kindKey    = "kind"
	figureKey  = "figure" // the kind, and the key of what is known of the picture
	captionKey = "caption"
)

// withFigures returns the chunks of a text and one for each of its figures, which repeats its caption or alternative text: right after
// the last chunk that begins at or before it.
func withFigures(chunks []chunk.Chunk, parsed parse.Document, options chunk.Options) []chunk.Chunk {
	figures := slices.DeleteFunc(slices.Clone(parsed.Figures), func(f parse.Figure) bool { return f.Start < parsed.Body })
	figures = figures[:min(len(figures), max(0, chunk.MaxChunks-len(chunks)))]
	if len(figures) == 0 {
		return chunks
	}
	spans := make([]textspan.Span, len(figures))
	for i, f := range figures {
		spans[i] = textspan.Span{Start: f.Start, End: f.End}
	}
	quoted := chunk.Quote(parsed.Text, options, spans)
	all := make([]chunk.Chunk, 0, len(chunks)+len(quoted))
	for _, c := range chunks {
		for len(quoted) > 0 && quoted[0].StartByte < c.StartByte {
			all, quoted, figures = append(all, ofFigure(quoted[0], figures[0])), quoted[1:], figures[1:]
		}
		all = append(all, c)
	}
	for i := range quoted {
		all = append(all, ofFigure(quoted[i], figures[i]))
	}
	return all
}

// ofFigure returns a chunk with the metadata of its figure.
func ofFigure(c chunk.Chunk, f parse.Figure) chunk.Chunk {
	about := map[string]any{captionKey: f.Captioned}
	if f.MediaType != "" {
		about["mediaType"] = f.MediaType
	}
	if f.Width > 0 {
		about["width"], about["height"] = f.Width, f.Height
	}
	if f.Box != (pdftext.Box{}) {
		about["box"] = map[string]any{"left": f.Box.Left, "top": f.Box.Top, "right": f.Box.Right, "bottom": f.Box.Bottom}
	}
	if c.Metadata == nil {
		c.Metadata = map[string]any{}
	}
	c.Metadata[kindKey], c.Metadata[figureKey] = figureKey, about
	return c
}

// isFigure reports whether a chunk is that of a figure.
func isFigure(metadata map[string]any) bool {
	about, _ := metadata[figureKey].(map[string]any)
	_, is := about[captionKey]
	return is
}

package chunk

import "github.com/ragdhq/ragd/internal/chunk/textspan"

// Quote returns the spans of a text as chunks, which are ascending by their starts, with the start index if the options ask for it. They are
// as large as the spans, whatever the options say.
func Quote(text string, opts Options, spans []textspan.Span) []Chunk {
	chunks := make([]Chunk, len(spans))
	counted, units := 0, 0
	for i, s := range spans {
		chunks[i] = Chunk{Text: text[s.Start:s.End], StartByte: s.Start, EndByte: s.End}
		if opts.AddStartIndex {
			units += textspan.Units(text[counted:s.Start])
			counted = s.Start
			chunks[i].Metadata = map[string]any{startIndexKey: units}
		}
	}
	return chunks
}

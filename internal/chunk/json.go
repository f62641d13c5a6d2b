package chunk

import (
	"github.com/ragdhq/ragd/internal/chunk/jsonsplit"
	"github.com/ragdhq/ragd/internal/operate/limit"
)

// splitJSON cuts a JSON text into JSON texts; see jsonsplit.Split.
func splitJSON(steps *limit.Steps, text string, o *Options) ([]Chunk, error) {
	out := newRebuilder(steps, "", &Options{})
	options := jsonsplit.Options{MaxSize: o.MaxSize, MinSize: o.MinSize, EnsureASCII: o.EnsureASCII, ConvertLists: o.ConvertLists}
	err := jsonsplit.Split(text, options, func(text string, start, end int) error {
		out.addChunk(Chunk{Text: text, StartByte: start, EndByte: end}, nil)
		return out.err
	})
	if err != nil {
		return nil, err
	}
	return out.chunks, nil
}

package ingest

import (
	"bytes"
	"context"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/parse"
	"github.com/ragdhq/ragd/internal/tenant"
)

// MaxChunkTextBytes bounds a text that is cut while the caller waits.
const MaxChunkTextBytes = 10 << 20

// ChunkText cuts a text and stores nothing. What the options leave open is as
// clients of other chunkers know it, not as it suits retrieval: an upload makes
// the same chunks where it is given the same sizes. A blank text has no chunks.
// Errors: Invalid naming the option.
func (s *Service) ChunkText(ctx context.Context, content []byte, mediaType string, chunking chunk.Settings) ([]chunk.Chunk, error) {
	if _, err := tenant.Require(ctx, tenant.Read); err != nil {
		return nil, err
	}
	if len(content) > MaxChunkTextBytes {
		return nil, fault.Field("text", "is %d bytes, over the limit of %d: upload it instead", len(content), MaxChunkTextBytes)
	}
	if err := checkUTF8(content); err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(content)) == 0 {
		return nil, nil
	}
	format, settled, err := contentType(mediaType, "", content)
	if err != nil {
		return nil, err
	}
	if !format.IsText() {
		return nil, fault.Field("text", "is of the format %s, which is no text: upload it instead", format.Name())
	}
	text := string(content)
	if mediaType != "" { // a text that only looks like a page is cut as it was sent
		f := file{Source: parse.Source{Content: content, ContentType: settled}, Chunking: chunking}
		parsed, err := f.parse(ctx, parse.Parse)
		if err != nil {
			return nil, err
		}
		text, settled = parsed.Text, parsed.ContentType
	}
	options, err := chunking.OptionsFor(settled, "")
	if err != nil {
		return nil, fault.Under("chunking", err)
	}
	return chunk.Split(text, options)
}

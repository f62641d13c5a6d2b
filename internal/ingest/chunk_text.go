package ingest

import (
	"bytes"
	"context"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/parse"
	"github.com/ragdhq/ragd/internal/tenant"
)

// MaxChunkTextBytes is the largest text that ChunkText accepts.
const MaxChunkTextBytes = 10 << 20

// ChunkText splits a text into chunks and stores nothing. Options that are not set have
// the defaults of other common chunkers, which differ from those of an upload; with the
// same sizes an upload makes the same chunks. A blank text has no chunks.
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
	if mediaType != "" { // without a content type, text that looks like HTML is split as plain text
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

package ingest

import (
	"bytes"
	"context"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/ingest/extract"
	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

// MaxChunkTextBytes is the largest text that ChunkText accepts.
const MaxChunkTextBytes = 10 << 20

// ChunkText splits a text into chunks and stores nothing. Options that are not set have
// the defaults of other common chunkers, which differ from those of an upload; with the
// same sizes an upload makes the same chunks. A blank text has no chunks.
// Errors: Invalid naming the option, also for more than maxChunkTextSteps, those of
// limit.Processor.Run.
func (s *Service) ChunkText(ctx context.Context, content []byte, mediaType string, chunking chunk.Settings) (chunks []chunk.Chunk, err error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, err
	}
	if len(content) > MaxChunkTextBytes {
		return nil, fault.Field("text", "is %d bytes, over the limit of %d: upload it instead", len(content), MaxChunkTextBytes)
	}
	err = s.processor.Run(waitedFor(ctx), string(r.Tenant), func(ctx context.Context) error {
		chunks, err = chunkText(ctx, r.Tenant, content, mediaType, chunking)
		return err
	})
	return chunks, err
}

// maxChunkTextSteps bounds the work of splitting a text, in steps of some nanoseconds: the caller
// waits. An upload has no such limit.
const maxChunkTextSteps = 750_000_000

// waitedFor returns the context for splitting a text whose caller waits.
func waitedFor(ctx context.Context) context.Context {
	return limit.WithSteps(ctx, maxChunkTextSteps, fault.Field("chunking", "takes too much work on this text for a call that waits for it: upload the text, divide it, or choose a smaller overlap or simpler separators"))
}

// maxChunkTextCalls bounds the calls of a language model for one text: the caller waits.
const maxChunkTextCalls = 500

// Extract extracts metadata from chunks that ChunkText or Preview returned, and adds it to
// theirs. Fields of known, the metadata of the document, are not extracted. It returns the
// cost; nil settings extract nothing. Errors: Invalid naming the option, or for more than 500
// calls of a language model; those of extract.Extractor.Extract.
func (s *Service) Extract(ctx context.Context, settings *extract.Settings, known map[string]any, chunks []chunk.Chunk) (*job.Extraction, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil || settings == nil {
		return nil, err
	}
	t := &task{taskDocument: taskDocument{Extract: settings, Metadata: known}, chunks: chunks}
	t.Tenant = r.Tenant
	result, err := t.extract(ctx, s.extractor, nil, maxChunkTextCalls)
	if err != nil {
		return nil, err
	}
	addFields(chunks, result.Fields)
	cost := extraction(result)
	return &cost, nil
}

// chunkText splits a text of a tenant into chunks.
func chunkText(ctx context.Context, id tenant.ID, content []byte, mediaType string, chunking chunk.Settings) ([]chunk.Chunk, error) {
	encoded := parse.IsEncoded(parse.Text, parse.Source{Content: content, ContentType: mediaType})
	if !encoded {
		if err := checkUTF8(parse.Text, content, mediaType); err != nil {
			return nil, err
		}
	}
	if len(bytes.TrimSpace(content)) == 0 {
		return nil, nil
	}
	format, settled, err := contentType(mediaType, "", content, Reads{})
	if err != nil {
		return nil, err
	}
	if !format.IsText() {
		return nil, fault.Field("text", "is of the format %s, which is no text: upload it instead", format.Name())
	}
	if encoded && keepsSource(chunking, format) {
		return nil, checkUTF8(format, content, mediaType)
	}
	text := string(content)
	if mediaType != "" || encoded { // without a content type, text that looks like HTML is split as plain text
		hidden := includesHidden(chunking) || format == parse.Markdown // whose offsets are those of the caller's text
		f := file{Source: parse.Source{Content: content, ContentType: settled, Hidden: hidden}, Chunking: chunking}
		parsed, err := f.parse(ctx, id, ParseHere)
		if err != nil {
			return nil, err
		}
		text, settled = parsed.Text, parsed.ContentType
	}
	options, err := chunking.OptionsFor(settled, "")
	if err != nil {
		return nil, fault.Under("chunking", err)
	}
	return chunk.Split(ctx, text, options)
}

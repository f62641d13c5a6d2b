package ingest

import (
	"cmp"
	"context"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// Preview returns the chunks that Upload would make of a document, with their metadata,
// and stores nothing. Without an index name the defaults of the service apply instead of
// an index's settings. Nothing is extracted, see Extract. Errors: those of Upload,
// Invalid for a content or text over MaxChunkTextBytes and for more work than maxChunkTextSteps,
// those of limit.Processor.Run.
func (s *Service) Preview(ctx context.Context, u Upload) ([]chunk.Chunk, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, err
	}
	if len(u.Content) > MaxChunkTextBytes {
		return nil, fault.Field("content", "is %d bytes, over the limit of %d for a preview: upload it instead", len(u.Content), MaxChunkTextBytes)
	}
	if err := u.complete(); err != nil {
		return nil, err
	}
	var into index.Index
	if name := *cmp.Or(r.Overrides.IndexName, &u.IndexName); name != "" {
		if into, err = s.indexes.Resolve(ctx, r.Tenant, name); err != nil {
			return nil, err
		}
	}
	d, err := u.document(into, s.Reads)
	if err != nil {
		return nil, err
	}
	t := &task{taskDocument: taskDocument{URI: d.URI, Title: d.Title, ContentType: d.ContentType, Metadata: d.Metadata, Chunking: d.chunking}, content: d.content}
	parsed, chunks, err := t.file().split(waitedFor(ctx), r.Tenant, s.parse, s.processor)
	if err != nil {
		return nil, err
	}
	if len(parsed.Text) > MaxChunkTextBytes {
		return nil, fault.Field("content", "has %d bytes of text, over the limit of %d for a preview: upload it instead", len(parsed.Text), MaxChunkTextBytes)
	}
	if err := t.take(parsed, chunks); err != nil {
		return nil, err
	}
	for n := range chunks {
		chunks[n].Metadata, _ = t.metadataOf(n)
	}
	return chunks, nil
}

package rpc

import (
	"context"
	"maps"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/ingest"
)

// ChunkText implements ChunkService.
func (h *Handlers) ChunkText(ctx context.Context, req *ragdv1.ChunkTextRequest) (*ragdv1.ChunkTextResponse, error) {
	extract, err := extractSettings(req.GetExtract())
	if err != nil {
		return nil, err
	}
	found, err := h.chunksOf(ctx, req)
	if err != nil {
		return nil, err
	}
	cost, err := h.Ingest.Extract(ctx, extract, req.GetMetadata().AsMap(), found)
	if err != nil {
		return nil, err
	}
	ordinal := int32(-1)
	chunks, err := convertLarge(ctx, h.Processor, found, func(c chunk.Chunk) (*ragdv1.Chunk, error) {
		ordinal++
		all := map[string]any{}
		maps.Copy(all, c.Metadata)
		maps.Copy(all, req.GetMetadata().AsMap()) // wins, as in an upload
		metadata, err := structOf(all)
		return &ragdv1.Chunk{
			Ordinal: ordinal, Text: c.Text, Metadata: metadata,
			StartByte: uint32(c.StartByte), EndByte: uint32(c.EndByte), TokenCount: int32(c.TokenCount),
		}, err
	})
	return &ragdv1.ChunkTextResponse{Chunks: chunks, Extraction: extractionMessage(cost)}, err
}

// chunksOf returns the chunks of a text, or those of the upload that req previews.
func (h *Handlers) chunksOf(ctx context.Context, req *ragdv1.ChunkTextRequest) ([]chunk.Chunk, error) {
	chunking, err := chunkingSettings(req.GetChunking())
	if err != nil {
		return nil, err
	}
	content := contentOf(req.GetText(), req.GetContent())
	if preview := req.GetUpload(); preview != nil {
		return h.Ingest.Preview(ctx, ingest.Upload{
			IndexName: preview.GetIndexName(), URI: preview.GetUri(), ContentType: req.GetContentType(),
			Content: content, Metadata: req.GetMetadata().AsMap(), Chunking: chunking,
		})
	}
	return h.Ingest.ChunkText(ctx, content, req.GetContentType(), chunking)
}

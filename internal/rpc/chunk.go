package rpc

import (
	"context"
	"maps"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// ChunkText implements ChunkService.
func (h *Handlers) ChunkText(ctx context.Context, req *ragdv1.ChunkTextRequest) (*ragdv1.ChunkTextResponse, error) {
	chunking, err := chunkingSettings(req.GetChunking())
	if err != nil {
		return nil, err
	}
	found, err := h.Ingest.ChunkText(ctx, contentOf(req.GetText(), req.GetContent()), req.GetContentType(), chunking)
	if err != nil {
		return nil, err
	}
	res := &ragdv1.ChunkTextResponse{}
	for i, c := range found {
		own := maps.Clone(req.GetMetadata().AsMap())
		maps.Copy(own, c.Metadata)
		metadata, err := structOf(own)
		if err != nil {
			return nil, err
		}
		res.Chunks = append(res.Chunks, &ragdv1.Chunk{
			Ordinal: int32(i), Text: c.Text, Metadata: metadata,
			StartByte: uint32(c.StartByte), EndByte: uint32(c.EndByte), TokenCount: int32(c.TokenCount),
		})
	}
	return res, nil
}

package rpc_test

import (
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

func TestAPreviewReturnsTheChunksThatAnUploadStores(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, other := s.Tenant(t, "acme"), s.Tenant(t, "other")
	size := int32(20)
	_, err := acme.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "small", EmbeddingModel: "builtin/hash-512", Chunking: &ragdv1.Chunking{Strategy: "recursive", MaxSize: &size}})
	if err != nil {
		t.Fatal(err)
	}
	metadata, err := structpb.NewStruct(map[string]any{"team": "harbour", "headings": "mine"})
	if err != nil {
		t.Fatal(err)
	}
	text := "# Tides\n\nHigh water is at six.\n\nLow water is at noon.\n"
	d := acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "small", Uri: "a.md", Metadata: metadata, Source: &ragdv1.UploadDocumentRequest_Text{Text: text}})
	stored, err := acme.ListChunks(t.Context(), &ragdv1.ListChunksRequest{IndexName: "small", DocumentId: d.DocumentId})
	if err != nil {
		t.Fatal(err)
	}
	req := &ragdv1.ChunkTextRequest{
		Source: &ragdv1.ChunkTextRequest_Text{Text: text}, Metadata: metadata,
		Upload: &ragdv1.UploadPreview{IndexName: "small", Uri: "a.md"},
	}
	previewed, err := acme.ChunkText(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(inShort(stored.Chunks), inShort(previewed.Chunks)); diff != "" || len(stored.Chunks) < 3 {
		t.Errorf("%d chunks are stored (-stored +previewed)\n%s", len(stored.Chunks), diff)
	}
	if _, err := other.ChunkText(t.Context(), req); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("a preview with the settings of another tenant's index: %v", err)
	}
}

// inShort returns what a preview and a stored chunk have in common.
func inShort(chunks []*ragdv1.Chunk) (all []map[string]any) {
	for _, c := range chunks {
		all = append(all, map[string]any{"n": c.Ordinal, "text": c.Text, "start": c.StartByte, "end": c.EndByte, "metadata": c.Metadata.AsMap()})
	}
	return all
}

package toolset

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"

	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// orPage returns the run of the tool fetch, which calls text unless a page is asked for.
func (s *Set) orPage(text run) run {
	return func(ctx context.Context, c Call, arguments accepted) (Result, error) {
		var given struct {
			ID   string
			Page *float64
		}
		if err := json.Unmarshal(arguments.json, &given); err != nil {
			return Result{}, err
		}
		if given.Page == nil {
			return text(ctx, c, arguments)
		}
		if *given.Page < 1 || *given.Page > math.MaxInt32 {
			return Result{}, fault.Field("page", "must be the number of a page, from 1")
		}
		return s.fetchPage(ctx, given.ID, int32(*given.Page))
	}
}

// fetchPage returns a page of a document as a picture that models see, with the passage highlighted if the id names one.
func (s *Set) fetchPage(ctx context.Context, id string, page int32) (Result, error) {
	document, ordinal, err := s.named(ctx, id)
	if err != nil {
		return Result{}, err
	}
	req := &ragdv1.RenderPageRequest{IndexName: document.GetIndexName(), DocumentId: document.GetDocumentId(), Page: page}
	if id != document.GetUri() && id != document.GetDocumentId() {
		chunk, err := s.chunk(ctx, document, ordinal)
		if err != nil {
			return Result{}, err
		}
		if chunk.GetEndByte() > chunk.GetStartByte() {
			req.Highlights = []*ragdv1.ByteRange{{StartByte: chunk.GetStartByte(), EndByte: chunk.GetEndByte()}}
		}
	}
	picture, err := s.api.RenderPage(ctx, req)
	if err != nil {
		return Result{}, err
	}
	answer, text, err := inBothForms(&structpb.Struct{Fields: map[string]*structpb.Value{
		"id": structpb.NewStringValue(id), "title": structpb.NewStringValue(document.GetTitle()), "url": structpb.NewStringValue(document.GetUri()),
		"text": structpb.NewStringValue(fmt.Sprintf("Page %d of %d, as a picture.", page, picture.GetPageCount())),
	}})
	if err != nil {
		return Result{}, err
	}
	content, err := structured(answer)
	if err != nil {
		return Result{}, fmt.Errorf("encode the answer: %w", err)
	}
	blocks, err := json.Marshal([]any{
		map[string]any{"type": "text", "text": text},
		map[string]any{"type": "image", "mimeType": picture.GetContentType(), "data": base64.StdEncoding.EncodeToString(picture.GetImage())},
	})
	return Result{Structured: content, Text: text, Content: blocks}, err
}

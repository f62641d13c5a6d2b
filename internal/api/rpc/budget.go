package rpc

import (
	"context"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/query/budget"
)

func budgetMessage(r *budget.Report) *ragdv1.Budget {
	if r == nil {
		return nil
	}
	message := &ragdv1.Budget{
		MaxTokens: int32(r.MaxTokens), UsedTokens: int32(r.UsedTokens), EncodingName: r.Encoding, CutId: r.CutID,
		OmittedCount: int32(r.OmittedCount), OmittedTokens: int32(r.OmittedTokens),
	}
	for _, o := range r.Omitted {
		message.Omitted = append(message.Omitted, &ragdv1.OmittedSource{
			Id: o.ID, DocumentId: o.DocumentID, Uri: o.URI, Title: o.Title, Score: o.Score, Tokens: int32(o.Tokens), IndexName: o.IndexName,
		})
	}
	return message
}

func chunkMessage(s *query.Span) *ragdv1.ByteRange {
	if s == nil {
		return nil
	}
	return rangeMessage(*s)
}

// bytesPerToken bounds the text that is read to fill a budget.
const bytesPerToken = 16

// shorten cuts the text of an answer to what fits into a budget.
func (h *Handlers) shorten(ctx context.Context, b *budget.Budget, res *ragdv1.ReadDocumentResponse) error {
	return h.Processor.Run(ctx, tenantOf(ctx), func(ctx context.Context) error {
		text := res.GetText()
		most := b.Prefix(text, b.Max)
		if err := limit.Yield(ctx); err != nil {
			return err
		}
		end := budget.Shorten(text, most, res.GetContentType() == "text/markdown", res.GetEndByte() == res.GetByteSize(), func(part string) bool {
			return b.Count(part) <= b.Max
		})
		res.Text, res.EndByte = text[:end], res.GetStartByte()+uint32(end)
		used := b.Count(res.GetText())
		left := 0 // at as many bytes for each token
		if end > 0 {
			left = int(int64(res.GetByteSize()-res.GetEndByte()) * int64(used) / int64(end))
		}
		res.Budget = budgetMessage(&budget.Report{MaxTokens: b.Max, UsedTokens: used, Encoding: b.Encoding, OmittedTokens: left})
		return nil
	})
}

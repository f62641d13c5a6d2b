package rpc

import (
	"context"
	"errors"
	"time"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/ingest"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// UploadDocuments implements DocumentService.
func (h *Handlers) UploadDocuments(ctx context.Context, messages *connect.ClientStream[ragdv1.UploadDocumentsRequest]) (*ragdv1.UploadDocumentsResponse, error) {
	stream, err := h.Ingest.Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	for messages.Receive() {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := receive(ctx, stream, messages.Msg()); err != nil {
			return nil, err
		}
	}
	if err := messages.Err(); err != nil {
		return nil, err
	}
	results, err := stream.End(ctx)
	if err != nil {
		return nil, err
	}
	res := &ragdv1.UploadDocumentsResponse{Results: make([]*ragdv1.UploadResult, len(results))}
	for i, r := range results {
		res.Results[i] = uploadResultMessage(ctx, r)
	}
	return res, nil
}

// receive passes one message of an upload to the stream.
func receive(ctx context.Context, stream *ingest.Stream, message *ragdv1.UploadDocumentsRequest) error {
	switch part := message.GetPart().(type) {
	case *ragdv1.UploadDocumentsRequest_Document:
		upload, err := uploadOf(part.Document)
		if err != nil {
			return stream.Fail(ctx, part.Document.GetUri(), err)
		}
		return stream.Begin(ctx, upload)
	case *ragdv1.UploadDocumentsRequest_Content:
		return stream.Append(part.Content)
	}
	return fault.Field("part", "a message must have either document or content")
}

func uploadResultMessage(ctx context.Context, r ingest.Result) *ragdv1.UploadResult {
	if r.Err != nil {
		p := partialError(ctx, r.Err)
		return &ragdv1.UploadResult{Uri: r.URI, Error: &ragdv1.UploadError{Code: p.code, Message: p.message, Field: p.field, RetryDelaySeconds: p.retryAfter.Seconds()}}
	}
	return &ragdv1.UploadResult{Uri: r.URI, DocumentId: r.Document.DocumentID, Unchanged: r.Unchanged, Job: jobMessage(r.Job)}
}

// partial is what a caller reads of the error of one of several things in a call.
type partial struct {
	code, message, field string
	retryAfter           time.Duration
}

// partialError converts an error with the code and message that a failed call would have, and
// logs one of the service.
func partialError(ctx context.Context, err error) partial {
	if fault.KindOf(err) == fault.Internal {
		httpserver.Fail(ctx, err) // the caller sees only "internal error"
	}
	wired := wireError(err, httpserver.RequestID(ctx))
	out := partial{code: wired.Code().String(), message: wired.Message()}
	var f *fault.Error
	if errors.As(err, &f) {
		out.retryAfter = f.RetryAfter
		if len(f.Violations) > 0 {
			out.field = f.Violations[0].Field
		}
	}
	return out
}

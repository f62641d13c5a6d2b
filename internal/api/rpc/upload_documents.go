package rpc

import (
	"context"
	"errors"

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
		if fault.KindOf(r.Err) == fault.Internal {
			httpserver.Fail(ctx, r.Err) // the caller sees only "internal error"
		}
		return &ragdv1.UploadResult{Uri: r.URI, Error: uploadError(wireError(r.Err, httpserver.RequestID(ctx)), r.Err)}
	}
	return &ragdv1.UploadResult{Uri: r.URI, DocumentId: r.Document.DocumentID, Unchanged: r.Unchanged, Job: jobMessage(r.Job)}
}

// uploadError converts an error to the part of a result that carries it, with the same
// code and message as a failed call.
func uploadError(wired *connect.Error, cause error) *ragdv1.UploadError {
	out := &ragdv1.UploadError{Code: wired.Code().String(), Message: wired.Message()}
	var f *fault.Error
	if errors.As(cause, &f) {
		out.RetryDelaySeconds = f.RetryAfter.Seconds()
		if len(f.Violations) > 0 {
			out.Field = f.Violations[0].Field
		}
	}
	return out
}

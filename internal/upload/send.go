package upload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"

	"connectrpc.com/connect"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/corpus"
)

// send uploads all documents. It returns early on an error that ends the run.
func (r *run) send(ctx context.Context, docs iter.Seq2[corpus.Document, error]) error {
	workers, ctx := errgroup.WithContext(ctx)
	queue := make(chan corpus.Document)
	// Not one of the workers: a read from a terminal or a pipe cannot be
	// interrupted, and nobody should have to wait for it after the run has ended.
	go func() {
		defer close(queue)
		for doc, err := range docs {
			if err != nil {
				r.step(func() { r.note(doc, err) })
				continue
			}
			select {
			case queue <- doc:
			case <-ctx.Done():
				return
			}
		}
	}()
	for range cmp.Or(r.cfg.Concurrency, 16) {
		workers.Go(func() error { return r.work(ctx, queue) })
	}
	return workers.Wait()
}

// work uploads from the queue until it is closed or the run has ended.
func (r *run) work(ctx context.Context, queue <-chan corpus.Document) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case doc, more := <-queue:
			if !more {
				return ctx.Err()
			}
			if err := r.upload(ctx, doc); err != nil {
				return err
			}
		}
	}
}

// note keeps what the corpus says about something that is no document.
func (r *run) note(doc corpus.Document, err error) {
	r.progress.InputBytes += doc.InputBytes
	var skip *corpus.Skip
	var bad *corpus.Problem
	switch {
	case errors.As(err, &skip):
		r.result.Skips = append(r.result.Skips, *skip)
	case errors.As(err, &bad):
		r.fail(bad.Place, "", bad.Reason)
	default:
		r.fail(doc.Place, "", err.Error())
	}
}

// upload sends one document and records what became of it. Its error ends the run.
func (r *run) upload(ctx context.Context, doc corpus.Document) error {
	req, err := r.request(doc)
	var res *ragdv1.UploadDocumentResponse
	if err == nil {
		err = Retry(ctx, r.cfg.Retrying, func(ctx context.Context) (err error) {
			res, err = r.client.Documents.UploadDocument(ctx, req)
			return err
		})
		if ends(err) {
			return err
		}
	}
	r.step(func() {
		r.progress.InputBytes += doc.InputBytes
		if err != nil {
			r.fail(doc.Place, doc.URI, message(err))
			return
		}
		r.acknowledge(document{doc.Place, doc.URI}, res)
	})
	return nil
}

func (r *run) request(doc corpus.Document) (*ragdv1.UploadDocumentRequest, error) {
	req := &ragdv1.UploadDocumentRequest{
		IndexName: r.cfg.Index, Uri: doc.URI, Title: doc.Title, ContentType: doc.ContentType, Chunking: r.cfg.Chunking,
	}
	if doc.Content != nil {
		req.Source = &ragdv1.UploadDocumentRequest_Content{Content: doc.Content}
	} else {
		req.Source = &ragdv1.UploadDocumentRequest_Text{Text: doc.Text}
	}
	if len(r.cfg.Metadata)+len(doc.Metadata) > 0 {
		metadata := map[string]any{}
		maps.Copy(metadata, r.cfg.Metadata)
		maps.Copy(metadata, doc.Metadata)
		var err error
		if req.Metadata, err = structpb.NewStruct(metadata); err != nil {
			return nil, err
		}
	}
	// The service would not read such a message, and answer as if it were busy.
	if size := proto.Size(req); size > maxRequest {
		return nil, fmt.Errorf("has %d bytes with its metadata, over the limit of %d for one upload", size, maxRequest)
	}
	return req, nil
}

// maxRequest is the size of the largest document with more metadata than any index
// takes.
const maxRequest = corpus.MaxDocument + 1<<20

// acknowledge records a document that the service has taken: as done if its job
// is, which is so when the service had the same document before.
func (r *run) acknowledge(doc document, res *ragdv1.UploadDocumentResponse) {
	r.result.Uploaded++
	job := res.GetJob()
	if r.settle(job, doc) {
		if job.GetStatus() == jobSucceeded {
			r.result.Unchanged++
		}
		return
	}
	r.open[job.GetJobId()] = append(r.open[job.GetJobId()], doc)
	if created := job.GetCreateTime(); created != nil && (r.oldest.IsZero() || created.AsTime().Before(r.oldest)) {
		r.oldest = created.AsTime()
	}
}

// States of a job.
const (
	jobSucceeded = "succeeded"
	jobFailed    = "failed"
	jobCancelled = "cancelled"
)

// settle records the end of a job for its documents and reports whether that is
// known. A cancelled job says nothing: a newer version of the document, or its
// deletion, has overtaken it.
func (r *run) settle(job *ragdv1.Job, docs ...document) bool {
	switch job.GetStatus() {
	case jobSucceeded:
		r.result.Ready += len(docs)
	case jobFailed:
		for _, doc := range docs {
			r.fail(doc.place, doc.uri, cmp.Or(job.GetError(), "the service does not say why"))
		}
	default:
		return false
	}
	return true
}

// ends reports whether an error is about more than the document at hand.
func ends(err error) bool {
	if err == nil {
		return false
	}
	var gaveUp *gaveUpError
	if errors.As(err, &gaveUp) || errors.Is(err, context.Canceled) {
		return true
	}
	switch connect.CodeOf(err) {
	case connect.CodeCanceled, connect.CodeUnauthenticated, connect.CodePermissionDenied, connect.CodeNotFound,
		connect.CodeFailedPrecondition, connect.CodeUnimplemented:
		return true
	}
	return false
}

// message returns what the service said, without the code in front.
func message(err error) string {
	var wire *connect.Error
	if errors.As(err, &wire) {
		return wire.Message()
	}
	return err.Error()
}

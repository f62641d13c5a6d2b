package upload

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math"
	"strconv"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sync/errgroup"

	"github.com/ragdhq/ragd/cmd/ragd/internal/localfiles"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// send uploads all documents. It returns early on an error that ends the run.
func (r *run) send(ctx context.Context, docs iter.Seq2[localfiles.Document, error]) error {
	workers, ctx := errgroup.WithContext(ctx)
	documents := make(chan localfiles.Document)
	// The workers' group does not wait for this goroutine: a read from a terminal or a
	// pipe cannot be interrupted.
	go func() {
		defer close(documents)
		for doc, err := range docs {
			if err != nil {
				r.step(func() { r.note(doc, err) })
				continue
			}
			select {
			case documents <- doc:
			case <-ctx.Done():
				return
			}
		}
	}()
	for range cmp.Or(r.cfg.Concurrency, 4) {
		workers.Go(func() error { return r.work(ctx, documents) })
	}
	return workers.Wait()
}

// work uploads documents until the channel is closed or the run has ended.
func (r *run) work(ctx context.Context, documents <-chan localfiles.Document) error {
	for more := true; more; {
		var items []*item
		var err error
		if items, more, err = r.batch(ctx, documents); err != nil {
			return err
		}
		if items, err = r.skipUnchanged(ctx, items); err != nil {
			return err
		}
		if err := r.upload(ctx, items); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// note records an error of the corpus: a skipped file, or a document that cannot be read.
func (r *run) note(doc localfiles.Document, err error) {
	r.progress.InputBytes += doc.InputBytes
	var skip *localfiles.Skip
	var bad *localfiles.Problem
	switch {
	case errors.As(err, &skip):
		r.result.Skips = append(r.result.Skips, *skip)
	case errors.As(err, &bad):
		r.fail(bad.Location, "", bad.Reason)
	default:
		r.fail(doc.Location, "", err.Error())
	}
}

// minRate is the least throughput of a connection, in bytes per second. It sets the time
// limit of a batch.
const minRate = 256 << 10

// upload sends a batch, and sends documents with a transient error again, until the
// outcome of each document is known. Its error ends the run.
func (r *run) upload(ctx context.Context, items []*item) error {
	if len(items) == 0 {
		return nil
	}
	timeout := attemptTimeout + time.Duration(size(items)/minRate)*time.Second
	err := retry(ctx, timeout, r.cfg.Retrying, func(ctx context.Context) (advanced bool, err error) {
		results, err := r.client.send(ctx, items, func(n int64) { r.step(func() { r.progress.InputBytes += n }) })
		if err != nil {
			return false, err
		}
		before := len(items)
		items, err = r.record(items, results)
		return len(items) < before, err
	})
	if err == nil || ends(err) {
		return err
	}
	r.step(func() {
		for _, it := range items {
			r.progress.InputBytes += it.input
			r.fail(it.location, it.uri, message(err))
		}
	})
	return nil
}

// record stores the results of a batch. It returns the documents to send again with the
// error of the first of them, or an error that ends the run.
func (r *run) record(items []*item, results []*ragdv1.UploadResult) (again []*item, err error) {
	r.step(func() {
		for i, it := range items {
			r.progress.InputBytes += it.input
			it.input = 0
			refusal := refusalOf(results[i].GetError())
			switch {
			case refusal == nil:
				r.acknowledge(it.document, results[i].GetJob())
			case transient(refusal):
				again = append(again, it)
				err = cmp.Or[error](err, refusal)
			case ends(refusal):
				again, err = nil, refusal
				return
			default:
				r.fail(it.location, it.uri, message(refusal))
			}
		}
	})
	return again, err
}

// refusalOf returns the error in a document's result, nil if there is none.
func refusalOf(sent *ragdv1.UploadError) error {
	if sent == nil {
		return nil
	}
	var code connect.Code
	if err := code.UnmarshalText([]byte(sent.GetCode())); err != nil {
		code = connect.CodeUnknown
	}
	refusal := connect.NewWireError(code, errors.New(sent.GetMessage()))
	if delay := sent.GetRetryDelaySeconds(); delay > 0 {
		refusal.Meta().Set("Retry-After", strconv.Itoa(int(math.Ceil(delay))))
	}
	return refusal
}

// acknowledge records a stored document. Its job has ended already if the service had the
// same document before.
func (r *run) acknowledge(doc document, job *ragdv1.Job) {
	r.result.Uploaded++
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
	jobRunning   = "running"
	jobSucceeded = "succeeded"
	jobFailed    = "failed"
	jobCancelled = "cancelled"
)

// settle records the outcome of a job for its documents and reports whether it is known.
// The outcome of a cancelled job is not: a newer version of the document, or its
// deletion, has replaced it.
func (r *run) settle(job *ragdv1.Job, docs ...document) bool {
	switch job.GetStatus() {
	case jobSucceeded:
		r.result.Ready += len(docs)
	case jobFailed:
		for _, doc := range docs {
			r.fail(doc.location, doc.uri, cmp.Or(job.GetError(), "the service does not say why"))
		}
	default:
		return false
	}
	return true
}

// ends reports whether an error ends the run, because it concerns more than one document.
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

// message returns an error's message without the code in front.
func message(err error) string {
	var wire *connect.Error
	if errors.As(err, &wire) {
		return wire.Message()
	}
	return err.Error()
}

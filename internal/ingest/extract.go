package ingest

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	"golang.org/x/sync/errgroup"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/ingest/extract"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

const (
	// extractDocuments is how many documents of a batch are extracted concurrently.
	extractDocuments = 8
	// extractAttempts is how many attempts a document gets while the provider answers
	// nothing, before it is stored without extracted metadata.
	extractAttempts = 3
	// maxShownFailures is how many failures a job lists at most.
	maxShownFailures = 20
	// maxNoticeBytes bounds the notice of a document.
	maxNoticeBytes = 500
)

// extract adds the metadata that the uploaders requested to the chunks.
func (b *batch) extract(ctx context.Context, open []*task) error {
	var group errgroup.Group
	group.SetLimit(extractDocuments)
	for _, t := range open {
		if t.Status != DocumentReady && t.Extract != nil {
			group.Go(func() error {
				t.err = guarded(func() error { return b.extractFrom(ctx, t) })
				return nil
			})
		}
	}
	return group.Wait()
}

func (b *batch) extractFrom(ctx context.Context, t *task) error {
	kept := &sentences{handle: b.handle, indexID: t.IndexID, documentID: t.DocumentID}
	if t.Extract.Context != nil {
		switch ready, err := kept.ready(ctx); {
		case err != nil:
			return err
		case !ready:
			return errBehind
		}
	}
	result, err := t.extract(ctx, b.worker.extractor, kept, 0)
	if err != nil {
		return err
	}
	if err := kept.compact(ctx, result.Sentences); err != nil {
		return err
	}
	if err := job.AddExtraction(ctx, b.handle, t.JobID, extraction(result)); err != nil {
		return err
	}
	if t.Attempt < extractAttempts && result.Usage.OutputTokens == 0 && len(result.Failures) > 0 && transient(result.Failures[0].Err) {
		return result.Failures[0].Err // the provider is down: try again later
	}
	addFields(t.chunks, result.Fields)
	t.notice = noticeOf(result, len(t.chunks))
	return nil
}

// noticeOf says how many chunks have no sentence of context, and why the first of them has none; empty if all have one.
func noticeOf(r extract.Result, chunks int) string {
	missing, reason := 0, ""
	for _, f := range r.Failures {
		if f.Field == "context" {
			missing, reason = missing+1, cmp.Or(reason, fault.Public(f.Err))
		}
	}
	if missing == 0 {
		return ""
	}
	return textlimit.Shorten(fmt.Sprintf("%d of %d chunks have no sentence of context: %s", missing, chunks, reason), maxNoticeBytes)
}

// extract extracts the metadata that the task asks for, with at most maxCalls of a language
// model; 0 is the limit of an upload. kept may be nil. Errors: those of Extractor.Extract.
func (t *task) extract(ctx context.Context, extractor *extract.Extractor, kept extract.Sentences, maxCalls int) (extract.Result, error) {
	options, err := t.Extract.Options()
	if err != nil {
		return extract.Result{}, fault.Under("extract", err)
	}
	request := extract.Request{Tenant: string(t.Tenant), Options: options, Title: t.Title, Chunks: make([]extract.Chunk, len(t.chunks)), MaxCalls: maxCalls, Sentences: kept}
	for i, c := range t.chunks {
		known, _ := t.metadataOf(i)
		request.Chunks[i] = extract.Chunk{Text: c.Text, Metadata: known}
	}
	return extractor.Extract(ctx, request)
}

// addFields adds the extracted fields to the metadata of the chunks.
func addFields(chunks []chunk.Chunk, fields []map[string]any) {
	for i, found := range fields {
		if chunks[i].Metadata == nil {
			chunks[i].Metadata = map[string]any{}
		}
		maps.Copy(chunks[i].Metadata, found)
	}
}

// extraction converts the result of an attempt, its cost and its failures, for the job.
func extraction(r extract.Result) job.Extraction {
	e := job.Extraction{
		Calls: r.Usage.Calls, InputTokens: r.Usage.InputTokens, OutputTokens: r.Usage.OutputTokens,
		Failed: len(r.Failures), Failures: []job.ExtractionFailure{},
	}
	for _, f := range r.Failures[:min(maxShownFailures, len(r.Failures))] {
		e.Failures = append(e.Failures, job.ExtractionFailure{Ordinal: f.Chunk, Field: f.Field, Reason: fault.Public(f.Err)})
	}
	return e
}

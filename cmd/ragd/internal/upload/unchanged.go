package upload

import (
	"context"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// skipUnchanged asks the service which documents of a batch it has already, records these
// and returns the others. Its error ends the run.
func (r *run) skipUnchanged(ctx context.Context, items []*item) ([]*item, error) {
	if r.new || len(items) == 0 {
		return items, nil
	}
	req := &ragdv1.FindUnchangedRequest{IndexName: r.cfg.Index, Namespace: r.cfg.Namespace, Chunking: r.cfg.Chunking}
	for _, it := range items {
		req.Documents = append(req.Documents, &ragdv1.SourceDocument{Uri: it.uri, Fingerprint: it.header.GetFingerprint()})
	}
	var found *ragdv1.FindUnchangedResponse
	err := Retry(ctx, r.cfg.Retrying, func(ctx context.Context) (err error) {
		found, err = r.client.Documents.FindUnchanged(ctx, req)
		return err
	})
	switch {
	case ends(err):
		return nil, err
	case err != nil: // such as an invalid uri: the upload says of which document
		return items, nil
	}
	r.step(func() {
		for _, position := range found.GetUnchanged() {
			r.progress.InputBytes += items[position].input
			items[position] = nil
		}
		n := len(found.GetUnchanged())
		r.result.Uploaded, r.result.Unchanged, r.result.Ready = r.result.Uploaded+n, r.result.Unchanged+n, r.result.Ready+n
	})
	var changed []*item
	for _, it := range items {
		if it != nil {
			changed = append(changed, it)
		}
	}
	return changed, nil
}

// isEmpty reports whether the index is known to have no documents that are ready.
func (r *run) isEmpty(ctx context.Context) bool {
	attempt, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	index, err := r.client.Indexes.DescribeIndex(attempt, &ragdv1.DescribeIndexRequest{IndexName: r.cfg.Index})
	return err == nil && index.GetDocumentCount() == 0
}

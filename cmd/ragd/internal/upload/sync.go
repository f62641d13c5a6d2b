package upload

import (
	"context"
	"errors"
	"iter"
	"path"
	"slices"

	"github.com/ragdhq/ragd/cmd/ragd/internal/localfiles"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// Source says which documents of the index a corpus is all of.
type Source struct {
	Prefix     string // of their uris
	WholeIndex bool   // instead of a prefix
	AllowEmpty bool   // a corpus without documents is no mistake
}

// Plan is what makes an index have what a corpus has.
type Plan struct {
	New       []string // uris to be uploaded
	Changed   []string // uris to be uploaded
	Unchanged int
	Gone      []string // uris to be deleted; the first of them, if they are very many
	GoneCount int
	// Kept are uris of documents whose files are still there and cannot be read any
	// more. They are not gone, and nothing happens to them.
	Kept []string
	// Unread is how much of the corpus could not be read. Its documents, if they are
	// in the index, count as gone: so nothing is deleted while there is any.
	Unread int

	passedOver int // files
	request    *ragdv1.SyncSourceRequest
}

// PlanSync compares a corpus with what the index has of it, by reading all of it and
// uploading nothing.
func PlanSync(ctx context.Context, client Client, docs iter.Seq2[localfiles.Document, error], source Source, cfg Config) (*Plan, error) {
	r := &run{client: client, cfg: cfg}
	req := &ragdv1.SyncSourceRequest{
		IndexName: cfg.Index, Namespace: cfg.Namespace, UriPrefix: source.Prefix, WholeIndex: source.WholeIndex, AllowEmpty: source.AllowEmpty, DryRun: true,
	}
	plan := &Plan{}
	passedOver := map[string]bool{} // uris
	places := map[string]int{}      // in the request, by uri: of a document given twice the last counts
	for doc, err := range docs {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var skip *localfiles.Skip
		var it *item
		if err == nil {
			it, err = r.item(doc)
		}
		switch {
		case errors.As(err, &skip):
			passedOver[doc.URI] = true
			continue
		case err != nil:
			plan.Unread++
			continue
		}
		entry := &ragdv1.SourceDocument{Uri: doc.URI, Fingerprint: it.header.GetFingerprint()}
		if at, again := places[doc.URI]; again {
			req.Documents[at] = entry
			continue
		}
		places[doc.URI] = len(req.Documents)
		req.Documents = append(req.Documents, entry)
	}
	res, err := r.syncSource(ctx, req)
	if err != nil {
		return nil, err
	}
	plan.New, plan.Changed, plan.Unchanged = res.GetNewUris(), res.GetChangedUris(), int(res.GetUnchangedCount())
	plan.Gone, plan.GoneCount = res.GetGoneUris(), int(res.GetGoneCount())
	plan.request, plan.passedOver = req, len(passedOver)
	plan.keep(passedOver)
	return plan, nil
}

// keep takes those out of what is gone that were passed over, or lie in an archive
// that was: a file that is broken today may be whole tomorrow.
func (p *Plan) keep(passedOver map[string]bool) {
	p.Gone = slices.DeleteFunc(p.Gone, func(uri string) bool {
		for at := uri; at != "." && at != "/"; at = path.Dir(at) {
			if passedOver[at] {
				p.Kept = append(p.Kept, uri)
				p.request.Documents = append(p.request.Documents, &ragdv1.SourceDocument{Uri: uri})
				return true
			}
		}
		return false
	})
	p.GoneCount -= len(p.Kept)
}

func (r *run) syncSource(ctx context.Context, req *ragdv1.SyncSourceRequest) (res *ragdv1.SyncSourceResponse, err error) {
	err = Retry(ctx, r.cfg.Retrying, func(ctx context.Context) (err error) {
		res, err = r.client.Documents.SyncSource(ctx, req)
		return err
	})
	return res, err
}

// Due returns those of a corpus's documents that the plan has to be uploaded, and
// what is wrong with the others.
func (p *Plan) Due(docs iter.Seq2[localfiles.Document, error]) iter.Seq2[localfiles.Document, error] {
	due := make(map[string]bool, len(p.New)+len(p.Changed))
	for _, uri := range slices.Concat(p.New, p.Changed) {
		due[uri] = true
	}
	return func(yield func(localfiles.Document, error) bool) {
		if len(due)+p.passedOver+p.Unread == 0 {
			return // nothing to upload and nothing to say: it need not be read again
		}
		for doc, err := range docs {
			if (err != nil || due[doc.URI]) && !yield(doc, err) {
				return
			}
		}
	}
}

// Finish deletes what is gone and returns how many documents that were.
func (p *Plan) Finish(ctx context.Context, client Client, cfg Config) (int, error) {
	p.request.DryRun = false
	r := &run{client: client, cfg: cfg}
	res, err := r.syncSource(ctx, p.request)
	return int(res.GetGoneCount()), err
}

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

// Source selects the documents of the index that a sync compares with the corpus.
type Source struct {
	Prefix     string // of their uris
	WholeIndex bool   // all documents, instead of a prefix
	AllowEmpty bool   // accept a corpus without documents, which deletes all of them
}

// Plan lists the changes that make an index contain the documents of a corpus.
type Plan struct {
	New       []string // uris to be uploaded
	Changed   []string // uris to be uploaded
	Unchanged int
	Gone      []string // uris to be deleted; only the first if there are very many
	GoneCount int
	// Kept are uris of documents whose files still exist but are skipped now. They are
	// neither uploaded nor deleted.
	Kept []string
	// Unread is the number of documents that could not be read. They may be among Gone,
	// so the caller must not delete anything unless it is 0.
	Unread int

	skipped int // files
	request *ragdv1.SyncSourceRequest
}

// PlanSync compares a corpus with the documents of the index that source selects. It
// reads the whole corpus and changes nothing.
func PlanSync(ctx context.Context, client Client, docs iter.Seq2[localfiles.Document, error], source Source, cfg Config) (*Plan, error) {
	r := &run{client: client, cfg: cfg}
	req := &ragdv1.SyncSourceRequest{
		IndexName: cfg.Index, Namespace: cfg.Namespace, UriPrefix: source.Prefix, WholeIndex: source.WholeIndex, AllowEmpty: source.AllowEmpty, DryRun: true,
	}
	plan := &Plan{}
	skipped := map[string]bool{}  // by uri
	positions := map[string]int{} // in the request, by uri; the last of equal uris counts
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
			skipped[doc.URI] = true
			continue
		case err != nil:
			plan.Unread++
			continue
		}
		entry := &ragdv1.SourceDocument{Uri: doc.URI, Fingerprint: it.header.GetFingerprint()}
		if at, again := positions[doc.URI]; again {
			req.Documents[at] = entry
			continue
		}
		positions[doc.URI] = len(req.Documents)
		req.Documents = append(req.Documents, entry)
	}
	res, err := r.syncSource(ctx, req)
	if err != nil {
		return nil, err
	}
	plan.New, plan.Changed, plan.Unchanged = res.GetNewUris(), res.GetChangedUris(), int(res.GetUnchangedCount())
	plan.Gone, plan.GoneCount = res.GetGoneUris(), int(res.GetGoneCount())
	plan.request, plan.skipped = req, len(skipped)
	plan.keep(skipped)
	return plan, nil
}

// keep moves documents from Gone to Kept whose file, or the archive that contains it, was
// skipped: a file that is broken today may be readable tomorrow.
func (p *Plan) keep(skipped map[string]bool) {
	p.Gone = slices.DeleteFunc(p.Gone, func(uri string) bool {
		for at := uri; at != "." && at != "/"; at = path.Dir(at) {
			if skipped[at] {
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

// Due returns the documents of a corpus that must be uploaded, and the errors of the
// corpus.
func (p *Plan) Due(docs iter.Seq2[localfiles.Document, error]) iter.Seq2[localfiles.Document, error] {
	due := make(map[string]bool, len(p.New)+len(p.Changed))
	for _, uri := range slices.Concat(p.New, p.Changed) {
		due[uri] = true
	}
	return func(yield func(localfiles.Document, error) bool) {
		if len(due)+p.skipped+p.Unread == 0 {
			return // no document and no error: no need to read the corpus again
		}
		for doc, err := range docs {
			if (err != nil || due[doc.URI]) && !yield(doc, err) {
				return
			}
		}
	}
}

// Finish deletes the documents that are gone and returns their number.
func (p *Plan) Finish(ctx context.Context, client Client, cfg Config) (int, error) {
	p.request.DryRun = false
	r := &run{client: client, cfg: cfg}
	res, err := r.syncSource(ctx, p.request)
	return int(res.GetGoneCount()), err
}

package ingest

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/ingest/backlog"
	"github.com/ragdhq/ragd/internal/ingest/extract"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

const (
	// situatedBatch is how many documents one transaction queues.
	situatedBatch = 500
	// maxEstimated is from how many documents a cost is estimated.
	maxEstimated = 2000
)

// Situated says which documents were queued to get sentences of context or, in a dry run, would be.
type Situated struct {
	Documents, Chunks int64
	Cost              extract.Cost // about what it takes if no sentence was made before
	Budget            int64        // tokens that all sentences of the index may take
	Spent             int64        // tokens that they have taken; 0 for a credential with a mandatory filter
	Remaining         bool         // documents are left because the backlog is full
}

// lacking selects the ready documents d of an index, of one namespace unless it is empty, whose chunks lack sentences of context.
func lacking(args *filter.Args, i index.Index, namespace string, visible filter.Filter) string {
	return `d.index_id = ` + args.Add(i.ID) + ` AND d.status = 'ready' AND (NOT coalesce(d.extract ? 'context', false) OR ` + noticeSQL + ` <> '')
		AND ` + args.Add(namespace) + `::text IN ('', d.namespace) AND ` + visible.SQL("d.metadata", args)
}

// Situate queues the ready documents of an index that lack sentences of context, in batches, one transaction each: after an error
// some may be queued already. Errors: Invalid for the namespace; Precondition for an index without the option context, but for a
// dry run; those of extract.Extractor.Check; Exhausted if the backlog is full at once.
func (s *Service) Situate(ctx context.Context, indexName, namespace string, dryRun bool) (done Situated, err error) {
	if namespace != "" {
		if namespace, err = index.Namespace(namespace); err != nil {
			return done, err
		}
	}
	err = s.onIndex(ctx, access.Write, indexName, func(t target) error {
		done, err = t.estimateContext(ctx, namespace)
		if err != nil || dryRun {
			return err
		}
		done.Documents, done.Chunks = 0, 0
		return s.situate(ctx, t, namespace, &done)
	})
	return done, err
}

// contextOf returns the option context of the index, nil without one.
func contextOf(i index.Index) (*extract.Context, error) {
	if i.Extract == nil {
		return nil, nil
	}
	options, err := i.Extract.Options()
	return options.Context, err
}

// estimateContext counts the documents that lack sentences and estimates what these take.
func (t target) estimateContext(ctx context.Context, namespace string) (Situated, error) {
	wanted, err := contextOf(t.index)
	if err != nil {
		return Situated{}, err
	}
	args := filter.NewArgs()
	where := lacking(args, t.index, namespace, t.visible)
	counted, err := data.Get[struct{ Documents, Chunks, Spent int64 }](ctx, t.handle, `
		SELECT count(*) AS documents, coalesce(sum(d.chunk_count), 0)::bigint AS chunks,
			(SELECT coalesce(sum((to_jsonb(n)->>'context_tokens')::bigint), 0)::bigint FROM tenant.index_counts AS n WHERE n.index_id = `+args.Add(t.index.ID)+`) AS spent
		FROM tenant.documents AS d WHERE `+where, args.Values()...)
	if err != nil {
		return Situated{}, err
	}
	found := Situated{Documents: counted.Documents, Chunks: counted.Chunks, Spent: counted.Spent, Budget: extract.DefaultBudget}
	if wanted != nil {
		found.Budget = wanted.Budget
	}
	if !t.visible.IsZero() {
		found.Spent = 0
	}
	args = filter.NewArgs()
	where = lacking(args, t.index, namespace, t.visible)
	documents, err := data.Values[[]int](ctx, t.handle, `
		SELECT array_agg(octet_length(c.text) ORDER BY c.ordinal) FROM tenant.chunk AS c
		WHERE c.document_id = ANY(ARRAY(SELECT d.document_id FROM tenant.documents AS d WHERE `+where+` ORDER BY hashtext(d.document_id::text) LIMIT `+args.Add(maxEstimated)+`))
		GROUP BY c.document_id`, args.Values()...)
	if err != nil {
		return Situated{}, err
	}
	seen := 0
	for _, sizes := range documents {
		seen += len(sizes)
		found.Cost.Add(extract.EstimateContext(sizes))
	}
	if found.Documents > maxEstimated && seen > 0 {
		found.Cost.Scale(float64(found.Chunks) / float64(seen))
	}
	return found, nil
}

// situate queues the documents, until none is left or the backlog is full.
func (s *Service) situate(ctx context.Context, t target, namespace string, done *Situated) error {
	wanted, err := contextOf(t.index)
	switch {
	case err != nil:
		return err
	case wanted == nil:
		return fault.New(fault.Precondition, "the index %q makes no sentences of context: set the option context of its extract first, such as {\"model\": \"openai/gpt-5-mini\", \"context\": true}", t.index.Name)
	}
	if err := s.extractor.CheckSettings(ctx, string(t.tenant), t.index.Extract); err != nil {
		return err
	}
	defer s.backlog.Recount(t.tenant)
	for {
		if err := s.backlog.Refresh(ctx, t.tenant); err != nil {
			return err
		}
		queued, full, err := s.situateSome(ctx, t, namespace, wanted)
		if err != nil {
			return err
		}
		for _, d := range queued {
			done.Documents, done.Chunks = done.Documents+1, done.Chunks+int64(d.ChunkCount)
		}
		if len(queued) > 0 {
			s.backlog.Wake(t.tenant)
		}
		if full != nil && done.Documents == 0 {
			return full
		}
		if done.Remaining = full != nil; done.Remaining || len(queued) < situatedBatch {
			return nil
		}
	}
}

// processed is a ready document with the settings that it is processed with.
type processed struct {
	Document
	Chunking chunk.Settings
	Extract  *extract.Settings
}

// situateSome queues up to situatedBatch documents. full is the error of the backlog if it takes no more.
func (s *Service) situateSome(ctx context.Context, t target, namespace string, wanted *extract.Context) (queued []Document, full, err error) {
	err = t.handle.TxOvertaking(ctx, func(tx *data.Tx) error {
		queued, full = nil, nil
		if err := index.LockForUpload(ctx, tx, t.index.ID); err != nil {
			return err
		}
		args := filter.NewArgs(situatedBatch)
		found, err := data.Select[processed](ctx, tx, `
			SELECT `+documentColumns+`, d.chunking, d.extract FROM tenant.documents AS d
			WHERE `+lacking(args, t.index, namespace, t.visible)+` ORDER BY d.document_id LIMIT $1 FOR NO KEY UPDATE OF d`, args.Values()...)
		if err != nil {
			return err
		}
		var extracts []*extract.Settings
		for _, d := range found {
			if full = s.backlog.Admit(t.tenant, d.ByteSize); full != nil {
				break
			}
			next, err := d.situated(t.index, wanted)
			if err != nil {
				return err
			}
			queued, extracts = append(queued, next.Document), append(extracts, next.extract)
		}
		if len(queued) == 0 {
			return nil
		}
		if err := requeue(ctx, tx, queued, extracts); err != nil {
			return err
		}
		if err := replaceJobs(ctx, tx, t.index.Name, queued...); err != nil {
			return err
		}
		waiting := make([]backlog.Document, len(queued))
		for n, d := range queued {
			waiting[n] = d.waiting(t.tenant, t.index.ID)
		}
		return s.backlog.Enqueue(ctx, tx, waiting...)
	})
	return queued, full, err
}

// situated returns the next version of the document, which gets sentences of context and else what it was uploaded with.
func (d processed) situated(i index.Index, wanted *extract.Context) (newDocument, error) {
	next := newDocument{Document: d.Document, chunking: d.Chunking, extract: i.Extract}
	if d.Extract != nil {
		own := *d.Extract
		own.Context = &extract.ContextSettings{Model: &wanted.Model, BudgetTokens: &wanted.Budget}
		next.extract = &own
	}
	next.Version, next.Status, next.JobID = d.Version+1, DocumentPending, uuid.Must(uuid.NewV7()).String()
	var err error
	next.ContentHash, err = next.hash()
	return next, err
}

// requeue makes the next versions of locked documents pending.
func requeue(ctx context.Context, tx *data.Tx, documents []Document, extracts []*extract.Settings) error {
	var ids, jobs, hashes []string
	settings := make([]json.RawMessage, len(extracts))
	for n, d := range documents {
		ids, jobs, hashes = append(ids, d.DocumentID), append(jobs, d.JobID), append(hashes, d.ContentHash)
		raw, err := json.Marshal(extracts[n])
		if err != nil {
			return err
		}
		settings[n] = raw
	}
	_, err := tx.Exec(ctx, `
		UPDATE tenant.documents AS d SET status = 'pending', error = '', version = d.version + 1, updated_at = now(),
			job_id = coalesce(($2::uuid[])[array_position($1::uuid[], d.document_id)]), content_hash = coalesce(($3::text[])[array_position($1::uuid[], d.document_id)]),
			extract = coalesce(($4::jsonb[])[array_position($1::uuid[], d.document_id)])
		WHERE d.document_id = ANY($1::uuid[])`, ids, jobs, hashes, settings)
	return err
}

package ingest

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/ingest/backlog"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
	"github.com/ragdhq/ragd/internal/tenant/quota/usage"
)

// restoreTime is after which time a call begins no other batch: an index with a Postgres index over its embeddings takes as long as for
// new chunks.
const restoreTime = 20 * time.Second

// MaxRestored is how many documents one call restores.
const MaxRestored = 100_000

// What a restoration does where a document with the uri of a deleted one was uploaded since.
const (
	refuseConflicts  = "refuse"
	skipConflicts    = "skip"
	replaceConflicts = "replace"
)

// Restoration says which deleted documents of an index to restore: those that are named, or all that were deleted since a time.
type Restoration struct {
	IndexName   string
	DocumentIDs []string
	Since       time.Time
	Namespace   string // all namespaces if empty
	OnConflict  string // refuse, skip or replace; refuse if empty
}

// Restored says which documents were restored.
type Restored struct {
	Count   int
	First   []RestoredDocument // the first of them, up to maxDeletedShown
	Skipped int
	// Remaining says that the time of a call has passed before all were restored: another call goes on.
	Remaining bool
}

// RestoredDocument is a document that was restored.
type RestoredDocument struct {
	DocumentID string
	Namespace  string
	URI        string
	Status     string
	JobID      string // empty for none
}

// RestoreDeleted restores deleted documents in batches, one transaction each: after an error, some may be restored already. It ignores
// named documents that are not kept or that the credential may not see. Errors: Invalid; Exists where a document with the uri of
// one was uploaded since, and skip and replace were not asked for; Exhausted beyond a quota; Denied where the credential may not write under a uri.
func (s *Service) RestoreDeleted(ctx context.Context, r Restoration) (all Restored, err error) {
	if err := r.complete(); err != nil {
		return all, err
	}
	err = s.onIndex(ctx, access.Write, r.IndexName, func(t target) error {
		wanted, err := t.restorable(ctx, r)
		if err != nil || len(wanted) == 0 {
			return err
		}
		keeper, err := s.keeper(ctx, t)
		if err != nil {
			return err
		}
		u := undeletion{service: s, target: t, onConflict: r.OnConflict, keeper: keeper}
		if err := u.check(ctx, t.handle, wanted); err != nil {
			return err
		}
		defer s.backlog.Wake(t.tenant)
		defer s.backlog.Recount(t.tenant)
		start := time.Now()
		for some := range slices.Chunk(wanted, deleteBatch) {
			if all.Remaining = time.Since(start) > restoreTime; all.Remaining {
				break
			}
			var restored []RestoredDocument
			var skipped int
			err := t.handle.TxOvertaking(ctx, func(tx *data.Tx) (err error) {
				restored, skipped, err = u.restore(ctx, tx, some)
				return err
			})
			if err != nil {
				return err
			}
			all.Count, all.Skipped = all.Count+len(restored), all.Skipped+skipped
			all.First = append(all.First, restored[:min(len(restored), maxDeletedShown-len(all.First))]...)
		}
		return nil
	})
	return all, err
}

// complete checks a restoration and fills in its default. Errors: Invalid.
func (r *Restoration) complete() error {
	switch {
	case r.Since.IsZero() == (len(r.DocumentIDs) == 0):
		return fault.Field("documentIds", "or since must be given, and not both")
	case len(r.DocumentIDs) > MaxDeletedNamed:
		return fault.Field("documentIds", "are %d, over the limit of %d: divide them", len(r.DocumentIDs), MaxDeletedNamed)
	case r.OnConflict == "":
		r.OnConflict = refuseConflicts
	case !slices.Contains([]string{refuseConflicts, skipConflicts, replaceConflicts}, r.OnConflict):
		return fault.Field("onConflict", "must be %s, %s or %s", refuseConflicts, skipConflicts, replaceConflicts)
	}
	return nil
}

// keptName is a kept document that is to be restored.
type keptName struct {
	DocumentID string
	Namespace  string
	URI        string
}

// restorable returns the kept documents that a restoration selects, in the order of their ids: with since, of several with one name
// that which was deleted last, and none if one of them was restored already, so that a call may be repeated. Errors: Invalid for more than MaxRestored, and for two ids of one name.
func (t target) restorable(ctx context.Context, r Restoration) ([]keptName, error) {
	ids := r.DocumentIDs
	if len(ids) == 0 {
		ids = nil
	}
	which, err := t.kept(r.Namespace, ids)
	if err != nil {
		return nil, err
	}
	args := filter.NewArgs(t.index.ID, MaxRestored+1, r.Since, ids != nil)
	all, err := data.Select[keptName](ctx, t.handle, `
		SELECT d.document_id::text, d.namespace, d.uri FROM (
			SELECT k.document_id, d.namespace, d.uri, row_number() OVER (PARTITION BY d.namespace, d.uri ORDER BY k.deleted_at DESC, k.document_id DESC) AS nth
			FROM `+keptDocuments+` WHERE k.index_id = $1 AND k.deleted_at >= $3 AND (NOT k.superseded OR $4) AND `+which(args)+`
		) AS d WHERE d.nth = 1 OR $4
		ORDER BY d.document_id LIMIT $2`, args.Values()...)
	if err != nil {
		return nil, err
	}
	if len(all) > MaxRestored {
		return nil, fault.Field("since", "selects more than %d documents: name a namespace, or a later time", MaxRestored)
	}
	seen := make(map[name]bool, len(all))
	for _, d := range all {
		if seen[name{d.Namespace, d.URI}] {
			return nil, fault.Field("documentIds", "name two documents with the uri %q: choose one", shorten(d.URI))
		}
		seen[name{d.Namespace, d.URI}] = true
	}
	return all, nil
}

// undeletion restores documents of an index.
type undeletion struct {
	service    *Service
	target     target
	onConflict string
	keeper     *keeper // of the documents that are replaced
}

// conflict is a document with the name of a kept one.
type conflict struct {
	DocumentID string
	Namespace  string
	URI        string
	Visible    bool
}

// conflicts returns the documents that have the names of kept ones, locked if it is asked for.
func (u *undeletion) conflicts(ctx context.Context, q data.Queryer, wanted []keptName, lock string) ([]conflict, error) {
	namespaces, uris := make([]string, len(wanted)), make([]string, len(wanted))
	for n, d := range wanted {
		namespaces[n], uris[n] = d.Namespace, d.URI
	}
	args := filter.NewArgs(u.target.index.ID, namespaces, uris)
	return data.Select[conflict](ctx, q, `
		SELECT d.document_id::text, d.namespace, d.uri, coalesce(`+u.target.visible.SQL("d.metadata", args)+`, false) AS visible
		FROM tenant.documents AS d
		WHERE d.index_id = $1 AND (d.namespace, d.uri) IN (SELECT given.namespace, given.uri FROM unnest($2::text[], $3::text[]) AS given (namespace, uri))
		ORDER BY d.document_id`+lock, args.Values()...)
}

// check returns the error of a restoration that conflicts with documents that were uploaded since.
func (u *undeletion) check(ctx context.Context, q data.Queryer, wanted []keptName) error {
	if u.onConflict == skipConflicts {
		return nil
	}
	found, err := u.conflicts(ctx, q, wanted, "")
	if err != nil {
		return err
	}
	return u.refuse(found)
}

// refuse returns an error unless the conflicts are to be resolved and may be.
func (u *undeletion) refuse(found []conflict) error {
	for _, c := range found {
		switch {
		case u.onConflict == skipConflicts:
		case !c.Visible:
			return fault.New(fault.Denied, "this credential's mandatory filter does not let it write under the uri %q", shorten(c.URI))
		case u.onConflict == refuseConflicts:
			return fault.New(fault.Exists, "a document with the uri %q was uploaded since (%s): choose skip or replace as onConflict, or delete it first", shorten(c.URI), c.DocumentID)
		}
	}
	return nil
}

// undeleted is a kept document as it is restored.
type undeleted struct {
	RestoredDocument
	Version    int
	ChunkCount int
	ByteSize   int64
	Same       bool // the index still searches what its chunks consist of
	Queued     bool `db:"-"`
}

// restore restores kept documents, except those that were restored or erased meanwhile. It returns how many it skipped, too.
func (u *undeletion) restore(ctx context.Context, tx *data.Tx, wanted []keptName) (restored []RestoredDocument, skipped int, err error) {
	if err := index.LockForUpload(ctx, tx, u.target.index.ID); err != nil {
		return nil, 0, err
	}
	kept, err := u.lock(ctx, tx, wanted)
	if err != nil {
		return nil, 0, err
	}
	found, err := u.resolve(ctx, tx, kept)
	if err != nil || len(found) == 0 {
		return nil, len(kept), err
	}
	if err := u.withinQuota(ctx, tx, found); err != nil {
		return nil, 0, err
	}
	if err := u.insert(ctx, tx, found); err != nil {
		return nil, 0, err
	}
	if err := u.enqueue(ctx, tx, found); err != nil {
		return nil, 0, err
	}
	for _, d := range found {
		restored = append(restored, d.RestoredDocument)
	}
	return restored, len(kept) - len(found), nil
}

// lock locks and returns those of the wanted documents that are still kept.
func (u *undeletion) lock(ctx context.Context, tx *data.Tx, wanted []keptName) ([]undeleted, error) {
	ids := make([]string, len(wanted))
	for n, d := range wanted {
		ids[n] = d.DocumentID
	}
	into := u.target.index
	args := filter.NewArgs(into.ID, ids, into.Generation, into.TermsVersion())
	kept, err := data.Select[undeleted](ctx, tx, `
		SELECT d.document_id::text, d.namespace, d.uri, d.status, d.job_id::text, d.version, d.chunk_count, d.byte_size,
			k.generation = $3 AND k.text_analysis = $4 AS same
		FROM `+keptDocuments+`
		WHERE k.index_id = $1 AND k.document_id = ANY($2::uuid[]) AND `+u.target.visible.SQL("d.metadata", args)+`
		ORDER BY k.document_id FOR UPDATE OF k`, args.Values()...)
	for n := range kept {
		kept[n].resume()
	}
	return kept, err
}

// resolve deletes the documents that have the names of locked ones, or leaves these out.
func (u *undeletion) resolve(ctx context.Context, tx *data.Tx, kept []undeleted) ([]undeleted, error) {
	names := make([]keptName, len(kept))
	for n, d := range kept {
		names[n] = keptName{d.DocumentID, d.Namespace, d.URI}
	}
	found, err := u.conflicts(ctx, tx, names, " FOR UPDATE OF d")
	if err != nil || len(found) == 0 {
		return kept, err
	}
	if err := u.refuse(found); err != nil {
		return nil, err
	}
	taken := make(map[name]bool, len(found))
	ids := make([]string, len(found))
	for n, c := range found {
		taken[name{c.Namespace, c.URI}], ids[n] = true, c.DocumentID
	}
	if u.onConflict == skipConflicts {
		return slices.DeleteFunc(kept, func(d undeleted) bool { return taken[name{d.Namespace, d.URI}] }), nil
	}
	return kept, deleteLocked(ctx, tx, u.target.index, ids, u.keeper)
}

// resume decides how a document goes on: one with its chunks is connected to the graph, others are processed anew. What has failed
// stays so.
func (d *undeleted) resume() {
	if !d.Same {
		d.ChunkCount = 0
	}
	if d.Status == DocumentFailed || d.Status == DocumentNeedsOCR {
		return
	}
	if d.Status != DocumentReady || !d.Same {
		d.Status = DocumentPending
	}
	if !d.Same { // as after a new upload, which replaces what is left of the version before
		d.Version++
	}
	d.Queued, d.JobID = true, uuid.Must(uuid.NewV7()).String()
}

// withinQuota returns an error if the documents are more than the tenant may store. Errors: Exhausted.
func (u *undeletion) withinQuota(ctx context.Context, tx *data.Tx, found []undeleted) error {
	quotas := u.target.request.Quotas
	if quotas.Documents == 0 && quotas.Bytes == 0 {
		return nil
	}
	used, err := lockStock(ctx, tx)
	if err != nil {
		return err
	}
	next := stock{used.Documents + int64(len(found)), used.Bytes}
	for _, d := range found {
		next.Bytes += d.ByteSize
	}
	if err := next.check(used, quotas); err != nil {
		return err
	}
	return usage.Warn(ctx, tx, used.amounts(quotas), next.amounts(quotas))
}

// insert moves documents with their chunks back. Counts of the index take a document for pending until its state is set.
func (u *undeletion) insert(ctx context.Context, tx *data.Tx, found []undeleted) error {
	into := u.target.index
	var ids, jobs, states, whole, rest []string
	var versions, chunks []int
	for _, d := range found {
		ids, jobs, states = append(ids, d.DocumentID), append(jobs, d.JobID), append(states, d.Status)
		versions, chunks = append(versions, d.Version), append(chunks, d.ChunkCount)
		if d.Same {
			whole = append(whole, d.DocumentID)
		} else {
			rest = append(rest, d.DocumentID)
		}
	}
	n, err := tx.Exec(ctx, `
		INSERT INTO tenant.documents
		SELECT d.* FROM unnest($2::uuid[], $3::uuid[], $4::int[]) AS given (document_id, job_id, version)
		JOIN ragd_shared.deleted_documents AS k USING (document_id)
		CROSS JOIN LATERAL jsonb_populate_record(NULL::tenant.documents, k.document || jsonb_build_object(
			'index_id', $1::bigint, 'job_id', given.job_id, 'version', given.version, 'status', 'pending', 'chunk_count', 0)) AS d
		ORDER BY d.namespace, d.uri
		ON CONFLICT (index_id, namespace, uri) DO NOTHING`, into.ID, ids, jobs, versions)
	if err != nil {
		return err
	}
	if int(n) < len(found) {
		return fault.New(fault.Conflict, "a document with the uri of one of these was uploaded meanwhile: restore them again")
	}
	tables := tx.OfIndex(into.ID, into.Generation)
	made, err := index.HasKept(ctx, tables)
	if err != nil {
		return err
	}
	if made {
		if err := moveChunks(ctx, tables, "kept", "chunk", whole); err != nil {
			return err
		}
		if _, err := tables.Exec(ctx, `DELETE FROM tenant.kept WHERE document_id = ANY($1::uuid[])`, rest); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, `
		UPDATE tenant.documents AS d SET status = coalesce(($2::text[])[array_position($1::uuid[], d.document_id)]),
			chunk_count = coalesce(($3::int[])[array_position($1::uuid[], d.document_id)])
		WHERE d.document_id = ANY($1::uuid[])`, ids, states, chunks)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM ragd_shared.deleted_documents WHERE document_id = ANY($1::uuid[])`, ids); err != nil {
		return err
	}
	if err := supersede(ctx, tx, into.ID, found); err != nil {
		return err
	}
	bytes, err := cellBytes(ctx, tables, ids)
	if err != nil {
		return err
	}
	return index.CountBytes(ctx, tx, into.ID, bytes)
}

// supersede marks the other kept documents that have the names of restored ones.
func supersede(ctx context.Context, tx *data.Tx, indexID int64, found []undeleted) error {
	namespaces, uris := make([]string, len(found)), make([]string, len(found))
	for n, d := range found {
		namespaces[n], uris[n] = d.Namespace, d.URI
	}
	_, err := tx.Exec(ctx, `
		UPDATE ragd_shared.deleted_documents AS k SET superseded = true
		WHERE k.index_id = $1 AND NOT k.superseded AND (k.document->>'namespace', k.document->>'uri') IN (
			SELECT given.namespace, given.uri FROM unnest($2::text[], $3::text[]) AS given (namespace, uri))`, indexID, namespaces, uris)
	return err
}

// enqueue queues the jobs of restored documents, and tells those who watch.
func (u *undeletion) enqueue(ctx context.Context, tx *data.Tx, found []undeleted) error {
	into := u.target.index
	var all, ids, jobs []string
	var waiting []backlog.Document
	for n, d := range found {
		all = append(all, d.DocumentID)
		if !d.Queued {
			found[n].JobID = "" // it ended before
			continue
		}
		ids, jobs = append(ids, d.DocumentID), append(jobs, d.JobID)
		waiting = append(waiting, backlog.Document{Tenant: tx.Tenant(), JobID: d.JobID, IndexID: into.ID, DocumentID: d.DocumentID, Version: d.Version, Bytes: d.ByteSize})
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO ragd_shared.events (type, index_name, document_id, job_id, data)
		SELECT 'document.restored', $2, d.document_id, d.job_id, ragd_shared.document_data(to_jsonb(d), $2)
		FROM tenant.documents AS d WHERE d.document_id = ANY($1::uuid[]) AND ragd_shared.event_wanted('document')`, all, into.Name)
	if err != nil || len(waiting) == 0 {
		return err
	}
	if err := job.InsertIngest(ctx, tx, into.Name, jobs, ids); err != nil {
		return err
	}
	if u.service.Keeping.Queue != nil {
		if err := index.MaintainIfDue(ctx, u.service.Keeping.Queue, tx, into.ID); err != nil {
			return err
		}
	}
	return u.service.backlog.Enqueue(ctx, tx, waiting...)
}

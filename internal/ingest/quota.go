package ingest

import (
	"context"
	"fmt"
	"time"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/quota"
	"github.com/ragdhq/ragd/internal/tenant/quota/usage"
)

// quotaRetry is the delay that callers over a quota are told.
const quotaRetry = 30 * time.Second

// stock is what a tenant has stored.
type stock struct{ Documents, Bytes int64 }

// Stored is what a tenant has, for its quotas.
type Stored struct{ Indexes, Documents, Bytes int64 }

// StoredBy returns what the tenant of a handle has: its indexes, documents in any state, and their bytes.
func StoredBy(ctx context.Context, h *data.Handle) (Stored, error) {
	return data.Get[Stored](ctx, h, `
		SELECT (SELECT count(*) FROM tenant.indexes AS i) AS indexes,
			coalesce(sum(n.documents), 0)::bigint AS documents, coalesce(sum(n.bytes), 0)::bigint AS bytes FROM tenant.index_counts AS n`)
}

// withinQuota returns the documents that the tenant's quotas leave space for, and adds an error
// for each other one to refused. Uploads of a tenant with such a quota wait for each other from
// here to the end of the transaction, so that all instances together never exceed it, and warn the tenant
// once when it comes near.
func withinQuota(ctx context.Context, tx *data.Tx, into index.Index, docs []newDocument, refused map[name]storedUpload) (admitted []newDocument, err error) {
	quotas := docs[0].quotas
	for _, d := range docs { // uploads of several requests, which may know quotas of different ages
		quotas.Documents, quotas.Bytes = max(quotas.Documents, d.quotas.Documents), max(quotas.Bytes, d.quotas.Bytes)
	}
	if quotas.Documents == 0 && quotas.Bytes == 0 {
		return docs, nil
	}
	used, err := lockStock(ctx, tx)
	if err != nil {
		return nil, err
	}
	before := used.amounts(quotas)
	present, err := sizesOf(ctx, tx, into, docs)
	if err != nil {
		return nil, err
	}
	for _, d := range docs {
		old, stored := present[d.name()]
		next := stock{used.Documents, used.Bytes + d.ByteSize - old}
		if !stored {
			next.Documents++
		}
		if err := next.check(used, quotas); err != nil {
			refused[d.name()] = storedUpload{err: err}
			continue
		}
		used, admitted = next, append(admitted, d)
	}
	return admitted, usage.Warn(ctx, tx, before, used.amounts(quotas))
}

// amounts returns what the stock takes of the quotas.
func (s stock) amounts(quotas quota.Limits) []usage.Amount {
	return []usage.Amount{
		{Quota: quota.MaxDocuments, Used: s.Documents, Limit: quotas.Documents, Plan: quotas.PlanName()},
		{Quota: quota.MaxDocumentBytes, Used: s.Bytes, Limit: quotas.Bytes, Plan: quotas.PlanName()},
	}
}

// lockStock returns what the tenant has stored, after a lock that others wait for until the transaction ends.
func lockStock(ctx context.Context, tx *data.Tx) (stock, error) {
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('ragd stock of ' || $1, 0))`, string(tx.Tenant())); err != nil {
		return stock{}, err
	}
	return data.Get[stock](ctx, tx, `
		SELECT coalesce(sum(n.documents), 0)::bigint AS documents, coalesce(sum(n.bytes), 0)::bigint AS bytes FROM tenant.index_counts AS n`)
}

// check returns an error if a document makes the stock grow beyond a quota. Errors: Exhausted
// with a delay.
func (s stock) check(before stock, quotas quota.Limits) error {
	refuse := func(used, most int64, of, key string) error {
		return fault.Retry(quotaRetry, "this tenant stores %d of the %s that its quota %s allows, which is %d, and with this document it would be more: delete documents, or %s", used, of, key, most, quotas.More(key)).Of(key)
	}
	switch {
	case quotas.Documents > 0 && s.Documents > quotas.Documents && s.Documents > before.Documents:
		return refuse(before.Documents, quotas.Documents, "documents", quota.MaxDocuments)
	case quotas.Bytes > 0 && s.Bytes > quotas.Bytes && s.Bytes > before.Bytes:
		return refuse(before.Bytes, quotas.Bytes, "bytes of documents", quota.MaxDocumentBytes)
	}
	return nil
}

// sizesOf returns the sizes of the documents that are stored under the given names.
func sizesOf(ctx context.Context, tx *data.Tx, into index.Index, docs []newDocument) (map[name]int64, error) {
	namespaces, uris := make([]string, len(docs)), make([]string, len(docs))
	for i, d := range docs {
		namespaces[i], uris[i] = d.Namespace, d.URI
	}
	rows, err := data.Select[struct {
		Namespace, URI string
		ByteSize       int64
	}](ctx, tx, `
		SELECT d.namespace, d.uri, d.byte_size FROM unnest($2::text[], $3::text[]) AS given (namespace, uri)
		CROSS JOIN LATERAL (
			SELECT * FROM tenant.documents AS d
			WHERE d.index_id = $1 AND d.namespace = given.namespace AND d.uri = given.uri OFFSET 0
		) AS d`, into.ID, namespaces, uris)
	if err != nil {
		return nil, fmt.Errorf("sizes of stored documents: %w", err)
	}
	sizes := make(map[name]int64, len(rows))
	for _, row := range rows {
		sizes[name{row.Namespace, row.URI}] = row.ByteSize
	}
	return sizes, nil
}

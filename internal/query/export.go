package query

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/quota/usage"
)

// Limits of an export.
const (
	// MaxExportNamespaces bounds the namespaces of an export.
	MaxExportNamespaces = 100
	// MaxExportPart is about how many bytes of texts, metadata and vectors a part of an export has, and at most one chunk more.
	MaxExportPart = 1 << 20
	// exportWindow is how many chunks a statement examines, and exportPart how many it returns at most.
	exportWindow = 5000
	exportPart   = 500
)

// exportFields are the fields of an exported chunk that may be left out.
var exportFields = []string{"documentId", "uri", "title", "ordinal", "text", "metadata", "startByte", "endByte", "tokenCount", "vector"}

// Export asks for all chunks of an index that a filter selects, also ready-made vectors.
type Export struct {
	IndexName  string // the tenant's only index if empty
	Namespaces []string
	Filter     filter.Filter
	Fields     []string // of exportFields; empty: all but the vector
	PageToken  string   // where an export begins that broke off; empty: at the beginning
	Freshness  data.Freshness
}

// Exported is a chunk of an export. What was not asked for is zero.
type Exported struct {
	SourceRow

	Namespace  string
	TokenCount int
}

// exportPosition is where a part of an export begins.
type exportPosition struct {
	Index     int64  `json:"i"`
	Namespace string `json:"n"`
	After     string `json:"a"` // the chunk before
}

// Export calls send with the chunks that a request selects, part by part, in the order of namespaces and ids, and with the token by which
// another export goes on after the part. The last part has no token; it may be empty, and so may others. At most one part is in memory. A
// chunk that is written or deleted meanwhile may be left out or not. Errors: Invalid naming the field; NotFound for an unknown index;
// Precondition if it was deleted meanwhile; those of send.
func (s *Service) Export(ctx context.Context, req Export, send func(part []Exported, next string) error) error {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return err
	}
	namespaces, wants, err := req.check()
	if err != nil {
		return err
	}
	q, err := Question{IndexName: req.IndexName, Filter: req.Filter, Freshness: req.Freshness, Distinct: new(false)}.Effective(r)
	if err != nil {
		return err
	}
	q.Reranker, q.TopK, q.MinScore, q.MinSimilarity = nil, nil, nil, nil
	p, err := Request{Question: q}.prepare()
	if err != nil {
		return err
	}
	tokens := access.Pages(ctx, "export", q.IndexName, q.Filter.String(), strings.Join(namespaces, "\x00"))
	var at exportPosition
	if req.PageToken != "" {
		if err := tokens.Decode(req.PageToken, &at); err != nil {
			return err
		}
		namespaces = namespaces[max(slices.Index(namespaces, at.Namespace), 0):]
	}
	for n, namespace := range namespaces {
		if namespace != at.Namespace {
			at.Namespace, at.After = namespace, ""
		}
		p.scope.namespace = namespace
		for ended := false; !ended; {
			var part []Exported
			err := s.indexes.Use(ctx, r.Tenant, q.IndexName, func(i index.Index, tables *data.Handle) (err error) {
				switch {
				case at.Index == 0:
					at.Index = i.ID
					s.meter.Add(usage.InIndex(ctx, i.Name), string(r.Tenant), usage.Query, usage.Counts{Calls: 1})
				case at.Index != i.ID:
					return fault.New(fault.Precondition, "index %q was deleted and made anew since this export began: begin anew, without pageToken", i.Name)
				}
				part, at.After, ended, err = exportFrom(ctx, tables.Reading(req.Freshness), i, p.scope, at.After, wants)
				return err
			})
			if err != nil {
				return err
			}
			next := ""
			switch {
			case !ended:
				next = tokens.Encode(at)
			case n < len(namespaces)-1:
				next = tokens.Encode(exportPosition{Index: at.Index, Namespace: namespaces[n+1]})
			}
			if err := send(part, next); err != nil {
				return err
			}
		}
	}
	return nil
}

// check returns the namespaces in their order, and reports which fields are wanted. Errors: Invalid.
func (e Export) check() (namespaces []string, wants func(string) bool, err error) {
	if len(e.Namespaces) > MaxExportNamespaces {
		return nil, nil, fault.Field("namespaces", "must be at most %d, got %d", MaxExportNamespaces, len(e.Namespaces))
	}
	for n, one := range e.Namespaces {
		if one, err = index.Namespace(one); err != nil {
			return nil, nil, fault.Under("namespaces["+strconv.Itoa(n)+"]", err)
		}
		namespaces = append(namespaces, one)
	}
	if len(namespaces) == 0 {
		namespaces = []string{index.DefaultNamespace}
	}
	slices.Sort(namespaces)
	for n, field := range e.Fields {
		if !slices.Contains(exportFields, field) {
			return nil, nil, fault.Field("fields["+strconv.Itoa(n)+"]", "unknown field %q; known are %s", field, strings.Join(exportFields, ", "))
		}
	}
	wants = func(field string) bool {
		return slices.Contains(e.Fields, field) || len(e.Fields) == 0 && field != "vector"
	}
	return slices.Compact(namespaces), wants, nil
}

// exportFrom returns the chunks of a scope after an id, at most a part of an export, where the next part begins, and whether there is
// none. A statement examines a bounded number of chunks, so that it ends soon whatever the filter selects.
func exportFrom(ctx context.Context, h *data.Handle, i index.Index, within scope, after string, wants func(string) bool) (part []Exported, last string, ended bool, err error) {
	args := filter.NewArgs(within.namespace, after)
	column := func(field, sql, otherwise string) string {
		if wants(field) {
			return sql
		}
		return otherwise
	}
	// The end of what was examined is of the same snapshot: else chunks would be left out beside deletions.
	statement := `
		WITH examined AS MATERIALIZED (
			SELECT w.ctid AS tid, w.chunk_id FROM tenant.chunk AS w WHERE w.namespace = $1 AND w.chunk_id > $2 ORDER BY w.chunk_id LIMIT ` + strconv.Itoa(exportWindow) + `)
		SELECT bounds.last, bounds.examined, found.*
		FROM (SELECT max(x.chunk_id) AS last, count(*)::int AS examined FROM examined AS x) AS bounds LEFT JOIN (
			SELECT c.chunk_id, ` + column("documentId", "c.document_id::text", "NULL") + ` AS document_id, ` + column("uri", "d.uri", "NULL") + ` AS uri, ` +
		column("title", "c.title", "''") + ` AS title, c.ordinal, ` + column("text", "c.text", "''") + ` AS text, ` + column("metadata", "c.metadata", "'{}'::jsonb") + ` AS metadata,
				c.start_byte, c.end_byte, c.token_count, ` + column("vector", i.EmbeddingSQL("c.embedding"), "NULL::vector") + ` AS embedding
			FROM examined JOIN tenant.chunk AS c ON c.ctid = examined.tid
				` + column("uri", "LEFT JOIN tenant.documents AS d ON d.document_id = c.document_id", "") + `
			WHERE ` + within.sql(i, args) + `
			ORDER BY examined.chunk_id LIMIT ` + strconv.Itoa(exportPart) + `
		) AS found ON true
		ORDER BY found.chunk_id`
	var end *string
	examined, bytes, whole := 0, 0, true
	b := h.Batch()
	b.Set("statement_timeout", searchTimeout)
	b.Query(func(rows pgx.Rows) error {
		for rows.Next() {
			one := Exported{Namespace: within.namespace}
			var id, title, text, metadata *string
			var ordinal, start, finish, tokens *int
			if err := rows.Scan(&end, &examined, &id, &one.DocumentID, &one.URI, &title, &ordinal, &text, &metadata, &start, &finish, &tokens, &one.Embedding); err != nil {
				return err
			}
			if id == nil { // none of what was examined is wanted
				break
			}
			one.ChunkID, one.Title, one.Ordinal, one.Text, one.Metadata = *id, *title, *ordinal, *text, *metadata
			one.StartByte, one.EndByte, one.TokenCount = *start, *finish, *tokens
			one.leaveOut(wants)
			part, bytes = append(part, one), bytes+one.bytes()
			if bytes >= MaxExportPart || len(part) == exportPart {
				whole = false // there may be more
				break
			}
		}
		rows.Close()
		return rows.Err()
	}, statement, args.Values()...)
	if err := b.Run(ctx); err != nil {
		return nil, after, false, err
	}
	if !whole {
		return part, part[len(part)-1].ChunkID, false, nil
	}
	return part, cmp.Or(valueOr(end, ""), after), examined < exportWindow, nil
}

// leaveOut clears the small fields that are not wanted, and empty metadata in their place.
func (e *Exported) leaveOut(wants func(string) bool) {
	if !wants("metadata") {
		e.Metadata = ""
	}
	for field, value := range map[string]*int{"ordinal": &e.Ordinal, "startByte": &e.StartByte, "endByte": &e.EndByte, "tokenCount": &e.TokenCount} {
		if !wants(field) {
			*value = 0
		}
	}
}

// bytes returns about how many bytes the chunk takes.
func (e *Exported) bytes() int {
	const overhead, float = 200, 4
	size := overhead + len(e.Text) + len(e.Metadata) + len(e.Title)
	if e.Embedding != nil {
		size += float * len(e.Embedding.Slice())
	}
	return size
}

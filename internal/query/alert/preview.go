package alert

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

const (
	maxPreviewed    = 10_000 // passages that a preview compares, the newest
	maxPreviewShown = 100    // passages that it returns
	previewShown    = 20     // passages that it returns by default
	previewBlock    = 256    // passages in memory at once
	previewTimeout  = "20s"  // of the statement
)

// Preview says which passages of an index would match an alert if they were ingested now.
type Preview struct {
	Passages []Previewed // those that match, best first, and then the most similar others
	Matching int         // of the compared passages
	Compared int
	Complete bool // whether all were compared that the filter selects
}

// Previewed is a passage of a preview, without the fields of a match.
type Previewed struct {
	Stored
	Matches bool
}

// Preview compares the passages that are in an index with an alert that would be made, by the terms and embeddings that are
// stored. The newest documents come first. Without a MinScore nothing matches but with Keyword. topK is how many passages
// are returned, 0 for the default. Errors: as Create.
func (s *Service) Preview(ctx context.Context, wanted Alert, topK int) (Preview, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return Preview{}, err
	}
	if topK < 0 || topK > maxPreviewShown {
		return Preview{}, fault.Field("topK", "must be 1 to %d, got %d", maxPreviewShown, topK)
	}
	of, err := s.indexes.Resolve(ctx, r.Tenant, wanted.IndexName)
	if err != nil {
		return Preview{}, err
	}
	if wanted.MinScore == nil && wanted.Mode != Keyword && of.EmbeddingModel != "" {
		wanted.MinScore = new(math.MaxFloat64)
	}
	made, err := s.encode(ctx, r, of, wanted)
	if err != nil {
		return Preview{}, err
	}
	var found Preview
	err = s.indexes.Use(ctx, r.Tenant, of.Name, func(i index.Index, tables *data.Handle) (err error) {
		if modelOf(i) != modelOf(of) {
			return fault.New(fault.Conflict, "the embedding model of index %q was changed meanwhile: try again", of.Name)
		}
		found, err = preview(ctx, tables, i, made, r.Principal.MandatoryFilter, cmp.Or(topK, previewShown))
		return err
	})
	return found, err
}

// preview compares the passages of an index that a filter of the caller leaves visible with an alert.
func preview(ctx context.Context, tables *data.Handle, of index.Index, wanted row, visible filter.Filter, most int) (Preview, error) {
	rows := []row{wanted}
	if wanted.Mode != Keyword { // a second alert, which all passages match, has the similarity of those that do not match the first one
		all := wanted
		all.Mode, all.MinScore = Vector, -math.MaxFloat64
		rows = append(rows, all)
	}
	set, err := compile(ctx, tables, of, rows)
	if err != nil {
		return Preview{}, err
	}
	p := comparison{set: set, most: most}
	selected := filter.And(visible, set.all[0].filter)
	args := filter.NewArgs(of.ID, wanted.Namespace)
	limit := strconv.Itoa(maxPreviewed + 1)
	b := tables.Batch()
	b.Set("statement_timeout", previewTimeout)
	// The documents are put in order first, so that the statement ends with the passages of the newest.
	b.Query(p.read, `
		SELECT c.chunk_id, c.document_id::text AS document_id, c.metadata, c.content_keys, c.terms, `+of.EmbeddingSQL("c.embedding")+` AS embedding
		FROM (
			SELECT d.document_id FROM tenant.documents AS d WHERE d.index_id = $1 AND d.namespace = $2
			ORDER BY d.created_at DESC, d.document_id DESC
		) AS d CROSS JOIN LATERAL (
			SELECT c.* FROM tenant.chunk AS c
			WHERE c.document_id = d.document_id AND c.namespace = $2 AND `+selected.SQL(filter.ChunkMetadata, args, of.MetadataIndexes...)+`
			ORDER BY c.ordinal LIMIT `+limit+`
		) AS c LIMIT `+limit, args.Values()...)
	if err := b.Run(ctx); err != nil {
		return Preview{}, err
	}
	return p.preview(ctx, tables, wanted.Namespace, visible)
}

// comparison compares passages with a set of an alert and, where similarity counts, one that all passages match.
type comparison struct {
	set      *Set
	most     int // passages to keep of each list
	compared int
	more     bool // passages than were compared
	matching int
	matched  []Match // by the alert, best first
	others   []Match // best first
}

// read compares the passages of a statement in blocks.
func (c *comparison) read(rows pgx.Rows) error {
	block := make([]Passage, 0, previewBlock)
	for rows.Next() {
		if c.compared == maxPreviewed {
			c.more = true
			continue
		}
		p := Passage{Namespace: c.set.all[0].Namespace}
		var embedding *pgvector.Vector
		if err := rows.Scan(&p.ChunkID, &p.DocumentID, &p.Metadata, &p.FromFile, &p.Terms.Terms, &embedding); err != nil {
			return err
		}
		if embedding != nil {
			p.Embedding = embedding.Slice()
		}
		c.compared++
		if block = append(block, p); len(block) < previewBlock {
			continue
		}
		if err := c.compare(block); err != nil {
			return err
		}
		block = block[:0]
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return c.compare(block)
}

// compare compares passages and keeps the best ones.
func (c *comparison) compare(passages []Passage) error {
	found, err := c.set.Match(nil, passages)
	if err != nil {
		return err
	}
	matching := map[string]bool{}
	for _, m := range found {
		if m.alert == &c.set.all[0] {
			matching[m.passage.ChunkID] = true
			c.matched = append(c.matched, m)
		}
	}
	c.matching += len(matching)
	for _, m := range found {
		if !matching[m.passage.ChunkID] {
			c.others = append(c.others, m)
		}
	}
	for _, list := range []*[]Match{&c.matched, &c.others} {
		slices.SortStableFunc(*list, func(a, b Match) int { return cmp.Compare(b.score, a.score) })
		*list = slices.Clone((*list)[:min(len(*list), c.most)])
	}
	return nil
}

// preview returns the best passages as they are stored.
func (c *comparison) preview(ctx context.Context, tables data.Queryer, namespace string, visible filter.Filter) (Preview, error) {
	best := slices.Concat(c.matched, c.others)
	best = best[:min(len(best), c.most)]
	ids := make([]string, len(best))
	for n, m := range best {
		ids[n] = m.passage.ChunkID
	}
	args := filter.NewArgs(namespace, ids)
	rows, err := data.Select[Stored](ctx, tables, `
		SELECT '' AS match_id, now() AS created_at, 0::float8 AS score, c.chunk_id, d.document_id::text AS document_id, d.uri, c.title,
			c.ordinal, c.text, c.metadata::text AS metadata, c.start_byte::int AS start_byte, c.end_byte::int AS end_byte
		FROM tenant.chunk AS c JOIN tenant.documents AS d ON d.document_id = c.document_id
		WHERE c.namespace = $1 AND c.chunk_id = ANY($2::text[]) AND `+visible.SQL(filter.ChunkMetadata, args), args.Values()...)
	if err != nil {
		return Preview{}, err
	}
	stored := map[string]Stored{}
	for _, one := range rows {
		stored[one.ChunkID] = one
	}
	p := Preview{Matching: c.matching, Compared: c.compared, Complete: !c.more}
	for n, m := range best {
		one, there := stored[m.passage.ChunkID]
		if !there { // it was deleted meanwhile
			continue
		}
		one.Score = m.score
		p.Passages = append(p.Passages, Previewed{Stored: one, Matches: n < len(c.matched)})
	}
	return p, nil
}

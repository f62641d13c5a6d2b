package graph

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/ragdhq/ragd/internal/graph/names"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// maxShownName bounds a name in the label of an edge, in characters.
const maxShownName = 200

// countableSQL is true for names k with at most 5,000 chunks. Under a filter only
// these are followed: counting the few visible among very many chunks would take
// seconds.
const countableSQL = `NOT EXISTS (SELECT FROM tenant.edge AS e WHERE e.key = k.key AND e.type IN ('name', 'mention') OFFSET 5000)`

// visibility is the condition seen on a chunk c of a statement, and whether every chunk meets it.
type visibility struct {
	seen string
	all  bool
}

func visibilityOf(visible filter.Filter, args *filter.Args) visibility {
	return visibility{visible.SQL(filter.ChunkMetadata, args), visible.IsZero()}
}

// countable returns the condition on names k that are followed.
func (v visibility) countable() string {
	if v.all {
		return "true"
	}
	return countableSQL
}

// chunkAt joins the chunk c that is at a document and ordinal of a table. OFFSET keeps the planner from
// beginning with the chunks that a filter admits.
func chunkAt(table string) string {
	return `CROSS JOIN LATERAL (
			SELECT c.document_id, c.namespace, c.metadata, c.content_keys FROM tenant.chunk AS c
			WHERE c.document_id = ` + table + `.document_id AND c.ordinal = ` + table + `.ordinal OFFSET 0
		) AS c`
}

// edgesOf returns a FROM clause with the edges e of a type, name or mention, of a name k.
// Of these only those of visible chunks count.
func (v visibility) edgesOf(edgeType string) string {
	of := `e.type = '` + edgeType + `' AND e.key = k.key`
	if v.all {
		return `FROM tenant.edge AS e WHERE ` + of
	}
	return `FROM (SELECT e.document_id, e.ordinal, e.kind, e.name FROM tenant.edge AS e WHERE ` + of + ` OFFSET 0) AS e
		` + chunkAt("e") + ` WHERE ` + v.seen
}

// adjacentRow is what the edge table has at a chunk.
type adjacentRow struct {
	Position int         // of the chunk among those asked for
	Keys     []names.Key // of the names that it mentions
	// Of other edges, what edgeRow has: to the visible chunks next to it, similar to it, and in its section.
	Types     []string
	Documents []string
	Ordinals  []int
	Cosines   []float64
}

// adjacentTo returns a row for each chunk. The edges that leave a chunk are read by one index scan.
func adjacentTo(ctx context.Context, h *data.Handle, chunks []ChunkRef, visible filter.Filter, timeout time.Duration) ([]adjacentRow, error) {
	documents, ordinals := columns(chunks)
	args := filter.NewArgs(documents, ordinals)
	return lookUp[adjacentRow](ctx, h, timeout, adjacentSQL(visibilityOf(visible, args)), args.Values())
}

func adjacentSQL(v visibility) string {
	return `
		SELECT s.n::int - 1 AS position, own.keys, linked.types, linked.documents, linked.ordinals, linked.cosines
		FROM unnest($1::uuid[], $2::int[]) WITH ORDINALITY AS s (document_id, ordinal, n)
		CROSS JOIN LATERAL (
			SELECT array_agg(e.key) FILTER (WHERE e.type = 'mention') AS keys, array_agg(e.to_document_id) FILTER (WHERE e.type = 'similar') AS documents,
				array_agg(e.to_ordinal) FILTER (WHERE e.type = 'similar') AS ordinals, array_agg(e.cosine) FILTER (WHERE e.type = 'similar') AS cosines
			FROM tenant.edge AS e WHERE e.document_id = s.document_id AND e.ordinal = s.ordinal
		) AS own
		CROSS JOIN LATERAL (
			SELECT array_agg(t.type) AS types, array_agg(t.document_id::text) AS documents, array_agg(t.ordinal) AS ordinals, array_agg(t.cosine::float8) AS cosines
			FROM (
				SELECT 'next' AS type, s.document_id, s.ordinal + v.step AS ordinal, 0::real AS cosine FROM (VALUES (-1), (1)) AS v (step)
				UNION ALL
				SELECT 'similar', o.document_id, o.ordinal, o.cosine FROM unnest(own.documents, own.ordinals, own.cosines) AS o (document_id, ordinal, cosine)
				UNION ALL -- a similar pair has one row, a section row leads to the head
				SELECT e.type::text, e.document_id, e.ordinal, coalesce(e.cosine, 0)
				FROM tenant.edge AS e WHERE e.to_document_id = s.document_id AND e.to_ordinal = s.ordinal
			) AS t ` + chunkAt("t") + ` WHERE ` + v.seen + `
		) AS linked`
}

// followed is a name that edges follow.
type followed struct {
	key         names.Key
	definitions int // visible chunks that have it, of which edges lead to all
	mentions    int // visible chunks that mention it
	chunks      []followedRow
}

// followedRow is a chunk with a name, and the counts of the name.
type followedRow struct {
	Position    int // of the name among those asked for
	Definitions int
	Mentions    int
	DocumentID  string
	Ordinal     int
	Name        string
}

// followedNames returns those of the names that are followed: with at most maxDefinitions and maxMentions
// visible chunks. Only visible chunks count, as weights must not reveal hidden ones. Of any name
// it reads no more rows than these.
func followedNames(ctx context.Context, h *data.Handle, keys []names.Key, visible filter.Filter, timeout time.Duration) (map[names.Key]*followed, error) {
	found := map[names.Key]*followed{}
	if len(keys) == 0 {
		return found, nil
	}
	args := filter.NewArgs(keys)
	rows, err := lookUp[followedRow](ctx, h, timeout, followedSQL(visibilityOf(visible, args)), args.Values())
	for _, row := range rows {
		key := keys[row.Position]
		if found[key] == nil {
			found[key] = &followed{key: key, definitions: row.Definitions, mentions: row.Mentions}
		}
		found[key].chunks = append(found[key].chunks, row)
	}
	return found, err
}

func followedSQL(v visibility) string {
	definitions, mentions := strconv.Itoa(maxDefinitions), strconv.Itoa(maxMentions)
	few := `d.definitions BETWEEN 1 AND ` + definitions
	return `
		SELECT k.n::int - 1 AS position, d.definitions::int, m.mentions::int, n.document_id::text, n.ordinal, n.name
		FROM (
			SELECT k.key, k.n FROM unnest($1::bigint[]) WITH ORDINALITY AS k (key, n) WHERE ` + v.countable() + ` OFFSET 0
		) AS k
		CROSS JOIN LATERAL (
			SELECT count(*) AS definitions FROM (SELECT ` + v.edgesOf("name") + ` LIMIT ` + definitions + ` + 1) AS e
		) AS d
		CROSS JOIN LATERAL (
			SELECT count(*) AS mentions FROM (SELECT ` + v.edgesOf("mention") + ` AND ` + few + ` LIMIT ` + mentions + ` + 1) AS e
		) AS m
		CROSS JOIN LATERAL (
			SELECT e.document_id, e.ordinal, left(e.name, ` + strconv.Itoa(maxShownName) + `) AS name
			` + v.edgesOf("name") + ` AND ` + few + ` AND m.mentions <= ` + mentions + ` LIMIT ` + definitions + `
		) AS n`
}

// edgesFrom returns up to limit edges that leave the chunks and lead to chunks that the filter admits, those of
// the rarest names first. Errors: Deadline after timeout.
func edgesFrom(ctx context.Context, h *data.Handle, chunks []ChunkRef, visible filter.Filter, limit int, timeout time.Duration) ([]edgeRow, error) {
	if len(chunks) == 0 {
		return nil, nil
	}
	end := time.Now().Add(timeout)
	adjacent, err := adjacentTo(ctx, h, chunks, visible, timeout)
	if err != nil {
		return nil, err
	}
	var rows []edgeRow
	mentioning := map[names.Key][]ChunkRef{}
	for _, at := range adjacent {
		from := chunks[at.Position]
		for i, edgeType := range at.Types {
			rows = append(rows, edgeRow{
				FromDocument: from.DocumentID, FromOrdinal: from.Ordinal, ToDocument: at.Documents[i], ToOrdinal: at.Ordinals[i], Type: edgeType, Cosine: at.Cosines[i],
			})
		}
		for _, key := range at.Keys {
			mentioning[key] = append(mentioning[key], from)
		}
	}
	slices.SortFunc(rows, compareRows)
	found, err := followedNames(ctx, h, slices.Sorted(maps.Keys(mentioning)), visible, time.Until(end))
	if err != nil {
		return nil, err
	}
	for _, name := range slices.SortedFunc(maps.Values(found), compareFollowed) {
		if len(rows) >= limit {
			break
		}
		rows = append(rows, name.edges(mentioning[name.key])...)
	}
	return rows[:min(limit, len(rows))], nil
}

// compareFollowed orders names from the rarest to the most frequent.
func compareFollowed(a, b *followed) int {
	return cmp.Or(cmp.Compare(a.mentions, b.mentions), cmp.Compare(a.definitions, b.definitions), cmp.Compare(a.key, b.key))
}

// compareRows orders edges by the chunks that they connect.
func compareRows(a, b edgeRow) int {
	return cmp.Or(
		cmp.Compare(a.FromDocument, b.FromDocument), cmp.Compare(a.FromOrdinal, b.FromOrdinal),
		cmp.Compare(a.ToDocument, b.ToDocument), cmp.Compare(a.ToOrdinal, b.ToOrdinal), cmp.Compare(a.Type, b.Type),
	)
}

// edges returns the edges from chunks that mention the name, but none from a chunk to itself.
func (f *followed) edges(mentioning []ChunkRef) []edgeRow {
	rows := make([]edgeRow, 0, len(mentioning)*len(f.chunks))
	for _, from := range mentioning {
		for _, to := range f.chunks {
			if from != (ChunkRef{to.DocumentID, to.Ordinal}) {
				rows = append(rows, edgeRow{
					FromDocument: from.DocumentID, FromOrdinal: from.Ordinal, ToDocument: to.DocumentID, ToOrdinal: to.Ordinal,
					Type: mentionRow, Name: to.Name, Definitions: f.definitions, Mentions: f.mentions,
				})
			}
		}
	}
	slices.SortFunc(rows, compareRows)
	return rows
}

// edgesInto returns up to limit edges that lead to a chunk from chunks that the filter admits and
// that edgesFrom does not return in the other direction: from chunks that mention it, and from the
// head of its section. Errors: Deadline after loadTimeout.
func edgesInto(ctx context.Context, h *data.Handle, chunk ChunkRef, visible filter.Filter, limit int) ([]edgeRow, error) {
	own, err := lookUp[struct{ Key names.Key }](ctx, h, loadTimeout, `
		SELECT e.key FROM tenant.edge AS e WHERE e.document_id = $1::uuid AND e.ordinal = $2 AND e.type = 'name' ORDER BY e.key`,
		[]any{chunk.DocumentID, chunk.Ordinal})
	if err != nil {
		return nil, err
	}
	keys := make([]names.Key, len(own))
	for n, row := range own {
		keys[n] = row.Key
	}
	found, err := followedNames(ctx, h, keys, visible, loadTimeout)
	if err != nil {
		return nil, err
	}
	inOrder := slices.SortedFunc(maps.Values(found), compareFollowed)
	keys = keys[:0]
	for _, name := range inOrder {
		keys = append(keys, name.key)
	}
	args := filter.NewArgs(chunk.DocumentID, chunk.Ordinal, keys)
	v := visibilityOf(visible, args)
	from, err := lookUp[struct {
		Position   int // of the name, -1 for the head of the section
		DocumentID string
		Ordinal    int
	}](ctx, h, loadTimeout, `
		SELECT -1 AS position, t.document_id::text, t.ordinal
		FROM (
			SELECT e.to_document_id AS document_id, e.to_ordinal AS ordinal FROM tenant.edge AS e
			WHERE e.document_id = $1::uuid AND e.ordinal = $2 AND e.type = 'section' OFFSET 0
		) AS t `+chunkAt("t")+` WHERE `+v.seen+`
		UNION ALL
		SELECT k.n::int - 1, m.document_id::text, m.ordinal
		FROM unnest($3::bigint[]) WITH ORDINALITY AS k (key, n)
		CROSS JOIN LATERAL (SELECT e.document_id, e.ordinal `+v.edgesOf("mention")+` LIMIT `+strconv.Itoa(maxMentions)+`) AS m
		WHERE (m.document_id, m.ordinal) <> ($1::uuid, $2)
		ORDER BY 1, 2, 3 LIMIT `+strconv.Itoa(limit), args.Values())
	rows := make([]edgeRow, len(from))
	for n, row := range from {
		rows[n] = edgeRow{FromDocument: row.DocumentID, FromOrdinal: row.Ordinal, ToDocument: chunk.DocumentID, ToOrdinal: chunk.Ordinal, Type: sectionRow}
		if row.Position >= 0 {
			name := inOrder[row.Position]
			rows[n].Type, rows[n].Definitions, rows[n].Mentions, rows[n].Name = mentionRow, name.definitions, name.mentions, name.of(chunk)
		}
	}
	return rows, err
}

// of returns the name as a chunk has it.
func (f *followed) of(chunk ChunkRef) string {
	for _, row := range f.chunks {
		if chunk == (ChunkRef{row.DocumentID, row.Ordinal}) {
			return row.Name
		}
	}
	return ""
}

// namedRow is a chunk with a name.
type namedRow struct {
	Key        names.Key
	DocumentID string
	Ordinal    int
	Kind       names.Kind
	Name       string
	Chunks     int // that have the name and are admitted by the filter
}

// maxNamed bounds the chunks that are seeds because a question names them.
const maxNamed = 1000

// namedBy returns the chunks that have one of the names and that the filter
// admits, those of the rarest names first. It leaves out names that more than
// maxDefinitions admitted chunks have, so that they do not displace others.
func namedBy(ctx context.Context, h *data.Handle, keys []names.Key, visible filter.Filter) ([]namedRow, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	args := filter.NewArgs(keys)
	v := visibilityOf(visible, args)
	definitions := strconv.Itoa(maxDefinitions)
	return lookUp[namedRow](ctx, h, loadTimeout, `
		SELECT k.key, n.document_id::text, n.ordinal, n.kind, n.name, n.chunks::int
		FROM (SELECT k.key FROM unnest($1::bigint[]) AS k (key) WHERE `+v.countable()+` OFFSET 0) AS k
		CROSS JOIN LATERAL (
			SELECT n.*, count(*) OVER () AS chunks
			FROM (SELECT e.document_id, e.ordinal, e.kind, e.name `+v.edgesOf("name")+` LIMIT `+definitions+` + 1) AS n
		) AS n
		WHERE n.chunks <= `+definitions+`
		ORDER BY n.chunks, k.key, n.document_id, n.ordinal LIMIT `+strconv.Itoa(maxNamed), args.Values())
}

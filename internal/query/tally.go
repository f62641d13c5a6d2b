package query

import (
	"context"
	"crypto/sha256"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/facet"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Limits of a count.
const (
	// countTimeout is how long the statements of a count may take together.
	countTimeout = 5 * time.Second
	// maxGroups bounds the different values of all fields of a statement, and maxGroupBytes their size.
	maxGroups     = 100_000
	maxGroupBytes = 32 << 20
	// talliesBytes bounds the memory of all tallies that are kept.
	talliesBytes = 64 << 20
	// countMemory is what PostgreSQL may use to group by each field.
	countMemory = "32MB"
)

// tally is how many chunks there are, in how many documents, and with which values of fields.
type tally struct {
	chunks, documents int64
	groups            map[string][]facet.Group // by field
}

// tallyKey identifies the groups of a field in a scope of an index. Those of no field are the numbers of chunks and documents.
type tallyKey [sha256.Size]byte

// state identifies the contents of an index exactly: another one has other counts, or another table of chunks.
type state struct {
	contents
	File int64 // of the table; another one after TRUNCATE, which starts the counts again
}

// stateSQL returns the state of index $1.
const stateSQL = `
	SELECT coalesce(sum(n.chunks), 0)::bigint AS chunks, coalesce(sum(n.written), 0)::bigint AS written,
		coalesce(pg_relation_filenode('tenant.chunk'), 0)::bigint AS file
	FROM tenant.index_counts AS n WHERE n.index_id = $1`

// read is a function for Batch.Query that scans a state.
func (s *state) read(rows pgx.Rows) (err error) {
	*s, err = pgx.CollectOneRow(rows, func(row pgx.CollectableRow) (now state, err error) {
		return now, row.Scan(&now.Chunks, &now.Written, &now.File)
	})
	return err
}

// kept is what was counted for a field when the index had this state. It is immutable.
type kept struct {
	state             state
	chunks, documents int64
	groups            []facet.Group
}

// tallies keeps tallies of scopes as long as their indexes have the same state. Safe for concurrent use.
type tallies struct {
	known *cache.Cache[tallyKey, *kept]
}

func newTallies() *tallies {
	return &tallies{known: cache.New(cache.Config[tallyKey, *kept]{
		Bytes: talliesBytes, Weigh: func(_ tallyKey, k *kept) int {
			const group = 24 // a string and a number
			bytes := len(tallyKey{})
			for _, g := range k.groups {
				bytes += group + len(g.Value)
			}
			return bytes
		},
	})}
}

// of returns the tally of a scope by fields. It counts only what it has not counted in this state of the index. Errors: as for read.
func (s *tallies) of(ctx context.Context, id tenant.ID, i index.Index, h *data.Handle, within scope, fields []string, until time.Time) (*tally, error) {
	t := &tally{groups: map[string][]facet.Group{}}
	if within.needsDatabase() { // the uri of a document may change without its chunks
		return t, t.read(ctx, i, h, within, "", fields, until, nil)
	}
	part := keyOf(id, i, within)
	key := func(field string) tallyKey { return sha256.Sum256(append(part[:], field...)) }
	var now state
	b := h.Batch()
	b.Query(now.read, stateSQL, i.ID)
	if err := b.Run(ctx); err != nil {
		return nil, err
	}
	var missing []string
	for _, field := range fields {
		if found, ok := s.known.Get(key(field)); ok && found.state == now {
			t.groups[field] = found.groups
		} else {
			missing = append(missing, field)
		}
	}
	if found, ok := s.known.Get(key("")); ok && found.state == now && len(missing) == 0 {
		t.chunks, t.documents = found.chunks, found.documents
		return t, nil
	}
	if err := t.read(ctx, i, h, within, "", missing, until, &now); err != nil {
		return nil, err
	}
	s.known.Put(key(""), &kept{state: now, chunks: t.chunks, documents: t.documents})
	for _, field := range missing {
		s.known.Put(key(field), &kept{state: now, groups: t.groups[field]})
	}
	return t, nil
}

// read counts the chunks of a scope, by fields too: those that match a tsquery, or all if it is empty. before is set to the state of
// the index before that; nil: it is not needed. Errors: Exhausted for what takes longer than until, and for too many values.
func (t *tally) read(ctx context.Context, i index.Index, h *data.Handle, within scope, match string, fields []string, until time.Time, before *state) error {
	left := time.Until(until).Milliseconds()
	if left <= 0 {
		return errCountTimeout
	}
	fields = slices.Clone(fields)
	slices.Sort(fields)
	fields = slices.Compact(fields)
	args := filter.NewArgs()
	b := h.Batch()
	b.Set("statement_timeout", strconv.FormatInt(left, 10))
	b.Set("plan_cache_mode", "force_custom_plan")
	b.Set("work_mem", countMemory)
	if before != nil { // first: a chunk that is written in between makes it outdated
		b.Query(before.read, stateSQL, i.ID)
	}
	statement := countSQL(i, within, match, fields, args)
	tooMany := false
	b.Query(func(rows pgx.Rows) error {
		for _, field := range fields { // of a run that failed
			t.groups[field] = nil
		}
		var number, groups, bytes int
		var value *string
		var chunks int64
		_, err := pgx.ForEachRow(rows, []any{&number, &value, &chunks}, func() error {
			switch {
			case number == len(fields):
				t.documents = chunks
			case number > len(fields):
				t.chunks = chunks
			default:
				g := facet.Group{Value: valueOr(value, ""), Chunks: chunks}
				groups, bytes = groups+1, bytes+len(g.Value)
				if tooMany = groups > maxGroups || bytes > maxGroupBytes; tooMany {
					return errTooMany
				}
				t.groups[fields[number]] = append(t.groups[fields[number]], g)
			}
			return nil
		})
		return err
	}, statement, args.Values()...)
	err := b.Run(ctx)
	switch {
	case tooMany:
		return errTooMany
	case fault.KindOf(err) == fault.Deadline && ctx.Err() == nil:
		return errCountTimeout
	}
	return err
}

var (
	errTooMany = fault.New(fault.Exhausted, "facets: the fields have more than %d different values, or %d MB of them: filter for fewer chunks, or leave out the field with most",
		maxGroups, maxGroupBytes>>20)
	errCountTimeout = fault.New(fault.Exhausted, "counting took longer than %s: filter for fewer chunks, by a field of metadataIndexes if there is one, or ask for fewer facets",
		countTimeout)
)

// countSQL returns a statement whose rows are the number of a field, a value of it as JSON, NULL where it is missing, and how many
// chunks have the value. The number after those of the fields stands for the documents, and the next for the chunks, of which there
// are so many. It reads the chunks once.
func countSQL(i index.Index, within scope, match string, fields []string, args *filter.Args) string {
	where := within.sql(i, args)
	if match != "" {
		where = "c.terms @@ " + args.Add(match) + "::text::tsquery AND " + where
	}
	short := " <= " + strconv.Itoa(facet.MaxBytes)
	columns, names, sets, values := "c.document_id", "", "", ""
	documents, number := strconv.Itoa(groupedBy(len(fields), len(fields))), "CASE"
	for n, field := range fields {
		name := "f" + strconv.Itoa(n)
		value := filter.FieldSQL("c.metadata", field, args)
		// Most metadata is short, so that no value of it has to be measured.
		columns += ",\n\t\t\tCASE WHEN pg_column_size(c.metadata)" + short + " OR pg_column_size(" + value + ")" + short +
			" THEN " + value + " WHEN " + value + " IS NOT NULL THEN '{}' END AS " + name
		names += name + ", "
		sets += ", (" + name + ")"
		values += ", v." + name
		number += " WHEN p.grouped = " + strconv.Itoa(groupedBy(len(fields), n)) + " THEN " + strconv.Itoa(n)
	}
	value := "NULL"
	if len(fields) > 0 {
		value = "coalesce(" + values[len(", "):] + ")::text"
	}
	q := &statement{args: args}
	q.define("part",
		"SELECT grouping("+names+"v.document_id) AS grouped, "+value+" AS value, count(*) AS chunks, v.document_id",
		"FROM (",
		"	SELECT "+columns,
		"	FROM tenant.chunk AS c",
		"	WHERE "+where,
		") AS v",
		"GROUP BY GROUPING SETS ((), (v.document_id)"+sets+")")
	number += " WHEN true THEN " + strconv.Itoa(len(fields)+1) + " END"
	return q.sql(
		"SELECT "+number+" AS number, p.value, p.chunks FROM part AS p WHERE p.grouped <> "+documents,
		"UNION ALL SELECT "+strconv.Itoa(len(fields))+", NULL, count(p.document_id) FROM part AS p WHERE p.grouped = "+documents)
}

// groupedBy returns what grouping() says of the rows that are grouped by the nth of so many fields, or by the document after them: a
// bit for each, the first highest, which is set for all the others.
func groupedBy(fields, n int) int { return 1<<(fields+1) - 1 - 1<<(fields-n) }

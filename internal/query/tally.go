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
	"github.com/ragdhq/ragd/internal/query/column"
	"github.com/ragdhq/ragd/internal/query/facet"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Limits of a count.
const (
	// countTimeout is how long the statements of a count may take together.
	countTimeout = 5 * time.Second
	// countGrace is how much later a statement is given up that PostgreSQL has not ended.
	countGrace = time.Second
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

// kept is what was counted for a field when the index had this state. It is immutable.
type kept struct {
	state             column.State
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

// find returns what is known of a scope in the present state of the index, which it returns too, and the fields that have to be counted.
// whole is false if the chunks and documents have to be.
func (s *tallies) find(ctx context.Context, i index.Index, h *data.Handle, key func(field string) tallyKey, fields []string) (t *tally, missing []string, whole bool, now column.State, err error) {
	t = &tally{groups: map[string][]facet.Group{}}
	b := h.Batch()
	b.Query(now.Read, column.StateSQL, i.ID)
	if err := b.Run(ctx); err != nil {
		return nil, nil, false, now, err
	}
	for _, field := range fields {
		if found, ok := s.known.Get(key(field)); ok && found.state == now {
			t.groups[field] = found.groups
		} else {
			missing = append(missing, field)
		}
	}
	if found, ok := s.known.Get(key("")); ok && found.state == now {
		t.chunks, t.documents, whole = found.chunks, found.documents, true
	}
	return t, missing, whole, now, nil
}

// keep keeps what was counted in a state of the index.
func (s *tallies) keep(t *tally, state column.State, key func(field string) tallyKey, fields []string) {
	s.known.Put(key(""), &kept{state: state, chunks: t.chunks, documents: t.documents})
	for _, field := range fields {
		s.known.Put(key(field), &kept{state: state, groups: t.groups[field]})
	}
}

// tallyScope counts the chunks of a scope: those that are known, else in memory, else in the database.
func (s *Service) tallyScope(ctx context.Context, id tenant.ID, i index.Index, h *data.Handle, p countable, plans []facet.Plan, until time.Time) (c Counts, err error) {
	fields := fieldsOf(plans)
	if p.scope.needsDatabase() { // the uri of a document may change without its chunks
		t := &tally{groups: map[string][]facet.Group{}}
		if err := t.read(ctx, i, h, p.scope, matching{}, fields, until, nil); err != nil {
			return c, err
		}
		return t.counts(plans)
	}
	part := keyOf(id, i, p.scope)
	key := func(field string) tallyKey { return sha256.Sum256(append(part[:], field...)) }
	t, missing, whole, now, err := s.tallies.find(ctx, i, h, key, fields)
	if err != nil {
		return c, err
	}
	if whole && len(missing) == 0 {
		return t.counts(plans)
	}
	query := column.Query{Tenant: id, Index: i, Handle: h.Primary(), Now: now, Namespace: p.scope.namespace, Filter: p.scope.filter, Fields: fields}
	done, err := s.columns.Count(ctx, query, func(counted column.Counted) error {
		c, err = countsIn(counted, plans)
		return err
	})
	if done || err != nil {
		return c, err
	}
	var before column.State
	if err := t.read(ctx, i, h, p.scope, matching{}, missing, until, &before); err != nil {
		return c, err
	}
	s.tallies.keep(t, before, key, missing)
	return t.counts(plans)
}

// fieldsOf returns the different fields of plans.
func fieldsOf(plans []facet.Plan) []string {
	fields := make([]string, len(plans))
	for n, p := range plans {
		fields[n] = p.Field
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

// counts counts the groups of a tally by plans.
func (t *tally) counts(plans []facet.Plan) (c Counts, err error) {
	c.Chunks, c.Documents = t.chunks, t.documents
	for _, p := range plans {
		counted, err := p.Count(t.groups[p.Field])
		if err != nil {
			return c, err
		}
		c.Facets = append(c.Facets, counted)
	}
	return c, nil
}

// countsIn counts what was counted in memory by plans, of whose fields it was counted. Errors: Exhausted for too many values.
func countsIn(counted column.Counted, plans []facet.Plan) (c Counts, err error) {
	groups, bytes := 0, 0
	for _, f := range counted.Fields {
		for entry, chunks := range f.Chunks {
			if chunks > 0 {
				groups, bytes = groups+1, bytes+len(f.Entries.Raw(entry))
			}
		}
	}
	if groups > maxGroups || bytes > maxGroupBytes {
		return c, errTooMany
	}
	c.Chunks, c.Documents = counted.Chunks, counted.Documents
	fields := fieldsOf(plans)
	for _, p := range plans {
		f := counted.Fields[slices.Index(fields, p.Field)]
		by, err := p.CountIn(f.Entries, f.Chunks)
		if err != nil {
			return c, err
		}
		c.Facets = append(c.Facets, by)
	}
	return c, nil
}

// matching selects chunks of a scope. The zero value selects all.
type matching struct {
	terms      string      // as a tsquery; empty: any
	conditions []condition // of the syntax web, compiled
}

// read counts the chunks of a scope that match, by fields too. before is set to the state of
// the index before that; nil: it is not needed. Errors: Exhausted for what takes longer than until, and for too many values.
func (t *tally) read(ctx context.Context, i index.Index, h *data.Handle, within scope, match matching, fields []string, until time.Time, before *column.State) error {
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
		b.Query(before.Read, column.StateSQL, i.ID)
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
	limited, cancel := context.WithDeadline(ctx, until.Add(countGrace)) // the statement may wait before it has a timeout
	defer cancel()
	err := b.Run(limited)
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
func countSQL(i index.Index, within scope, match matching, fields []string, args *filter.Args) string {
	where := within.sql(i, args)
	if match.terms != "" {
		where = "c.terms @@ " + args.Add(match.terms) + "::text::tsquery AND " + where
	}
	where += conditionSQL(match.conditions, args)
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

package query

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/ingest/parse/grid"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/nearest"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/query/table"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/quota/usage"
)

const (
	// TableTimeout is how long PostgreSQL may take to answer a question about tables.
	TableTimeout = "5s"
	// tableMemory is what PostgreSQL may use for each sort, group and join of one.
	tableMemory = "32MB"
	// maxAnswerBytes bounds the values of an answer about tables.
	maxAnswerBytes = 4 << 20
	// maxNamesakes is how many tables of one name an error lists.
	maxNamesakes = 5
)

// Table is a table in a document, as far as it is known without its rows.
type Table struct {
	TableID    string
	Name       string // by which plans find it; several tables may share it
	DocumentID string
	Namespace  string
	URI        string
	Title      string // of the document
	grid.Description
}

// Range returns where the rows of the table are in its document, such as B2:D9 or "lines 2-9".
func (t Table) Range() string { return rangeOf(t.Description, t.columnNumbers(nil), t.First, t.Last) }

// columnNumbers returns the numbers in the file of some columns, of all if there are none.
func (t Table) columnNumbers(some []int) (numbers []int) {
	for i, c := range t.Columns {
		if len(some) == 0 || slices.Contains(some, i) {
			numbers = append(numbers, c.Number)
		}
	}
	return numbers
}

// TableListing says which tables of an index to list.
type TableListing struct {
	IndexName string
	Namespace string        // all namespaces if empty
	Filter    filter.Filter // over the metadata of their documents
	Document  string        // only those of this document, by id; all if empty
	Search    string        // part of the name of a table or column, or of the uri or title of the document, in any case
	PageSize  int32
	PageToken string
}

// maxTableSearchBytes is the longest text that tables are searched for.
const maxTableSearchBytes = 256

// tablePosition is the sort key of a list of tables.
type tablePosition struct {
	DocumentID string `json:"d"`
	Ordinal    int    `json:"o"`
}

// tableRow is a table as it is stored.
type tableRow struct {
	DocumentID  string
	Ordinal     int
	Name        string
	Stamp       string
	Description grid.Description
	Namespace   string
	URI         string
	Title       string
}

func (r tableRow) table() Table {
	return Table{
		TableID: r.DocumentID + ":" + strconv.Itoa(r.Ordinal), Name: r.Name, DocumentID: r.DocumentID, Namespace: r.Namespace, URI: r.URI, Title: r.Title,
		Description: r.Description,
	}
}

// tableSQL selects tables k of documents d that a filter lets be seen and whose text is that of their metadata: as
// for texts, not while a document is processed again with other metadata.
const tableSQL = `
	SELECT k.document_id::text, k.ordinal, k.name, k.stamp, k.description, d.namespace, d.uri, d.title
	FROM tenant.cells AS k JOIN tenant.documents AS d ON d.document_id = k.document_id
	WHERE k.segment = 0 AND d.index_id = $1 AND d.text_bytes IS NOT NULL`

// tablesOf is the part of an index whose tables a request may see.
type tablesOf struct {
	index   index.Index
	handle  *data.Handle
	visible filter.Filter
}

// onTables calls do with the tables of the named index that the caller may see.
func (s *Service) onTables(ctx context.Context, indexName string, do func(context.Context, *access.Request, tablesOf) error) error {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return err
	}
	asked, err := r.Resolve(r.Overrides.Filter)
	if err != nil {
		return err
	}
	return s.indexes.Use(ctx, r.Tenant, *cmp.Or(r.Overrides.IndexName, &indexName), func(i index.Index, h *data.Handle) error {
		made, err := index.HasCells(ctx, h)
		if err != nil {
			return err
		}
		if !made {
			h = index.WithoutCells(h)
		}
		return do(ctx, r, tablesOf{i, h, filter.And(r.Principal.MandatoryFilter, asked)})
	})
}

// Tables returns a page of the tables of an index, in the order of the ids of their documents, and the token of the
// next page. Errors: Invalid naming the field; NotFound for an unknown index.
func (s *Service) Tables(ctx context.Context, l TableListing) (found []Table, next string, err error) {
	if l.Namespace != "" {
		if _, err := index.Namespace(l.Namespace); err != nil {
			return nil, "", err
		}
	}
	if err := textlimit.Check("search", l.Search, maxTableSearchBytes); err != nil {
		return nil, "", err
	}
	var document *string
	if l.Document != "" {
		if document, err = documentID("documentId", l.Document); err != nil {
			return nil, "", err
		}
	}
	err = s.onTables(ctx, l.IndexName, func(ctx context.Context, r *access.Request, of tablesOf) error {
		f, err := r.Resolve(l.Filter)
		if err != nil {
			return err
		}
		list := access.Pages(ctx, "tables", of.index.Name, l.Namespace, l.Document, l.Search, f.String())
		first := tablePosition{DocumentID: uuid.Nil.String()}
		var rows []tableRow
		rows, next, err = pagination.List(list, l.PageSize, l.PageToken, first, func(r tableRow) tablePosition { return tablePosition{r.DocumentID, r.Ordinal} },
			func(after tablePosition, most int) ([]tableRow, error) {
				args := filter.NewArgs(of.index.ID, after.DocumentID, after.Ordinal, most, l.Namespace, document, l.Search)
				return data.Select[tableRow](ctx, of.handle, tableSQL+`
					AND (k.document_id, k.ordinal) > ($2::text::uuid, $3) AND ($5 = '' OR d.namespace = $5) AND ($6::text IS NULL OR k.document_id = $6::text::uuid)
					AND ($7 = '' OR strpos(lower(k.name), lower($7)) > 0 OR strpos(lower(d.uri), lower($7)) > 0 OR strpos(lower(d.title), lower($7)) > 0
						OR EXISTS (SELECT FROM jsonb_array_elements(k.description->'columns') AS c WHERE strpos(lower(c->>'name'), lower($7)) > 0 OR strpos(lower(c->>'title'), lower($7)) > 0))
					AND `+filter.And(of.visible, f).SQL("d.metadata", args)+`
					ORDER BY k.document_id, k.ordinal LIMIT $4`, args.Values()...)
			})
		for _, r := range rows {
			found = append(found, r.table())
		}
		return err
	})
	return found, next, err
}

// documentID checks the id of a document and returns it in its usual form.
func documentID(field, id string) (*string, error) {
	parsed, err := uuid.Parse(id)
	if err != nil || len(id) != len(uuid.Nil.String()) {
		return nil, fault.Field(field, "must be the id of a document, got %q", textlimit.Shorten(id, 100))
	}
	return new(parsed.String()), nil
}

// tableID returns the parts of the id of a table; ok is false for what is none.
func tableID(id string) (document string, ordinal int64, ok bool) {
	document, number, found := strings.Cut(id, ":")
	canonical, err := documentID("table", document)
	ordinal, failed := strconv.ParseInt(number, 10, 32)
	if !found || err != nil || failed != nil {
		return "", 0, false
	}
	return *canonical, ordinal, true
}

// find returns the table with an id or a name. Errors: Invalid for a name that several tables have; NotFound.
func (o tablesOf) find(ctx context.Context, field, named, namespace string) (tableRow, error) {
	if named == "" {
		return tableRow{}, fault.Field(field, "must be given: the tableId or the name of a table, as ListTables has them")
	}
	if err := textlimit.Check(field, named, maxTableSearchBytes); err != nil {
		return tableRow{}, err
	}
	args := filter.NewArgs(o.index.ID, maxNamesakes+1, namespace)
	var where string
	if document, ordinal, isID := tableID(named); isID {
		where = "k.document_id = " + args.Add(document) + "::text::uuid AND k.ordinal = " + args.Add(ordinal) + "::int"
	} else {
		where = "k.name = " + args.Add(grid.NameOf(named))
	}
	found, err := data.Select[tableRow](ctx, o.handle, tableSQL+` AND ($3 = '' OR d.namespace = $3) AND `+where+` AND `+o.visible.SQL("d.metadata", args)+`
		ORDER BY k.document_id, k.ordinal LIMIT $2`, args.Values()...)
	switch {
	case err != nil:
		return tableRow{}, err
	case len(found) == 0:
		return tableRow{}, o.notFound(ctx, named, namespace)
	case len(found) > 1:
		var ids []string
		for _, r := range found[:min(len(found), maxNamesakes)] {
			ids = append(ids, fmt.Sprintf("%s of %s", r.table().TableID, textlimit.Shorten(r.URI, 100)))
		}
		return tableRow{}, fault.Field(field, "%q is the name of several tables: give the tableId of one, such as %s", named, strings.Join(ids, ", "))
	case found[0].Description.LeftOut != "":
		return tableRow{}, fault.New(fault.Precondition, "the rows of the table %q are not kept: %s", named, found[0].Description.LeftOut)
	}
	return found[0], nil
}

// notFound returns the error for a table that is not there for the caller. It names the nearest of those that are.
func (o tablesOf) notFound(ctx context.Context, named, namespace string) error {
	args := filter.NewArgs(o.index.ID, namespace)
	known, _ := data.Values[string](ctx, o.handle, `
		SELECT DISTINCT k.name FROM tenant.cells AS k JOIN tenant.documents AS d ON d.document_id = k.document_id
		WHERE k.segment = 0 AND d.index_id = $1 AND ($2 = '' OR d.namespace = $2) AND d.text_bytes IS NOT NULL AND `+o.visible.SQL("d.metadata", args)+`
		ORDER BY k.name LIMIT 1000`, args.Values()...) // without them the error has no hint
	return fault.New(fault.NotFound, "table %q not found in the index %q%s", textlimit.Shorten(named, 100), o.index.Name, nearest.Hint(named, known))
}

// TableQuestion is a question about tables of an index: either a Plan or SQL.
type TableQuestion struct {
	IndexName string
	Namespace string // in which tables are found by name; all if empty
	Plan      *table.Plan
	SQL       string
}

// TableAnswer is the answer to a TableQuestion.
type TableAnswer struct {
	Columns []table.Column
	Rows    []AnsweredRow
	More    bool // there are more rows than the limit of the plan
	Sources []TableSource
	Plan    table.Plan // that was computed: the one of the question, or that of its SQL
}

// AnsweredRow is a row of an answer.
type AnsweredRow struct {
	Values  []any    // nil, bool, string, or json.Number
	Matched int64    // rows of tables that it was computed from
	Ranges  []string // for each source the cells that it was computed from; empty for none
}

// TableSource is a table that was read, and the range of the cells that were read of it.
type TableSource struct {
	Table
	Read string
}

// QueryTable computes an answer from tables. Errors: Invalid naming the field; NotFound for an index or a table that is not there or not
// visible; Precondition for a table without rows; Exhausted for a question that takes longer than TableTimeout, or an answer that is too large;
// Conflict if a table is replaced again and again meanwhile.
func (s *Service) QueryTable(ctx context.Context, q TableQuestion) (a TableAnswer, err error) {
	switch {
	case q.Plan == nil && q.SQL == "":
		return a, fault.Field("plan", "or sql must be given")
	case q.Plan != nil && q.SQL != "":
		return a, fault.Field("plan", "and sql are mutually exclusive: give one of them")
	case q.Plan != nil:
		a.Plan = *q.Plan
	default:
		if a.Plan, err = table.ParseSQL(q.SQL); err != nil {
			return a, err
		}
	}
	if q.Namespace != "" {
		if _, err := index.Namespace(q.Namespace); err != nil {
			return a, err
		}
	}
	if len(a.Plan.Joins) >= table.MaxTables {
		return a, fault.Field("plan.joins", "has %d entries, over the limit of %d", len(a.Plan.Joins), table.MaxTables-1)
	}
	err = s.onTables(ctx, q.IndexName, func(ctx context.Context, r *access.Request, of tablesOf) error {
		ctx = usage.InIndex(ctx, of.index.Name)
		s.meter.Add(ctx, string(r.Tenant), usage.Query, usage.Counts{Calls: 1})
		for range 2 {
			read, err := of.readTables(ctx, a.Plan, q.Namespace)
			if err != nil {
				return err
			}
			answered, err := of.compute(ctx, a.Plan, read)
			again, failed := of.readTables(ctx, a.Plan, q.Namespace)
			if failed != nil {
				return failed
			}
			// Types and positions of columns are those of before: they are those of the rows that were read if nothing has changed since.
			if slices.EqualFunc(read, again, func(a, b tableRow) bool { return a.Stamp == b.Stamp && a.DocumentID == b.DocumentID }) {
				a = answered
				return err
			}
		}
		return fault.New(fault.Conflict, "the table is being replaced: try again")
	})
	if q.SQL != "" {
		err = fault.Rename("plan", "sql", err)
	}
	return a, err
}

// readTables returns the tables of a plan in order.
func (o tablesOf) readTables(ctx context.Context, p table.Plan, namespace string) (found []tableRow, err error) {
	row, err := o.find(ctx, "plan.table", p.Table, namespace)
	if err != nil {
		return nil, err
	}
	found = append(found, row)
	for i, j := range p.Joins {
		if row, err = o.find(ctx, fmt.Sprintf("plan.joins[%d].table", i), j.Table, namespace); err != nil {
			return nil, err
		}
		found = append(found, row)
	}
	return found, nil
}

// compute runs a plan.
func (o tablesOf) compute(ctx context.Context, p table.Plan, read []tableRow) (TableAnswer, error) {
	a := TableAnswer{Plan: p}
	sources := make([]table.Source, len(read))
	for i, r := range read {
		sources[i] = table.Source{DocumentID: r.DocumentID, Ordinal: r.Ordinal, Name: r.Name, Description: r.Description}
	}
	statement, err := table.Compile(p, sources)
	if err != nil {
		return a, err
	}
	for i, r := range read {
		t := r.table()
		a.Sources = append(a.Sources, TableSource{t, rangeOf(t.Description, t.columnNumbers(statement.Used[i]), t.First, t.Last)})
	}
	var rows []struct {
		Values  string
		Matched int64
		Ranges  []string
	}
	b := o.handle.Batch()
	b.Set("statement_timeout", TableTimeout)
	b.Set("work_mem", tableMemory)
	b.Set("jit", "off")
	b.Query(data.Rows(&rows), statement.SQL, statement.Args...)
	if err := b.Run(ctx); err != nil {
		return a, tableFault(ctx, err)
	}
	a.Columns = statement.Columns
	if a.More = len(rows) > statement.Limit; a.More {
		rows = rows[:statement.Limit]
	}
	size := 0
	for _, r := range rows {
		if size += len(r.Values); size > maxAnswerBytes {
			return a, fault.New(fault.Exhausted, "the answer has over %d bytes: select fewer columns, or a smaller limit", maxAnswerBytes)
		}
		answered := AnsweredRow{Matched: r.Matched}
		d := json.NewDecoder(strings.NewReader(r.Values))
		d.UseNumber()
		if err := d.Decode(&answered.Values); err != nil {
			return a, fmt.Errorf("read the values of a row: %w", err)
		}
		for i, ranges := range r.Ranges {
			t := read[i].table()
			answered.Ranges = append(answered.Ranges, rangesOf(t.Description, t.columnNumbers(statement.Used[i]), ranges))
		}
		a.Rows = append(a.Rows, answered)
	}
	return a, nil
}

// tableFault returns the error of a statement of a plan for its caller.
func tableFault(ctx context.Context, err error) error {
	if fault.KindOf(err) == fault.Deadline && ctx.Err() == nil {
		return fault.New(fault.Exhausted, "the question takes longer than %s: filter more, join fewer rows, or ask for less at once", TableTimeout)
	}
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		switch state.SQLState() {
		case "22003", "22P02": // a number is out of range
			return fault.Wrap(fault.Invalid, err, "plan: a number that is computed is too large")
		case "2201B":
			return fault.Wrap(fault.Invalid, err, "plan.filter: a $regex is not valid")
		}
	}
	return err
}

// rangesOf returns the cells of some columns in ranges of rows, which are written as by package table.
func rangesOf(d grid.Description, columns []int, ranges string) string {
	if ranges == "" {
		return ""
	}
	var all []string
	for r := range strings.SplitSeq(ranges, ",") {
		first, last, isRange := strings.Cut(r, "-")
		from, err := strconv.Atoi(first)
		to, failed := strconv.Atoi(last)
		if !isRange || err != nil || failed != nil {
			all = append(all, "...")
			continue
		}
		all = append(all, cellsOf(d, columns, from, to))
	}
	return unitOf(d, len(all) > 1 || strings.Contains(all[0], "-")) + strings.Join(all, ", ")
}

// rangeOf returns the cells of some columns in rows.
func rangeOf(d grid.Description, columns []int, first, last int) string {
	return unitOf(d, first != last) + cellsOf(d, columns, first, last)
}

// unitOf returns what stands before the numbers of rows that are not those of a sheet.
func unitOf(d grid.Description, several bool) string {
	unit := map[grid.Unit]string{grid.Line: "line", grid.TableRow: "row"}[d.Unit]
	switch {
	case unit == "":
		return ""
	case several:
		return unit + "s "
	}
	return unit + " "
}

// cellsOf returns cells of a sheet such as B2:D9, or numbers of rows such as 2-9.
func cellsOf(d grid.Description, columns []int, first, last int) string {
	if d.Unit == grid.Row {
		if len(columns) == 0 {
			return fmt.Sprintf("%d:%d", first, last)
		}
		from, to := letters(slices.Min(columns))+strconv.Itoa(first), letters(slices.Max(columns))+strconv.Itoa(last)
		if from == to {
			return from
		}
		return from + ":" + to
	}
	if first == last {
		return strconv.Itoa(first)
	}
	return fmt.Sprintf("%d-%d", first, last)
}

// letters returns the letters of a column of a sheet: A for 1.
func letters(column int) string {
	var out []byte
	for ; column > 0; column = (column - 1) / 26 {
		out = append(out, byte('A'+(column-1)%26))
	}
	slices.Reverse(out)
	return string(out)
}

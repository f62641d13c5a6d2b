package connector

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// Limits of databases.
const (
	maxQueryBytes   = 10_000
	maxColumnBytes  = 63
	maxColumnsBytes = 64 << 10 // of the columns of a row but its text, as JSON
	rowsPerPage     = 1000
	rowsPerRead     = 500
	// Of a row with its text, and of one that is listed.
	maxMessageBytes   = maxItemBytes + 1<<20
	maxListedBytes    = 64 << 10
	maxStatementTime  = 2 * time.Minute
	defaultTextOfRows = "text/plain"
	// cursorOverlap is how far a run looks back before the newest time that the last one saw: transactions may end later
	// than others with later times.
	cursorOverlap = 5 * time.Minute
)

// Rows is the rows of a query of a database.
type Rows struct {
	Query         string `json:"query"`
	IDColumn      string `json:"idColumn"`
	UpdatedColumn string `json:"updatedColumn"`
	TextColumn    string `json:"textColumn"`
	TitleColumn   string `json:"titleColumn,omitempty"`
	ContentType   string `json:"contentType"`
	// RelistHours is for how long runs ask for changed rows alone; 0 makes each run list all rows.
	RelistHours int `json:"relistHours,omitempty"`
}

// complete sets the defaults of empty settings of a kind and checks them.
func (r *Rows) complete(kind string) error {
	if strings.TrimSpace(r.Query) == "" {
		return fault.Field(kind+".query", "is missing: give a SELECT with the columns id, updated_at and text")
	}
	r.IDColumn, r.UpdatedColumn, r.TextColumn = cmp.Or(r.IDColumn, "id"), cmp.Or(r.UpdatedColumn, "updated_at"), cmp.Or(r.TextColumn, "text")
	r.ContentType = cmp.Or(r.ContentType, defaultTextOfRows)
	for field, limited := range map[string]struct {
		text string
		most int
	}{
		"query": {r.Query, maxQueryBytes}, "idColumn": {r.IDColumn, maxColumnBytes}, "updatedColumn": {r.UpdatedColumn, maxColumnBytes},
		"textColumn": {r.TextColumn, maxColumnBytes}, "titleColumn": {r.TitleColumn, maxColumnBytes},
	} {
		if err := textlimit.Check(kind+"."+field, limited.text, limited.most); err != nil {
			return err
		}
	}
	if r.RelistHours < 0 || r.RelistHours > maxRelistHours {
		return fault.Field(kind+".relistHours", "must be between 0 and %d, got %d", maxRelistHours, r.RelistHours)
	}
	switch r.ContentType {
	case defaultTextOfRows, "text/markdown", "text/html":
		return nil
	}
	return fault.Field(kind+".contentType", "must be text/plain, text/markdown or text/html")
}

// database runs the query of Rows. Its errors are public.
type database interface {
	// newest returns the newest value of the updated column as a text, less cursorOverlap if it is a time; empty for none.
	newest(ctx context.Context) (string, error)
	// page returns up to rowsPerPage rows in the order of their ids. after and since are nil for all, the last id of the
	// page before, and the least value of the updated column.
	page(ctx context.Context, after, since *string) ([]listedRow, error)
	// read calls each with rows that were listed, in any order. Those that are gone are left out.
	read(ctx context.Context, listed []listedRow, each func(readRow) error) error
}

// refusedBy returns the error that a database answered, without the password.
func refusedBy(message, password, code string) error {
	if password != "" {
		message = strings.ReplaceAll(message, password, "***")
	}
	return fault.New(fault.Precondition, "the database answered: %s (%s)", textlimit.OneLine(message, maxReasonBytes), code)
}

// noColumn returns the error of a query that lacks a column.
func noColumn(name string) error {
	return fault.New(fault.Precondition, "the query has no column %q", textlimit.Shorten(name, maxColumnBytes))
}

// columnsJSON returns the columns of a row as JSON, empty if they are too large.
func columnsJSON(attributes map[string]any) (string, error) {
	columns, err := json.Marshal(attributes)
	if err != nil || len(columns) > maxColumnsBytes {
		return "", err
	}
	return string(columns), nil
}

// listedRow is what is read of each row.
type listedRow struct {
	ID      string
	Updated string
	Size    int64 // of its text
}

// readRow is a row with its text.
type readRow struct {
	ID      string
	Text    string
	Title   string
	Columns string // the others as JSON; empty if they are too large
}

// rowList is which rows a run lists. It is stored as JSON.
type rowList struct {
	ListedAt time.Time `json:"listedAt,omitzero"` // when a run listed all rows
	Cursor   string    `json:"cursor,omitempty"`  // from which the next run asks for changed rows
	Since    string    `json:"since,omitempty"`   // from which this run does; empty for all
	// Confirmed is the position in the log of the database up to which changes are stored.
	Confirmed string `json:"confirmed,omitempty"`
	Reread    bool   `json:"reread,omitempty"` // the next run reads all texts again, since changes were missed
}

// reading is one walk of the rows of a query.
type reading struct {
	walking
	*Rows

	database database
	scheme   string // of the uris
	visit    func(Item) error
	begin    rowList // of a walk that lists all rows
	reread   bool    // whether texts are read that have not changed
}

// list returns which rows the walk lists.
func (r *reading) list(ctx context.Context) (rowList, error) {
	if r.from != nil {
		return r.from.Rows, nil
	}
	if r.RelistHours == 0 {
		return r.begin, nil
	}
	last, now := r.source.Rows, time.Now().UTC()
	cursor, err := r.database.newest(ctx)
	if err != nil {
		return rowList{}, err
	}
	if last.Cursor == "" || now.Sub(last.ListedAt) >= time.Duration(r.RelistHours)*time.Hour {
		return rowList{ListedAt: now, Cursor: cursor}, nil
	}
	return rowList{ListedAt: last.ListedAt, Cursor: cmp.Or(cursor, last.Cursor), Since: last.Cursor}, nil
}

// walk visits the rows. The text of rows with the time of the last walk is not read.
func (r *reading) walk(ctx context.Context) (listing, error) {
	list, err := r.list(ctx)
	if err != nil {
		return listing{}, err
	}
	at := position{Rows: list}
	r.reread = list.Reread
	var after, since *string
	if r.from != nil {
		at.After, at.Items, after = r.from.After, r.from.Items, &at.After
	}
	if list.Since != "" {
		since = &list.Since
	}
	for {
		page, err := r.database.page(ctx, after, since)
		if err != nil {
			return listing{}, err
		}
		for _, row := range page {
			if after != nil && row.ID == at.After {
				return listing{}, sameID(row.ID)
			}
			if at.Items++; at.Items > r.maxItems {
				return listing{}, tooManyRows(r.maxItems)
			}
			at.After, after = row.ID, &at.After
		}
		if err := r.rows(ctx, page); err != nil {
			return listing{}, err
		}
		if len(page) < rowsPerPage {
			list.Since, list.Reread = "", false
			return listing{keepOthers: since != nil, state: State{Known: true, Rows: list}}, nil
		}
		if err := r.reached(ctx, at); err != nil {
			return listing{}, err
		}
	}
}

// tooManyRows returns the error of a query that has more rows than maxItems.
func tooManyRows(most int) error {
	return fault.New(fault.Exhausted, "the query has more than %d rows: change it, or raise maxItems", most)
}

// sameID returns the error of a query that has several rows with an id.
func sameID(id string) error {
	return fault.New(fault.Precondition, "the query has more than one row with the id %q", textlimit.Shorten(id, 100))
}

// rows visits rows of a page. The text of those that have changed is read, some at a time.
func (r *reading) rows(ctx context.Context, page []listedRow) error {
	ids := make([]string, len(page))
	for i, row := range page {
		ids[i] = r.uri(row.ID)
	}
	if err := r.expect(ctx, ids); err != nil {
		return err
	}
	var changed []listedRow
	var size int64
	for i, row := range page {
		known, err := r.known(ctx, ids[i])
		if err != nil {
			return err
		}
		item := Item{ID: ids[i], State: State{Known: true, ETag: row.Updated}}
		why := unusablePath(row.ID)
		same, unchanged := known.unchanged(ids[i], row.Updated)
		switch {
		case why != "":
			item.Skipped = why
		case unchanged && !r.reread:
			item = same
		case row.Size > maxItemBytes:
			item = item.tooLarge()
		default:
			if len(changed) == rowsPerRead || size+row.Size > maxItemBytes {
				if err := r.readRows(ctx, changed); err != nil {
					return err
				}
				changed, size = nil, 0
			}
			changed, size = append(changed, row), size+row.Size
			continue
		}
		if err := r.visit(item); err != nil {
			return err
		}
	}
	return r.readRows(ctx, changed)
}

func (r *reading) uri(id string) string {
	return pathURI(url.URL{Scheme: r.scheme, Host: r.connector}, id)
}

// readRows reads rows and visits them. Rows that are gone are not visited.
func (r *reading) readRows(ctx context.Context, listed []listedRow) error {
	if len(listed) == 0 {
		return nil
	}
	updated := make(map[string]string, len(listed))
	for _, row := range listed {
		updated[row.ID] = row.Updated
	}
	items := make([]Item, 0, len(listed))
	size := 0
	err := r.database.read(ctx, listed, func(row readRow) error {
		at, ok := updated[row.ID]
		if !ok {
			return nil // nobody asked for it, or it came before
		}
		delete(updated, row.ID)
		bytes := len(row.Text) + len(row.Title) + len(row.Columns)
		if size += bytes; size > 2*maxMessageBytes {
			return fault.New(fault.Precondition, "the rows have more text than the database has said: run the connector again")
		}
		items = append(items, r.item(row, at))
		return r.fetch.countBytes(int64(len(row.ID) + bytes))
	})
	if err != nil {
		return err
	}
	for _, item := range items {
		if err := r.visit(item); err != nil {
			return err
		}
	}
	return nil
}

// item returns what a row is.
func (r *reading) item(row readRow, updated string) Item {
	item := Item{
		ID: r.uri(row.ID), Title: textlimit.OneLine(row.Title, maxReasonBytes), ContentType: r.ContentType, Content: []byte(row.Text),
		Attributes: map[string]any{}, State: State{Known: true, ETag: updated},
	}
	if row.Columns == "" {
		item.Failed = "has columns of more than " + strconv.Itoa(maxColumnsBytes) + " bytes besides its text"
		item.State = State{Known: true, Failed: item.Failed, FailedETag: updated}
		return item
	}
	if err := json.Unmarshal([]byte(row.Columns), &item.Attributes); err != nil {
		item.Failed, item.State = "has columns that cannot be read", State{Known: true}
		return item
	}
	if text, ok := item.Attributes[r.UpdatedColumn].(string); ok {
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", time.DateOnly} {
			if at, err := time.Parse(layout, text); err == nil {
				item.Modified = at
				break
			}
		}
	}
	if strings.TrimSpace(row.Text) == "" {
		item.Skipped, item.State.Skipped = "it has no text", "it has no text"
	}
	return item
}

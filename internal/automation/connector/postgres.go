package connector

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/secure/outbound"
	"github.com/ragdhq/ragd/internal/secure/secret"
)

// Limits of databases.
const (
	maxQueryBytes   = 10_000
	maxColumnBytes  = 63
	maxColumnsBytes = 64 << 10 // of the columns of a row but its text, as JSON
	rowsPerPage     = 500
	rowsPerRead     = 100
	// Of a message of the protocol: a row with its text, and one that is listed.
	maxMessageBytes   = maxItemBytes + 1<<20
	maxListedBytes    = 64 << 10
	maxStatementTime  = 2 * time.Minute
	defaultTextOfRows = "text/plain"
)

// Postgres is the rows of a query of a PostgreSQL database.
type Postgres struct {
	Secret        string `json:"secret"` // name of the secret with the address of the database
	Query         string `json:"query"`
	IDColumn      string `json:"idColumn"`
	UpdatedColumn string `json:"updatedColumn"`
	TextColumn    string `json:"textColumn"`
	TitleColumn   string `json:"titleColumn,omitempty"`
	ContentType   string `json:"contentType"`
}

// complete implements kind.
func (p *Postgres) complete(*outbound.Guard) error {
	if err := secret.CheckName("postgres.secretName", p.Secret); err != nil {
		return err
	}
	if strings.TrimSpace(p.Query) == "" {
		return fault.Field("postgres.query", "is missing: give a SELECT with the columns id, updated_at and text")
	}
	p.IDColumn, p.UpdatedColumn, p.TextColumn = cmp.Or(p.IDColumn, "id"), cmp.Or(p.UpdatedColumn, "updated_at"), cmp.Or(p.TextColumn, "text")
	p.ContentType = cmp.Or(p.ContentType, defaultTextOfRows)
	for field, limited := range map[string]struct {
		text string
		most int
	}{
		"postgres.query": {p.Query, maxQueryBytes}, "postgres.idColumn": {p.IDColumn, maxColumnBytes}, "postgres.updatedColumn": {p.UpdatedColumn, maxColumnBytes},
		"postgres.textColumn": {p.TextColumn, maxColumnBytes}, "postgres.titleColumn": {p.TitleColumn, maxColumnBytes},
	} {
		if err := textlimit.Check(field, limited.text, limited.most); err != nil {
			return err
		}
	}
	switch p.ContentType {
	case defaultTextOfRows, "text/markdown", "text/html":
		return nil
	}
	return fault.Field("postgres.contentType", "must be text/plain, text/markdown or text/html")
}

// connection returns the settings of connections to an address. It uses nothing but the address: no
// environment, no files of the machine, no sockets. Errors: Precondition for an address that cannot be used.
func connection(guard *outbound.Guard, address *url.URL) (*pgx.ConnConfig, error) {
	config, err := postgres.ForeignConfig(address, guard.DialContext)
	if errors.Is(err, postgres.ErrForeignAddress) {
		return nil, fault.New(fault.Precondition, "the secret must have an address such as postgres://user:password@db.example.com:5432/name")
	}
	if err := guard.CheckURL("the address in the secret", (&url.URL{Scheme: "https", Host: address.Host}).String()); err != nil {
		return nil, err
	}
	switch {
	case errors.Is(err, postgres.ErrForeignParameter):
		return nil, fault.New(fault.Precondition, "the address in the secret may have the parameter sslmode alone")
	case errors.Is(err, postgres.ErrForeignSSLMode):
		return nil, fault.New(fault.Precondition, "sslmode in the address in the secret must be verify-full, require or disable")
	case err != nil:
		return nil, err
	}
	config.RuntimeParams["application_name"] = UserAgent
	config.ConnectTimeout = requestTimeout
	config.DefaultQueryExecMode, config.StatementCacheCapacity, config.DescriptionCacheCapacity = pgx.QueryExecModeDescribeExec, 0, 0
	return config, nil
}

// reading is one walk of the rows of a query.
type reading struct {
	walking
	*Postgres

	config *pgx.ConnConfig
	visit  func(Item) error
}

// walk implements kind. The text of rows with the time of the last walk is not read.
func (p *Postgres) walk(ctx context.Context, w walking, visit func(Item) error) (listing, error) {
	address, err := w.address(ctx, p.Secret)
	if err != nil {
		return listing{}, err
	}
	r := &reading{walking: w, Postgres: p, visit: visit}
	if r.config, err = connection(w.guard, address); err != nil {
		return listing{}, err
	}
	last, seen := "", 0
	for {
		page, err := r.page(ctx, seen > 0, last)
		if err != nil {
			return listing{}, err
		}
		for _, row := range page {
			if seen > 0 && row.ID == last {
				return listing{}, fault.New(fault.Precondition, "the query has more than one row with the id %q", textlimit.Shorten(last, 100))
			}
			if seen++; seen > w.maxItems {
				return listing{}, fault.New(fault.Exhausted, "the query has more than %d rows: change it, or raise maxItems", w.maxItems)
			}
			last = row.ID
		}
		if err := r.rows(ctx, page); err != nil {
			return listing{}, err
		}
		if len(page) < rowsPerPage {
			return listing{}, nil
		}
	}
}

// listedRow is what is read of each row.
type listedRow struct {
	ID      string
	Updated string
	Size    int64 // of its text
}

// from returns the query as a table q. A line ends it, which may be a comment.
func (r *reading) from() string { return " FROM (\n" + r.Query + "\n) AS q" }

func column(name string) string { return "q." + pgx.Identifier{name}.Sanitize() }

// page returns the rows that follow an id.
func (r *reading) page(ctx context.Context, after bool, id string) (page []listedRow, err error) {
	key := column(r.IDColumn)
	statement := `SELECT ` + key + `::text, coalesce(` + column(r.UpdatedColumn) + `::text, ''), coalesce(octet_length(` + column(r.TextColumn) + `::text), 0)::bigint` + r.from() + ` WHERE ` + key + ` IS NOT NULL`
	var args []any
	if after {
		statement += ` AND ` + key + ` > $1`
		args = []any{id}
	}
	statement += ` ORDER BY ` + key + ` LIMIT ` + strconv.Itoa(rowsPerPage)
	err = r.query(ctx, maxListedBytes, statement, args, func(rows pgx.Rows) error {
		var row listedRow
		if err := rows.Scan(&row.ID, &row.Updated, &row.Size); err != nil {
			return err
		}
		if len(page) == rowsPerPage {
			return errors.New("more rows than were asked for")
		}
		page = append(page, row)
		return r.fetch.countBytes(int64(len(row.ID) + len(row.Updated)))
	})
	return page, err
}

// query runs a statement in a transaction of its own that writes nothing. maxMessage bounds the bytes of a
// row.
func (r *reading) query(ctx context.Context, maxMessage int, statement string, args []any, each func(pgx.Rows) error) error {
	if err := r.fetch.countRequest(); err != nil {
		return err
	}
	limited, cancel := context.WithTimeoutCause(ctx, maxStatementTime+requestTimeout, &fetchError{"the database takes too long"})
	defer cancel()
	config := r.config.Copy()
	config.MaxProtocolMessageBodyLen = maxMessage
	conn, err := pgx.ConnectConfig(limited, config)
	if err == nil {
		defer func() { _ = conn.Close(context.WithoutCancel(limited)) }()
		err = pgx.BeginTxFunc(limited, conn, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
			if _, err := tx.Exec(limited, `SET LOCAL statement_timeout = `+strconv.FormatInt(maxStatementTime.Milliseconds(), 10)); err != nil {
				return err
			}
			rows, err := tx.Query(limited, statement, args...)
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
				if err := each(rows); err != nil {
					return err
				}
			}
			return rows.Err()
		})
	}
	if err == nil {
		return nil
	}
	return r.failure(ctx, limited, err)
}

// failure returns why the database could not be read, in public words.
func (r *reading) failure(ctx, limited context.Context, err error) error {
	var answered *pgconn.PgError
	var known *fault.Error
	var long *pgproto3.ExceededMaxBodyLenErr
	switch {
	case errors.As(err, &long):
		return fault.New(fault.Precondition, "the database sent a row of more than %d bytes", long.MaxExpectedBodyLen)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case limited.Err() != nil:
		return about("the database", context.Cause(limited))
	case errors.As(err, &answered):
		message := answered.Message
		if r.config.Password != "" {
			message = strings.ReplaceAll(message, r.config.Password, "***")
		}
		return fault.New(fault.Precondition, "the database answered: %s (SQLSTATE %s)", textlimit.OneLine(message, maxReasonBytes), textlimit.OneLine(answered.Code, len("00000")))
	case errors.As(err, &known):
		return known
	}
	return about("the database", r.fetch.failure(ctx, err))
}

// rows visits rows of a page. The text of those that have changed is read, some at a time.
func (r *reading) rows(ctx context.Context, page []listedRow) error {
	var changed []listedRow
	var size int64
	for _, row := range page {
		id := r.uri(row.ID)
		known, err := r.known(ctx, id)
		if err != nil {
			return err
		}
		item := Item{ID: id, State: State{Known: true, ETag: row.Updated}}
		why := unusablePath(row.ID)
		same, unchanged := known.unchanged(id, row.Updated)
		switch {
		case why != "":
			item.Skipped = why
		case unchanged:
			item = same
		case row.Size > maxItemBytes:
			item = item.tooLarge()
		default:
			if len(changed) == rowsPerRead || size+row.Size > maxItemBytes {
				if err := r.read(ctx, changed); err != nil {
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
	return r.read(ctx, changed)
}

func (r *reading) uri(id string) string {
	return pathURI(url.URL{Scheme: "postgres", Host: r.connector}, id)
}

// read reads rows and visits them. Rows that are gone are not visited.
func (r *reading) read(ctx context.Context, listed []listedRow) error {
	if len(listed) == 0 {
		return nil
	}
	updated := map[string]string{}
	for _, row := range listed {
		updated[row.ID] = row.Updated
	}
	title := `''`
	if r.TitleColumn != "" {
		title = `left(coalesce(` + column(r.TitleColumn) + `::text, ''), ` + strconv.Itoa(maxReasonBytes) + `)`
	}
	text := column(r.TextColumn) + `::text`
	most, others := strconv.Itoa(maxItemBytes), `(to_jsonb(q) - $2::text)::text`
	statement := `SELECT ` + column(r.IDColumn) + `::text, CASE WHEN octet_length(` + text + `) <= ` + most + ` THEN ` + text + ` ELSE '' END, ` + title + `,
		CASE WHEN octet_length(` + others + `) <= ` + strconv.Itoa(maxColumnsBytes) + ` THEN ` + others + ` ELSE '' END` + r.from() + ` WHERE ` + column(r.IDColumn) + ` = ANY($1)`
	var items []Item
	size := 0
	err := r.query(ctx, maxMessageBytes, statement, []any{arrayOf(listed), r.TextColumn}, func(rows pgx.Rows) error {
		var id, content, title, columns string
		if err := rows.Scan(&id, &content, &title, &columns); err != nil {
			return err
		}
		at, ok := updated[id]
		if !ok {
			return nil // nobody asked for it, or it came before
		}
		delete(updated, id)
		if size += len(content) + len(title) + len(columns); size > 2*maxMessageBytes {
			return fault.New(fault.Precondition, "the rows have more text than the database has said: run the connector again")
		}
		items = append(items, r.item(id, at, content, title, columns))
		return r.fetch.countBytes(int64(len(id) + len(content) + len(title) + len(columns)))
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
func (r *reading) item(id, updated, content, title, columns string) Item {
	item := Item{
		ID: r.uri(id), Title: textlimit.OneLine(title, maxReasonBytes), ContentType: r.ContentType, Content: []byte(content),
		Attributes: map[string]any{}, State: State{Known: true, ETag: updated},
	}
	if columns == "" {
		item.Failed = "has columns of more than " + strconv.Itoa(maxColumnsBytes) + " bytes besides its text"
		item.State = State{Known: true, Failed: item.Failed, FailedETag: updated}
		return item
	}
	if err := json.Unmarshal([]byte(columns), &item.Attributes); err != nil {
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
	if strings.TrimSpace(content) == "" {
		item.Skipped, item.State.Skipped = "it has no text", "it has no text"
	}
	return item
}

// arrayOf returns the ids of rows as the text of an array, whose elements have the type of the column.
func arrayOf(rows []listedRow) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	quoted := make([]string, len(rows))
	for i, row := range rows {
		quoted[i] = `"` + escape.Replace(row.ID) + `"`
	}
	return "{" + strings.Join(quoted, ",") + "}"
}

package connector

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ncruces/go-sqlite3"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/secure/outbound"
)

// Limits of SQLite databases.
const (
	maxSQLiteHeap = 256 << 20       // bytes of memory that a statement may need
	sqliteWait    = 5 * time.Second // for others that write
)

// SQLite is the rows of a query of an SQLite database, a file of the machine in a folder that the operator allows.
type SQLite struct {
	Path string `json:"path"`
	Rows
}

// complete implements kind.
func (s *SQLite) complete(*outbound.Guard) error {
	if err := checkMachinePath("sqlite.path", s.Path, "/srv/shop/shop.db"); err != nil {
		return err
	}
	return s.Rows.complete("sqlite")
}

// walk implements kind.
func (s *SQLite) walk(ctx context.Context, w walking, visit func(Item) error) (listing, error) {
	if err := w.allow(ctx, "sqlite.path", s.Path); err != nil {
		return listing{}, err
	}
	rows := &sqliteRows{Rows: &s.Rows, fetch: w.fetch}
	if err := rows.open(s.Path); err != nil {
		return listing{}, err
	}
	defer func() { _ = rows.db.Close() }()
	r := &reading{walking: w, Rows: &s.Rows, database: rows, scheme: "sqlite", visit: visit}
	return r.walk(ctx)
}

// sqliteRows reads rows of an SQLite database.
type sqliteRows struct {
	*Rows

	fetch   *fetcher
	db      *sqlite3.Conn
	columns []string // of the query; nil until it was described
	idType  string   // integer or text
	// updatedType is the type of the greatest value of the updated column; empty until it is asked for.
	updatedType string
}

// open opens the file of a database, which is not written. The file is no symbolic link and below none, so that it is
// where its path says.
func (s *sqliteRows) open(path string) error {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		return fault.New(fault.Precondition, "the file sqlite.path is not a regular file")
	}
	if err != nil {
		return fault.Wrap(fault.Precondition, err, "the file sqlite.path cannot be opened: %s", plainly(err))
	}
	s.db, err = sqlite3.OpenFlags(path, sqlite3.OPEN_READONLY|sqlite3.OPEN_NOFOLLOW)
	if err == nil {
		err = s.restrict()
	}
	if err != nil {
		if s.db != nil {
			_ = s.db.Close()
		}
		return refusedFile(err)
	}
	return nil
}

// restrict lets the connection read tables, and nothing else: neither other files nor settings.
func (s *sqliteRows) restrict() error {
	s.db.Limit(sqlite3.LIMIT_ATTACHED, 0)
	s.db.Limit(sqlite3.LIMIT_LENGTH, 2*maxMessageBytes)
	s.db.HardHeapLimit(maxSQLiteHeap)
	for option, on := range map[sqlite3.DBConfig]bool{sqlite3.DBCONFIG_DEFENSIVE: true, sqlite3.DBCONFIG_TRUSTED_SCHEMA: false} {
		if _, err := s.db.Config(option, on); err != nil {
			return err
		}
	}
	if err := s.db.BusyTimeout(sqliteWait); err != nil {
		return err
	}
	return s.db.SetAuthorizer(func(action sqlite3.AuthorizerActionCode, _, _, _, _ string) sqlite3.AuthorizerReturnCode {
		switch action {
		case sqlite3.AUTH_SELECT, sqlite3.AUTH_READ, sqlite3.AUTH_FUNCTION, sqlite3.AUTH_RECURSIVE:
			return sqlite3.AUTH_OK
		}
		return sqlite3.AUTH_DENY
	})
}

// from returns the query as a table q. A line ends it, which may be a comment.
func (s *sqliteRows) from() string { return " FROM (\n" + s.Query + "\n) AS q" }

func sqliteName(name string) string { return `q."` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// describe finds out the columns of the query, and checks that it has those that are named.
func (s *sqliteRows) describe(ctx context.Context) error {
	if s.columns != nil {
		return nil
	}
	var columns []string
	err := s.query(ctx, `SELECT *`+s.from()+` LIMIT 0`, nil, func(statement *sqlite3.Stmt) {
		for i := range statement.ColumnCount() {
			columns = append(columns, statement.ColumnName(i))
		}
	}, nil)
	if err != nil {
		return err
	}
	for _, name := range []string{s.IDColumn, s.UpdatedColumn, s.TextColumn, s.TitleColumn} {
		if name != "" && !slices.ContainsFunc(columns, func(column string) bool { return strings.EqualFold(column, name) }) {
			return noColumn(name)
		}
	}
	first, last, err := s.types(ctx, s.IDColumn)
	if err != nil {
		return err
	}
	if first != last || first != "integer" && first != "text" && first != "null" {
		return fault.New(fault.Precondition, "the ids must be integers or texts, all of one type, but some are of the type %s and some of the type %s: change them with CAST in the query", first, last)
	}
	s.columns, s.idType = columns, first
	return nil
}

// types returns the types of the least and the greatest value of a column; integers are less than texts.
func (s *sqliteRows) types(ctx context.Context, column string) (first, last string, err error) {
	value := sqliteName(column)
	err = s.query(ctx, `SELECT typeof(MIN(`+value+`)), typeof(MAX(`+value+`))`+s.from(), nil, nil, func(row *sqlite3.Stmt) error {
		first, last = row.ColumnText(0), row.ColumnText(1)
		return nil
	})
	return first, last, err
}

// newest implements database.
func (s *sqliteRows) newest(ctx context.Context) (newest string, err error) {
	if err := s.describe(ctx); err != nil {
		return "", err
	}
	err = s.query(ctx, `SELECT COALESCE(CAST(MAX(`+sqliteName(s.UpdatedColumn)+`) AS TEXT), '')`+s.from(), nil, nil, func(row *sqlite3.Stmt) error {
		newest = row.ColumnText(0)
		return nil
	})
	for _, layout := range sqliteTimes {
		if at, wrong := time.Parse(layout, newest); wrong == nil {
			return at.Add(-cursorOverlap).Format(layout), err
		}
	}
	return newest, err
}

// sqliteTimes are the forms in which times are stored as texts.
var sqliteTimes = []string{time.DateTime, "2006-01-02 15:04:05.000", "2006-01-02T15:04:05", time.RFC3339, "2006-01-02T15:04:05.000Z07:00"}

// page implements database.
func (s *sqliteRows) page(ctx context.Context, after, since *string) (page []listedRow, err error) {
	if err := s.describe(ctx); err != nil {
		return nil, err
	}
	key, updated := sqliteName(s.IDColumn), sqliteName(s.UpdatedColumn)
	statement := `SELECT CAST(` + key + ` AS TEXT), COALESCE(CAST(` + updated + ` AS TEXT), ''), COALESCE(octet_length(` + sqliteName(s.TextColumn) + `), 0)` + s.from() + ` WHERE ` + key + ` IS NOT NULL`
	var args []any
	if after != nil {
		statement, args = statement+` AND `+key+` > ?`, append(args, typedValue(s.idType, *after))
	}
	if since != nil {
		if s.updatedType == "" { // found out once for all pages
			if _, s.updatedType, err = s.types(ctx, s.UpdatedColumn); err != nil {
				return nil, err
			}
		}
		statement, args = statement+` AND `+updated+` >= ?`, append(args, typedValue(s.updatedType, *since))
	}
	statement += ` ORDER BY ` + key + ` LIMIT ` + strconv.Itoa(rowsPerPage)
	err = s.query(ctx, statement, args, nil, func(row *sqlite3.Stmt) error {
		listed := listedRow{ID: row.ColumnText(0), Updated: row.ColumnText(1), Size: row.ColumnInt64(2)}
		if len(listed.ID)+len(listed.Updated) > maxListedBytes {
			return fault.New(fault.Precondition, "the database has a row whose id and updated column have more than %d bytes", maxListedBytes)
		}
		page = append(page, listed)
		return s.fetch.countBytes(int64(len(listed.ID) + len(listed.Updated)))
	})
	return page, err
}

// typedValue returns a value that was read as a text as one of its type, since values of other types are never equal.
func typedValue(kind, text string) any {
	switch kind {
	case "integer":
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
	case "real":
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			return n
		}
	}
	return text
}

// read implements database.
func (s *sqliteRows) read(ctx context.Context, listed []listedRow, each func(readRow) error) error {
	if err := s.describe(ctx); err != nil {
		return err
	}
	title := `''`
	if s.TitleColumn != "" {
		title = `substr(COALESCE(CAST(` + sqliteName(s.TitleColumn) + ` AS TEXT), ''), 1, ` + strconv.Itoa(maxReasonBytes) + `)`
	}
	var others, sizes, values []string
	for _, name := range s.columns {
		if !strings.EqualFold(name, s.TextColumn) {
			others = append(others, name)
			sizes = append(sizes, `COALESCE(octet_length(`+sqliteName(name)+`), 0)`)
		}
	}
	fits := `(` + strings.Join(sizes, " + ") + `) <= ` + strconv.Itoa(maxColumnsBytes)
	for _, name := range others {
		values = append(values, `CASE WHEN `+fits+` THEN `+sqliteName(name)+` END`)
	}
	key, text := sqliteName(s.IDColumn), sqliteName(s.TextColumn)
	statement := `SELECT CAST(` + key + ` AS TEXT), CASE WHEN octet_length(` + text + `) <= ` + strconv.Itoa(maxItemBytes) + ` THEN CAST(` + text + ` AS TEXT) ELSE '' END, ` + title + `, ` + fits + `, ` +
		strings.Join(values, ", ") + s.from() + ` WHERE ` + key + ` IN (` + strings.TrimSuffix(strings.Repeat("?, ", len(listed)), ", ") + `)`
	args := make([]any, len(listed))
	for i, row := range listed {
		args[i] = typedValue(s.idType, row.ID)
	}
	return s.query(ctx, statement, args, nil, func(stored *sqlite3.Stmt) error {
		row := readRow{ID: stored.ColumnText(0), Text: strings.ToValidUTF8(stored.ColumnText(1), "\uFFFD"), Title: strings.ToValidUTF8(stored.ColumnText(2), "\uFFFD")}
		if stored.ColumnBool(3) {
			attributes := make(map[string]any, len(others))
			for i, name := range others {
				attributes[name] = s.attribute(stored, 4+i, name)
			}
			var err error
			if row.Columns, err = columnsJSON(attributes); err != nil {
				return err
			}
		}
		return each(row)
	})
}

// attribute returns the value of a column as it becomes JSON. What is no text and no number is left out.
func (s *sqliteRows) attribute(row *sqlite3.Stmt, at int, name string) any {
	switch row.ColumnType(at) {
	case sqlite3.INTEGER:
		return row.ColumnInt64(at)
	case sqlite3.FLOAT:
		return json.RawMessage(row.ColumnText(at))
	case sqlite3.TEXT:
		text := row.ColumnText(at)
		if !utf8.ValidString(text) {
			return nil
		}
		if strings.EqualFold(name, s.UpdatedColumn) {
			if _, err := time.Parse("2006-01-02 15:04:05.999999999", text); err == nil {
				return strings.Replace(text, " ", "T", 1)
			}
		}
		return text
	}
	return nil
}

// query runs a statement, and calls each with its rows. described is called before, unless it is nil.
func (s *sqliteRows) query(ctx context.Context, text string, args []any, described func(*sqlite3.Stmt), each func(*sqlite3.Stmt) error) error {
	if err := s.fetch.countRequest(); err != nil {
		return err
	}
	limited, cancel := context.WithTimeoutCause(ctx, maxStatementTime, &fetchError{"the database takes too long"})
	defer cancel()
	s.db.SetInterrupt(limited)
	err := s.run(text, args, described, each)
	var known *fault.Error
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case limited.Err() != nil:
		return about("the database", context.Cause(limited))
	case errors.As(err, &known):
		return err
	}
	return refusedFile(err)
}

func (s *sqliteRows) run(text string, args []any, described func(*sqlite3.Stmt), each func(*sqlite3.Stmt) error) error {
	statement, rest, err := s.db.Prepare(text)
	if err != nil {
		return err
	}
	defer func() { _ = statement.Close() }()
	if strings.TrimSpace(rest) != "" {
		return fault.New(fault.Precondition, "the query must be one SELECT, without a semicolon at its end")
	}
	for i, arg := range args {
		switch arg := arg.(type) {
		case int64:
			err = statement.BindInt64(i+1, arg)
		case float64:
			err = statement.BindFloat(i+1, arg)
		case string:
			err = statement.BindText(i+1, arg)
		}
		if err != nil {
			return err
		}
	}
	if described != nil {
		described(statement)
	}
	for statement.Step() {
		if err := each(statement); err != nil {
			return err
		}
	}
	return statement.Err()
}

// refusedFile returns why the database cannot be read, in public words.
func refusedFile(err error) error {
	var code sqlite3.ErrorCode
	errors.As(err, &code)
	switch code {
	case sqlite3.NOTADB, sqlite3.CORRUPT:
		return fault.Wrap(fault.Precondition, err, "the file sqlite.path is no SQLite database, or a damaged one")
	case sqlite3.CANTOPEN:
		return fault.Wrap(fault.Precondition, err, "the file sqlite.path cannot be opened: it may be below a symbolic link, or, with a write-ahead log, in a folder that the service may not write")
	case sqlite3.BUSY:
		return fault.Wrap(fault.Unavailable, err, "the database is locked by another program: run the connector again")
	case sqlite3.NOMEM, sqlite3.TOOBIG:
		return fault.Wrap(fault.Precondition, err, "the query needs too much memory: it may have %d MiB", maxSQLiteHeap>>20)
	case sqlite3.AUTH:
		return fault.Wrap(fault.Precondition, err, "the query may read the tables of the database alone")
	}
	return refusedBy(strings.TrimPrefix(err.Error(), "sqlite3: "), "", "error "+strconv.Itoa(int(code)))
}

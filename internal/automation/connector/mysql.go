package connector

import (
	"cmp"
	"context"
	"crypto/tls"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-sql-driver/mysql"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/secure/outbound"
	"github.com/ragdhq/ragd/internal/secure/secret"
)

const (
	defaultMySQLPort = "3306"
	// maxAnswerBytes bounds what a MySQL server sends for a statement: its protocol has no limit for a row.
	maxAnswerBytes = 64 << 20
)

// MySQL is the rows of a query of a MySQL or MariaDB database.
type MySQL struct {
	Secret string `json:"secret"` // name of the secret with the address of the database
	Rows
}

// complete implements kind.
func (m *MySQL) complete(*outbound.Guard) error {
	if err := secret.CheckName("mysql.secretName", m.Secret); err != nil {
		return err
	}
	return m.Rows.complete("mysql")
}

// mysqlConfig returns the settings of connections to an address, whose server may send as many bytes as are left. Errors:
// Precondition for an address that cannot be used.
func mysqlConfig(guard *outbound.Guard, address *url.URL, left *allowance) (*mysql.Config, error) {
	host, name := address.Hostname(), strings.TrimPrefix(address.Path, "/")
	if address.Scheme != "mysql" && address.Scheme != "mariadb" || host == "" || strings.ContainsAny(host, "/,@") || name == "" || address.User.Username() == "" {
		return nil, fault.New(fault.Precondition, "the secret must have an address such as mysql://user:password@db.example.com:3306/name")
	}
	if err := guard.CheckURL("the address in the secret", (&url.URL{Scheme: "https", Host: address.Host}).String()); err != nil {
		return nil, err
	}
	for parameter := range address.Query() {
		if parameter != "sslmode" {
			return nil, fault.New(fault.Precondition, "the address in the secret may have the parameter sslmode alone")
		}
	}
	config := mysql.NewConfig()
	switch cmp.Or(address.Query().Get("sslmode"), "verify-full") {
	case "verify-full":
		config.TLS = &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	case "require":
		config.TLS = &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12, InsecureSkipVerify: true} //nolint:gosec // G402: the address asks for it
	case "disable":
	default:
		return nil, fault.New(fault.Precondition, "sslmode in the address in the secret must be verify-full, require or disable")
	}
	config.User, config.Net, config.DBName = address.User.Username(), "tcp", name
	config.Passwd, _ = address.User.Password()
	config.Addr = net.JoinHostPort(host, cmp.Or(address.Port(), defaultMySQLPort))
	config.Timeout, config.Logger = requestTimeout, &mysql.NopLogger{}
	config.ConnectionAttributes = "program_name:" + UserAgent
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := guard.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &metered{conn, left}, nil
	}
	return config, nil
}

// mysqlRows reads rows of a MySQL database over one connection.
type mysqlRows struct {
	*Rows

	fetch    *fetcher
	db       *sql.DB
	password string
	left     *allowance
	columns  []mysqlColumn // of the query; nil until it was described
}

// mysqlColumn is a column of the query.
type mysqlColumn struct {
	name string
	kind string // such as BIGINT, UNSIGNED INT and VARCHAR
}

// isInteger reports whether the values are integers.
func (c mysqlColumn) isInteger() bool { return strings.HasSuffix(c.kind, "INT") || c.kind == "YEAR" }

// isTime reports whether the values are dates with a time.
func (c mysqlColumn) isTime() bool { return c.kind == "DATETIME" || c.kind == "TIMESTAMP" }

// allowance is how many bytes the server may still send for a statement.
type allowance struct{ bytes int }

// metered is a connection whose server may send no more than its allowance.
type metered struct {
	net.Conn

	left *allowance
}

var errLongAnswer = fault.New(fault.Precondition, "the database sent more than %d bytes for a statement", maxAnswerBytes)

// Read implements net.Conn.
func (m *metered) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	if m.left.bytes -= n; m.left.bytes < 0 {
		return n, errLongAnswer
	}
	return n, err
}

// walk implements kind.
func (m *MySQL) walk(ctx context.Context, w walking, visit func(Item) error) (listing, error) {
	address, err := w.address(ctx, m.Secret)
	if err != nil {
		return listing{}, err
	}
	left := &allowance{}
	config, err := mysqlConfig(w.guard, address, left)
	if err != nil {
		return listing{}, err
	}
	rows := &mysqlRows{Rows: &m.Rows, fetch: w.fetch, password: config.Passwd, left: left}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return listing{}, fault.Wrap(fault.Precondition, err, "the address in the secret cannot be used")
	}
	rows.db = sql.OpenDB(connector)
	defer func() { _ = rows.db.Close() }()
	rows.db.SetMaxOpenConns(1)
	r := &reading{walking: w, Rows: &m.Rows, database: rows, scheme: "mysql", visit: visit}
	return r.walk(ctx)
}

// from returns the query as a table q. A line ends it, which may be a comment.
func (m *mysqlRows) from() string { return " FROM (\n" + m.Query + "\n) AS q" }

func mysqlName(name string) string { return "q.`" + strings.ReplaceAll(name, "`", "``") + "`" }

// describe finds out the columns of the query, and returns that with a name.
func (m *mysqlRows) describe(ctx context.Context, name string) (mysqlColumn, error) {
	if m.columns == nil {
		err := m.query(ctx, `SELECT q.*`+m.from()+` LIMIT 0`, nil, nil, func(types []*sql.ColumnType) {
			for _, t := range types {
				m.columns = append(m.columns, mysqlColumn{t.Name(), t.DatabaseTypeName()})
			}
		})
		if err != nil {
			return mysqlColumn{}, err
		}
	}
	for _, c := range m.columns {
		if strings.EqualFold(c.name, name) {
			return c, nil
		}
	}
	return mysqlColumn{}, noColumn(name)
}

// argument returns a value of a column as an argument. An integer that is compared as a text may lose digits.
func (c mysqlColumn) argument(text string) any {
	if c.isInteger() {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
		if n, err := strconv.ParseUint(text, 10, 64); err == nil {
			return n
		}
	}
	return text
}

// newest implements database.
func (m *mysqlRows) newest(ctx context.Context) (newest string, err error) {
	updated, err := m.describe(ctx, m.UpdatedColumn)
	if err != nil {
		return "", err
	}
	value := `MAX(` + mysqlName(m.UpdatedColumn) + `)`
	if updated.isTime() {
		value += ` - INTERVAL ` + strconv.FormatFloat(cursorOverlap.Seconds(), 'f', 0, 64) + ` SECOND`
	}
	err = m.query(ctx, `SELECT COALESCE(CAST(`+value+` AS CHAR), '')`+m.from(), nil, func(rows *sql.Rows) error { return rows.Scan(&newest) }, nil)
	return newest, err
}

// page implements database.
func (m *mysqlRows) page(ctx context.Context, after, since *string) (page []listedRow, err error) {
	id, err := m.describe(ctx, m.IDColumn)
	if err != nil {
		return nil, err
	}
	updated, err := m.describe(ctx, m.UpdatedColumn)
	if err != nil {
		return nil, err
	}
	key := mysqlName(m.IDColumn)
	statement := `SELECT CAST(` + key + ` AS CHAR), COALESCE(CAST(` + mysqlName(m.UpdatedColumn) + ` AS CHAR), ''), COALESCE(LENGTH(` + mysqlName(m.TextColumn) + `), 0)` + m.from() + ` WHERE ` + key + ` IS NOT NULL`
	var args []any
	if after != nil {
		statement, args = statement+` AND `+key+` > ?`, append(args, id.argument(*after))
	}
	if since != nil {
		statement, args = statement+` AND `+mysqlName(m.UpdatedColumn)+` >= ?`, append(args, updated.argument(*since))
	}
	statement += ` ORDER BY ` + key + ` LIMIT ` + strconv.Itoa(rowsPerPage)
	err = m.query(ctx, statement, args, func(rows *sql.Rows) error {
		var row listedRow
		if err := rows.Scan(&row.ID, &row.Updated, &row.Size); err != nil {
			return err
		}
		if len(page) == rowsPerPage {
			return errors.New("more rows than were asked for")
		}
		if len(row.ID)+len(row.Updated) > maxListedBytes {
			return fault.New(fault.Precondition, "the database sent a row of more than %d bytes", maxListedBytes)
		}
		page = append(page, row)
		return m.fetch.countBytes(int64(len(row.ID) + len(row.Updated)))
	}, nil)
	return page, err
}

// read implements database.
func (m *mysqlRows) read(ctx context.Context, listed []listedRow, each func(readRow) error) error {
	id, err := m.describe(ctx, m.IDColumn)
	if err != nil {
		return err
	}
	title := `''`
	if m.TitleColumn != "" {
		title = `LEFT(COALESCE(CAST(` + mysqlName(m.TitleColumn) + ` AS CHAR), ''), ` + strconv.Itoa(maxReasonBytes) + `)`
	}
	var others []mysqlColumn
	var sizes, values []string
	for _, c := range m.columns {
		if strings.EqualFold(c.name, m.TextColumn) {
			continue
		}
		others = append(others, c)
		sizes = append(sizes, `COALESCE(LENGTH(`+mysqlName(c.name)+`), 0)`)
	}
	fits := `(` + strings.Join(sizes, " + ") + `) <= ` + strconv.Itoa(maxColumnsBytes)
	for _, c := range others {
		values = append(values, `IF(`+fits+`, `+mysqlName(c.name)+`, NULL)`)
	}
	text := mysqlName(m.TextColumn)
	statement := `SELECT CAST(` + mysqlName(m.IDColumn) + ` AS CHAR), COALESCE(IF(LENGTH(` + text + `) <= ` + strconv.Itoa(maxItemBytes) + `, CAST(` + text + ` AS CHAR), ''), ''), ` + title + `, ` + fits + `, ` +
		strings.Join(values, ", ") + m.from() + ` WHERE ` + mysqlName(m.IDColumn) + ` IN (` + strings.TrimSuffix(strings.Repeat("?, ", len(listed)), ", ") + `)`
	args := make([]any, len(listed))
	for i, row := range listed {
		args[i] = id.argument(row.ID)
	}
	return m.query(ctx, statement, args, func(rows *sql.Rows) error {
		var row readRow
		var small bool
		raw := make([]sql.RawBytes, len(others))
		into := []any{&row.ID, &row.Text, &row.Title, &small}
		for i := range raw {
			into = append(into, &raw[i])
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if small {
			attributes := make(map[string]any, len(others))
			for i, c := range others {
				attributes[c.name] = c.json(raw[i])
			}
			var err error
			if row.Columns, err = columnsJSON(attributes); err != nil {
				return err
			}
		}
		return each(row)
	}, nil)
}

// json returns a value of the column as it becomes JSON. What is no text is left out.
func (c mysqlColumn) json(raw sql.RawBytes) any {
	text := string(raw)
	switch {
	case raw == nil || !utf8.ValidString(text):
		return nil
	case c.isTime():
		return strings.Replace(text, " ", "T", 1)
	case c.kind == "JSON" && json.Valid(raw), json.Valid(raw) && (c.isInteger() || slices.Contains([]string{"DECIMAL", "FLOAT", "DOUBLE"}, c.kind)):
		return json.RawMessage(text)
	}
	return text
}

// query runs a statement in a transaction of its own that writes nothing. described is called with the columns, unless it
// is nil.
func (m *mysqlRows) query(ctx context.Context, statement string, args []any, each func(*sql.Rows) error, described func([]*sql.ColumnType)) error {
	if err := m.fetch.countRequest(); err != nil {
		return err
	}
	limited, cancel := context.WithTimeoutCause(ctx, maxStatementTime+requestTimeout, &fetchError{"the database takes too long"})
	defer cancel()
	m.left.bytes = maxAnswerBytes
	err := m.readOnly(limited, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(limited, statement, args...)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		if described != nil {
			types, err := rows.ColumnTypes()
			if err != nil {
				return err
			}
			described(types)
		}
		for rows.Next() {
			if err := each(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	if err == nil {
		return nil
	}
	return m.failure(ctx, limited, err)
}

// readOnly calls do with a transaction that writes nothing, and in which a statement takes no longer than
// maxStatementTime.
func (m *mysqlRows) readOnly(ctx context.Context, do func(*sql.Tx) error) error {
	conn, err := m.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.ExecContext(ctx, `SET time_zone = '+00:00'`); err != nil {
		return err
	}
	const unknownVariable = 1193
	_, err = conn.ExecContext(ctx, fmt.Sprintf(`SET max_statement_time = %d`, int(maxStatementTime.Seconds()))) // of MariaDB
	var answered *mysql.MySQLError
	if errors.As(err, &answered) && answered.Number == unknownVariable {
		_, err = conn.ExecContext(ctx, fmt.Sprintf(`SET max_execution_time = %d`, maxStatementTime.Milliseconds())) // of MySQL
	}
	if err != nil {
		return err
	}
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	return do(tx)
}

// failure returns why the database could not be read, in public words.
func (m *mysqlRows) failure(ctx, limited context.Context, err error) error {
	var answered *mysql.MySQLError
	var known *fault.Error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case limited.Err() != nil:
		return about("the database", context.Cause(limited))
	case m.left.bytes < 0: // the driver does not pass it on
		return errLongAnswer
	case errors.As(err, &answered):
		return refusedBy(answered.Message, m.password, "error "+strconv.Itoa(int(answered.Number)))
	case errors.As(err, &known):
		return known
	}
	return about("the database", m.fetch.failure(ctx, err))
}

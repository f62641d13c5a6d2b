package connector

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/secure/outbound"
	"github.com/ragdhq/ragd/internal/secure/secret"
)

// Postgres is the rows of a query of a PostgreSQL database.
type Postgres struct {
	Secret string `json:"secret"` // name of the secret with the address of the database
	Rows
	Replication *Replication `json:"replication,omitempty"` // nil: runs ask for changes
}

// complete implements kind.
func (p *Postgres) complete(*outbound.Guard) error {
	if err := secret.CheckName("postgres.secretName", p.Secret); err != nil {
		return err
	}
	if p.Replication != nil {
		if err := p.Replication.complete(); err != nil {
			return err
		}
		if p.RelistHours != 0 {
			return fault.Field("postgres.relistHours", "cannot be given with postgres.replication: changes are followed, and each run lists all rows")
		}
	}
	return p.Rows.complete("postgres")
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

// postgresRows reads rows of a PostgreSQL database over one connection, which is opened when it is needed.
type postgresRows struct {
	*Rows

	fetch  *fetcher
	config *pgx.ConnConfig
	conn   *pgx.Conn
}

// walk implements kind.
func (p *Postgres) walk(ctx context.Context, w walking, visit func(Item) error) (listing, error) {
	rows, err := p.open(ctx, w)
	if err != nil {
		return listing{}, err
	}
	defer rows.close(ctx)
	r := p.reading(w, rows, visit)
	if p.Replication == nil {
		return r.walk(ctx)
	}
	if err := (slotReader{rows, p.Replication}).attach(ctx, r); err != nil {
		return listing{}, err
	}
	found, err := r.walk(ctx)
	found.state.Follow = true
	return found, err
}

// open returns what reads the database, once it is asked.
func (p *Postgres) open(ctx context.Context, w walking) (*postgresRows, error) {
	address, err := w.address(ctx, p.Secret)
	if err != nil {
		return nil, err
	}
	config, err := connection(w.guard, address)
	return &postgresRows{Rows: &p.Rows, fetch: w.fetch, config: config}, err
}

// reading returns a walk of the rows.
func (p *Postgres) reading(w walking, rows *postgresRows, visit func(Item) error) *reading {
	return &reading{walking: w, Rows: &p.Rows, database: rows, scheme: "postgres", visit: visit}
}

func (p *postgresRows) close(ctx context.Context) {
	if p.conn != nil {
		_ = p.conn.Close(context.WithoutCancel(ctx))
		p.conn = nil
	}
}

// from returns the query as a table q. A line ends it, which may be a comment.
func (p *postgresRows) from() string { return " FROM (\n" + p.Query + "\n) AS q" }

func column(name string) string { return "q." + pgx.Identifier{name}.Sanitize() }

// newest implements database.
func (p *postgresRows) newest(ctx context.Context) (newest string, err error) {
	updated := column(p.UpdatedColumn)
	var isTime bool
	err = p.query(ctx, maxListedBytes, `SELECT `+updated+p.from()+` LIMIT 0`, nil, func(pgx.Rows) error { return nil }, func(columns []pgconn.FieldDescription) {
		isTime = len(columns) == 1 && (columns[0].DataTypeOID == pgtype.TimestamptzOID || columns[0].DataTypeOID == pgtype.TimestampOID)
	})
	if err != nil {
		return "", err
	}
	value := `max(` + updated + `)`
	if isTime {
		value = `(` + value + ` - interval '` + strconv.FormatFloat(cursorOverlap.Seconds(), 'f', 0, 64) + ` seconds')`
	}
	err = p.query(ctx, maxListedBytes, `SELECT coalesce(`+value+`::text, '')`+p.from(), nil, func(rows pgx.Rows) error { return rows.Scan(&newest) }, nil)
	return newest, err
}

// listed returns the beginning of a statement that lists rows.
func (p *postgresRows) listed() string {
	return `SELECT ` + column(p.IDColumn) + `::text, coalesce(` + column(p.UpdatedColumn) + `::text, ''), coalesce(octet_length(` + column(p.TextColumn) + `::text), 0)::bigint` + p.from()
}

// page implements database.
func (p *postgresRows) page(ctx context.Context, after, since *string) (page []listedRow, err error) {
	key := column(p.IDColumn)
	statement := p.listed() + ` WHERE ` + key + ` IS NOT NULL`
	var args []any
	if after != nil {
		args = append(args, *after)
		statement += ` AND ` + key + ` > $1`
	}
	if since != nil {
		args = append(args, *since)
		statement += ` AND ` + column(p.UpdatedColumn) + ` >= $` + strconv.Itoa(len(args))
	}
	statement += ` ORDER BY ` + key + ` LIMIT ` + strconv.Itoa(rowsPerPage)
	err = p.query(ctx, maxListedBytes, statement, args, func(rows pgx.Rows) error {
		var row listedRow
		if err := rows.Scan(&row.ID, &row.Updated, &row.Size); err != nil {
			return err
		}
		if len(page) == rowsPerPage {
			return errors.New("more rows than were asked for")
		}
		page = append(page, row)
		return p.fetch.countBytes(int64(len(row.ID) + len(row.Updated)))
	}, nil)
	return page, err
}

// read implements database.
func (p *postgresRows) read(ctx context.Context, listed []listedRow, each func(readRow) error) error {
	title := `''`
	if p.TitleColumn != "" {
		title = `left(coalesce(` + column(p.TitleColumn) + `::text, ''), ` + strconv.Itoa(maxReasonBytes) + `)`
	}
	text := column(p.TextColumn) + `::text`
	most, others := strconv.Itoa(maxItemBytes), `(to_jsonb(q) - $2::text)::text`
	statement := `SELECT ` + column(p.IDColumn) + `::text, CASE WHEN octet_length(` + text + `) <= ` + most + ` THEN ` + text + ` ELSE '' END, ` + title + `,
		CASE WHEN octet_length(` + others + `) <= ` + strconv.Itoa(maxColumnsBytes) + ` THEN ` + others + ` ELSE '' END` + p.from() + ` WHERE ` + column(p.IDColumn) + ` = ANY($1)`
	return p.query(ctx, maxMessageBytes, statement, []any{arrayOf(listed), p.TextColumn}, func(rows pgx.Rows) error {
		var row readRow
		if err := rows.Scan(&row.ID, &row.Text, &row.Title, &row.Columns); err != nil {
			return err
		}
		return each(row)
	}, nil)
}

// query runs a statement in a transaction of its own that writes nothing. maxMessage bounds the bytes of a row. described
// is called with the columns, unless it is nil.
func (p *postgresRows) query(ctx context.Context, maxMessage int, statement string, args []any, each func(pgx.Rows) error, described func([]pgconn.FieldDescription)) error {
	if err := p.fetch.countRequest(); err != nil {
		return err
	}
	limited, cancel := context.WithTimeoutCause(ctx, maxStatementTime+requestTimeout, &fetchError{"the database takes too long"})
	defer cancel()
	if err := p.connect(limited); err != nil {
		return p.failure(ctx, limited, err)
	}
	p.conn.PgConn().Frontend().SetMaxBodyLen(maxMessage)
	err := pgx.BeginTxFunc(limited, p.conn, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(limited, `SET LOCAL statement_timeout = `+strconv.FormatInt(maxStatementTime.Milliseconds(), 10)); err != nil {
			return err
		}
		rows, err := tx.Query(limited, statement, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		if described != nil {
			described(rows.FieldDescriptions())
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
	p.close(ctx)
	return p.failure(ctx, limited, err)
}

// connect opens the connection unless it is open. The database may have closed it since the last statement, while items
// waited to be stored.
func (p *postgresRows) connect(ctx context.Context) (err error) {
	if p.conn != nil && p.conn.Ping(ctx) == nil {
		return nil
	}
	p.close(ctx)
	p.conn, err = pgx.ConnectConfig(ctx, p.config)
	return err
}

// failure returns why the database could not be read, in public words.
func (p *postgresRows) failure(ctx, limited context.Context, err error) error {
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
		return refusedBy(answered.Message, p.config.Password, "SQLSTATE "+textlimit.OneLine(answered.Code, len("00000")))
	case errors.As(err, &known):
		return known
	}
	return about("the database", p.fetch.failure(ctx, err))
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

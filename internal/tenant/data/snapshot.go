package data

import (
	"context"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
)

// Snapshot is a view of a tenant's rows at one moment. Each of its transactions sees the rows
// of that moment and takes its own locks, so that reading many tables never locks many at a time.
// PostgreSQL cannot remove dead rows of any table while a snapshot is open.
type Snapshot struct {
	handle *Handle
	id     string // of PostgreSQL
}

// Snapshot runs do with a snapshot of the present rows. It takes a connection until do returns,
// and each transaction takes another; they do not count towards the tenant's limit.
func (h *Handle) Snapshot(ctx context.Context, do func(s *Snapshot) error) error {
	h, err := h.at(ctx)
	if err != nil {
		return err
	}
	tx, err := h.site.Pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return postgres.Fault(err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	s := &Snapshot{handle: h}
	if err := tx.QueryRow(ctx, `SELECT pg_export_snapshot()`).Scan(&s.id); err != nil {
		return postgres.Fault(err)
	}
	return do(s)
}

// Tx runs do in a transaction as the tenant that only reads and sees the rows of the snapshot.
// Errors: Unavailable when the connection of the snapshot was lost.
func (s *Snapshot) Tx(ctx context.Context, do func(tx *Tx) error) error {
	return s.handle.translate(ctx, s.transact(ctx, do))
}

// transact is Tx without the translation of errors.
func (s *Snapshot) transact(ctx context.Context, do func(tx *Tx) error) error {
	h := s.handle
	tx, err := h.beginWith(ctx, h.site.Pool, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET TRANSACTION SNAPSHOT '"+s.id+"'")
	if code := postgres.Code(err); code == invalidParameterValue && !strings.Contains(err.Error(), h.id.Schema()) || code == postgres.CodeUndefinedObject {
		return fault.Wrap(fault.Unavailable, err, "the database has dropped the snapshot that was being read: try again")
	}
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	h.use(tx.Conn())
	return do(&Tx{handle: h, tx: tx})
}

// CopyOut writes the rows of a query in PostgreSQL's binary format of COPY.
func (t *Tx) CopyOut(ctx context.Context, to io.Writer, query string) error {
	_, err := t.tx.Conn().PgConn().CopyTo(ctx, to, `COPY (`+t.handle.SQL(query)+`) TO STDOUT (FORMAT binary)`)
	return err
}

// CopyOutControl writes the rows of the transaction's tenant in a table of the control schema, in the
// binary format of COPY. The name of the table has its schema; order may be empty.
func (t *Tx) CopyOutControl(ctx context.Context, to io.Writer, table string, columns []string, order string) error {
	query := `SELECT ` + quoteAll(columns) + ` FROM ` + table + ` WHERE tenant_id = '` + string(t.handle.id) + `'` // an ID has no quotes
	if order != "" {
		query += ` ORDER BY ` + order
	}
	query = `COPY (` + query + `) TO STDOUT (FORMAT binary)`
	if t.handle.site != t.handle.first { // the rows are in the first database
		conn, err := t.handle.first.Pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		_, err = conn.Conn().PgConn().CopyTo(ctx, to, query)
		return err
	}
	return t.AsService(ctx, func(tx pgx.Tx) error {
		_, err := tx.Conn().PgConn().CopyTo(ctx, to, query)
		return err
	})
}

// CopyIn loads rows in the binary format of COPY into a table of the tenant's own, which is
// given by its stand-in name, such as tenant.documents.
func (t *Tx) CopyIn(ctx context.Context, table string, columns []string, from io.Reader) error {
	_, err := t.tx.Conn().PgConn().CopyFrom(ctx, from, `COPY `+t.handle.SQL(table)+` (`+quoteAll(columns)+`) FROM STDIN (FORMAT binary)`)
	return err
}

// Insert inserts rows into a table with rows of all tenants, whose name has its schema. Values are in
// the binary format of their columns, nil for null. PostgreSQL refuses to COPY into such tables.
func (t *Tx) Insert(ctx context.Context, table string, columns []string, rows [][][]byte) error {
	return insertRows(ctx, t.tx, table, columns, "", rows)
}

// InsertAsService inserts rows of the tenant into a table of the control schema. The column
// tenant_id is set here, and must not be among the columns. A row whose key exists is left out.
// It returns the number of rows that were inserted.
func (t *Tx) InsertAsService(ctx context.Context, table string, columns []string, rows [][][]byte) (inserted int64, err error) {
	withTenant := make([][][]byte, len(rows))
	for i, row := range rows {
		withTenant[i] = append([][]byte{[]byte(t.handle.id)}, row...)
	}
	err = t.AsService(ctx, func(tx pgx.Tx) error {
		var before, after int64
		count := `SELECT count(*) FROM ` + table + ` WHERE tenant_id = $1`
		if err := tx.QueryRow(ctx, count, t.handle.id).Scan(&before); err != nil {
			return err
		}
		if err := insertRows(ctx, tx, table, append([]string{"tenant_id"}, columns...), ` ON CONFLICT DO NOTHING`, withTenant); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, count, t.handle.id).Scan(&after)
		inserted = after - before
		return err
	})
	return inserted, err
}

// insertTogether is how many rows insertRows sends before it reads the results.
const insertTogether = 100

// insertRows inserts rows whose values are in the binary format of their columns.
func insertRows(ctx context.Context, tx pgx.Tx, table string, columns []string, suffix string, rows [][][]byte) error {
	if len(rows) == 0 {
		return nil
	}
	parameters, formats := make([]string, len(columns)), make([]int16, len(columns))
	for i := range columns {
		parameters[i], formats[i] = "$"+strconv.Itoa(i+1), pgx.BinaryFormatCode
	}
	conn := tx.Conn().PgConn()
	sql := `INSERT INTO ` + table + ` (` + quoteAll(columns) + `) VALUES (` + strings.Join(parameters, ", ") + `)` + suffix
	if _, err := conn.Prepare(ctx, "", sql, nil); err != nil {
		return err
	}
	for some := range slices.Chunk(rows, insertTogether) {
		batch := &pgconn.Batch{}
		for _, values := range some {
			batch.ExecPrepared("", values, formats, nil)
		}
		if _, err := conn.ExecBatch(ctx, batch).ReadAll(); err != nil {
			return err
		}
	}
	return nil
}

// quoteAll returns a list of names for a statement.
func quoteAll(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = pgx.Identifier{name}.Sanitize()
	}
	return strings.Join(quoted, ", ")
}

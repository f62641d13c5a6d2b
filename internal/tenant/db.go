package tenant

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/index/storage"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant/place/replica"
)

// DB returns handles on the data of tenants. Safe for concurrent use.
type DB struct {
	first     *Site
	placement Placement // nil while all tenants live in the first database
	storage   *storage.Guard
}

// NewDB returns a DB that uses the pool and does not close it. No tenant uses more than
// half of the pool's connections at a time. With perTenant, a tenant uses at most twice as
// many while no other does, so that the database has work while ragd reads an answer; else
// three quarters, so that a statement of another tenant finds a processor.
func NewDB(pool *pgxpool.Pool, perTenant int) *DB {
	return &DB{first: NewSite("", pool, perTenant)}
}

// WithStorage returns a DB whose handles ask the guard in Admit, and report a full disk to
// it.
func (db *DB) WithStorage(guard *storage.Guard) *DB {
	return &DB{first: db.first, placement: db.placement, storage: guard}
}

// WithPlacement returns a DB whose handles ask for the database of their tenant at each statement.
func (db *DB) WithPlacement(placement Placement) *DB {
	return &DB{first: db.first, placement: placement, storage: db.storage}
}

// Handle runs statements as one tenant. SQL is written against stand-in names,
// which the handle replaces:
//
//	tenant.documents   a table of the tenant's schema
//	tenant.chunk       the chunk table of the index that OfIndex named
//	tenant.edge        its table of edges between chunks
//	tenant.term        its table of the frequencies of terms
//	tenant.topic       its table of topics
//	tenant.member      its table of the topics of chunks
//	tenant.reembed     its table of documents that are still to be embedded with a new model
//	tenant.this_index  its id
//
// Tables of the shared schema go by their own names, such as ragd_shared.tools: a statement
// sees and writes only the tenant's rows of them, whatever its conditions.
//
// Handles are cheap to make and safe for concurrent use.
type Handle struct {
	first      *Site
	placement  Placement // nil while all tenants live in the first database
	site       *Site     // in which statements run; the first one until placed
	storage    *storage.Guard
	id         ID
	schema     string // quoted
	index      string // the number of the index; empty without one
	generation string // of its chunks; empty for the first
	absent     []absentTable
	reading    *reading // nil: the primary
}

// absentTable is a table of the index that has not been made yet, and the subquery that
// stands for it.
type absentTable struct{ name, empty string }

// Handle returns the handle of a tenant.
func (db *DB) Handle(id ID) *Handle {
	return &Handle{first: db.first, placement: db.placement, site: db.first, storage: db.storage, id: id, schema: id.quoted()}
}

// OfIndex returns a handle that also knows the tables of the index with this number and
// this generation of chunks.
func (h *Handle) OfIndex(index int64, generation int) *Handle {
	of := *h
	of.index, of.generation = strconv.FormatInt(index, 10), ""
	if generation > 0 {
		of.generation = "_" + strconv.Itoa(generation)
	}
	return &of
}

// Without returns a handle whose statements read the result of a subquery, in parentheses and
// without rows, instead of a table of the index that has not been made yet. Statements have
// to give the table an alias.
func (h *Handle) Without(table, empty string) *Handle {
	of := *h
	of.absent = append(slices.Clone(h.absent), absentTable{table, empty})
	return &of
}

// Tenant returns the tenant as which the statements run.
func (h *Handle) Tenant() ID { return h.id }

// ChunkTable returns the name of the index's chunk table, for CopyFrom.
func (h *Handle) ChunkTable() pgx.Identifier {
	return pgx.Identifier{h.id.Schema(), "chunk_" + h.index + h.generation}
}

// SQL returns the statement with its stand-in names replaced.
func (h *Handle) SQL(text string) string {
	var b strings.Builder
	b.Grow(len(text) + 10*len(h.schema))
	for {
		before, name, found := strings.Cut(text, "tenant.")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if rest, ok := strings.CutPrefix(name, "this_index"); ok && h.index != "" {
			b.WriteString(h.index)
			text = rest
			continue
		}
		if rest, ok := h.cutAbsent(&b, name); ok {
			text = rest
			continue
		}
		b.WriteString(h.schema)
		b.WriteByte('.')
		text = name
		if h.index == "" {
			continue
		}
		for _, table := range []struct{ name, generation string }{{"chunk", h.generation}, {"edge", ""}, {"term", ""}, {"topic", ""}, {"member", ""}, {"reembed", ""}} {
			if rest, ok := strings.CutPrefix(name, table.name); ok && !continuesName(rest) {
				b.WriteString(table.name + "_" + h.index + table.generation)
				text = rest
			}
		}
	}
}

// cutAbsent writes the subquery for the absent table that the text begins with, and returns
// the rest of the text; false if it begins with none.
func (h *Handle) cutAbsent(b *strings.Builder, text string) (rest string, ok bool) {
	for _, table := range h.absent {
		if rest, ok := strings.CutPrefix(text, table.name); ok && !continuesName(rest) {
			b.WriteString(table.empty)
			return rest, true
		}
	}
	return text, false
}

// continuesName reports whether the text begins with a character of an unquoted SQL name.
func continuesName(text string) bool {
	if text == "" {
		return false
	}
	c := text[0]
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// Queryer runs queries for Select, Values, Get and Value: a Handle, a Tx or a Session.
type Queryer interface {
	query(ctx context.Context, sql string, args []any, read func(pgx.Rows) error) error
}

// Rows returns a function for Batch.Query that scans the rows into out, by column name.
func Rows[T any](out *[]T) func(pgx.Rows) error { return collect(out, pgx.RowToStructByName[T]) }

// Column returns a function for Batch.Query that scans rows of one column into out.
func Column[T any](out *[]T) func(pgx.Rows) error { return collect(out, pgx.RowTo[T]) }

func collect[T any](out *[]T, scan pgx.RowToFunc[T]) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*out, err = pgx.CollectRows(rows, scan)
		return err
	}
}

// Select returns the rows of a query, scanned into T by column name.
func Select[T any](ctx context.Context, q Queryer, sql string, args ...any) (out []T, err error) {
	err = q.query(ctx, sql, args, Rows(&out))
	return out, err
}

// Values returns the single column of the rows of a query.
func Values[T any](ctx context.Context, q Queryer, sql string, args ...any) (out []T, err error) {
	err = q.query(ctx, sql, args, Column(&out))
	return out, err
}

// Get returns the first row of a query, scanned into T by column name, or
// pgx.ErrNoRows.
func Get[T any](ctx context.Context, q Queryer, sql string, args ...any) (out T, err error) {
	err = q.query(ctx, sql, args, func(rows pgx.Rows) error {
		out, err = pgx.CollectOneRow(rows, pgx.RowToStructByName[T])
		return err
	})
	return out, err
}

// Value returns the single column of the first row of a query, or pgx.ErrNoRows.
func Value[T any](ctx context.Context, q Queryer, sql string, args ...any) (out T, err error) {
	err = q.query(ctx, sql, args, func(rows pgx.Rows) error {
		out, err = pgx.CollectOneRow(rows, pgx.RowTo[T])
		return err
	})
	return out, err
}

func (h *Handle) query(ctx context.Context, sql string, args []any, read func(pgx.Rows) error) error {
	b := h.Batch()
	b.Query(read, sql, args...)
	return b.Run(ctx)
}

// Exec runs one statement and returns the number of rows it changed.
func (h *Handle) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	var n int64
	b := h.Batch()
	b.add(sql, args, func(q *pgx.QueuedQuery) {
		q.Exec(func(tag pgconn.CommandTag) error {
			n = tag.RowsAffected()
			return nil
		})
	})
	return n, b.Run(ctx)
}

// QueryAsService runs one query with the rights of the service and passes its rows to read.
// It is for views that the tenant's role may not read, such as pg_stat_activity. The query
// must not use data of tenants. Stand-in names are not replaced.
func (h *Handle) QueryAsService(ctx context.Context, read func(pgx.Rows) error, sql string, args ...any) error {
	h, err := h.at(ctx)
	if err != nil {
		return err
	}
	return h.translate(ctx, queryRows(ctx, h.site.Pool, sql, args, read))
}

// Batch is a set of statements that are sent in one round trip and run in one transaction,
// as the tenant and with the batch's settings.
type Batch struct {
	handle     *Handle
	settings   []any // names and values, alternating
	statements []statement
}

// statement is a statement of a Batch. result says what to do with its result.
type statement struct {
	sql    string
	args   []any
	result func(*pgx.QueuedQuery)
}

// Batch returns an empty batch.
func (h *Handle) Batch() *Batch {
	return &Batch{handle: h, settings: []any{"role", h.id.Schema()}}
}

// Set changes a PostgreSQL setting for the batch, before its first statement.
func (b *Batch) Set(name, value string) {
	b.settings = append(b.settings, name, value)
}

func (b *Batch) add(sql string, args []any, result func(*pgx.QueuedQuery)) {
	b.statements = append(b.statements, statement{b.handle.SQL(sql), args, result})
}

// queued returns the statements for one connection: the driver notes in them what it
// prepared there. After the checks, the first one has the settings.
func (b *Batch) queued(checks ...replica.Check) *pgx.Batch {
	queued := &pgx.Batch{QueuedQueries: make([]*pgx.QueuedQuery, 0, len(checks)+len(b.statements)+1)}
	for _, check := range checks {
		queued.Queue(check.SQL, check.Args...)
	}
	queued.Queue(settingsSQL(len(b.settings)/2), append(slices.Clip(b.settings), b.handle.id)...)
	for _, s := range b.statements {
		s.result(queued.Queue(s.sql, s.args...))
	}
	return queued
}

// settingsSQL returns a statement that changes n settings until the end of the transaction, if the
// database serves the tenant. Its parameters are their names and values, alternating, and the
// tenant.
func settingsSQL(n int) string {
	const one = "set_config($99, $99, true), "
	sql := append(make([]byte, 0, (n+1)*len(one)), "SELECT ragd.served($"...)
	sql = append(strconv.AppendInt(sql, int64(2*n+1), 10), ')')
	for i := range n {
		sql = strconv.AppendInt(append(sql, ", set_config($"...), int64(2*i+1), 10)
		sql = strconv.AppendInt(append(sql, ", $"...), int64(2*i+2), 10)
		sql = append(sql, ", true)"...)
	}
	return string(sql)
}

// servedSQL returns a statement that fails unless the database serves the tenant.
func (h *Handle) servedSQL() string {
	return "SELECT ragd.served('" + string(h.id) + "')" // an ID has no quotes
}

// Exec adds a statement.
func (b *Batch) Exec(sql string, args ...any) { b.add(sql, args, func(*pgx.QueuedQuery) {}) }

// Query adds a query. Run passes its rows to read.
func (b *Batch) Query(read func(pgx.Rows) error, sql string, args ...any) {
	b.add(sql, args, func(q *pgx.QueuedQuery) { q.Query(read) })
}

// Run sends the batch and reads its results.
func (b *Batch) Run(ctx context.Context) error {
	if len(b.statements) == 0 {
		return nil
	}
	return b.handle.placed(ctx, func(h *Handle) (bool, error) {
		if done, err := b.runAtReplica(ctx, h); done {
			return false, err
		}
		release, err := h.acquire(ctx)
		if err != nil {
			return false, err
		}
		defer release()
		return false, b.send(ctx, h)
	})
}

// send is Run in the database of a handle, without the translation of errors.
func (b *Batch) send(ctx context.Context, h *Handle) error {
	return h.withConn(ctx, func(conn *pgxpool.Conn) error {
		if h.site.distributed {
			return b.sendDistributed(ctx, conn)
		}
		return conn.SendBatch(ctx, b.queued()).Close()
	})
}

// roleAttempts is how often a tenant's role is taken on other connections before an error
// that denies it is believed.
const roleAttempts = 3

// withConn calls do with a connection that is about to use the handle's tables. If the
// server's process knows an old list of the roles that it may take, which happens while
// other tenants are created and lasts until the next one is, the connection is closed and do
// is called again, on another one: do must begin with taking the role.
func (h *Handle) withConn(ctx context.Context, do func(*pgxpool.Conn) error) error {
	for attempt := 1; ; attempt++ {
		conn, err := h.site.Pool.Acquire(ctx)
		if err != nil {
			return err
		}
		h.use(conn.Conn())
		err = do(conn)
		stale := attempt < roleAttempts && h.deniesRole(err)
		if stale {
			_ = conn.Conn().Close(ctx) // the pool opens another one
		}
		conn.Release()
		if !stale {
			return err
		}
	}
}

// deniesRole reports whether the error says that the service may not take the tenant's role.
func (h *Handle) deniesRole(err error) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && pgErr.Code == postgres.CodeInsufficientPrivilege && strings.Contains(pgErr.Message, `"`+h.id.Schema()+`"`)
}

// use notes that the connection is about to use the handle's tables.
func (h *Handle) use(conn *pgx.Conn) {
	postgres.Use(conn, h.id.Schema(), h.index)
}

// Tx is a transaction that runs as the tenant.
type Tx struct {
	handle *Handle
	tx     pgx.Tx
	wrote  *bool // set in a distributed database: see drain; nil in another
}

// Tx runs do in a transaction, which is committed if do returns nil and rolled
// back otherwise.
func (h *Handle) Tx(ctx context.Context, do func(tx *Tx) error) error {
	return h.placed(ctx, func(h *Handle) (begun bool, err error) {
		release, err := h.acquire(ctx)
		if err != nil {
			return false, err
		}
		defer release()
		return h.transact(ctx, h.site.Pool, func(tx pgx.Tx) error { return h.draining(ctx, tx, do) })
	})
}

// transact runs do in a transaction as the tenant, in the database of the handle. It reports whether the
// transaction had begun, and does not translate errors.
func (h *Handle) transact(ctx context.Context, on beginner, do func(tx pgx.Tx) error) (begun bool, err error) {
	tx, err := h.begin(ctx, on)
	if err != nil {
		return false, err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	h.use(tx.Conn())
	if err := do(tx); err != nil {
		return true, err
	}
	return true, tx.Commit(ctx)
}

// begin begins a transaction as the tenant. The driver closes a connection on which that
// fails, so another attempt gets another one; see withConn.
func (h *Handle) begin(ctx context.Context, on beginner) (tx pgx.Tx, err error) {
	return h.beginWith(ctx, on, "BEGIN")
}

// beginWith is begin with other statements that begin the transaction.
func (h *Handle) beginWith(ctx context.Context, on beginner, statements string) (tx pgx.Tx, err error) {
	begin := statements + "; " + h.servedSQL() + "; " + h.takeRoleSQL()
	for range roleAttempts {
		tx, err = on.BeginTx(ctx, pgx.TxOptions{BeginQuery: begin})
		if !h.deniesRole(err) {
			break
		}
	}
	return tx, err
}

func (t *Tx) query(ctx context.Context, sql string, args []any, read func(pgx.Rows) error) error {
	t.note(sql)
	return queryRows(ctx, t.tx, t.handle.SQL(sql), args, read)
}

// queryRows runs a query and passes its rows to read.
func queryRows(ctx context.Context, on querier, sql string, args []any, read func(pgx.Rows) error) error {
	rows, err := on.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	if err := read(rows); err != nil {
		return err
	}
	rows.Close()
	return rows.Err()
}

// Exec runs one statement and returns the number of rows it changed.
func (t *Tx) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	t.note(sql)
	tag, err := t.tx.Exec(ctx, t.handle.SQL(sql), args...)
	return tag.RowsAffected(), err
}

// Script runs statements without parameters in one round trip. They are not prepared.
func (t *Tx) Script(ctx context.Context, statements ...string) error {
	t.note(statements...)
	return runScript(ctx, t.tx, t.handle, statements)
}

// execer runs statements: a transaction, or a connection of the pool.
type execer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

func runScript(ctx context.Context, on execer, h *Handle, statements []string) error {
	if !h.site.distributed {
		statements = []string{strings.Join(statements, ";\n")}
	}
	// Citus sends workers the whole text that the client sent, of some statements.
	for _, script := range statements {
		if _, err := on.Exec(ctx, h.SQL(script), pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
	}
	return nil
}

// OfIndex returns the same transaction for the tables of the index with this
// number and generation.
func (t *Tx) OfIndex(index int64, generation int) *Tx {
	of := &Tx{handle: t.handle.OfIndex(index, generation), tx: t.tx, wrote: t.wrote}
	of.handle.use(t.tx.Conn())
	return of
}

// Tenant returns the tenant as which the transaction runs.
func (t *Tx) Tenant() ID { return t.handle.id }

// CopyFrom loads rows into the chunk table of the handle's index.
func (t *Tx) CopyFrom(ctx context.Context, columns []string, rows pgx.CopyFromSource) (int64, error) {
	t.note("COPY")
	return t.tx.CopyFrom(ctx, t.handle.ChunkTable(), columns, rows)
}

// Lock takes an advisory lock until the transaction ends. It waits while another
// transaction or session of the tenant has the lock of this name.
func (t *Tx) Lock(ctx context.Context, name string) error {
	_, err := t.tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", t.handle.id.Schema()+"/"+name)
	return err
}

// LockShared is Lock for a lock that any number of transactions may have at once, while none
// has it by Lock.
func (t *Tx) LockShared(ctx context.Context, name string) error {
	_, err := t.tx.Exec(ctx, "SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0))", t.handle.id.Schema()+"/"+name)
	return err
}

// AsService runs do inside the transaction with the rights of the service, for tables of
// the control schema, such as those of the job queue. do must not use tenant data.
func (t *Tx) AsService(ctx context.Context, do func(pgx.Tx) error) error {
	if _, err := t.tx.Exec(ctx, "SET LOCAL ROLE NONE"); err != nil {
		return err
	}
	if err := do(t.tx); err != nil {
		return err
	}
	_, err := t.tx.Exec(ctx, "SET LOCAL ROLE "+t.handle.id.quoted())
	return err
}

// SQLSTATEs of statements that use a dropped table, schema or role.
const (
	invalidParameterValue = "22023" // set_config('role', a dropped role)
	undefinedSchema       = "3F000"
	undefinedColumn       = "42703"
	undefinedFunction     = "42883"
)

// translate returns the fault of a driver error. A missing table means that the index was
// deleted meanwhile, or, as a missing column or function, that the tenant is not migrated
// yet. A missing role or right means that the tenant was deleted or cannot be served. The
// caller must have released its connection.
func (h *Handle) translate(ctx context.Context, err error) error {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		switch pgErr.Code {
		case postgres.CodeDiskFull:
			h.storage.ReportFull()
		case writesStopped:
			return beingMoved(h.id, err)
		case notServedHere:
			if h.leaving(ctx) {
				return beingMoved(h.id, err)
			}
			return h.diagnose(ctx, err)
		case postgres.CodeUndefinedTable, undefinedSchema, postgres.CodeInsufficientPrivilege:
			if moved := h.movedFault(ctx, err); moved != nil {
				return moved
			}
		}
		switch pgErr.Code {
		case postgres.CodeUndefinedTable, undefinedColumn, undefinedFunction:
			if behind := h.behindFault(ctx, err); behind != nil {
				return behind
			}
			if pgErr.Code == postgres.CodeUndefinedTable {
				return &GoneError{cause: err}
			}
		case postgres.CodeInsufficientPrivilege:
			return h.diagnose(ctx, err)
		case invalidParameterValue, undefinedSchema, postgres.CodeUndefinedObject:
			if strings.Contains(pgErr.Message, h.id.Schema()) {
				return h.diagnose(ctx, err)
			}
		}
	}
	return h.site.fault(err)
}

// GoneError is the error for a statement on a table that does not exist. A caller that
// cached the index's number or generation should look them up again. For other callers it
// is a fault of the kind NotFound.
type GoneError struct{ cause error }

// Error returns the driver's text, for the log.
func (e *GoneError) Error() string { return e.cause.Error() }

// Unwrap returns the fault that callers may see.
func (e *GoneError) Unwrap() error {
	return fault.Wrap(fault.NotFound, e.cause, "the index was deleted")
}

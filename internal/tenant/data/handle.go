package data

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
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
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

// Handle returns the handle of a tenant.
func (db *DB) Handle(id tenant.ID) *Handle {
	return &Handle{first: db.first, placement: db.placement, site: db.first, storage: db.storage, id: id, schema: id.Quoted()}
}

// Handle runs statements as one tenant. SQL is written against stand-in names,
// which the handle replaces:
//
//	tenant.documents   a table of the tenant's schema
//	tenant.chunk       the chunk table of the index that OfIndex named
//	tenant.edge        its table of edges between chunks
//	tenant.term        its table of the frequencies of terms
//	tenant.word        its table of words
//	tenant.cells       its table of the rows of tables in documents
//	tenant.topic       its table of topics
//	tenant.member      its table of the topics of chunks
//	tenant.reembed     its table of documents that are still to be embedded with a new model
//	tenant.renewal     its table of how far the renewal of its terms is
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
	id         tenant.ID
	schema     string // quoted
	index      string // the number of the index; empty without one
	generation string // of its chunks; empty for the first
	absent     []absentTable
	reading    *reading // nil: the primary
	waking     bool     // see Waking
}

// absentTable is a table of the index that has not been made yet, and the subquery that
// stands for it.
type absentTable struct{ name, empty string }

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

// Waking returns a handle that loads the data of a tenant that is waking, which no other handle may use.
func (h *Handle) Waking() *Handle {
	of := *h
	of.waking = true
	return &of
}

// Tenant returns the tenant as which the statements run.
func (h *Handle) Tenant() tenant.ID { return h.id }

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

func (h *Handle) query(ctx context.Context, sql string, args []any, read func(pgx.Rows) error) error {
	b := h.Batch()
	b.Query(read, sql, args...)
	return b.Run(ctx)
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

// servedSQL returns a statement that fails unless the database serves the tenant.
func (h *Handle) servedSQL() string {
	return "SELECT " + h.serves() + "('" + string(h.id) + "')" // an ID has no quotes
}

// serves is the name of the function that raises an error unless the database serves the handle.
func (h *Handle) serves() string {
	if h.waking {
		return "ragd.waking"
	}
	return "ragd.served"
}

// queryRows runs a query and passes its rows to read.
func queryRows(ctx context.Context, on tenant.Querier, sql string, args []any, read func(pgx.Rows) error) error {
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

// ChunkTable returns the name of the index's chunk table, for CopyFrom.
func (h *Handle) ChunkTable() pgx.Identifier {
	return pgx.Identifier{h.id.Schema(), "chunk_" + h.index + h.generation}
}

package postgres

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/url"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/fault"
)

// Config says how to connect. Only URL has no default.
//
// The defaults bound what a server process can hold together: it caches a plan
// per statement and an entry per table that it has touched, so a connection is
// given up after ConnLifetime, before thousands of tenants have left their
// catalogue entries in it (measured: 100 MB after 3,000 tenants).
type Config struct {
	// ApplicationName is shown in pg_stat_activity. Default "ragd".
	ApplicationName string
	// ConnIdleTime is how long an unused connection is kept. Default 5 minutes.
	ConnIdleTime time.Duration
	// ConnLifetime is how long any connection is kept; up to a tenth is added
	// at random so that they do not all end at once. Default 30 minutes.
	ConnLifetime time.Duration
	// Logger takes warnings about the server. Default slog.Default().
	Logger *slog.Logger
	// MaxConns bounds the pool. Default 4 for each CPU, at least 10.
	MaxConns int
	// StatementCache is how many prepared statements a connection keeps.
	// Default 256.
	StatementCache int
	// Tracer, if set, is told of every statement.
	Tracer pgx.QueryTracer
	// URL is a connection URL (postgres://user:password@host:5432/database) or
	// a keyword string (host=... dbname=...). pool_ parameters in it are
	// overruled by the fields above.
	URL string
}

func (c Config) withDefaults() Config {
	return Config{
		ApplicationName: cmp.Or(c.ApplicationName, "ragd"),
		ConnIdleTime:    cmp.Or(c.ConnIdleTime, 5*time.Minute),
		ConnLifetime:    cmp.Or(c.ConnLifetime, 30*time.Minute),
		Logger:          cmp.Or(c.Logger, slog.Default()),
		MaxConns:        cmp.Or(c.MaxConns, max(10, 4*runtime.GOMAXPROCS(0))),
		StatementCache:  cmp.Or(c.StatementCache, 256),
		Tracer:          c.Tracer,
		URL:             c.URL,
	}
}

// connectTimeout is for one attempt at one address, where the URL sets none.
const connectTimeout = 10 * time.Second

// Open connects, makes sure that server and extension are usable (creating the
// vector extension where it is missing) and returns a pool whose connections
// know the vector types and have the extension's schema, alone, as search_path.
//
// Errors by kind: Invalid for a malformed URL, Precondition for a server that
// is too old or cannot have pgvector, Unavailable when it does not answer. None
// of them holds the password.
func Open(ctx context.Context, cfg Config) (*pgxpool.Pool, error) {
	cfg = cfg.withDefaults()
	pc, err := parseURL(cfg.URL)
	if err != nil {
		return nil, err
	}
	pc.ConnConfig.RuntimeParams["application_name"] = cfg.ApplicationName
	pc.ConnConfig.RuntimeParams["jit"] = "off" // compiling costs more than our queries take
	pc.ConnConfig.StatementCacheCapacity = cfg.StatementCache
	pc.ConnConfig.ConnectTimeout = cmp.Or(pc.ConnConfig.ConnectTimeout, connectTimeout)
	pc.ConnConfig.Tracer = cfg.Tracer
	pc.MaxConns = int32(min(cfg.MaxConns, 1<<16))
	pc.MaxConnIdleTime = cfg.ConnIdleTime
	pc.MaxConnLifetime = cfg.ConnLifetime
	pc.MaxConnLifetimeJitter = cfg.ConnLifetime / 10
	pc.AfterConnect = registerTypes

	schema, err := prepareServer(ctx, pc.ConnConfig, cfg.Logger)
	if err != nil {
		return nil, err
	}
	pc.ConnConfig.RuntimeParams["search_path"] = pgx.Identifier{schema}.Sanitize()

	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, err
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, Fault(err)
	}
	return pool, nil
}

// prepareServer makes one connection, checks what it finds and returns the
// schema of the vector extension.
func prepareServer(ctx context.Context, cc *pgx.ConnConfig, log *slog.Logger) (string, error) {
	conn, err := pgx.ConnectConfig(ctx, cc.Copy())
	if err != nil {
		return "", Fault(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := checkServer(ctx, conn); err != nil {
		return "", err
	}
	return ensureVector(ctx, conn, log)
}

// minServer is the oldest server_version_num that is accepted.
const minServer = 150000

func checkServer(ctx context.Context, conn *pgx.Conn) error {
	var num int
	var name string
	const q = `SELECT current_setting('server_version_num')::int, current_setting('server_version')`
	if err := conn.QueryRow(ctx, q).Scan(&num, &name); err != nil {
		return Fault(err)
	}
	if num < minServer {
		return fault.New(fault.Precondition, "PostgreSQL %s is too old: ragd needs %d or newer", name, minServer/10000)
	}
	return nil
}

func parseURL(raw string) (*pgxpool.Config, error) {
	if strings.TrimSpace(raw) == "" {
		// An empty string is legal to the driver, which would then connect to
		// whatever the environment names.
		return nil, fault.New(fault.Invalid, "no database URL was given")
	}
	pc, err := pgxpool.ParseConfig(raw)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the database URL is malformed: %s", urlReason(raw, err))
	}
	return pc, nil
}

// urlReason says what is wrong with a URL without repeating any part of it that
// may be the password. The parser's own reason is safe only where the URL could
// be taken apart: "invalid port" quotes what follows an unescaped password.
func urlReason(raw string, err error) string {
	const shape = "want postgres://user:password@host:port/database, special characters in the password percent-encoded"
	u, uerr := url.Parse(raw)
	var pe *pgconn.ParseConfigError
	if uerr != nil || u.Scheme == "" || !errors.As(err, &pe) {
		return shape
	}
	reason := pe.Error()
	if inner := pe.Unwrap(); inner != nil {
		reason = inner.Error()
	}
	if password, ok := u.User.Password(); ok && password != "" && strings.Contains(reason, password) {
		return shape
	}
	if strings.Contains(reason, raw) {
		return shape
	}
	return reason
}

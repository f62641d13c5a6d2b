package postgres

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Config holds the settings of a connection pool. Only URL has no default.
//
// The defaults bound the memory of a server process to about 150 MB. It takes 0.1 MB for
// each statement of StatementCache and 0.1 MB for the tables of each index that it has used,
// which it forgets only when it ends: connections are closed after MaxIndexes and after
// ConnLifetime.
type Config struct {
	// ApplicationName is shown in pg_stat_activity. Default "ragd".
	ApplicationName string
	// ConnIdleTime is how long an unused connection is kept. Default 5 minutes.
	ConnIdleTime time.Duration
	// ConnLifetime is how long a connection is kept. Up to a tenth is added at random, so
	// that connections do not all close at once. Default 30 minutes.
	ConnLifetime time.Duration
	// Dial makes the connections to a server that is not the operator's. The URL then says all: it has
	// one host and no parameter but sslmode, which must be verify-full (the default), require or
	// disable, and nothing is taken from the environment and the files of the machine.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Logger receives warnings about the server. Default slog.Default().
	Logger *slog.Logger
	// MaxConns is the most connections that the pool opens. Default 4 for each CPU, at
	// least 10.
	MaxConns int
	// MaxIndexes is the number of indexes whose tables a connection may use before it is
	// replaced, see Use. Default 750.
	MaxIndexes int
	// Setting is the name of the setting with the URL, for errors. Default "database-url".
	Setting string
	// StatementCache is how many prepared statements a connection keeps.
	// Default 512.
	StatementCache int
	// Tracer, if set, is called for every statement.
	Tracer pgx.QueryTracer
	// URL is a connection URL (postgres://user:password@host:5432/database) or
	// a keyword string (host=... dbname=...). The fields above take precedence over
	// pool_ parameters in it.
	URL string
}

func (c Config) withDefaults() Config {
	return Config{
		ApplicationName: cmp.Or(c.ApplicationName, "ragd"),
		ConnIdleTime:    cmp.Or(c.ConnIdleTime, 5*time.Minute),
		ConnLifetime:    cmp.Or(c.ConnLifetime, 30*time.Minute),
		Dial:            c.Dial,
		Logger:          cmp.Or(c.Logger, slog.Default()),
		MaxConns:        cmp.Or(c.MaxConns, DefaultMaxConns()),
		MaxIndexes:      cmp.Or(c.MaxIndexes, 750),
		Setting:         cmp.Or(c.Setting, "database-url"),
		StatementCache:  cmp.Or(c.StatementCache, 512),
		Tracer:          c.Tracer,
		URL:             c.URL,
	}
}

// connectTimeout bounds one attempt to connect to one address, unless the URL has a
// timeout.
const connectTimeout = 10 * time.Second

// Open checks the versions of the server and of the vector extension, which it creates if
// it is missing, and returns a connection pool. The pool's connections know the types of
// pgvector, and their search_path holds only the extension's schema.
//
// Errors by kind: Invalid for a malformed URL, Precondition for a server that is too old
// or has no pgvector, Unavailable if it does not answer. None of them contains the
// password.
func Open(ctx context.Context, cfg Config) (*pgxpool.Pool, error) {
	cfg = cfg.withDefaults()
	pc, err := cfg.parse()
	if err != nil {
		return nil, err
	}
	pc.ConnConfig.RuntimeParams["application_name"] = cfg.ApplicationName
	pc.ConnConfig.RuntimeParams["jit"] = "off" // compiling would take longer than the queries themselves
	pc.ConnConfig.StatementCacheCapacity = cfg.StatementCache
	pc.ConnConfig.ConnectTimeout = cmp.Or(pc.ConnConfig.ConnectTimeout, connectTimeout)
	pc.ConnConfig.Tracer = cfg.Tracer
	pc.MaxConns = int32(min(cfg.MaxConns, 1<<16))
	pc.MaxConnIdleTime = cfg.ConnIdleTime
	pc.MaxConnLifetime = cfg.ConnLifetime
	pc.MaxConnLifetimeJitter = cfg.ConnLifetime / 10
	pc.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		conn.PgConn().CustomData()[startKey] = settingsOf(conn)
		noteWorkers(conn)
		return registerTypes(ctx, conn)
	}
	pc.PrepareConn = fresh(cfg.MaxIndexes)

	server, err := prepareServer(ctx, pc.ConnConfig, cfg)
	if err != nil {
		return nil, err
	}
	pc.ConnConfig.RuntimeParams["search_path"] = pgx.Identifier{server.vectorSchema}.Sanitize()
	if server.distributed {
		pc.ConnConfig.RuntimeParams[citusParameter] = "on"
	}

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

// DefaultMaxConns returns the default of Config.MaxConns on this machine.
func DefaultMaxConns() int { return max(10, 4*runtime.GOMAXPROCS(0)) }

// Connect opens one connection to the database of cfg.URL, to look at it: unlike Open it
// takes any version of the server, and creates nothing. Errors: as of Open for a malformed
// URL and a server that does not answer.
func Connect(ctx context.Context, cfg Config) (*pgx.Conn, error) {
	cfg = cfg.withDefaults()
	pc, err := parseURL(cfg.URL, cfg.Setting)
	if err != nil {
		return nil, err
	}
	pc.ConnConfig.RuntimeParams["application_name"] = cfg.ApplicationName
	pc.ConnConfig.ConnectTimeout = cmp.Or(pc.ConnConfig.ConnectTimeout, connectTimeout)
	conn, err := pgx.ConnectConfig(ctx, pc.ConnConfig)
	if err != nil {
		return nil, connectFault(ctx, pc.ConnConfig, cfg.Setting, err)
	}
	return conn, nil
}

// server describes the server of a database, as prepareServer finds it.
type server struct {
	vectorSchema string
	distributed  bool // by Citus
}

// prepareServer checks the server, creates the vector extension if it is missing, and
// returns what it found. It uses a connection of its own.
func prepareServer(ctx context.Context, cc *pgx.ConnConfig, cfg Config) (found server, err error) {
	conn, err := pgx.ConnectConfig(ctx, cc.Copy())
	if err != nil {
		return found, connectFault(ctx, cc, cfg.Setting, err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := checkServer(ctx, conn); err != nil {
		return found, err
	}
	if found.vectorSchema, err = ensureVector(ctx, conn, cfg.Logger); err != nil {
		return found, err
	}
	found.distributed, err = hasWorkers(ctx, conn)
	return found, err
}

// minServer is the lowest server_version_num that is accepted.
const minServer = 150000

func checkServer(ctx context.Context, conn Querier) error {
	var num int
	var name string
	const q = `SELECT current_setting('server_version_num')::int, current_setting('server_version')`
	if err := conn.QueryRow(ctx, q).Scan(&num, &name); err != nil {
		return Fault(err)
	}
	if num < minServer {
		return fault.New(fault.Precondition, "the database server has PostgreSQL %s, which is too old: ragd needs %d or newer; upgrade the server, or use another one", name, minServer/10000)
	}
	return nil
}

// CheckURL returns an error unless the text is the address of a database (see Config.URL). Errors:
// Invalid, naming the setting, without the password.
func CheckURL(raw, setting string) error {
	_, err := parseURL(raw, setting)
	return err
}

func parseURL(raw, setting string) (*pgxpool.Config, error) {
	if strings.TrimSpace(raw) == "" {
		// The driver accepts an empty string and connects to the server that the PG*
		// environment variables name.
		return nil, fault.New(fault.Invalid, "%s: no database URL was given", setting)
	}
	pc, err := pgxpool.ParseConfig(raw)
	if err != nil {
		return nil, fault.New(fault.Invalid, "%s is malformed: %s", setting, urlReason(raw, err))
	}
	if !plainHosts(pc.ConnConfig) {
		return nil, fault.New(fault.Invalid, "%s is malformed: %s", setting, urlShape)
	}
	return pc, nil
}

// plainHosts reports whether the names of all hosts are such. The end of a password with
// an unescaped @ would be taken for the beginning of a name, and shown in errors.
func plainHosts(cc *pgx.ConnConfig) bool {
	if strings.Contains(cc.Host, "@") {
		return false
	}
	for _, fallback := range cc.Fallbacks {
		if strings.Contains(fallback.Host, "@") {
			return false
		}
	}
	return true
}

// urlShape says how a URL looks.
const urlShape = "want postgres://user:password@host:port/database, with special characters of user and password percent-encoded (@ is %40, : is %3A, / is %2F, # is %23, ? is %3F, % is %25)"

// urlReason returns why a URL is malformed, without any text that may be part of the
// password. The parser's own reason is safe only for a URL that net/url can parse:
// otherwise "invalid port" may quote the end of an unescaped password.
func urlReason(raw string, err error) string {
	u, uerr := url.Parse(raw)
	var pe *pgconn.ParseConfigError
	if uerr != nil || !strings.HasPrefix(u.Scheme, "postgres") || !errors.As(err, &pe) {
		return urlShape
	}
	reason := pe.Error()
	if inner := pe.Unwrap(); inner != nil {
		reason = inner.Error()
	}
	if password, ok := u.User.Password(); ok && password != "" && strings.Contains(reason, password) {
		return urlShape
	}
	if strings.Contains(reason, raw) {
		return urlShape
	}
	return reason
}

package placement

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/secure/seal"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/provision"
)

const (
	// pingEvery is how often a database is asked whether it answers, pingTimeout how long it may
	// take.
	pingEvery   = 2 * time.Second
	pingTimeout = 3 * time.Second
	// openTimeout bounds one attempt to open a database, with its migrations.
	openTimeout = 5 * time.Minute
	// closeGrace is how long the pools stay open after nobody is told of them any more.
	closeGrace = 2 * time.Second
	// minPause and maxPause are the pauses between attempts.
	minPause = 250 * time.Millisecond
	maxPause = 5 * time.Second
)

// member is a registered database that is opened, or is to be. Its fields after mu are set when it is
// opened.
type member struct {
	row    row
	ctx    context.Context // ends when the database is closed
	end    context.CancelFunc
	users  sync.WaitGroup // of its pools
	tried  chan struct{}  // closed after the first attempt to open it
	logged string         // the last failure

	mu       sync.Mutex
	closing  bool
	err      error // why it does not answer
	opened   *provision.Database
	requests *data.Site
	work     *data.Site
}

// start returns a member that a goroutine opens, watches and closes.
func (r *Registry) start(of row) *member {
	m := &member{row: of, tried: make(chan struct{})}
	m.ctx, m.end = context.WithCancel(r.ctx)
	r.group.Go(func() { r.keep(m) })
	return m
}

// keep opens a member, which is tried until it succeeds, watches whether it answers, and closes it when
// its context ends.
func (r *Registry) keep(m *member) {
	pause := minPause
	for first := true; ; first = false {
		err := r.open(m)
		if first {
			m.set(err)
			close(m.tried)
		}
		m.set(err)
		r.log(m, err)
		if err == nil {
			break
		}
		select {
		case <-m.ctx.Done():
			return
		case <-time.After(pause):
			pause = min(2*pause, maxPause)
		}
	}
	r.mu.Lock()
	r.announce()
	r.mu.Unlock()
	r.watch(m)
	m.mu.Lock()
	m.closing = true
	m.mu.Unlock()
	m.users.Wait()
	select { // for statements that have just found the pools
	case <-r.ctx.Done():
	case <-time.After(closeGrace):
	}
	m.opened.Requests.Close()
	m.opened.Work.Close()
}

// log tells of a database that has stopped answering, or answers again.
func (r *Registry) log(m *member, err error) {
	text := ""
	if err != nil {
		text = fault.KindOf(err).String()
	}
	if m.ctx.Err() != nil || text == m.logged {
		return
	}
	m.logged = text
	if err != nil {
		r.config.Logger.ErrorContext(m.ctx, "a database does not answer: calls of its tenants fail", "database", m.row.DatabaseName, "address", m.row.Address, "err", err)
	} else {
		r.config.Logger.InfoContext(m.ctx, "a database answers again", "database", m.row.DatabaseName)
	}
}

// belongsTo is what the URL of a database belongs to.
func belongsTo(name string) []string { return []string{"database", name} }

// Sealed is the column with the URLs of databases.
var Sealed = seal.Column{
	Table: "ragd.databases", Name: "url", Row: "'databases/' || database_name",
	BelongsTo: "ARRAY['database', database_name]",
}

// open connects to a database, checks that it is the registered one, and migrates it.
func (r *Registry) open(m *member) error {
	ctx, cancel := context.WithTimeout(m.ctx, openTimeout)
	defer cancel()
	url, err := r.config.url(m.row)
	if err != nil {
		return err
	}
	requests, err := r.config.connect(ctx, url, m.row.OwnerID, m.row.MaxConnections, "ragd")
	if err != nil {
		return err
	}
	work, opened, err := r.prepare(ctx, m, url, requests)
	if err != nil {
		requests.Close()
		if work != nil {
			work.Close()
		}
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.opened = opened
	m.requests = data.NewSite(m.row.DatabaseName, requests, r.config.PerTenant)
	m.work = data.NewSite(m.row.DatabaseName, work, 0)
	return nil
}

// url returns the URL of a database.
func (c Config) url(of row) (string, error) {
	url, err := c.Keys.Open(of.URL, belongsTo(of.DatabaseName)...)
	if err != nil {
		return "", fault.Wrap(fault.Unavailable, err, "the URL of the database %q cannot be decrypted: the operator sets the master key with which it was registered, or gives its URL again", of.DatabaseName)
	}
	return string(url), nil
}

// prepare checks and migrates a database.
func (r *Registry) prepare(ctx context.Context, m *member, url string, requests *pgxpool.Pool) (work *pgxpool.Pool, opened *provision.Database, err error) {
	is, err := provision.ReadIdentity(ctx, requests)
	if err != nil {
		return nil, nil, err
	}
	if is.DatabaseID != m.row.DatabaseID {
		return nil, nil, fault.New(fault.Unavailable, "at the address of the database %q is another one now: the operator gives its URL again", m.row.DatabaseName)
	}
	if err := r.config.Prepare(ctx, requests); err != nil {
		return nil, nil, fmt.Errorf("migrate the database %s: %w", m.row.DatabaseName, err)
	}
	if work, err = r.config.connect(ctx, url, m.row.OwnerID, r.config.WorkConns, "ragd ingest"); err != nil {
		return nil, nil, err
	}
	opened, err = provision.NewDatabase(ctx, m.row.DatabaseName, requests, work)
	return work, opened, err
}

// connect returns a pool of a database. The connections to one that a tenant brought are guarded.
func (c Config) connect(ctx context.Context, url string, owner tenant.ID, most int, as string) (*pgxpool.Pool, error) {
	config := postgres.Config{
		URL: url, Setting: "url", Logger: c.Logger, ApplicationName: as, MaxConns: most, MaxIndexes: c.MaxIndexes,
	}
	if as == "ragd" {
		config.Tracer = c.Tracer
	}
	if owner != "" {
		config.Dial = c.Guard.DialContext
	}
	return postgres.Open(ctx, config)
}

// watch asks a database whether it answers until it is closed. It uses a connection of its own: the
// pools may be busy.
func (r *Registry) watch(m *member) {
	config := m.opened.Requests.Config().ConnConfig
	config.Tracer = nil
	var conn *pgx.Conn
	defer func() {
		if conn != nil {
			_ = conn.Close(context.WithoutCancel(m.ctx))
		}
	}()
	ticker := time.NewTicker(pingEvery)
	defer ticker.Stop()
	for {
		var err error
		if conn, err = ping(m.ctx, conn, config); m.ctx.Err() != nil {
			return
		}
		m.set(err)
		r.log(m, err)
		select {
		case <-m.ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// ping asks the server of a connection whether it answers, on a new connection if that is nil or
// broken, and returns the connection.
func ping(ctx context.Context, conn *pgx.Conn, config *pgx.ConnConfig) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if conn != nil {
		if conn.Ping(ctx) == nil {
			return conn, nil
		}
		_ = conn.Close(ctx)
	}
	conn, err := pgx.ConnectConfig(ctx, config.Copy())
	if err != nil {
		return nil, err
	}
	return conn, nil
}

func (m *member) set(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

// failure returns why a member does not answer; nil if it does.
func (m *member) failure() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// database returns the database of a member, nil while it has not been opened yet.
func (m *member) database() *provision.Database {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.opened
}

// open returns the database of a member. It waits for the first attempt to connect. Errors:
// Unavailable.
func (m *member) open(ctx context.Context) (*provision.Database, error) {
	m.wait(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil || m.opened == nil {
		return nil, m.unreachable()
	}
	return m.opened, nil
}

// unreachable returns the fault for a member that does not answer. The caller holds mu.
func (m *member) unreachable() error {
	return data.Unreachable(m.row.DatabaseName, m.err)
}

// wait waits until a member was tried once, at most openWait.
func (m *member) wait(ctx context.Context) {
	select {
	case <-m.tried:
		return
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, openWait)
	defer cancel()
	select {
	case <-m.tried:
	case <-m.ctx.Done():
	case <-ctx.Done():
	}
}

// hold notes that somebody uses the pools of a member until release. It returns false when they are being
// closed.
func (m *member) hold() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closing || m.ctx.Err() != nil {
		return false
	}
	m.users.Add(1)
	return true
}

func (m *member) release() { m.users.Done() }

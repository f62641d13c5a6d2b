// Package placement knows the databases in which tenants live, and which tenant lives where.
//
// The first database has the control schema of the service, with a row of each tenant and of each
// registered database. A registered database has a control schema too, of which it uses what has to
// change in the same transaction as the data of a tenant: the backlog, the job queue, and rows of the
// tenants that it serves. A tenant lives in one database.
//
//	registered --open--> answers <--ping--> silent --deleted--> closed
//
// A database that is silent takes only its tenants with it: their calls fail at once, and nobody else
// waits for it, not even the start of the service. What the Registry knows may be old. That does no
// harm, because a database refuses the statements of a tenant that it does not serve; then the tenant
// is looked up again.
package placement

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/secure/outbound"
	"github.com/ragdhq/ragd/internal/secure/seal"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/place/replica"
	"github.com/ragdhq/ragd/internal/tenant/provision"
)

// Config configures a Registry. First, Work, Guard, Prepare and Logger are required.
type Config struct {
	// Replicas are those of the first database; nil for none.
	Replicas *replica.Set
	// First is the pool of requests of the first database, Work that of background work.
	First, Work *pgxpool.Pool
	// Keys encrypt the URLs. Nil if there are none: then no database can be registered.
	Keys *seal.Keys
	// Guard checks the connections to databases that tenants brought.
	Guard *outbound.Guard
	// Prepare migrates the schemas of the service in a registered database.
	Prepare func(ctx context.Context, pool *pgxpool.Pool) error
	Logger  *slog.Logger
	// PerTenant is as for data.NewDB.
	PerTenant int
	// WorkConns is the number of connections for background work to each database.
	WorkConns int
	// Tracer, if set, is called for statements of requests.
	Tracer pgx.QueryTracer
	// MaxIndexes is as in postgres.Config.
	MaxIndexes int
}

const (
	// refreshEvery is how often the list of databases is read.
	refreshEvery = 2 * time.Second
	// openWait is how long the first use of a database waits for its connection.
	openWait = 5 * time.Second
	// directorySize is how many tenants' databases are kept in memory.
	directorySize = 100_000
)

// Registry knows the databases and where tenants live. Safe for concurrent use.
type Registry struct {
	config   Config
	requests *data.Site // of the first database
	work     *data.Site
	ctx      context.Context // ends with Close
	close    context.CancelFunc
	group    sync.WaitGroup
	any      atomic.Bool // whether a database is registered

	inUse      func(ctx context.Context, tx pgx.Tx, name string) error // refuses Delete; nil for none
	refreshing sync.Mutex
	mu         sync.Mutex
	members    map[string]*member
	directory  map[tenant.ID]string // of tenants that were looked up; empty for the first database
	changed    chan struct{}        // closed when a member has been opened, added or removed
}

// New returns a Registry that has read the list of databases and tries to open each. It waits for them
// for a few seconds, and goes on without those that do not answer.
func New(ctx context.Context, config Config) (*Registry, error) {
	r := &Registry{
		config: config, requests: data.NewSite("", config.First, config.PerTenant), work: data.NewSite("", config.Work, 0),
		members: map[string]*member{}, directory: map[tenant.ID]string{}, changed: make(chan struct{}),
	}
	r.requests.Replicas = config.Replicas
	r.ctx, r.close = context.WithCancel(context.WithoutCancel(ctx))
	if err := r.Refresh(ctx); err != nil {
		r.close()
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, openWait)
	defer cancel()
	for _, m := range r.all() {
		m.wait(wait)
	}
	return r, nil
}

// Close closes the databases. Their pools must not be used any more.
func (r *Registry) Close() {
	r.close()
	r.group.Wait()
}

// row is a registered database.
type row struct {
	DatabaseName   string
	DatabaseID     string
	URL            []byte // sealed
	Address        string
	OwnerID        tenant.ID
	MaxConnections int
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

const columns = `database_name, database_id::text, url, address, owner_id, max_connections, created_at, updated_at`

func (c Config) rows(ctx context.Context) ([]row, error) {
	found, err := c.First.Query(ctx, `SELECT `+columns+` FROM ragd.databases ORDER BY database_name`)
	if err != nil {
		return nil, postgres.Fault(err)
	}
	rows, err := pgx.CollectRows(found, pgx.RowToStructByName[row])
	return rows, postgres.Fault(err)
}

// Each calls do for every registered database, ordered by name, with a connection to it or the error that
// kept it from connecting. It changes nothing there, and needs no Registry.
func Each(ctx context.Context, config Config, do func(name string, pool *pgxpool.Pool, err error)) error {
	rows, err := config.rows(ctx)
	if err != nil {
		return err
	}
	for _, of := range rows {
		var pool *pgxpool.Pool
		url, err := config.url(of)
		if err == nil {
			pool, err = config.connect(ctx, url, of.OwnerID, eachConns, "ragd admin")
		}
		do(of.DatabaseName, pool, err)
		if err == nil {
			pool.Close()
		}
	}
	return ctx.Err()
}

// eachConns is the number of connections that Each opens to a database.
const eachConns = 2

// Refresh reads the list of databases: it opens new ones and closes those that are gone.
func (r *Registry) Refresh(ctx context.Context) error {
	r.refreshing.Lock()
	defer r.refreshing.Unlock()
	rows, err := r.config.rows(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		return nil
	}
	listed := map[string]bool{}
	for _, row := range rows {
		listed[row.DatabaseName] = true
		old := r.members[row.DatabaseName]
		if old != nil && old.row.UpdatedAt.Equal(row.UpdatedAt) {
			continue
		}
		if old != nil {
			old.end()
		}
		r.members[row.DatabaseName] = r.start(row)
		r.announce()
	}
	for name, m := range r.members {
		if !listed[name] {
			m.end()
			delete(r.members, name)
			maps.DeleteFunc(r.directory, func(_ tenant.ID, in string) bool { return in == name })
			r.announce()
		}
	}
	r.any.Store(len(r.members) > 0)
	return nil
}

// announce tells Run that the members have changed. The caller holds mu.
func (r *Registry) announce() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// all returns the members, ordered by name.
func (r *Registry) all() []*member {
	r.mu.Lock()
	defer r.mu.Unlock()
	members := make([]*member, 0, len(r.members))
	for _, m := range r.members {
		members = append(members, m)
	}
	slices.SortFunc(members, func(a, b *member) int { return strings.Compare(a.row.DatabaseName, b.row.DatabaseName) })
	return members
}

// member returns a member, after reading the list again if there is none of the name. Errors: NotFound.
func (r *Registry) member(ctx context.Context, name string) (*member, error) {
	for again := false; ; again = true {
		r.mu.Lock()
		m := r.members[name]
		r.mu.Unlock()
		switch {
		case m != nil:
			return m, nil
		case again:
			return nil, fault.New(fault.NotFound, "database %q not found", name)
		}
		if err := r.Refresh(ctx); err != nil {
			return nil, err
		}
	}
}

// Run keeps the list of databases up to date until ctx ends. It calls each for every database that
// answers, with a context that ends with ctx or when the database is closed. It returns when all
// calls have.
func (r *Registry) Run(ctx context.Context, each func(ctx context.Context, d *provision.Database)) error {
	var group sync.WaitGroup
	defer group.Wait()
	running := map[*member]bool{}
	ticker := time.NewTicker(refreshEvery)
	defer ticker.Stop()
	for {
		r.mu.Lock()
		changed := r.changed
		r.mu.Unlock()
		current := r.all()
		for m := range running {
			if !slices.Contains(current, m) {
				delete(running, m)
			}
		}
		for _, m := range current {
			d := m.database()
			if d == nil || running[m] || !m.hold() {
				continue
			}
			running[m] = true
			group.Go(func() {
				defer m.release()
				during, stop := context.WithCancel(ctx)
				defer stop()
				defer context.AfterFunc(m.ctx, stop)()
				each(during, d)
			})
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-ticker.C:
			if err := r.Refresh(ctx); err != nil && ctx.Err() == nil {
				r.config.Logger.WarnContext(ctx, "reading the list of databases failed", "err", err)
			}
		}
	}
}

// Open implements provision.Databases.
func (r *Registry) Open(ctx context.Context, name string) (*provision.Database, error) {
	m, err := r.member(ctx, name)
	if err != nil {
		return nil, err
	}
	return m.open(ctx)
}

// Pool implements credential.Databases.
func (r *Registry) Pool(ctx context.Context, name string) (*pgxpool.Pool, error) {
	d, err := r.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	return d.Requests, nil
}

// Opened implements provision.Databases.
func (r *Registry) Opened() (answer []*provision.Database, silent []provision.LeftOut) {
	for _, m := range r.all() {
		d, err := m.database(), m.failure()
		switch {
		case err != nil:
			silent = append(silent, provision.LeftOut{Database: m.row.DatabaseName, Err: err})
		case d == nil:
			silent = append(silent, provision.LeftOut{Database: m.row.DatabaseName, Err: errUntried})
		default:
			answer = append(answer, d)
		}
	}
	return answer, silent
}

// errUntried is why a database is silent that has not been opened yet.
var errUntried = fault.New(fault.Unavailable, "the service has not reached it yet; retry")

// Settle waits until each database was tried once, however long its migration takes: for commands that
// are about all of them.
func (r *Registry) Settle(ctx context.Context) error {
	for _, m := range r.all() {
		select {
		case <-m.tried:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Answers reports whether a registered database answered when it was last asked.
func (r *Registry) Answers(name string) bool {
	r.mu.Lock()
	m := r.members[name]
	r.mu.Unlock()
	return m != nil && m.database() != nil && m.failure() == nil
}

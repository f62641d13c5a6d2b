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
	"errors"
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
	"github.com/ragdhq/ragd/internal/tenant/place/replica"
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
	// PerTenant is as for tenant.NewDB.
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
	requests *tenant.Site // of the first database
	work     *tenant.Site
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
		config: config, requests: tenant.NewSite("", config.First, config.PerTenant), work: tenant.NewSite("", config.Work, 0),
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
func (r *Registry) Run(ctx context.Context, each func(ctx context.Context, d *tenant.Database)) error {
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

// Open implements tenant.Databases.
func (r *Registry) Open(ctx context.Context, name string) (*tenant.Database, error) {
	m, err := r.member(ctx, name)
	if err != nil {
		return nil, err
	}
	return m.open(ctx)
}

// Opened implements tenant.Databases.
func (r *Registry) Opened() (answer []*tenant.Database, silent []tenant.LeftOut) {
	for _, m := range r.all() {
		d, err := m.database(), m.failure()
		switch {
		case err != nil:
			silent = append(silent, tenant.LeftOut{Database: m.row.DatabaseName, Err: err})
		case d == nil:
			silent = append(silent, tenant.LeftOut{Database: m.row.DatabaseName, Err: errUntried})
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

// Choose implements tenant.Databases. The smallest database is the one with the fewest bytes among the
// first one and those of the operator that answer.
func (r *Registry) Choose(ctx context.Context, wanted string, id tenant.ID) (string, error) {
	if err := r.Refresh(ctx); err != nil {
		return "", err
	}
	if wanted == tenant.FirstDatabase {
		return "", r.ownElsewhere(id, "")
	}
	if wanted != "" {
		m, err := r.member(ctx, wanted)
		if err != nil {
			return "", err
		}
		if owner := m.row.OwnerID; owner != "" && owner != id {
			return "", fault.New(fault.Precondition, "the database %q belongs to the tenant %q: no other may live in it", wanted, owner)
		}
		return wanted, r.ownElsewhere(id, wanted)
	}
	return r.smallest(ctx, id)
}

// ownElsewhere returns an error if the tenant has brought another database than the named one.
func (r *Registry) ownElsewhere(id tenant.ID, name string) error {
	for _, m := range r.all() {
		if m.row.OwnerID == id && m.row.DatabaseName != name {
			return fault.New(fault.Precondition, "the tenant %q has a database of its own: it lives in %q", id, m.row.DatabaseName)
		}
	}
	return nil
}

// smallest returns the name of the database for a new tenant that is given none.
func (r *Registry) smallest(ctx context.Context, id tenant.ID) (string, error) {
	members := r.all()
	for _, m := range members {
		if m.row.OwnerID == id {
			return m.row.DatabaseName, nil
		}
	}
	if len(members) == 0 {
		return "", nil
	}
	least, err := postgres.Bytes(ctx, r.config.First)
	if err != nil {
		return "", err
	}
	name := ""
	for _, m := range members {
		d := m.database()
		if d == nil || m.failure() != nil || m.row.OwnerID != "" {
			continue
		}
		_, bytes, err := d.Sizes(ctx)
		if err == nil && bytes < least {
			name, least = m.row.DatabaseName, bytes
		}
	}
	return name, ctx.Err()
}

// Requests returns the placement of tenants for requests.
func (r *Registry) Requests() tenant.Placement {
	return placement{r, r.requests, func(m *member) *tenant.Site { return m.requests }}
}

// Work returns the placement of tenants for background work.
func (r *Registry) Work() tenant.Placement {
	return placement{r, r.work, func(m *member) *tenant.Site { return m.work }}
}

// placement implements tenant.Placement.
type placement struct {
	registry *Registry
	first    *tenant.Site
	pick     func(*member) *tenant.Site
}

// Of implements tenant.Placement.
func (p placement) Of(ctx context.Context, id tenant.ID) (*tenant.Site, error) {
	if !p.registry.any.Load() {
		return p.first, nil
	}
	name, err := p.registry.NameOf(ctx, id)
	if err != nil {
		return nil, err
	}
	site, err := p.site(ctx, name)
	if err == nil {
		return site, nil
	}
	now, failed := p.registry.lookUp(ctx, id) // a database that is gone or down cannot say that the tenant has left it
	if failed != nil || now == name {
		return nil, err
	}
	return p.site(ctx, now)
}

// site returns a database by its name. Errors: Unavailable.
func (p placement) site(ctx context.Context, name string) (*tenant.Site, error) {
	if name == "" {
		return p.first, nil
	}
	m, err := p.registry.member(ctx, name)
	if err != nil {
		return nil, tenant.Unreachable(name, err)
	}
	if _, err := m.open(ctx); err != nil {
		return nil, err
	}
	return p.pick(m), nil
}

// Moved implements tenant.Placement.
func (p placement) Moved(ctx context.Context, id tenant.ID, refused *tenant.Site) (bool, error) {
	r := p.registry
	if !r.any.Load() {
		if err := r.Refresh(ctx); err != nil || !r.any.Load() {
			return false, err
		}
	}
	name, err := r.lookUp(ctx, id)
	return name != refused.Name, err
}

// NameOf returns the name of the database in which a tenant lives, empty for the first one and for a
// tenant that does not exist. It may be old.
func (r *Registry) NameOf(ctx context.Context, id tenant.ID) (string, error) {
	if !r.any.Load() {
		return "", nil
	}
	r.mu.Lock()
	name, known := r.directory[id]
	r.mu.Unlock()
	if known {
		return name, nil
	}
	return r.lookUp(ctx, id)
}

// Forget drops what is in memory about where a tenant lives: it was moved.
func (r *Registry) Forget(id tenant.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.directory, id)
}

// lookUp reads where a tenant lives.
func (r *Registry) lookUp(ctx context.Context, id tenant.ID) (name string, err error) {
	err = r.config.First.QueryRow(ctx, `SELECT database_name FROM ragd.tenants WHERE tenant_id = $1`, id).Scan(&name)
	exists := !errors.Is(err, pgx.ErrNoRows)
	if err != nil && exists {
		return "", postgres.Fault(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.directory) >= directorySize {
		clear(r.directory)
	}
	if delete(r.directory, id); exists {
		r.directory[id] = name
	}
	return name, nil
}

// Serves returns an error unless a tenant lives in a database: NotFound when it does not, else that of
// the look-up. A tenant that is not known to live there is looked up again.
func (r *Registry) Serves(ctx context.Context, database string, id tenant.ID) error {
	name, err := r.NameOf(ctx, id)
	if err == nil && name != database {
		name, err = r.lookUp(ctx, id)
	}
	if err == nil && name != database {
		return fault.New(fault.NotFound, "tenant %q does not live in the database %q", id, database)
	}
	return err
}

// Own implements tenant.Databases.
func (r *Registry) Own(ctx context.Context, id tenant.ID) (bool, error) {
	name, err := r.NameOf(ctx, id)
	if err != nil || name == "" {
		return false, err
	}
	m, err := r.member(ctx, name)
	return err == nil && m.row.OwnerID != "", err
}

// Known returns what NameOf has in memory, empty if that is nothing.
func (r *Registry) Known(id tenant.ID) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.directory[id]
}

// Tenants returns the tenants that live in a registered database, as the first database knows them, at most
// so many. In one that a tenant brought it is the owner alone, which is known without asking.
func (r *Registry) Tenants(ctx context.Context, database string, most int) ([]tenant.ID, error) {
	r.mu.Lock()
	m := r.members[database]
	r.mu.Unlock()
	switch {
	case m == nil:
		return nil, nil
	case m.row.OwnerID != "":
		return []tenant.ID{m.row.OwnerID}, nil
	}
	rows, _ := r.config.First.Query(ctx, `SELECT tenant_id FROM ragd.tenants WHERE database_name = $1 LIMIT $2`, database, most)
	found, err := pgx.CollectRows(rows, pgx.RowTo[tenant.ID])
	return found, postgres.Fault(err)
}

// Answers reports whether a registered database answered when it was last asked.
func (r *Registry) Answers(name string) bool {
	r.mu.Lock()
	m := r.members[name]
	r.mu.Unlock()
	return m != nil && m.database() != nil && m.failure() == nil
}

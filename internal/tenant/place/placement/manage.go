package placement

import (
	"context"
	"errors"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/provision"
	"github.com/ragdhq/ragd/migrations"
)

// Limits of a registered database.
const (
	MaxDatabases       = 1000
	DefaultConnections = 10
	MaxConnections     = 1000
	maxURLBytes        = 4096
	registerTimeout    = time.Minute
)

// Database describes a database in which tenants live.
type Database struct {
	Name           string
	Address        string    // host and database, without user and password
	Owner          tenant.ID // the tenant that brought it; empty for the operator's
	MaxConnections int
	CreatedAt      time.Time // zero for the first one
	UpdatedAt      time.Time
	Tenants        int
	Answers        bool
	Problem        string // why it does not answer, for the operator
	Bytes          int64  // 0 while it does not answer
	Version        int    // of the control schema; 0 while it does not answer
	Newest         int    // of this ragd
	Distribution   string // DistributionCitus, or empty
}

// DistributionCitus is the distribution of the coordinator of a Citus cluster with workers, over which the schemas of
// tenants are spread.
const DistributionCitus = "citus"

// Registration describes a database to register.
type Registration struct {
	Name           string
	URL            string    // a secret
	Owner          tenant.ID // the tenant that brings it; empty for the operator's
	MaxConnections int       // 0 means DefaultConnections
	// Distribution is DistributionCitus for a database that is refused unless it has workers, else empty.
	Distribution string
}

var nameSyntax = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

func checkName(name string) error {
	if !nameSyntax.MatchString(name) {
		return fault.Field("databaseName", "must be 1 to 40 lower-case letters, digits and hyphens, the first a letter")
	}
	if name == tenant.FirstDatabase {
		return fault.Field("databaseName", "must not be %s, which is the database with the control schema", tenant.FirstDatabase)
	}
	return nil
}

func checkConnections(n int) error {
	if n < 2 || n > MaxConnections {
		return fault.Field("maxConnections", "must be between 2 and %d, got %d", MaxConnections, n)
	}
	return nil
}

func checkDistribution(distribution string) error {
	if distribution != "" && distribution != DistributionCitus {
		return fault.Field("distribution", "must be %s or empty, got %q", DistributionCitus, distribution)
	}
	return nil
}

func checkURL(url string) error {
	if len(url) > maxURLBytes {
		return fault.Field("url", "must be at most %d bytes", maxURLBytes)
	}
	return nil
}

// Register adds a database, in which tenants may live from then on. It must be empty of any other ragd:
// its schemas are made here. Errors: Denied unless the caller is the operator; Invalid; Exists;
// Precondition without master keys, and for a database that belongs to another service or is registered
// already; Unavailable when it does not answer.
func (r *Registry) Register(ctx context.Context, wanted Registration) (Database, error) {
	if err := access.RequireOperator(ctx); err != nil {
		return Database{}, err
	}
	if wanted.MaxConnections == 0 {
		wanted.MaxConnections = DefaultConnections
	}
	if err := checkName(wanted.Name); err != nil {
		return Database{}, err
	}
	if err := checkConnections(wanted.MaxConnections); err != nil {
		return Database{}, err
	}
	if err := checkDistribution(wanted.Distribution); err != nil {
		return Database{}, err
	}
	if err := r.checkNew(ctx, wanted); err != nil {
		return Database{}, err
	}
	url, err := r.try(ctx, wanted.URL, wanted.Owner, func(ctx context.Context, pool *pgxpool.Pool) (string, error) {
		if wanted.Distribution != "" && !postgres.Distributed(pool) {
			return "", fault.New(fault.Precondition, "%s has no workers of Citus: create the extension citus before vector, add workers with citus_add_node, then register it", postgres.Address(pool))
		}
		return r.claim(ctx, pool)
	})
	if err != nil {
		return Database{}, err
	}
	_, err = r.config.First.Exec(ctx, `
		INSERT INTO ragd.databases (database_name, database_id, url, address, owner_id, max_connections) VALUES ($1, $2, $3, $4, $5, $6)`,
		wanted.Name, url.id, r.config.Keys.Seal([]byte(wanted.URL), belongsTo(wanted.Name)...), url.address, wanted.Owner, wanted.MaxConnections)
	if postgres.Code(err) == postgres.CodeUniqueViolation {
		return Database{}, fault.New(fault.Exists, "the database is registered already, or the name %q is taken: `ragd databases list` shows the databases", wanted.Name)
	}
	if err != nil {
		return Database{}, postgres.Fault(err)
	}
	return r.opened(ctx, wanted.Name)
}

func errNoKeys() error {
	return fault.New(fault.Precondition, "this server has no master key, with which the URL is encrypted: set RAGD_MASTER_KEY")
}

// checkNew returns an error for a database that cannot be registered, before it is connected to.
func (r *Registry) checkNew(ctx context.Context, wanted Registration) error {
	if r.config.Keys == nil {
		return errNoKeys()
	}
	if wanted.Owner != "" {
		if _, err := tenant.ParseID(string(wanted.Owner)); err != nil {
			return fault.Rename("tenantId", "ownerTenantId", err)
		}
	}
	rows, err := r.config.rows(ctx)
	if err != nil {
		return err
	}
	if len(rows) >= MaxDatabases {
		return fault.New(fault.Exhausted, "there are %d databases, as many as may be registered", MaxDatabases)
	}
	for _, other := range rows {
		if other.DatabaseName == wanted.Name {
			return fault.New(fault.Exists, "database %q exists already: update it to change its URL", wanted.Name)
		}
		if wanted.Owner != "" && other.OwnerID == wanted.Owner {
			return fault.New(fault.Exists, "the tenant %q has brought the database %q already", wanted.Owner, other.DatabaseName)
		}
	}
	return nil
}

// tried is what is known of a database that was connected to.
type tried struct{ id, address string }

// try connects to a database and calls do, which returns its id.
func (r *Registry) try(ctx context.Context, url string, owner tenant.ID, do func(context.Context, *pgxpool.Pool) (string, error)) (found tried, err error) {
	if err := checkURL(url); err != nil {
		return found, err
	}
	ctx, cancel := context.WithTimeout(ctx, registerTimeout)
	defer cancel()
	pool, err := r.config.connect(ctx, url, owner, 4, "ragd admin")
	if err != nil {
		return found, err
	}
	defer pool.Close()
	found.address = postgres.Address(pool)
	found.id, err = do(ctx, pool)
	return found, err
}

// serviceID returns the id of this service, which is that of its first database.
func (r *Registry) serviceID(ctx context.Context) (string, error) {
	own, err := provision.ReadIdentity(ctx, r.config.First)
	return own.ServiceID, err
}

// claim makes an empty database one of this service, and returns its id.
func (r *Registry) claim(ctx context.Context, pool *pgxpool.Pool) (id string, err error) {
	service, err := r.serviceID(ctx)
	if err != nil {
		return "", err
	}
	if same, err := postgres.SameDatabase(ctx, r.config.First, pool); err != nil {
		return "", err
	} else if same {
		return "", fault.New(fault.Precondition, "this is the database with the control schema, which is called %s and needs no registration", tenant.FirstDatabase)
	}
	var used bool
	if err := pool.QueryRow(ctx, `SELECT to_regnamespace('ragd') IS NOT NULL`).Scan(&used); err != nil {
		return "", postgres.Fault(err)
	}
	is, err := provision.ReadIdentity(ctx, pool)
	switch {
	case err != nil:
		return "", err
	case used && (is.ServiceID != service || is.DatabaseID == service):
		return "", fault.New(fault.Precondition, "%s belongs to another ragd: register an empty database, or drop the schemas ragd and ragd_shared in this one if nothing uses them", postgres.Address(pool))
	}
	if err := r.config.Prepare(ctx, pool); err != nil {
		return "", err
	}
	if err := pool.QueryRow(ctx, `UPDATE ragd.identity SET service_id = $1 RETURNING database_id::text`, service).Scan(&id); err != nil {
		return "", postgres.Fault(err)
	}
	return id, nil
}

// opened reads the list again, waits until a database was connected to, and describes it.
func (r *Registry) opened(ctx context.Context, name string) (Database, error) {
	if err := r.Refresh(ctx); err != nil {
		return Database{}, err
	}
	m, err := r.member(ctx, name)
	if err != nil {
		return Database{}, err
	}
	m.wait(ctx)
	rows, err := r.List(ctx)
	for _, d := range rows {
		if d.Name == name {
			return d, nil
		}
	}
	return Database{}, err
}

// List returns all databases, the first one first, the others by name. Errors: Denied unless the caller
// is the operator.
func (r *Registry) List(ctx context.Context) ([]Database, error) {
	if err := access.RequireOperator(ctx); err != nil {
		return nil, err
	}
	return r.Describe(ctx)
}

// Describe is List for the service itself.
func (r *Registry) Describe(ctx context.Context) ([]Database, error) {
	if err := r.Refresh(ctx); err != nil {
		return nil, err
	}
	counts, err := r.counts(ctx)
	if err != nil {
		return nil, err
	}
	newest := migrations.Newest(migrations.Control())
	first := Database{
		Name: tenant.FirstDatabase, Address: postgres.Address(r.config.First), MaxConnections: int(r.config.First.Config().MaxConns),
		Tenants: counts[""], Answers: true, Newest: newest,
	}
	if err := describe(ctx, r.config.First, &first); err != nil {
		return nil, err
	}
	all := []Database{first}
	for _, m := range r.all() {
		d := Database{
			Name: m.row.DatabaseName, Address: m.row.Address, Owner: m.row.OwnerID, MaxConnections: m.row.MaxConnections,
			CreatedAt: m.row.CreatedAt, UpdatedAt: m.row.UpdatedAt, Tenants: counts[m.row.DatabaseName], Newest: newest,
		}
		err := m.failure()
		if open := m.database(); err == nil && open != nil {
			err = describe(ctx, open.Requests, &d)
			d.Answers = err == nil
		}
		if !d.Answers {
			d.Problem = problem(err)
		}
		all = append(all, d)
	}
	return all, nil
}

// problem says why a database does not answer.
func problem(err error) string {
	if err == nil {
		return "it has not been connected to yet"
	}
	if text := fault.Public(postgres.Fault(err)); fault.KindOf(postgres.Fault(err)) != fault.Internal {
		return text
	}
	return "it fails: the log of the service says why"
}

// describeTimeout bounds how long a database is asked for its size.
const describeTimeout = 3 * time.Second

// describe adds what a database says of itself.
func describe(ctx context.Context, pool *pgxpool.Pool, d *Database) error {
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	if postgres.Distributed(pool) {
		d.Distribution = DistributionCitus
	}
	if err := pool.QueryRow(ctx, `SELECT version FROM ragd.schema_migrations`).Scan(&d.Version); err != nil {
		return postgres.Fault(err)
	}
	bytes, err := postgres.Bytes(ctx, pool)
	d.Bytes = bytes
	return err
}

// counts returns how many tenants live in each database, by the name that rows have.
func (r *Registry) counts(ctx context.Context) (map[string]int, error) {
	rows, err := r.config.First.Query(ctx, `SELECT database_name, count(*) FROM ragd.tenants GROUP BY 1`)
	if err != nil {
		return nil, postgres.Fault(err)
	}
	counts := map[string]int{}
	var name string
	var n int
	_, err = pgx.ForEachRow(rows, []any{&name, &n}, func() error {
		counts[name] = n
		return nil
	})
	return counts, postgres.Fault(err)
}

// Change says what Update changes: nil leaves it.
type Change struct {
	URL            *string
	MaxConnections *int
}

// Update changes the URL or the number of connections of a registered database. A new URL must lead to the
// same database. Errors: Denied unless the caller is the operator; NotFound; Invalid; Precondition for
// another database; Unavailable when it does not answer.
func (r *Registry) Update(ctx context.Context, name string, change Change) (Database, error) {
	if err := access.RequireOperator(ctx); err != nil {
		return Database{}, err
	}
	if err := r.Refresh(ctx); err != nil {
		return Database{}, err
	}
	m, err := r.member(ctx, name)
	if err != nil {
		return Database{}, err
	}
	connections := m.row.MaxConnections
	if change.MaxConnections != nil {
		connections = *change.MaxConnections
		if err := checkConnections(connections); err != nil {
			return Database{}, err
		}
	}
	sealed, address := m.row.URL, m.row.Address
	if change.URL != nil {
		if r.config.Keys == nil {
			return Database{}, errNoKeys()
		}
		found, err := r.try(ctx, *change.URL, m.row.OwnerID, func(ctx context.Context, pool *pgxpool.Pool) (string, error) {
			is, err := provision.ReadIdentity(ctx, pool)
			return is.DatabaseID, err
		})
		if err != nil {
			return Database{}, err
		}
		if found.id != m.row.DatabaseID {
			return Database{}, fault.New(fault.Precondition, "%s is another database than %q: give the URL of the same one, or register it under another name", found.address, name)
		}
		sealed, address = r.config.Keys.Seal([]byte(*change.URL), belongsTo(name)...), found.address
	}
	_, err = r.config.First.Exec(ctx, `
		UPDATE ragd.databases SET url = $2, address = $3, max_connections = $4, updated_at = clock_timestamp() WHERE database_name = $1`,
		name, sealed, address, connections)
	if err != nil {
		return Database{}, postgres.Fault(err)
	}
	return r.opened(ctx, name)
}

// BeforeDelete sets a function that is called in the transaction that removes a database, and may refuse it. Call it
// before the Registry is used.
func (r *Registry) BeforeDelete(do func(ctx context.Context, tx pgx.Tx, name string) error) {
	r.inUse = do
}

// Delete removes a registered database in which no tenant lives. What is in the database stays. Errors:
// Denied unless the caller is the operator; NotFound; Precondition while tenants live there, or are moved from or to it.
func (r *Registry) Delete(ctx context.Context, name string) error {
	if err := access.RequireOperator(ctx); err != nil {
		return err
	}
	err := pgx.BeginFunc(ctx, r.config.First, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `SELECT database_name FROM ragd.databases WHERE database_name = $1 FOR UPDATE`, name).Scan(new(string))
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.New(fault.NotFound, "database %q not found", name)
		}
		if err != nil {
			return err
		}
		var tenants int
		if err := tx.QueryRow(ctx, `SELECT count(*) FROM ragd.tenants WHERE database_name = $1`, name).Scan(&tenants); err != nil {
			return err
		}
		if tenants > 0 {
			return fault.New(fault.Precondition, "the database %q has tenants, %d of them: move or erase them first", name, tenants)
		}
		if r.inUse != nil {
			if err := r.inUse(ctx, tx, name); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, `DELETE FROM ragd.databases WHERE database_name = $1`, name)
		return err
	})
	if err != nil {
		return postgres.Fault(err)
	}
	return r.Refresh(ctx)
}

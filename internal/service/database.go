package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/ragdhq/ragd/internal/index/storage"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/operate/postgres/embedded"
	"github.com/ragdhq/ragd/internal/secure/outbound"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
	"github.com/ragdhq/ragd/internal/tenant/job"
	"github.com/ragdhq/ragd/internal/tenant/place/move"
	"github.com/ragdhq/ragd/internal/tenant/place/placement"
	"github.com/ragdhq/ragd/internal/tenant/place/replica"
	"github.com/ragdhq/ragd/internal/tenant/provision"
)

// queueConns is the number of connections that the job queue needs besides those of the
// workers.
const queueConns = 4

// adminConns is the most connections with the rights to create and drop tenants.
const adminConns = 4

// database is the connection to PostgreSQL. Requests and background work have a pool
// each, so that neither starves the other. Statements that create and drop schemas and
// roles have a third, whose role the others cannot take.
type database struct {
	embedded *embedded.Server // nil with an external server
	requests *pgxpool.Pool
	work     *pgxpool.Pool
	admin    *pgxpool.Pool // the pool of requests if only one URL was given
	external bool          // the pools belong to the caller
	replicas *replica.Set  // nil without any
}

// embeddedDir returns the folder of the embedded server in a data directory.
func embeddedDir(dataDir string) string { return filepath.Join(dataDir, "postgres") }

// StartEmbedded starts the embedded database of the configuration's data directory (see
// embedded.Start).
func StartEmbedded(ctx context.Context, config Config) (*embedded.Server, error) {
	return embedded.Start(ctx, embedded.Config{DataDir: embeddedDir(config.DataDir), Archive: config.Backup.archive(), Logger: config.Logger})
}

// RunningEmbedded returns the address of the embedded database of a data directory, if it
// runs (see embedded.Running).
func RunningEmbedded(dataDir string) (adminURL string, exists bool, err error) {
	return embedded.Running(embeddedDir(dataDir))
}

// Connections returns how many connections to the database an instance may open.
func Connections(config Config) int {
	return postgres.DefaultMaxConns() + config.withDefaults().Workers + queueConns + adminConns
}

// openDatabase connects to the configured server, or starts the embedded one. The caller
// must close the result, also after an error.
func openDatabase(ctx context.Context, config Config, tracer pgx.QueryTracer) (d database, err error) {
	if config.Pool != nil {
		return database{requests: config.Pool, work: config.Pool, admin: cmp.Or(config.AdminPool, config.Pool), external: true}, nil
	}
	url, adminURL := config.DatabaseURL, config.DatabaseAdminURL
	switch {
	case url == "" && adminURL != "":
		return d, fault.Field("database-admin-url", "needs database-url, with the role for everything else")
	case url == "":
		if d.embedded, err = StartEmbedded(ctx, config); err != nil {
			return d, err
		}
		url, adminURL = d.embedded.URL(), d.embedded.AdminURL()
	}
	if adminURL != "" { // first, because it may create the vector extension
		d.admin, err = postgres.Open(ctx, postgres.Config{
			URL: adminURL, Setting: "database-admin-url", Logger: config.Logger, ApplicationName: "ragd admin", MaxConns: adminConns, MaxIndexes: config.IndexesPerConnection,
		})
		if err != nil {
			return d, err
		}
	}
	if d.requests, err = postgres.Open(ctx, postgres.Config{URL: url, Logger: config.Logger, Tracer: tracer, MaxIndexes: config.IndexesPerConnection}); err != nil {
		return d, err
	}
	if d.admin == nil {
		d.admin = d.requests
	} else if err := checkSameDatabase(ctx, d.admin, d.requests); err != nil {
		return d, err
	}
	d.work, err = postgres.Open(ctx, postgres.Config{
		URL: url, Logger: config.Logger, ApplicationName: "ragd ingest", MaxConns: config.Workers + queueConns, MaxIndexes: config.IndexesPerConnection,
	})
	return d, err
}

// checkSameDatabase returns an error unless both URLs name one database.
func checkSameDatabase(ctx context.Context, admin, requests *pgxpool.Pool) error {
	same, err := postgres.SameDatabase(ctx, admin, requests)
	if err != nil {
		return fmt.Errorf("compare the databases of database-url and database-admin-url: %w", err)
	}
	if !same {
		return fault.New(fault.Precondition, "database-url names %s, but database-admin-url names %s: let both name the same database, each with its role",
			postgres.Describe(requests), postgres.Describe(admin))
	}
	return nil
}

// openReplicas returns the replicas of the database, which are not connected to before they run.
// Errors: Invalid.
func openReplicas(config Config, d database, tracer pgx.QueryTracer) (*replica.Set, error) {
	if len(config.DatabaseReadURLs) > 0 && d.embedded != nil {
		return nil, fault.Field(replica.Setting, "needs database-url: the embedded database has no replicas")
	}
	if len(config.DatabaseReadURLs) > 0 && postgres.Distributed(d.requests) {
		return nil, fault.Field(replica.Setting, "must be empty: the database is the coordinator of a Citus cluster, whose replicas have no chunks")
	}
	return replica.New(replica.Config{
		Primary: d.requests, URLs: config.DatabaseReadURLs, Staleness: config.DatabaseMaxStaleness, Logger: config.Logger,
		Pool: postgres.Config{Tracer: tracer, MaxIndexes: config.IndexesPerConnection},
	})
}

// close closes the pools, unless they belong to the caller, and stops the embedded
// server.
func (d database) close(ctx context.Context) error {
	d.replicas.Close()
	if d.external {
		return nil
	}
	for _, pool := range []*pgxpool.Pool{d.work, d.requests, d.admin} {
		if pool != nil {
			pool.Close() // a second time does nothing
		}
	}
	if d.embedded == nil {
		return nil
	}
	return d.embedded.Stop(ctx)
}

// openTenants returns the service of the tenants and that of their credentials, and repairs the tenants
// that cannot be served.
// onErase is called for each tenant that is erased.
func openTenants(ctx context.Context, config Config, d database, placed *placement.Registry, guard *storage.Guard, onErase ...provision.RowsFunc) (*provision.Service, *credential.Service, error) {
	tenants, credentials, err := newTenants(ctx, config, d, placed, provision.Config{
		Storage: guard, OnErase: onErase, OnDelete: []provision.RowsFunc{move.Hold}, OnRestore: []provision.RowsFunc{move.Release}, Retention: config.DeletedRetention,
	})
	if err != nil {
		return nil, nil, err
	}
	failed, err := tenants.Repair(ctx, nil, func(r provision.Repaired) {
		if r.Err != nil {
			config.Logger.ErrorContext(ctx, "tenant cannot be served", "tenant", r.Tenant, "problem", r.Problem, "err", r.Err)
		} else {
			config.Logger.WarnContext(ctx, "tenant repaired", "tenant", r.Tenant, "problem", r.Problem)
		}
	})
	if failed > 0 {
		config.Logger.ErrorContext(ctx, "some tenants cannot be served: their calls fail until `ragd tenant repair` has succeeded", "tenants", failed)
	}
	return tenants, credentials, err
}

// backgroundParallel is the number of tenants that are migrated at once while the service
// answers requests.
const backgroundParallel = 2

// migrateBehind migrates the tenants that are behind, while the service answers requests,
// if the database is embedded: with an external one, whose instances may be of several
// versions, the operator chooses when to migrate.
func (s *Service) migrateBehind(ctx context.Context) {
	behind, tenants, err := s.Tenants.Behind(ctx)
	switch {
	case ctx.Err() != nil || err == nil && len(behind) == 0:
		return
	case err != nil:
		s.log.ErrorContext(ctx, "looking for tenants to migrate failed", "err", err)
		return
	case s.database.embedded == nil:
		s.log.WarnContext(ctx, "some tenants are not migrated to this version of ragd: run `ragd migrate`", "behind", len(behind), "tenants", tenants)
		return
	}
	s.log.InfoContext(ctx, "migrating tenants", "behind", len(behind), "tenants", tenants)
	failed, err := s.Tenants.Migrate(ctx, behind, backgroundParallel, func(m provision.Migrated) {
		if m.Err != nil {
			s.log.ErrorContext(ctx, "tenant not migrated", "tenant", m.Tenant, "err", m.Err)
		}
	})
	if err == nil && failed > 0 {
		s.log.ErrorContext(ctx, "some tenants could not be migrated and may not work: the next start or `ragd migrate` tries again", "tenants", failed)
	}
}

// migrateControl brings the control schema, the job queue's tables and the rights of the
// service's role up to date, and opens the registered databases. The caller closes the registry.
func migrateControl(ctx context.Context, config Config, d database, tracer pgx.QueryTracer) (*placement.Registry, error) {
	setting := "database-admin-url"
	if d.admin == d.requests {
		setting = "database-url"
	}
	if err := migrateSchemas(ctx, d.admin, setting); err != nil {
		return nil, err
	}
	if err := provision.GrantService(ctx, d.admin, d.requests); err != nil {
		return nil, err
	}
	if err := checkFirst(ctx, d.admin); err != nil {
		return nil, err
	}
	placing, err := placementConfig(ctx, config, d)
	if err != nil {
		return nil, err
	}
	placing.Tracer = tracer
	return placement.New(ctx, placing)
}

// placementConfig returns how registered databases are reached.
func placementConfig(ctx context.Context, config Config, d database) (placement.Config, error) {
	keys, err := masterKeys(ctx, config, d)
	if err != nil {
		return placement.Config{}, err
	}
	guard, err := outbound.New(config.AllowedPrivateNetworks)
	if err != nil {
		return placement.Config{}, err
	}
	return placement.Config{
		First: d.requests, Work: d.work, Keys: keys, Guard: guard, Logger: config.Logger,
		Replicas:  d.replicas,
		PerTenant: config.StatementsPerTenant, WorkConns: config.Workers + queueConns, MaxIndexes: config.IndexesPerConnection,
		Prepare: func(ctx context.Context, pool *pgxpool.Pool) error { return migrateSchemas(ctx, pool, "url") },
	}, nil
}

// migrateSchemas brings the schemas of the service in a database up to date. setting names what has the
// URL of the pool.
func migrateSchemas(ctx context.Context, pool *pgxpool.Pool, setting string) error {
	if err := provision.CheckAdmin(ctx, pool, setting); err != nil {
		return err
	}
	if err := provision.MigrateControl(ctx, pool); err != nil {
		return err
	}
	return job.Migrate(ctx, riverpgxv5.New(pool))
}

// checkFirst returns an error if the database is registered with a service whose first database is
// another one.
func checkFirst(ctx context.Context, pool *pgxpool.Pool) error {
	is, err := provision.ReadIdentity(ctx, pool)
	if err == nil && is.DatabaseID != is.ServiceID {
		return fault.New(fault.Precondition, "%s is registered with a ragd that has another first database: let database-url name that one, or an empty database", postgres.Describe(pool))
	}
	return err
}

// newTenants returns the service of the tenants in all databases, and that of their credentials. of has
// what differs between its callers.
func newTenants(ctx context.Context, config Config, d database, placed *placement.Registry, of provision.Config) (*provision.Service, *credential.Service, error) {
	credentials, err := credential.New(ctx, d.requests, credential.Config{
		OperatorKey: config.OperatorKey, Tokens: config.Tokens, Databases: placed, Logger: config.Logger,
		PlanContact: config.PlanContact,
	})
	if err != nil {
		return nil, nil, err
	}
	of.Admin, of.Databases, of.Changed, of.Logger = d.admin, placed, credentials.Auth.Forget, config.Logger
	tenants, err := provision.New(ctx, d.requests, of)
	return tenants, credentials, err
}

// withDatabase opens the database, runs do and closes the database.
func withDatabase(ctx context.Context, config Config, do func(database) error) (err error) {
	d, err := openDatabase(ctx, config, nil)
	defer func() {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		err = errors.Join(err, d.close(stop))
	}()
	if err != nil {
		return err
	}
	return do(d)
}

// Outcome is what a call about all tenants did not achieve.
type Outcome struct {
	Failed int // tenants
	// LeftOut are the registered databases that could not be reached, ordered by name.
	LeftOut []provision.LeftOut
	Unknown int // tenants that live in LeftOut
}

// maintain opens the databases, migrates the control schemas, runs do, which returns how many tenants
// failed, and closes the databases.
func maintain(ctx context.Context, config Config, do func(*provision.Service) (failed int, err error)) (o Outcome, err error) {
	config = config.withDefaults()
	err = withDatabase(ctx, config, func(d database) error {
		placed, err := migrateControl(ctx, config, d, nil)
		if err != nil {
			return err
		}
		defer placed.Close()
		if err := placed.Settle(ctx); err != nil {
			return err
		}
		tenants, _, err := newTenants(ctx, config, d, placed, provision.Config{OnLeftOut: o.leaveOut})
		if err != nil {
			return err
		}
		if o.Failed, err = do(tenants); err != nil {
			return err
		}
		o.Unknown, err = tenants.CountIn(ctx, o.names())
		return err
	})
	return o, err
}

// leaveOut notes a database, once.
func (o *Outcome) leaveOut(left provision.LeftOut) {
	if i, found := slices.BinarySearch(o.names(), left.Database); !found {
		o.LeftOut = slices.Insert(o.LeftOut, i, left)
	}
}

// names returns the names of the databases that were left out.
func (o *Outcome) names() []string {
	names := make([]string, len(o.LeftOut))
	for i, d := range o.LeftOut {
		names[i] = d.Database
	}
	return names
}

// Migration says how Migrate works and receives its results. The functions are called one
// at a time.
type Migration struct {
	Parallel int // tenants that are migrated at once
	Repaired func(provision.Repaired)
	// Begin is called with the number of tenants that are behind, and of all tenants.
	Begin    func(behind, tenants int)
	Migrated func(provision.Migrated)
}

// Migrate repairs the tenants that cannot be served, and migrates the control schema and
// the schemas of all tenants to the newest version. It opens and closes the database
// itself. A tenant that fails and a registered database that cannot be reached do not stop the
// others: the Outcome has them, and another call tries them again. The error concerns the
// whole service.
func Migrate(ctx context.Context, config Config, m Migration) (Outcome, error) {
	return maintain(ctx, config, func(tenants *provision.Service) (failed int, err error) {
		if _, err := tenants.Repair(ctx, nil, m.Repaired); err != nil {
			return 0, err
		}
		if _, err := tenants.CorrectVersions(ctx); err != nil {
			return 0, err
		}
		behind, all, err := tenants.Behind(ctx)
		if err != nil {
			return 0, err
		}
		m.Begin(len(behind), all)
		return tenants.Migrate(ctx, behind, m.Parallel, m.Migrated)
	})
}

// Versions returns the versions of the control schema and of the tenants' schemas. It opens
// and closes the database itself, and changes nothing in it.
func Versions(ctx context.Context, config Config) (v provision.Versions, err error) {
	config = config.withDefaults()
	err = withDatabase(ctx, config, func(d database) error {
		v, err = provision.ReadVersions(ctx, d.admin)
		if err != nil || !v.Registers() {
			return err
		}
		placing, err := placementConfig(ctx, config, d)
		if err != nil {
			return err
		}
		return placement.Each(ctx, placing, func(name string, pool *pgxpool.Pool, err error) {
			var there provision.Versions
			if err == nil {
				there, err = provision.ReadVersions(ctx, pool)
			}
			v = v.And(name, there, err)
		})
	})
	return v, err
}

// Repair repairs the named tenants, or without names all that cannot be served (see
// provision.Service.Repair). It opens and closes the database itself. A tenant that fails and a
// registered database that cannot be reached do not stop the others: the Outcome has them.
func Repair(ctx context.Context, config Config, names []string, report func(provision.Repaired)) (Outcome, error) {
	return maintain(ctx, config, func(tenants *provision.Service) (failed int, err error) {
		return tenants.Repair(ctx, names, report)
	})
}

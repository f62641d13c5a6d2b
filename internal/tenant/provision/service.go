package provision

import (
	"cmp"
	"context"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/index/storage"
	"github.com/ragdhq/ragd/internal/tenant"
)

// Config holds the settings of a Service.
type Config struct {
	// Admin is the pool with which tenants are created and deleted, if its role is not
	// the one of the other statements. Default: the same pool.
	Admin *pgxpool.Pool
	// Changed, if set, is called after the settings of a tenant have changed and when a tenant's deletion
	// has begun: credentials that are cached with them are forgotten.
	Changed func()
	// Logger gets a line for each interrupted deletion. Default: none.
	Logger *slog.Logger
	// Migrations are the files that make and migrate a tenant's schema. Default: those of
	// package migrations.
	Migrations fs.FS
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// Storage says whether there is space for another tenant. Default: always.
	Storage *storage.Guard
	// Databases are those besides the first one in which tenants live. Default: none.
	Databases Databases
	// OnLeftOut, if set, is called for each of Databases that a call about all tenants leaves out,
	// because it does not answer or fails.
	OnLeftOut func(LeftOut)
	// OnErase delete the rows of other packages about a tenant from the control schema.
	OnErase []RowsFunc
	// OnDelete take what works for a tenant out of the tables of other packages when it is deleted and can be restored, and
	// OnRestore puts it back.
	OnDelete, OnRestore []RowsFunc
	// Retention is how long a deleted tenant can be restored, unless its settings or its plan say it. Default: not at all, it is
	// erased at once.
	Retention time.Duration
}

// Service manages tenants. Safe for concurrent use.
type Service struct {
	store     *store    // of the first database
	first     *Database // which has the control schema of the service
	others    Databases // nil if there is none
	onLeftOut func(LeftOut)
	log       *slog.Logger
	now       func() time.Time
	onErase   []RowsFunc
	onDelete  []RowsFunc
	onRestore []RowsFunc
	retention time.Duration
	changed   func()
	before    func(ctx context.Context, id tenant.ID) error // a deletion
	erase     func(ctx context.Context, conn *pgxpool.Conn, id tenant.ID) error
	storage   *storage.Guard
	health    struct { // the cached result of Health
		sync.Mutex
		checked time.Time
		valid   time.Duration // how long last is valid after checked
		last    Health
	}
}

// New returns a Service on the control schema in the pool's database. Call MigrateControl
// before.
func New(ctx context.Context, pool *pgxpool.Pool, config Config) (*Service, error) {
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Changed == nil {
		config.Changed = func() {}
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	first, err := newDatabase(ctx, "", pool, cmp.Or(config.Admin, pool), config.Migrations)
	if err != nil {
		return nil, err
	}
	return &Service{
		store: first.store, first: first, others: config.Databases, onLeftOut: config.OnLeftOut, log: config.Logger,
		now: config.Now, onErase: config.OnErase, onDelete: config.OnDelete, onRestore: config.OnRestore, retention: config.Retention,
		changed: config.Changed, storage: config.Storage,
	}, nil
}

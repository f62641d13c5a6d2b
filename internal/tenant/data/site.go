package data

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/place/replica"
)

// Site is a pool of connections to one of the databases in which tenants live. Safe for
// concurrent use.
type Site struct {
	Name        string // empty for the first database
	Pool        *pgxpool.Pool
	Replicas    *replica.Set // of the database; nil for none
	connections *connections
	distributed bool // by Citus
}

// NewSite returns a Site that uses the pool and does not close it. For perTenant see NewDB.
func NewSite(name string, pool *pgxpool.Pool, perTenant int) *Site {
	half := max(1, int(pool.Config().MaxConns)/2)
	most := half
	if perTenant > 0 {
		most = min(half, perTenant)
	}
	return &Site{Name: name, Pool: pool, connections: newConnections(min(half, 2*most), most), distributed: postgres.Distributed(pool)}
}

// Placement tells in which database each tenant lives. What it says may be old: a database that a
// tenant has left refuses the tenant's statements. Safe for concurrent use.
type Placement interface {
	// Of returns the database of a tenant. Errors: Unavailable, naming the database, when it
	// does not answer.
	Of(ctx context.Context, id tenant.ID) (*Site, error)
	// Moved looks a tenant up again whose statement a database has refused, and reports
	// whether it lives in another one now.
	Moved(ctx context.Context, id tenant.ID, refused *Site) (bool, error)
}

// SQLSTATEs of statements of a tenant that is moved between databases.
const (
	notServedHere = "RG001" // the database does not serve the tenant; nothing of the statement has run
	writesStopped = "RG002"
)

const (
	// moveAttempts is how often a statement is sent again while a tenant leaves one database
	// and is not yet served by another.
	moveAttempts = 12
	// movePause is the pause after the first attempt; it doubles up to maxMovePause.
	movePause    = 5 * time.Millisecond
	maxMovePause = 500 * time.Millisecond
)

// placed calls do with a handle for the database in which the tenant lives. do says whether it had
// begun as the tenant. If it had not, because the database no longer serves the tenant, the tenant
// is looked up again and do is called again.
func (h *Handle) placed(ctx context.Context, do func(h *Handle) (begun bool, err error)) error {
	if h.placement == nil {
		_, err := do(h)
		return h.translate(ctx, err)
	}
	pause := movePause
	for attempt := 1; ; attempt++ {
		at, err := h.at(ctx)
		if err != nil {
			return err
		}
		begun, err := do(at)
		if begun || !refused(err) {
			return at.translate(ctx, err)
		}
		moved, failed := h.placement.Moved(ctx, h.id, at.site)
		if failed != nil {
			return failed
		}
		if moved {
			continue
		}
		if attempt == moveAttempts || postgres.Code(err) != notServedHere || !at.leaving(ctx) {
			return at.translate(ctx, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
			pause = min(2*pause, maxMovePause)
		}
	}
}

// refused reports whether the error may be that of a database that the tenant has left: the driver prepares
// statements, which need the tables, before it sends the one that is refused.
func refused(err error) bool {
	code := postgres.Code(err)
	return code == notServedHere || code == postgres.CodeUndefinedTable || code == undefinedSchema || code == postgres.CodeInsufficientPrivilege
}

// at returns the handle for the database in which the tenant lives. Errors: those of Placement.Of.
func (h *Handle) at(ctx context.Context) (*Handle, error) {
	if h.placement == nil {
		return h, nil
	}
	site, err := h.placement.Of(ctx, h.id)
	if err != nil {
		return nil, err
	}
	at := *h
	at.site = site
	return &at, nil
}

// Database returns the name of the database in which the tenant lives, empty for the first one, as this instance knows it
// from the last statement. Errors: Unavailable.
func (h *Handle) Database(ctx context.Context) (string, error) {
	at, err := h.at(ctx)
	if err != nil {
		return "", err
	}
	return at.site.Name, nil
}

// leaving reports whether the database has a row of the tenant that says that it went elsewhere.
func (h *Handle) leaving(ctx context.Context) (leaving bool) {
	const q = `SELECT EXISTS (SELECT FROM ragd.tenants WHERE tenant_id = $1 AND database_name <> '')`
	return h.site.Pool.QueryRow(ctx, q, h.id).Scan(&leaving) == nil && leaving
}

// acquire waits until the tenant may use another connection of its database.
func (h *Handle) acquire(ctx context.Context) (release func(), err error) {
	return h.site.connections.acquire(ctx, h.id)
}

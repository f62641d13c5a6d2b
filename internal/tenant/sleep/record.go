package sleep

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/secure/seal"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/archive/frame"
)

// Sealed is the column with the data keys of archives.
var Sealed = seal.Column{
	Table: "ragd.sleeps", Name: "sealed_key", Row: "'archives/' || tenant_id",
	BelongsTo: "ARRAY['archive', tenant_id, archive_id::text]",
}

// phase is how far a sleep is; see the package's comment.
type phase string

const (
	archiving phase = "archiving"
	dropping  phase = "dropping"
	asleep    phase = "asleep"
	awake     phase = "awake"
)

// record is an archive of a tenant.
type record struct {
	ArchiveID string
	TenantID  tenant.ID
	Phase     phase
	SealedKey []byte
	Frames    int64
}

const columns = `s.archive_id::text AS archive_id, s.tenant_id, s.phase, s.sealed_key, s.frames`

// name returns the name of the archive in the store.
func (r record) name() string { return string(r.TenantID) + "/" + r.ArchiveID + ".ragd" }

// belongsTo returns what the archive and its key are bound to.
func (r record) belongsTo() []string { return []string{"archive", string(r.TenantID), r.ArchiveID} }

// querier runs statements: a pool, a connection or a transaction.
type querier interface {
	tenant.Querier
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

func list(ctx context.Context, on querier, where string, args ...any) ([]record, error) {
	rows, _ := on.Query(ctx, `SELECT `+columns+` FROM ragd.sleeps AS s WHERE `+where, args...)
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[record])
	return found, postgres.Fault(err)
}

// current returns the archive of a tenant that is asleep or is being put to sleep. Errors: NotFound.
func current(ctx context.Context, on querier, id tenant.ID) (record, error) {
	found, err := list(ctx, on, `s.tenant_id = $1 AND s.phase <> 'awake'`, id)
	if err == nil && len(found) == 0 {
		err = fault.New(fault.NotFound, "tenant %q has no archive", id)
	}
	if err != nil {
		return record{}, err
	}
	return found[0], nil
}

// begin notes that an archive of a tenant is being written, before anything is stored that would have to be found.
func begin(ctx context.Context, on querier, keys *seal.Keys, id tenant.ID) (r record, dataKey []byte, err error) {
	r = record{ArchiveID: uuid.Must(uuid.NewV7()).String(), TenantID: id, Phase: archiving}
	dataKey = seal.NewDataKey()
	r.SealedKey = keys.Seal(dataKey, r.belongsTo()...)
	_, err = on.Exec(ctx, `INSERT INTO ragd.sleeps (archive_id, tenant_id, phase, sealed_key) VALUES ($1::uuid, $2, $3, $4)`, r.ArchiveID, id, r.Phase, r.SealedKey)
	return r, dataKey, postgres.Fault(err)
}

// beginner begins transactions: a connection of a pool.
type beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// fallAsleep is the switch: from then on the archive has the tenant's data. Errors: Conflict for a tenant that is not ready.
func fallAsleep(ctx context.Context, on beginner, r record, bytes int64, end frame.Position) error {
	return postgres.Fault(pgx.BeginFunc(ctx, on, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			UPDATE ragd.tenants SET status = 'asleep', asleep_since = now(), archived_bytes = $2 WHERE tenant_id = $1 AND status = 'ready' AND database_name = ''`,
			r.TenantID, bytes)
		if err != nil {
			return err
		}
		sleeps, err := tx.Exec(ctx, `UPDATE ragd.sleeps SET phase = 'dropping', frames = $2, updated_at = now() WHERE archive_id = $1::uuid AND phase = 'archiving'`, r.ArchiveID, end.Frames)
		if err == nil && (tag.RowsAffected() != 1 || sleeps.RowsAffected() != 1) {
			err = fault.New(fault.Conflict, "tenant %q was changed while it was put to sleep", r.TenantID)
		}
		return err
	}))
}

func dropped(ctx context.Context, on querier, r record) error {
	_, err := on.Exec(ctx, `UPDATE ragd.sleeps SET phase = 'asleep', updated_at = now() WHERE archive_id = $1::uuid AND phase = 'dropping'`, r.ArchiveID)
	return postgres.Fault(err)
}

// sleepOn notes that a waking has failed: the tenant stays asleep.
func sleepOn(ctx context.Context, on beginner, id tenant.ID) error {
	return postgres.Fault(pgx.BeginFunc(ctx, on, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM ragd.imports WHERE tenant_id = $1`, id); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE ragd.tenants SET status = 'asleep' WHERE tenant_id = $1 AND status = 'waking'`, id)
		return err
	}))
}

func forget(ctx context.Context, on querier, r record) error {
	_, err := on.Exec(ctx, `DELETE FROM ragd.sleeps WHERE archive_id = $1::uuid`, r.ArchiveID)
	return postgres.Fault(err)
}

// unfinished returns the archives about which something is to be done: those of interrupted calls, and those that were kept
// for as long as they should be.
func unfinished(ctx context.Context, on querier, keep time.Duration) ([]record, error) {
	return list(ctx, on, `s.phase IN ('archiving', 'dropping') OR s.phase = 'awake' AND s.updated_at < now() - $1::interval ORDER BY s.updated_at LIMIT 1000`, keep)
}

// interrupted returns tenants whose waking may have been interrupted.
func interrupted(ctx context.Context, on querier) ([]tenant.ID, error) {
	rows, _ := on.Query(ctx, `SELECT tenant_id FROM ragd.tenants WHERE status = 'waking' ORDER BY updated_at LIMIT 1000`)
	found, err := pgx.CollectRows(rows, pgx.RowTo[tenant.ID])
	return found, postgres.Fault(err)
}

// wakes is how far the waking of a tenant is.
type wakes struct {
	Status string
	Stored int64 // frames
	Frames int64
}

// percent returns how much of the archive is loaded.
func (w wakes) percent() int64 {
	if w.Status != tenant.StatusWaking || w.Frames == 0 {
		return 0
	}
	return min(99, 100*w.Stored/w.Frames)
}

// progressOf returns how far the waking of a tenant is. Errors: NotFound.
func progressOf(ctx context.Context, on querier, id tenant.ID) (wakes, error) {
	rows, _ := on.Query(ctx, `
		SELECT t.status, coalesce(i.frames, 0) AS stored, coalesce(s.frames, 0) AS frames FROM ragd.tenants AS t
		LEFT JOIN ragd.sleeps AS s ON s.tenant_id = t.tenant_id AND s.phase <> 'awake'
		LEFT JOIN ragd.imports AS i ON i.tenant_id = t.tenant_id WHERE t.tenant_id = $1`, id)
	w, err := pgx.CollectOneRow(rows, pgx.RowToStructByName[wakes])
	if errors.Is(err, pgx.ErrNoRows) {
		return w, fault.New(fault.NotFound, "tenant %q not found", id)
	}
	return w, postgres.Fault(err)
}

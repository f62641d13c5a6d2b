package move

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/provision"
)

// StopWrites lets a database refuse the writes of a tenant, and waits for those under way. conn is one of Admin.
// ResumeWrites undoes it, also after an error or an interruption. Errors: Unavailable when the tenant's tables stay locked.
func StopWrites(ctx context.Context, d *provision.Database, conn *pgxpool.Conn, id tenant.ID) error {
	c := &copying{id: id, from: d, source: conn}
	if err := c.stop(ctx); err != nil {
		return err
	}
	refusing := map[uint32]bool{}
	for {
		now, err := describe(ctx, conn, id.Schema())
		if err != nil {
			return err
		}
		before := len(refusing)
		for _, t := range now.tables {
			if refusing[t.OID] {
				continue
			}
			if err := c.refuseWrites(ctx, now.name(t)); err != nil {
				return fmt.Errorf("stop the writes to the table %s: %w", t.Name, err)
			}
			refusing[t.OID] = true
		}
		if len(refusing) == before { // a transaction that was waited for may have made a table
			return nil
		}
	}
}

// ResumeWrites lets the writes of a tenant go on that StopWrites has stopped.
func ResumeWrites(ctx context.Context, d *provision.Database, conn *pgxpool.Conn, id tenant.ID) error {
	return unwatch(ctx, &copying{id: id, from: d, source: conn})
}

// Remove deletes what a database has of a tenant that it does not serve: its schema, its rows of tables with rows
// of all tenants, its work and its role. In the first database the tenant's row stays. If it is interrupted, a repeated
// call removes the rest.
func Remove(ctx context.Context, d *provision.Database, conn *pgxpool.Conn, id tenant.ID) error {
	if err := removeCopy(ctx, conn, id, d.Name == ""); err != nil {
		return postgres.Fault(err)
	}
	return provision.DropRole(ctx, conn, id)
}

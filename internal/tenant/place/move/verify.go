package move

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// sums returns the number and checksum of the rows of a query, in the schema of the tenant or of rows that its role sees.
func (c *copying) sums(ctx context.Context, conn *pgxpool.Conn, query string) (s sum, err error) {
	err = c.asTenant(ctx, conn, "BEGIN READ ONLY", func(tx pgx.Tx) error {
		_, err := tx.Conn().PgConn().CopyTo(ctx, &reader{each: s.add}, `COPY (`+query+`) TO STDOUT (FORMAT binary)`)
		return err
	})
	return s, err
}

// compare returns an error unless both databases have the same rows for a query.
func (c *copying) compare(ctx context.Context, what, query string) error {
	var there, here sum
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) { there, err = c.sums(ctx, c.source, query); return err })
	group.Go(func() (err error) { here, err = c.sums(ctx, c.target, query); return err })
	if err := group.Wait(); err != nil {
		return fmt.Errorf("compare %s: %w", what, err)
	}
	if there != here {
		return fault.New(fault.Internal, "the copy of %s has %d rows with the checksum %s, and the original has %d with %s", what, here.rows, here, there.rows, there)
	}
	return nil
}

// verify returns an error unless the copies of the tenant's own tables have the rows of the originals.
func (c *copying) verify(ctx context.Context, now description) error {
	for _, t := range now.tables {
		if err := c.compare(ctx, "the table "+t.Name, `SELECT `+t.loaded()+` FROM `+now.name(t)); err != nil {
			return err
		}
	}
	copied, err := describe(ctx, c.target, c.id.Schema())
	if err != nil {
		return err
	}
	if len(copied.tables) != len(now.tables) || !slices.Equal(copied.objects, now.objects) {
		return fault.New(fault.Internal, "the copy has %d tables with %d indexes, constraints and triggers, and the original has %d with %d",
			len(copied.tables), len(copied.objects), len(now.tables), len(now.objects))
	}
	for _, t := range now.tables {
		if copy, there := copied.table(t.Name); !there || !slices.Equal(copy.columns, t.columns) {
			return fault.New(fault.Internal, "the copy of the table %s has other columns than the original", t.Name)
		}
	}
	return nil
}

// Package reseal encrypts everything that rests sealed in the database with the first master
// key, so that the others are no longer needed.
package reseal

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ragdhq/ragd/internal/automation/connector"
	"github.com/ragdhq/ragd/internal/automation/hook"
	"github.com/ragdhq/ragd/internal/model/endpoint/own"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/secure/identity"
	"github.com/ragdhq/ragd/internal/secure/seal"
	"github.com/ragdhq/ragd/internal/secure/secret"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/idempotency"
	"github.com/ragdhq/ragd/internal/tenant/place/placement"
	"github.com/ragdhq/ragd/internal/tenant/provision"
	"github.com/ragdhq/ragd/internal/tenant/sleep"
)

// OfTenants are the columns with sealed secrets of tenants.
var OfTenants = slices.Concat([]seal.Column{own.Sealed, secret.Sealed}, hook.Sealed, connector.Sealed)

// OfService are the columns of the control schema with sealed secrets of the service itself.
var OfService = []seal.Column{identity.Sealed, placement.Sealed, idempotency.Sealed}

// Config configures a Service.
type Config struct {
	DB *data.DB
	// Control reaches the control schema.
	Control interface {
		Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
		Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	}
	// Keys are the master keys. Nil if there are none.
	Keys *seal.Keys
	// Tenants returns a page of the tenants, for a caller who is the operator, and the token of
	// the next.
	Tenants func(ctx context.Context, pageSize int32, pageToken string) ([]provision.Tenant, string, error)
}

// Service encrypts secrets again. Safe for concurrent use.
type Service struct{ config Config }

// New returns a Service.
func New(config Config) *Service { return &Service{config} }

// Done is the outcome of Run.
type Done struct {
	Count int      // of secrets that were encrypted with another key than before
	Lost  []string // secrets that no key opens: tenant/kind/name, or kind/name of the service's own
}

// Run encrypts the secrets of all tenants, and those of the service, with the first master
// key. It may be repeated. A registered database that fails does not stop it from going on with the
// others. Errors: Denied unless the caller is the operator; Precondition without master keys, and if
// tenants are asleep whose archives need another one;
// Unavailable if databases failed, after all others are done.
func (s *Service) Run(ctx context.Context) (Done, error) {
	var done Done
	failed := map[string]error{} // by database
	for token := ""; ; {
		page, next, err := s.config.Tenants(ctx, 1000, token)
		if err != nil {
			return done, err
		}
		if s.config.Keys == nil {
			return done, fault.New(fault.Precondition, "this server has no master key: set RAGD_MASTER_KEY")
		}
		for _, t := range page {
			if failed[t.Database] != nil {
				continue
			}
			err := s.tenant(ctx, t.TenantID, &done)
			switch {
			case err == nil || fault.KindOf(err) == fault.NotFound: // deleted meanwhile
			case ctx.Err() != nil || t.Database == tenant.FirstDatabase:
				return done, err
			default:
				failed[t.Database] = err
			}
		}
		if token = next; token == "" {
			break
		}
	}
	if err := s.service(ctx, &done); err != nil {
		return done, err
	}
	if len(failed) > 0 {
		return done, incomplete(done, failed)
	}
	return done, s.archived(ctx, done)
}

// archived returns an error if tenants are asleep whose archives were encrypted with another key than the first: what is sealed in
// them needs it too. Errors: Precondition.
func (s *Service) archived(ctx context.Context, done Done) error {
	found, err := s.config.Control.Query(ctx, selectRows(sleep.Sealed))
	if err != nil {
		return postgres.Fault(err)
	}
	rows, err := pgx.CollectRows(found, pgx.RowToStructByName[row])
	if err != nil {
		return postgres.Fault(err)
	}
	old := slices.DeleteFunc(rows, func(r row) bool { return s.config.Keys.Current(r.Sealed) })
	if len(old) == 0 {
		return nil
	}
	return fault.New(fault.Precondition,
		"%d secrets are encrypted anew, but %d tenants are asleep since before the first master key was set, such as %s: wake them and repeat it, or keep the old master keys", done.Count, len(old), old[0].Name)
}

// incomplete returns the error of a run that left databases out.
func incomplete(done Done, failed map[string]error) error {
	names := slices.Sorted(maps.Keys(failed))
	return fault.Wrap(fault.Unavailable, failed[names[0]],
		"%d secrets are encrypted anew, but not all of the tenants in these databases, which do not answer or fail: %s: keep the old master keys, and repeat it when the databases answer", done.Count, strings.Join(names, ", "))
}

func (s *Service) tenant(ctx context.Context, id tenant.ID, done *Done) error {
	h := s.config.DB.Handle(id)
	for _, c := range OfTenants {
		rows, err := data.Select[row](ctx, h, selectRows(c))
		if err != nil {
			return err
		}
		err = s.each(rows, string(id)+"/", done, func(old, fresh []byte) error {
			_, err := h.Exec(ctx, replace(c), old, fresh)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) service(ctx context.Context, done *Done) error {
	for _, c := range OfService {
		found, err := s.config.Control.Query(ctx, selectRows(c))
		if err != nil {
			return postgres.Fault(err)
		}
		rows, err := pgx.CollectRows(found, pgx.RowToStructByName[row])
		if err != nil {
			return postgres.Fault(err)
		}
		err = s.each(rows, "", done, func(old, fresh []byte) error {
			_, err := s.config.Control.Exec(ctx, replace(c), old, fresh)
			return postgres.Fault(err)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// each encrypts the secrets of rows that another key than the first has encrypted, and passes
// them to replace.
func (s *Service) each(rows []row, owner string, done *Done, replace func(old, fresh []byte) error) error {
	for _, r := range rows {
		if s.config.Keys.Current(r.Sealed) {
			continue
		}
		plain, err := s.config.Keys.Open(r.Sealed, r.BelongsTo...)
		if err != nil {
			if r.Needed {
				done.Lost = append(done.Lost, owner+r.Name)
			}
			continue
		}
		if err := replace(r.Sealed, s.config.Keys.Seal(plain, r.BelongsTo...)); err != nil {
			return fmt.Errorf("store %s%s encrypted anew: %w", owner, r.Name, err)
		}
		done.Count++
	}
	return nil
}

type row struct {
	Name      string
	BelongsTo []string
	Needed    bool
	Sealed    []byte
}

// Exist reports whether anything in the database is sealed that has to be opened again. Answers of calls that may be repeated do not
// count: they are kept for a day, and without their key such a repeat is refused. The role of the connections must see
// the rows of all tenants, as a superuser does.
func Exist(ctx context.Context, on interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
},
) (exist bool, err error) {
	for _, c := range slices.Concat(OfTenants, []seal.Column{identity.Sealed, placement.Sealed, sleep.Sealed}) {
		err = on.QueryRow(ctx, fmt.Sprintf(`SELECT EXISTS (SELECT FROM %s WHERE %s IS NOT NULL)`, c.Table, c.Name)).Scan(&exist)
		if err != nil || exist {
			return exist, postgres.Fault(err)
		}
	}
	return false, nil
}

func selectRows(c seal.Column) string {
	return fmt.Sprintf(`SELECT %s AS name, %s AS belongs_to, coalesce(%s, false) AS needed, %s AS sealed FROM %s WHERE %[4]s IS NOT NULL ORDER BY 1`,
		c.Row, c.BelongsTo, cmp.Or(c.Needed, "true"), c.Name, c.Table)
}

// replace returns the statement that stores a secret ($2) if the stored one is still the old
// one ($1), which is unique because of its nonce. The time of the last update stays.
func replace(c seal.Column) string {
	return fmt.Sprintf(`UPDATE %s SET %s = $2 WHERE %[2]s = $1`, c.Table, c.Name)
}

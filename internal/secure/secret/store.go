package secret

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/nearest"
	"github.com/ragdhq/ragd/internal/tenant"
)

type row struct {
	SecretName string
	Value      []byte
	Hosts      []string
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

func (r row) secret() Secret {
	return Secret{Name: r.SecretName, Hosts: r.Hosts, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt}
}

const columns = `secret_name, value, hosts, created_at, updated_at`

// list returns at most limit secrets whose names follow after, ordered by name.
func list(ctx context.Context, q tenant.Queryer, after string, limit int) ([]row, error) {
	return tenant.Select[row](ctx, q, `
		SELECT `+columns+` FROM ragd_shared.secrets WHERE secret_name > $1 ORDER BY secret_name LIMIT $2`, after, limit)
}

// find returns the secrets with these names that exist.
func find(ctx context.Context, q tenant.Queryer, names []string) ([]row, error) {
	return tenant.Select[row](ctx, q, `SELECT `+columns+` FROM ragd_shared.secrets WHERE secret_name = ANY($1)`, names)
}

// put stores a secret or replaces it. A nil hosts keeps those of an existing one; seal
// encrypts the value for the hosts. A lock makes the limit hold for concurrent calls.
func put(ctx context.Context, h *tenant.Handle, name string, hosts []string, seal func(hosts []string) []byte) (stored row, err error) {
	err = h.Tx(ctx, func(tx *tenant.Tx) error {
		if err := tx.Lock(ctx, "secrets"); err != nil {
			return err
		}
		old, err := find(ctx, tx, []string{name})
		if err != nil {
			return err
		}
		switch {
		case len(old) == 1 && hosts == nil:
			hosts = old[0].Hosts
		case len(old) == 0:
			if err := checkCount(ctx, tx); err != nil {
				return err
			}
		}
		if hosts == nil {
			hosts = []string{}
		}
		stored, err = tenant.Get[row](ctx, tx, `
			INSERT INTO ragd_shared.secrets (secret_name, value, hosts) VALUES ($1, $2, $3)
			ON CONFLICT (tenant_id, secret_name) DO UPDATE SET value = excluded.value, hosts = excluded.hosts, updated_at = clock_timestamp()
			RETURNING `+columns, name, seal(hosts), hosts)
		return err
	})
	return stored, err
}

func checkCount(ctx context.Context, tx *tenant.Tx) error {
	have, err := tenant.Value[int](ctx, tx, `SELECT count(*) FROM ragd_shared.secrets`)
	if err == nil && have >= maxSecrets {
		err = fault.New(fault.Exhausted, "a tenant may have %d secrets: delete one that is no longer needed", maxSecrets)
	}
	return err
}

// remove deletes a secret. Errors: NotFound.
func remove(ctx context.Context, h *tenant.Handle, name string) error {
	_, err := tenant.Value[string](ctx, h, `DELETE FROM ragd_shared.secrets WHERE secret_name = $1 RETURNING secret_name`, name)
	if errors.Is(err, pgx.ErrNoRows) {
		return notFound(ctx, h, name)
	}
	return err
}

// notFound returns the error for a secret that does not exist. It names the nearest one.
func notFound(ctx context.Context, q tenant.Queryer, name string) error {
	names, err := tenant.Values[string](ctx, q, `SELECT secret_name FROM ragd_shared.secrets LIMIT $1`, maxSecrets)
	if err != nil {
		names = nil
	}
	return fault.New(fault.NotFound, "secret %q not found%s", name, nearest.Hint(name, names))
}

package secret

import (
	"context"
	"time"

	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tenant/data"
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

// secrets is the table of secrets.
var secrets = catalog.Table[row]{
	Noun: "secret", Plural: "secrets", Most: maxSecrets,
	Name:      func(r row) string { return r.SecretName },
	CountSQL:  `SELECT count(*) FROM ragd_shared.secrets`,
	NamesSQL:  `SELECT secret_name FROM ragd_shared.secrets ORDER BY secret_name`,
	ListSQL:   `SELECT ` + columns + ` FROM ragd_shared.secrets WHERE secret_name > $1 ORDER BY secret_name LIMIT $2`,
	DeleteSQL: `DELETE FROM ragd_shared.secrets WHERE secret_name = $1 RETURNING secret_name`,
}

// find returns the secrets with these names that exist.
func find(ctx context.Context, q data.Queryer, names []string) ([]row, error) {
	return data.Select[row](ctx, q, `SELECT `+columns+` FROM ragd_shared.secrets WHERE secret_name = ANY($1)`, names)
}

// put stores a secret or replaces it. A nil hosts keeps those of an existing one; seal
// encrypts the value for the hosts. A lock makes the limit hold for concurrent calls.
func put(ctx context.Context, h *data.Handle, name string, hosts []string, seal func(hosts []string) []byte) (stored row, err error) {
	err = h.Tx(ctx, func(tx *data.Tx) error {
		if err := secrets.Lock(ctx, tx); err != nil {
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
			if err := secrets.CheckQuota(ctx, tx); err != nil {
				return err
			}
		}
		if hosts == nil {
			hosts = []string{}
		}
		stored, err = data.Get[row](ctx, tx, `
			INSERT INTO ragd_shared.secrets (secret_name, value, hosts) VALUES ($1, $2, $3)
			ON CONFLICT (tenant_id, secret_name) DO UPDATE SET value = excluded.value, hosts = excluded.hosts, updated_at = clock_timestamp()
			RETURNING `+columns, name, seal(hosts), hosts)
		return err
	})
	return stored, err
}

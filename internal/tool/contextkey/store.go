package contextkey

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tool/schema"
)

type row struct {
	KeyName     string
	Description string
	Schema      []byte
	Fallback    []byte
	Secret      bool
	Source      string
	SourceName  string
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

func (r row) key() (Key, error) {
	k := Key{
		ContextKey: access.ContextKey{
			Name: r.KeyName, Description: r.Description, Schema: r.Schema, Secret: r.Secret,
			Source: access.ContextSource(r.Source), From: r.SourceName,
		},
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
	var err error
	if len(r.Fallback) > 0 {
		k.Default, err = schema.Decode(r.Fallback)
	}
	return k, err
}

const columns = `key_name, description, schema, fallback, secret, source, source_name, created_at, updated_at`

// keys is the table of keys. put counts them.
var keys = catalog.Table[row]{
	Noun: "context key", Plural: "context keys",
	Name:      func(r row) string { return r.KeyName },
	NamesSQL:  `SELECT key_name FROM ragd_shared.context_keys ORDER BY key_name`,
	FindSQL:   `SELECT ` + columns + ` FROM ragd_shared.context_keys WHERE key_name = $1`,
	ListSQL:   `SELECT ` + columns + ` FROM ragd_shared.context_keys WHERE key_name > $1 ORDER BY key_name LIMIT $2`,
	DeleteSQL: `DELETE FROM ragd_shared.context_keys WHERE key_name = $1 RETURNING key_name`,
}

// put stores a key or replaces it. A lock makes the limit hold for concurrent calls.
func put(ctx context.Context, h *data.Handle, k Key, fallback json.RawMessage) (stored row, err error) {
	err = h.Tx(ctx, func(tx *data.Tx) error {
		if err := keys.Lock(ctx, tx); err != nil {
			return err
		}
		others, err := data.Value[int](ctx, tx, `SELECT count(*) FROM ragd_shared.context_keys WHERE key_name <> $1`, k.Name)
		if err != nil {
			return err
		}
		if others >= maxKeys {
			return fault.New(fault.Exhausted, "a tenant may declare %d keys of the request context: delete one that is no longer needed", maxKeys)
		}
		stored, err = data.Get[row](ctx, tx, `
			INSERT INTO ragd_shared.context_keys (key_name, description, schema, fallback, secret, source, source_name)
			VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT (tenant_id, key_name) DO UPDATE SET description = excluded.description, schema = excluded.schema,
				fallback = excluded.fallback, secret = excluded.secret, source = excluded.source, source_name = excluded.source_name,
				updated_at = clock_timestamp()
			RETURNING `+columns, k.Name, k.Description, nullable(k.Schema), nullable(fallback), k.Secret, string(k.Source), k.From)
		return err
	})
	return stored, err
}

// nullable returns JSON as a parameter: NULL for none.
func nullable(raw json.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	return string(raw)
}

package own

import (
	"context"
	"time"

	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// row is a row of the table of endpoints.
type row struct {
	EndpointName       string
	Kind               endpoint.Kind
	BaseURL            string `db:"base_url"`
	Secret             []byte
	HasAPIKey          bool `db:"has_api_key"`
	HeaderNames        []string
	MaxConcurrentCalls int
	RequestsPerSecond  float64
	TimeoutMS          int64 `db:"timeout_ms"`
	Models             []endpoint.Model
	CreatedAt          time.Time
	UpdatedAt          time.Time
}

const columns = `endpoint_name, kind, base_url, secret, has_api_key, header_names, max_concurrent_calls, requests_per_second, timeout_ms, models, created_at, updated_at`

func (r row) endpoint() Endpoint {
	return Endpoint{
		Name: r.EndpointName, Kind: r.Kind, BaseURL: r.BaseURL, HasAPIKey: r.HasAPIKey, HeaderNames: r.HeaderNames,
		MaxConcurrentCalls: r.MaxConcurrentCalls, RequestsPerSecond: r.RequestsPerSecond, Timeout: time.Duration(r.TimeoutMS) * time.Millisecond,
		Models: r.Models, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
}

// stored is the table of endpoints.
var stored = catalog.Table[row]{
	Noun: "endpoint", Plural: "endpoints", Most: maxEndpoints,
	Name:      func(r row) string { return r.EndpointName },
	CountSQL:  `SELECT count(*) FROM ragd_shared.endpoints`,
	NamesSQL:  `SELECT endpoint_name FROM ragd_shared.endpoints ORDER BY endpoint_name`,
	FindSQL:   `SELECT ` + columns + ` FROM ragd_shared.endpoints WHERE endpoint_name = $1`,
	ListSQL:   `SELECT ` + columns + ` FROM ragd_shared.endpoints WHERE endpoint_name > $1 ORDER BY endpoint_name LIMIT $2`,
	DeleteSQL: `DELETE FROM ragd_shared.endpoints WHERE endpoint_name = $1 RETURNING endpoint_name`,
}

// insert stores a new endpoint.
func insert(ctx context.Context, h *data.Handle, e Endpoint, secret []byte) (made row, err error) {
	err = h.Tx(ctx, func(tx *data.Tx) error {
		made, err = stored.Insert(ctx, tx, e.Name, `
			INSERT INTO ragd_shared.endpoints (endpoint_name, kind, base_url, secret, has_api_key, header_names,
				max_concurrent_calls, requests_per_second, timeout_ms, models)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING RETURNING `+columns,
			e.Name, e.Kind, e.BaseURL, secret, e.HasAPIKey, e.HeaderNames, e.MaxConcurrentCalls, e.RequestsPerSecond, e.Timeout.Milliseconds(), models(e))
		return err
	})
	return made, err
}

func models(e Endpoint) []endpoint.Model {
	if e.Models == nil {
		return []endpoint.Model{} // not null
	}
	return e.Models
}

// update stores a changed endpoint if the stored one is still old.
func update(ctx context.Context, h *data.Handle, e Endpoint, secret []byte, old row) (row, error) {
	return stored.Update(ctx, h, e.Name, `
		UPDATE ragd_shared.endpoints SET base_url = $2, secret = $3, has_api_key = $4, header_names = $5,
			max_concurrent_calls = $6, requests_per_second = $7, timeout_ms = $8, models = $9,
			updated_at = greatest(clock_timestamp(), updated_at + interval '1 microsecond')
		WHERE endpoint_name = $1 AND updated_at = $10 AND secret IS NOT DISTINCT FROM $11 RETURNING `+columns,
		e.Name, e.BaseURL, secret, e.HasAPIKey, e.HeaderNames, e.MaxConcurrentCalls, e.RequestsPerSecond, e.Timeout.Milliseconds(), models(e), old.UpdatedAt, old.Secret)
}

// remove deletes an endpoint unless inUse returns an error.
func remove(ctx context.Context, h *data.Handle, name string, inUse func(data.Queryer) error) error {
	return h.Tx(ctx, func(tx *data.Tx) error {
		if err := inUse(tx); err != nil {
			return err
		}
		return stored.Delete(ctx, tx, name)
	})
}

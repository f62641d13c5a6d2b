package own

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/nearest"
	"github.com/ragdhq/ragd/internal/tenant"
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

func get(ctx context.Context, q tenant.Queryer, name string) (row, error) {
	r, err := tenant.Get[row](ctx, q, `SELECT `+columns+` FROM ragd_shared.endpoints WHERE endpoint_name = $1`, name)
	if errors.Is(err, pgx.ErrNoRows) {
		return row{}, notFound(ctx, q, name)
	}
	return r, err
}

// list returns at most limit endpoints whose names follow after, ordered by name.
func list(ctx context.Context, q tenant.Queryer, after string, limit int) ([]row, error) {
	return tenant.Select[row](ctx, q, `
		SELECT `+columns+` FROM ragd_shared.endpoints WHERE endpoint_name > $1 ORDER BY endpoint_name LIMIT $2`, after, limit)
}

// notFound returns the error for an endpoint that does not exist. It names the nearest one.
func notFound(ctx context.Context, q tenant.Queryer, name string) error {
	var names []string
	if rows, err := list(ctx, q, "", maxEndpoints); err == nil {
		for _, r := range rows {
			names = append(names, r.EndpointName)
		}
	}
	return fault.New(fault.NotFound, "endpoint %q not found%s", name, nearest.Hint(name, names))
}

// insert stores a new endpoint. A lock makes the limit hold for concurrent calls.
func insert(ctx context.Context, h *tenant.Handle, e Endpoint, secret []byte) (made row, err error) {
	err = h.Tx(ctx, func(tx *tenant.Tx) error {
		if err := tx.Lock(ctx, "endpoints"); err != nil {
			return err
		}
		have, err := tenant.Value[int](ctx, tx, `SELECT count(*) FROM ragd_shared.endpoints`)
		if err != nil {
			return err
		}
		if have >= maxEndpoints {
			return fault.New(fault.Exhausted, "a tenant may have %d endpoints: delete one that is no longer needed", maxEndpoints)
		}
		made, err = tenant.Get[row](ctx, tx, `
			INSERT INTO ragd_shared.endpoints (endpoint_name, kind, base_url, secret, has_api_key, header_names,
				max_concurrent_calls, requests_per_second, timeout_ms, models)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING RETURNING `+columns,
			e.Name, e.Kind, e.BaseURL, secret, e.HasAPIKey, e.HeaderNames, e.MaxConcurrentCalls, e.RequestsPerSecond, e.Timeout.Milliseconds(), models(e))
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.New(fault.Exists, "endpoint %q exists already", e.Name)
		}
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
func update(ctx context.Context, h *tenant.Handle, e Endpoint, secret []byte, old row) (row, error) {
	r, err := tenant.Get[row](ctx, h, `
		UPDATE ragd_shared.endpoints SET base_url = $2, secret = $3, has_api_key = $4, header_names = $5,
			max_concurrent_calls = $6, requests_per_second = $7, timeout_ms = $8, models = $9,
			updated_at = greatest(clock_timestamp(), updated_at + interval '1 microsecond')
		WHERE endpoint_name = $1 AND updated_at = $10 AND secret IS NOT DISTINCT FROM $11 RETURNING `+columns,
		e.Name, e.BaseURL, secret, e.HasAPIKey, e.HeaderNames, e.MaxConcurrentCalls, e.RequestsPerSecond, e.Timeout.Milliseconds(), models(e), old.UpdatedAt, old.Secret)
	if errors.Is(err, pgx.ErrNoRows) {
		return row{}, fault.New(fault.Conflict, "endpoint %q was changed or deleted meanwhile", e.Name)
	}
	return r, err
}

// remove deletes an endpoint unless inUse returns an error.
func remove(ctx context.Context, h *tenant.Handle, name string, inUse func(tenant.Queryer) error) error {
	return h.Tx(ctx, func(tx *tenant.Tx) error {
		if err := inUse(tx); err != nil {
			return err
		}
		n, err := tx.Exec(ctx, `DELETE FROM ragd_shared.endpoints WHERE endpoint_name = $1`, name)
		if err == nil && n == 0 {
			err = notFound(ctx, tx, name)
		}
		return err
	})
}

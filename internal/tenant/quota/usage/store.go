package usage

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/quota"
)

// upsert adds given rows. Those of tenants that are gone are left out, also if another tenant
// has the name now. Rows are locked in one order, so that instances never wait in a circle.
const upsert = `
	INSERT INTO ragd.usage AS u (tenant_id, hour, index_name, stage, model, calls, documents, chunks, bytes, input_tokens, output_tokens, seconds)
	SELECT given.tenant_id, to_timestamp(given.hour), given.index_name, given.stage, given.model,
		given.calls, given.documents, given.chunks, given.bytes, given.input_tokens, given.output_tokens, given.seconds
	FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::timestamptz[], $13::float8[])
		AS given (tenant_id, hour, index_name, stage, model, calls, documents, chunks, bytes, input_tokens, output_tokens, used_at, seconds)
	JOIN ragd.tenants AS t ON t.tenant_id = given.tenant_id AND t.created_at <= given.used_at
	ORDER BY given.tenant_id COLLATE "C", given.hour, given.index_name COLLATE "C", given.stage COLLATE "C", given.model COLLATE "C"
	ON CONFLICT (tenant_id, hour, index_name, stage, model) DO UPDATE SET
		calls = u.calls + excluded.calls, documents = u.documents + excluded.documents, chunks = u.chunks + excluded.chunks,
		bytes = u.bytes + excluded.bytes, input_tokens = u.input_tokens + excluded.input_tokens, output_tokens = u.output_tokens + excluded.output_tokens,
		seconds = u.seconds + excluded.seconds`

// counted is a row that waits to be written.
type counted struct {
	key
	entry
}

// write adds the counts to the rows of their keys.
func write(ctx context.Context, on control, rows []counted) error {
	var tenants, indexes, stages, models []string
	var hours, calls, documents, chunks, bytes, inputs, outputs []int64
	var at []time.Time
	var seconds []float64
	for _, r := range rows {
		tenants, hours, indexes, stages, models = append(tenants, r.tenant), append(hours, r.hour), append(indexes, r.index), append(stages, string(r.stage)), append(models, r.model)
		calls, documents, chunks, bytes = append(calls, r.Calls), append(documents, r.Documents), append(chunks, r.Chunks), append(bytes, r.Bytes)
		inputs, outputs, at = append(inputs, r.InputTokens), append(outputs, r.OutputTokens), append(at, r.at)
		seconds = append(seconds, r.Seconds)
	}
	_, err := on.Exec(ctx, upsert, tenants, hours, indexes, stages, models, calls, documents, chunks, bytes, inputs, outputs, at, seconds)
	return postgres.Fault(err)
}

// writeAccepted writes the rows and drops those that the database refuses for what is in them, so that they do
// not keep others from being written. It returns the rows that have to wait, with the error that says why.
func (m *Meter) writeAccepted(ctx context.Context, rows []counted) (left []counted, err error) {
	err = write(ctx, m.config.Control, rows)
	switch {
	case err == nil:
		for _, r := range rows {
			m.written(r.tenant, r.InputTokens+r.OutputTokens)
		}
		return nil, nil
	case !refused(err):
		return rows, err
	case len(rows) == 1:
		m.config.Logger.WarnContext(ctx, "a count of usage was dropped, because the database refuses it", "tenant", rows[0].tenant, "err", err)
		return nil, nil
	}
	half := len(rows) / 2
	left, err = m.writeAccepted(ctx, rows[:half])
	if err != nil {
		return append(left, rows[half:]...), err
	}
	return m.writeAccepted(ctx, rows[half:])
}

// refused reports whether the database refuses values of a statement, which it will do again: they are
// malformed (class 22), against a constraint (23) or too long for an index (54).
func refused(err error) bool {
	code := postgres.Code(err)
	return slices.Contains([]string{"22", "23", "54"}, code[:min(2, len(code))])
}

// Ingested counts documents of an index of the transaction's tenant, which has just stored them:
// they are counted if and only if they are stored. Call it last, because other transactions of
// the tenant wait for the row.
func Ingested(ctx context.Context, tx *data.Tx, index string, c Counts) error {
	id := tx.Tenant()
	return tx.AsService(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			INSERT INTO ragd.usage AS u (tenant_id, hour, index_name, stage, model, documents, chunks, bytes)
			SELECT t.tenant_id, date_trunc('hour', now(), 'UTC'), $2, 'ingest', '', $3, $4, $5 FROM ragd.tenants AS t WHERE t.tenant_id = $1
			ON CONFLICT (tenant_id, hour, index_name, stage, model) DO UPDATE SET
				documents = u.documents + excluded.documents, chunks = u.chunks + excluded.chunks, bytes = u.bytes + excluded.bytes`,
			id, index, c.Documents, c.Chunks, c.Bytes)
		return err
	})
}

// Sweep deletes the rows that are older than the retention.
func (m *Meter) Sweep(ctx context.Context) error {
	_, err := m.config.Control.Exec(ctx, `DELETE FROM ragd.usage WHERE hour < $1`, m.config.Now().Add(-m.config.Retention))
	return postgres.Fault(err)
}

// tokenUse is what a tenant may use, and the tokens that it used in a month.
type tokenUse struct {
	Settings map[string]any
	Plan     *quota.Plan
	Used     int64
}

// tokensOf returns the quotas and the use of a tenant since the beginning of a month. It counts
// nothing for a tenant without a quota of tokens.
func tokensOf(ctx context.Context, on control, id string, since time.Time) (tokenUse, error) {
	rows, err := on.Query(ctx, `
		SELECT t.settings, t.plan, CASE WHEN t.settings ? $2 OR t.plan::jsonb->'settings' ? $2 THEN (
			SELECT coalesce(sum(u.input_tokens + u.output_tokens), 0)::bigint FROM ragd.usage AS u WHERE u.tenant_id = $1 AND u.hour >= $3
		) ELSE 0 END AS used
		FROM (SELECT settings, `+tenant.PlanColumn+` FROM ragd.tenants WHERE tenant_id = $1) AS t`, id, quota.MaxTokensPerMonth, since)
	if err != nil {
		return tokenUse{}, postgres.Fault(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[tokenUse])
	if err != nil || len(found) == 0 {
		return tokenUse{}, postgres.Fault(err)
	}
	return found[0], nil
}

// position is the sort key of a Row.
type position struct {
	Start  time.Time
	Tenant string
	Index  string
	Stage  string
	Model  string
}

// list returns rows of one tenant, or of all if it is nil, that follow a position.
func list(ctx context.Context, on control, id *tenant.ID, q Question, after *position, most int) ([]Row, error) {
	from := q.From
	if after != nil {
		from = latest(from, after.Start)
	}
	after = cmp.Or(after, &position{})
	rows, err := on.Query(ctx, `
		SELECT * FROM (
			SELECT date_trunc($2, u.hour, 'UTC') AS start, u.tenant_id AS tenant,
				CASE WHEN $7 THEN u.index_name ELSE '' END COLLATE "C" AS index, CASE WHEN $8 THEN u.stage ELSE '' END COLLATE "C" AS stage,
				CASE WHEN $9 THEN u.model ELSE '' END COLLATE "C" AS model,
				sum(u.calls)::bigint AS calls, sum(u.documents)::bigint AS documents, sum(u.chunks)::bigint AS chunks, sum(u.bytes)::bigint AS bytes,
				sum(u.input_tokens)::bigint AS input_tokens, sum(u.output_tokens)::bigint AS output_tokens, sum(u.seconds) AS seconds
			FROM ragd.usage AS u
			WHERE ($1::text IS NULL OR u.tenant_id = $1) AND u.hour >= $3 AND u.hour < $4
				AND ($5::text = '' OR u.index_name = $5) AND ($6::text = '' OR u.stage = $6)
			GROUP BY 1, 2, 3, 4, 5
		) AS r
		WHERE (r.start, r.tenant, r.index, r.stage, r.model) > ($10, $11::text, $12::text, $13::text, $14::text)
		ORDER BY r.start, r.tenant, r.index, r.stage, r.model LIMIT $15`,
		id, q.Interval, from, q.To, q.Index, string(q.Stage), slices.Contains(q.GroupBy, "index"), slices.Contains(q.GroupBy, "stage"), slices.Contains(q.GroupBy, "model"),
		after.Start, after.Tenant, after.Index, after.Stage, after.Model, most)
	if err != nil {
		return nil, postgres.Fault(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[Row])
	return found, postgres.Fault(err)
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

var groupings = map[string]bool{"index": true, "stage": true, "model": true}

func groupingNames() []string { return slices.Sorted(maps.Keys(groupings)) }

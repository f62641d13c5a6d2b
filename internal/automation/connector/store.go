package connector

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

type row struct {
	ConnectorName   string
	IndexName       string
	Namespace       string
	Definition      json.RawMessage
	Access          json.RawMessage
	IndexID         int64 `db:"index_id"`
	Paused          bool
	PausedReason    string
	AcceptDeletions bool
	SourceState     json.RawMessage
	Run             int64
	Status          Status
	Error           string
	Counts          json.RawMessage
	StartedAt       *time.Time
	EndedAt         *time.Time
	NextRunAt       *time.Time
	CreatedAt       time.Time
	UpdatedAt       time.Time

	NeedsAuthorization bool
	HasToken           bool
	Runs               json.RawMessage

	// holder is the instance that must hold the claim of the connector when something is stored; empty for any.
	holder string
}

const columns = `connector_name, index_name, namespace, definition, access, index_id, paused, paused_reason, accept_deletions, source_state, run, status, error, counts,
	started_at, ended_at, next_run_at, created_at, updated_at, needs_authorization, runs,
	EXISTS (SELECT FROM ragd_shared.connector_tokens AS t WHERE t.connector_name = connectors.connector_name AND t.token IS NOT NULL) AS has_token`

func (r row) connector() (Connector, error) {
	c := Connector{
		Name: r.ConnectorName, IndexName: r.IndexName, Namespace: r.Namespace, Paused: r.Paused, PausedReason: r.PausedReason, Status: r.Status,
		Error: r.Error, StartedAt: r.StartedAt, EndedAt: r.EndedAt, NextRunAt: r.NextRunAt, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
	if r.Paused {
		c.NextRunAt = nil
	}
	switch {
	case r.NeedsAuthorization && !r.Paused:
		c.Authorization = "needed"
	case r.HasToken:
		c.Authorization = "granted"
	}
	return c, errors.Join(json.Unmarshal(r.Definition, &c.Definition), json.Unmarshal(r.Counts, &c.Counts), json.Unmarshal(r.Runs, &c.Runs))
}

// due reports whether a run is to be made or to be finished.
func (r row) due(now time.Time) bool {
	return !r.Paused && (r.Status == Running || r.NextRunAt != nil && !r.NextRunAt.After(now))
}

// connectors is the table of connectors.
var connectors = catalog.Table[row]{
	Noun: "connector", Plural: "connectors", Most: maxConnectors, Shown: 100,
	Name:     func(r row) string { return r.ConnectorName },
	CountSQL: `SELECT count(*) FROM ragd_shared.connectors`,
	NamesSQL: `SELECT connector_name FROM ragd_shared.connectors ORDER BY connector_name`,
	FindSQL:  `SELECT ` + columns + ` FROM ragd_shared.connectors WHERE connector_name = $1`,
	ListSQL:  `SELECT ` + columns + ` FROM ragd_shared.connectors WHERE connector_name > $1 ORDER BY connector_name LIMIT $2`,
}

// insert stores a new connector.
func insert(ctx context.Context, tx *data.Tx, r row) (row, error) {
	return connectors.Insert(ctx, tx, r.ConnectorName, `
		INSERT INTO ragd_shared.connectors (connector_name, index_name, namespace, definition, access, paused, next_run_at)
		VALUES ($1, $2, $3, $4, $5, $6, now()) ON CONFLICT DO NOTHING RETURNING `+columns,
		r.ConnectorName, r.IndexName, r.Namespace, r.Definition, r.Access, r.Paused)
}

// update stores a changed connector, with its source state, if it was last updated at asOf. Its items are read anew.
func update(ctx context.Context, tx *data.Tx, r row) (row, error) {
	changed, err := connectors.Update(ctx, tx, r.ConnectorName, `
		UPDATE ragd_shared.connectors SET definition = $2, access = $3, source_state = $5, next_run_at = now(),
			offers = CASE WHEN definition #>> '{mcp,url}' IS NOT DISTINCT FROM $2::json #>> '{mcp,url}' THEN offers ELSE '{}' END,
			updated_at = greatest(clock_timestamp(), updated_at + interval '1 microsecond')
		WHERE connector_name = $1 AND updated_at = $4 RETURNING `+columns, r.ConnectorName, r.Definition, r.Access, r.UpdatedAt, r.SourceState)
	if err == nil {
		_, err = tx.Exec(ctx, `UPDATE ragd_shared.connector_items SET state = json_strip_nulls(json_build_object('known', true, 'links', state->'links')) WHERE connector_name = $1`, r.ConnectorName)
	}
	return changed, err
}

// setPaused pauses or resumes a connector, which then has a run that is due.
func setPaused(ctx context.Context, tx *data.Tx, name string, paused, accept bool) (row, error) {
	r, err := data.Get[row](ctx, tx, `
		UPDATE ragd_shared.connectors SET paused = $2, paused_reason = '', accept_deletions = $3, next_run_at = CASE WHEN $2 THEN next_run_at ELSE now() END
		WHERE connector_name = $1 RETURNING `+columns, name, paused, accept)
	if errors.Is(err, pgx.ErrNoRows) {
		return row{}, connectors.NotFound(ctx, tx, name)
	}
	return r, err
}

// makeDue makes a run of a connector due that is not paused.
func makeDue(ctx context.Context, tx *data.Tx, name string) (row, error) {
	r, err := data.Get[row](ctx, tx, `
		UPDATE ragd_shared.connectors SET next_run_at = now() WHERE connector_name = $1 AND NOT paused RETURNING `+columns, name)
	if !errors.Is(err, pgx.ErrNoRows) {
		return r, err
	}
	if _, err := connectors.Get(ctx, tx, name); err != nil {
		return row{}, err
	}
	return row{}, fault.New(fault.Precondition, "the connector %q is paused: resume it", name)
}

// dueAfter makes a run of a connector due so long after the last one began, or before. ok is false if the
// connector is gone or paused.
func dueAfter(ctx context.Context, q data.Queryer, name string, after time.Duration) (r row, ok bool, err error) {
	r, err = data.Get[row](ctx, q, `
		UPDATE ragd_shared.connectors SET next_run_at = least(coalesce(next_run_at, 'infinity'), greatest(now(), coalesce(started_at, now()) + $2))
		WHERE connector_name = $1 AND NOT paused RETURNING `+columns, name, after)
	if errors.Is(err, pgx.ErrNoRows) {
		return row{}, false, nil
	}
	return r, err == nil, err
}

// begin stores that a run begins, and when the next one is. One that was interrupted goes on from the position that it
// has reached; a run that was asked for meanwhile stays due after it. Items of an index that is no longer there are
// forgotten. ok is false if the connector is gone or paused.
func begin(ctx context.Context, h *data.Handle, name string, indexID int64, next *time.Time) (r row, ok bool, err error) {
	err = h.Tx(ctx, func(tx *data.Tx) error {
		old, found, err := connectors.Find(ctx, tx, name)
		if err != nil || !found {
			return err
		}
		r, err = data.Get[row](ctx, tx, `
			UPDATE ragd_shared.connectors SET run = run + 1, status = 'running', error = '', counts = '{}', index_id = $2, ended_at = NULL,
				started_at = CASE WHEN status = 'running' THEN started_at ELSE now() END,
				next_run_at = CASE WHEN status = 'running' AND next_run_at <= now() THEN next_run_at ELSE $3 END,
				source_state = CASE WHEN index_id <> $2 THEN json_strip_nulls(json_build_object('slot', source_state->'slot')) WHEN status = 'running' THEN source_state ELSE (source_state::jsonb - 'position')::json END
			WHERE connector_name = $1 AND NOT paused RETURNING `+columns, name, indexID, next)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if ok = err == nil; ok && old.IndexID != indexID {
			_, err = tx.Exec(ctx, `DELETE FROM ragd_shared.connector_items WHERE connector_name = $1`, name)
		}
		return err
	})
	return r, ok && err == nil, err
}

// ownSlot stores that a run creates a replication slot in the source.
func ownSlot(ctx context.Context, q data.Queryer, r row, slot string) error {
	_, err := data.Values[string](ctx, q, `
		UPDATE ragd_shared.connectors SET source_state = jsonb_set(source_state::jsonb, '{slot}', to_jsonb($3::text))::json
		WHERE connector_name = $1 AND created_at = $2 RETURNING connector_name`, r.ConnectorName, r.CreatedAt, slot)
	return err
}

// ending is how a run ended.
type ending struct {
	status Status
	reason string // why it failed
	paused string // why the connector is paused; empty if it is not
	counts Counts
	source json.RawMessage // the state of the source; nil for the stored one
	signIn bool            // a user has to sign in
}

// end stores how a run ended, unless the connector was made anew meanwhile. It keeps the state of the
// source if the definition was changed.
func end(ctx context.Context, q data.Queryer, r row, e ending) error {
	raw, err := json.Marshal(e.counts)
	if err != nil {
		return err
	}
	_, err = data.Values[string](ctx, q, `
		UPDATE ragd_shared.connectors SET status = $3, error = $4, counts = $5::json, ended_at = now(), paused = paused OR $6 <> '',
			paused_reason = CASE WHEN $6 <> '' THEN $6 ELSE paused_reason END, accept_deletions = accept_deletions AND $3 <> 'succeeded',
			source_state = CASE WHEN $8::json IS NOT NULL AND updated_at = $9 THEN $8 ELSE source_state END, needs_authorization = $10,
			runs = jsonb_path_query_array(jsonb_build_object('status', $3::text, 'error', $4::text, 'counts', $5::json, 'startedAt', started_at, 'endedAt', now()) || runs, '$[0 to $last]', jsonb_build_object('last', $11::int))
		WHERE connector_name = $1 AND run = $2 AND created_at = $7 RETURNING connector_name`,
		r.ConnectorName, r.Run, e.status, e.reason, raw, e.paused, r.CreatedAt, e.source, r.UpdatedAt, e.signIn, keptRuns-1)
	return err
}

// itemRow is what is known of an item.
type itemRow struct {
	ItemID      string
	Status      string
	Reason      string
	HasDocument bool
	State       json.RawMessage
	SeenRun     int64
	UpdatedAt   time.Time
}

const itemColumns = `item_id, status, reason, has_document, state, seen_run, updated_at`

// findItems returns the known items among those with ids, by these. The subquery with OFFSET makes PostgreSQL look each
// up by key, even while a first run fills the table and its statistics say that it is empty.
func findItems(ctx context.Context, q data.Queryer, connector string, ids []string) (map[string]itemRow, error) {
	found, err := data.Select[itemRow](ctx, q, `
		SELECT `+itemColumns+` FROM unnest($2::text[]) AS given (id) CROSS JOIN LATERAL (
			SELECT `+itemColumns+` FROM ragd_shared.connector_items WHERE connector_name = $1 AND item_id = given.id OFFSET 0
		) AS known`, connector, ids)
	all := make(map[string]itemRow, len(found))
	for _, r := range found {
		all[r.ItemID] = r
	}
	return all, err
}

// record stores items with different ids, and the counts of their run. source is the state of the source, nil to keep the
// stored one. ok is false if the run is to end: the connector is gone, paused, changed or claimed by
// another instance.
func record(ctx context.Context, h *data.Handle, r row, items []itemRow, counts Counts, source json.RawMessage) (ok bool, err error) {
	raw, err := json.Marshal(counts)
	if err != nil {
		return false, err
	}
	n := len(items)
	ids, statuses, reasons, states, have := make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]bool, n)
	for i, item := range items {
		ids[i], statuses[i], reasons[i], states[i], have[i] = item.ItemID, item.Status, item.Reason, string(item.State), item.HasDocument
	}
	err = h.Tx(ctx, func(tx *data.Tx) error {
		running, err := data.Values[int64](ctx, tx, `
			UPDATE ragd_shared.connectors SET counts = $3, source_state = coalesce($5, source_state)
			WHERE connector_name = $1 AND run = $2 AND updated_at = $4 AND NOT paused AND $6 IN ('', follower) RETURNING run`, r.ConnectorName, r.Run, raw, r.UpdatedAt, source, r.holder)
		if ok = len(running) == 1; !ok || err != nil || n == 0 {
			return err
		}
		_, err = tx.Exec(ctx, `
			INSERT INTO ragd_shared.connector_items (connector_name, item_id, status, reason, has_document, state, seen_run)
			SELECT $1, given.item_id, given.status, given.reason, given.has_document, given.state::json, $2
			FROM unnest($3::text[], $4::text[], $5::text[], $6::boolean[], $7::text[]) AS given (item_id, status, reason, has_document, state)
			ON CONFLICT (tenant_id, connector_name, item_id) DO UPDATE SET status = excluded.status, reason = excluded.reason,
				has_document = excluded.has_document, state = excluded.state, seen_run = excluded.seen_run, updated_at = now()`,
			r.ConnectorName, r.Run, ids, statuses, reasons, have, states)
		return err
	})
	return ok, err
}

// keepBelow stores that the run has seen the items of an export that has not changed, and returns how many there are by
// their status.
func keepBelow(ctx context.Context, q data.Queryer, r row, export string) (map[string]int, error) {
	kept, err := data.Select[struct {
		Status string
		Items  int
	}](ctx, q, `
		WITH kept AS (
			UPDATE ragd_shared.connector_items SET seen_run = $2 WHERE connector_name = $1 AND seen_run < $2 AND starts_with(item_id, $3) RETURNING status)
		SELECT status, count(*) AS items FROM kept GROUP BY status`, r.ConnectorName, r.Run, export+"/")
	counts := map[string]int{}
	for _, k := range kept {
		counts[k.Status] = k.Items
	}
	return counts, err
}

// The documents that a complete run deletes: those of items that it did not see, and of those that
// shall have none.
const withoutItem = `connector_name = $1 AND has_document AND (seen_run < $2 OR status = 'skipped')`

// goneCount returns how many items with documents there are, and how many of these the run did not
// see.
func goneCount(ctx context.Context, q data.Queryer, r row) (all, gone int, err error) {
	found, err := data.Get[struct{ All, Gone int }](ctx, q, `
		SELECT count(*) AS "all", count(*) FILTER (WHERE seen_run < $2) AS gone FROM ragd_shared.connector_items WHERE connector_name = $1 AND has_document`,
		r.ConnectorName, r.Run)
	return found.All, found.Gone, err
}

// unwanted returns ids of items whose documents are to be deleted.
func unwanted(ctx context.Context, q data.Queryer, r row, limit int) ([]string, error) {
	return data.Values[string](ctx, q, `SELECT item_id FROM ragd_shared.connector_items WHERE `+withoutItem+` ORDER BY item_id LIMIT $3`, r.ConnectorName, r.Run, limit)
}

// forget stores that items have no documents.
func forget(ctx context.Context, q data.Queryer, r row, ids []string) error {
	_, err := data.Values[string](ctx, q, `
		UPDATE ragd_shared.connector_items SET has_document = false WHERE connector_name = $1 AND item_id = ANY($2) RETURNING item_id`, r.ConnectorName, ids)
	return err
}

// sweep deletes the items that a complete run did not see.
func sweep(ctx context.Context, q data.Queryer, r row) error {
	_, err := data.Values[string](ctx, q, `
		DELETE FROM ragd_shared.connector_items WHERE connector_name = $1 AND seen_run < $2 AND NOT has_document RETURNING item_id`, r.ConnectorName, r.Run)
	return err
}

// items returns up to limit items whose ids follow after. An empty status means any.
func items(ctx context.Context, q data.Queryer, connector, status, after string, limit int) ([]itemRow, error) {
	return data.Select[itemRow](ctx, q, `
		SELECT `+itemColumns+` FROM ragd_shared.connector_items WHERE connector_name = $1 AND ($2 = '' OR status = $2) AND item_id > $3
		ORDER BY item_id LIMIT $4`, connector, status, after, limit)
}

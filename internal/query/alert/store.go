package alert

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// row is a row of the table of alerts.
type row struct {
	AlertID     string
	IndexID     int64
	IndexName   string
	Namespace   string
	DisplayName string
	Question    string
	Mode        Mode
	MinScore    float64
	Filter      json.RawMessage
	Subject     string
	Access      json.RawMessage
	Embedding   []float32
	EmbeddedBy  string
	EndedReason string
	Paused      bool
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

const columns = `alert_id::text AS alert_id, index_id, index_name, namespace, display_name, question, mode, min_score, filter, subject, access, embedding, embedded_by, ended_reason,
	paused, created_at, updated_at`

// ownFilter returns the filter of the alert.
func (r row) ownFilter() (filter.Filter, error) {
	if len(r.Filter) == 0 {
		return filter.Filter{}, nil
	}
	return filter.Parse([]byte(r.Filter))
}

// alert decodes a row. One whose filter this version does not read has ended.
func (r row) alert() Alert {
	parsed, err := r.ownFilter()
	a := Alert{
		AlertID: r.AlertID, DisplayName: r.DisplayName, IndexName: r.IndexName, Namespace: r.Namespace, Question: r.Question, Mode: r.Mode, Filter: parsed,
		Subject: r.Subject, EndedReason: r.EndedReason, Paused: r.Paused, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
	if r.Mode != Keyword {
		a.MinScore = &r.MinScore
	}
	if err != nil && a.EndedReason == "" {
		a.EndedReason = "this version of the service does not read its filter: make the alert again"
	}
	return a
}

// insert stores a new alert. Errors: Exhausted; NotFound if the index was deleted meanwhile.
func insert(ctx context.Context, tx *data.Tx, r row) (row, error) {
	if err := tx.Lock(ctx, "alerts"); err != nil {
		return row{}, err
	}
	have, err := data.Value[int](ctx, tx, `SELECT count(*) FROM ragd_shared.alerts`)
	if err != nil {
		return row{}, err
	}
	if have >= maxAlerts {
		return row{}, fault.New(fault.Exhausted, "a tenant may have %d alerts: delete those that are no longer needed", maxAlerts)
	}
	_, err = data.Value[int64](ctx, tx, `SELECT i.index_id FROM tenant.indexes AS i WHERE i.index_id = $1 FOR SHARE`, r.IndexID)
	if errors.Is(err, pgx.ErrNoRows) {
		return row{}, fault.New(fault.NotFound, "index %q was deleted meanwhile", r.IndexName)
	}
	if err != nil {
		return row{}, err
	}
	return data.Get[row](ctx, tx, `
		INSERT INTO ragd_shared.alerts (alert_id, index_id, index_name, namespace, display_name, question, mode, min_score, filter, subject, access, embedding, embedded_by, paused)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) RETURNING `+columns,
		r.AlertID, r.IndexID, r.IndexName, r.Namespace, r.DisplayName, r.Question, r.Mode, r.MinScore, r.Filter, r.Subject, r.Access, r.Embedding, r.EmbeddedBy, r.Paused)
}

// changedAt is the SQL of the time of a change, which is later than the last one.
const changedAt = `greatest(clock_timestamp(), updated_at + interval '1 microsecond')`

// update stores a changed alert if it was last updated at asOf, and makes it active again. Errors: Conflict.
func update(ctx context.Context, q data.Queryer, r row, asOf time.Time) (row, error) {
	stored, err := data.Get[row](ctx, q, `
		UPDATE ragd_shared.alerts SET display_name = $2, question = $3, mode = $4, min_score = $5, filter = $6, access = $7, embedding = $8, embedded_by = $9,
			paused = $10, ended_reason = '', updated_at = `+changedAt+`
		WHERE alert_id = $1 AND updated_at = $11 RETURNING `+columns,
		r.AlertID, r.DisplayName, r.Question, r.Mode, r.MinScore, r.Filter, r.Access, r.Embedding, r.EmbeddedBy, r.Paused, asOf)
	if errors.Is(err, pgx.ErrNoRows) {
		err = fault.New(fault.Conflict, "alert %q was changed or deleted meanwhile", r.AlertID)
	}
	return stored, err
}

// scope is which alerts a caller may see.
type scope struct {
	subject string   // "" for all
	indexes []string // nil for all
}

// get returns an alert in a scope. Errors: NotFound.
func get(ctx context.Context, q data.Queryer, s scope, id string) (row, error) {
	r, err := data.Get[row](ctx, q, `
		SELECT `+columns+` FROM ragd_shared.alerts
		WHERE alert_id = $1 AND ($2 = '' OR subject = $2) AND ($3::text[] IS NULL OR index_name = ANY($3))`, id, s.subject, s.indexes)
	if errors.Is(err, pgx.ErrNoRows) {
		err = notFound(id)
	}
	return r, err
}

func notFound(id string) error {
	return fault.New(fault.NotFound, "alert %q not found: list the alerts to see their ids", textlimit.Shorten(id, 100))
}

// position is the sort key of the list of alerts: newest first.
type position struct {
	CreatedAt time.Time `json:"t"`
	AlertID   string    `json:"id"`
}

// list returns at most so many alerts in a scope after a position, without their embeddings.
func list(ctx context.Context, q data.Queryer, s scope, indexName string, after *position, most int) ([]row, error) {
	var afterTime *time.Time
	var afterID *string
	if after != nil {
		afterTime, afterID = &after.CreatedAt, &after.AlertID
	}
	return data.Select[row](ctx, q, `
		SELECT alert_id::text AS alert_id, index_id, index_name, namespace, display_name, question, mode, min_score, filter, subject, '{}'::json AS access,
			NULL::real[] AS embedding, embedded_by, ended_reason, paused, created_at, updated_at
		FROM ragd_shared.alerts
		WHERE ($1 = '' OR subject = $1) AND ($2::text[] IS NULL OR index_name = ANY($2)) AND ($3 = '' OR index_name = $3)
			AND ($4::timestamptz IS NULL OR (created_at, alert_id) < ($4, $5::uuid))
		ORDER BY created_at DESC, alert_id DESC LIMIT $6`, s.subject, s.indexes, indexName, afterTime, afterID, most)
}

// Revision tells the alerts of an index from those that it had before or has later.
type Revision struct {
	Active int    // alerts
	Sum    string // of the times of their last changes
}

// Revise reads the revision of the alerts of an index.
func Revise(b *data.Batch, indexID int64, into *Revision) {
	b.Query(func(rows pgx.Rows) (err error) {
		*into, err = pgx.CollectOneRow(rows, pgx.RowToStructByPos[Revision])
		return err
	}, `
		SELECT count(*)::int AS active, coalesce(sum((extract(epoch FROM updated_at) * 1000000)::bigint), 0)::text AS sum
		FROM ragd_shared.alerts WHERE index_id = $1 AND ended_reason = '' AND NOT paused`, indexID)
}

// active returns the alerts of an index that have not ended and are not paused.
func active(ctx context.Context, q data.Queryer, indexID int64) ([]row, error) {
	return data.Select[row](ctx, q, `
		SELECT `+columns+` FROM ragd_shared.alerts WHERE index_id = $1 AND ended_reason = '' AND NOT paused ORDER BY alert_id`, indexID)
}

// storeEmbedding stores the embedding of the question of an alert, unless the question was changed.
func storeEmbedding(ctx context.Context, q *data.Handle, r row) error {
	_, err := q.Exec(ctx, `
		UPDATE ragd_shared.alerts SET embedding = $2, embedded_by = $3 WHERE alert_id = $1 AND question = $4`, r.AlertID, r.Embedding, r.EmbeddedBy, r.Question)
	return err
}

// execer runs statements: a data.Handle or a data.Tx.
type execer interface {
	Exec(ctx context.Context, sql string, args ...any) (int64, error)
}

// end ends alerts for a reason.
func end(ctx context.Context, on execer, ids []string, reason string) error {
	_, err := on.Exec(ctx, `
		UPDATE ragd_shared.alerts SET ended_reason = $2, updated_at = `+changedAt+` WHERE alert_id = ANY($1::uuid[]) AND ended_reason = ''`, ids, reason)
	return err
}

// storeMatches stores the matches that are not stored yet, and their events if somebody wants them. The
// lists have an item for each match.
func storeMatches(ctx context.Context, tx *data.Tx, indexName string, matches, alerts, documents []string, passages [][]byte, scores []float64, events []json.RawMessage) error {
	_, err := tx.Exec(ctx, `
		WITH given AS MATERIALIZED (
			SELECT g.match_id, g.alert_id, g.document_id, g.passage, g.score, g.event, a.subject
			FROM unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::bytea[], $6::float8[], $7::jsonb[]) AS g (match_id, alert_id, document_id, passage, score, event)
			JOIN (
				SELECT a.alert_id, a.subject FROM ragd_shared.alerts AS a
				WHERE a.alert_id = ANY($3::uuid[]) AND a.ended_reason = '' AND NOT a.paused ORDER BY a.alert_id FOR KEY SHARE
			) AS a ON a.alert_id = g.alert_id
		), stored AS (
			INSERT INTO ragd_shared.alert_matches (match_id, alert_id, document_id, passage, score)
			SELECT match_id, alert_id, document_id, passage, score FROM given ON CONFLICT DO NOTHING RETURNING match_id
		)
		INSERT INTO ragd_shared.events (type, index_name, document_id, subject, data)
		SELECT 'alert.matched', $1, g.document_id, g.subject, g.event
		FROM given AS g JOIN stored AS s ON s.match_id = g.match_id
		WHERE ragd_shared.event_wanted('alert') ORDER BY g.match_id`, indexName, matches, alerts, documents, passages, scores, events)
	return err
}

// prune deletes the matches of an alert that are older than the newest maxMatches.
func prune(ctx context.Context, tx *data.Tx, alertID string) error {
	_, err := tx.Exec(ctx, `
		DELETE FROM ragd_shared.alert_matches WHERE alert_id = $1 AND match_id <= (
			SELECT m.match_id FROM ragd_shared.alert_matches AS m WHERE m.alert_id = $1 ORDER BY m.match_id DESC OFFSET $2 LIMIT 1)`, alertID, maxMatches)
	return err
}

// Stored is a match with its passage as it is now.
type Stored struct {
	MatchID    string
	CreatedAt  time.Time
	Score      float64
	ChunkID    string
	DocumentID string
	URI        string `db:"uri"`
	Title      string
	Ordinal    int
	Text       string
	Metadata   string // the JSON of an object
	StartByte  int
	EndByte    int
}

type matchRow struct {
	MatchID    string
	DocumentID string
	Passage    []byte
	Score      float64
	CreatedAt  time.Time
}

// matchesAfter returns at most so many matches of an alert before one of them, the newest first; "" is the newest.
func matchesAfter(ctx context.Context, q data.Queryer, alertID, after string, most int) ([]matchRow, error) {
	return data.Select[matchRow](ctx, q, `
		SELECT match_id::text AS match_id, document_id::text AS document_id, passage, score, created_at FROM ragd_shared.alert_matches
		WHERE alert_id = $1 AND ($2 = '' OR match_id < nullif($2, '')::uuid) ORDER BY match_id DESC LIMIT $3`, alertID, after, most)
}

// passagesOf returns the passages of matches that are there and that a filter of the chunks selects, in any order.
func passagesOf(ctx context.Context, tables data.Queryer, namespace string, visible filter.Filter, found []matchRow) ([]Stored, error) {
	matches, documents, passages, scores, times := make([]string, len(found)), make([]string, len(found)), make([][]byte, len(found)), make([]float64, len(found)), make([]time.Time, len(found))
	for n, m := range found {
		matches[n], documents[n], passages[n], scores[n], times[n] = m.MatchID, m.DocumentID, m.Passage, m.Score, m.CreatedAt
	}
	args := filter.NewArgs(matches, documents, passages, scores, times, namespace)
	return data.Select[Stored](ctx, tables, `
		SELECT DISTINCT ON (g.match_id) g.match_id::text AS match_id, g.created_at, g.score, c.chunk_id, d.document_id::text AS document_id, d.uri, c.title,
			c.ordinal, c.text, c.metadata::text AS metadata, c.start_byte::int AS start_byte, c.end_byte::int AS end_byte
		FROM unnest($1::uuid[], $2::uuid[], $3::bytea[], $4::float8[], $5::timestamptz[]) AS g (match_id, document_id, passage, score, created_at)
		JOIN tenant.chunk AS c ON c.document_id = g.document_id AND c.namespace = $6 AND substr(sha256(convert_to(c.text, 'UTF8')), 1, length(g.passage)) = g.passage
		JOIN tenant.documents AS d ON d.document_id = c.document_id
		WHERE `+visible.SQL(filter.ChunkMetadata, args)+` ORDER BY g.match_id, c.ordinal`, args.Values()...)
}

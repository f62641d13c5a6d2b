package notable

import (
	"context"
	"time"

	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// store merges questions into the rows of a tenant, and deletes those of their indexes that are too old or beyond maxKept. Questions of indexes that
// were deleted, or record none by now, are left out: the lock of the row lets none be stored after those of an index
// were deleted with it. Rows are locked in one order, so that instances never wait in a circle.
func (r *Recorder) store(ctx context.Context, id tenant.ID, rows map[key]*entry) error {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	var indexes []int64
	var kinds, namespaces, ids, questions, failures []string
	var asked []int64
	var at []time.Time
	var best []*float64
	var slowest []float64
	for k, e := range rows {
		indexes, kinds, namespaces, ids = append(indexes, k.index), append(kinds, string(k.kind)), append(namespaces, k.namespace), append(ids, k.questionID)
		questions, asked, at, failures = append(questions, e.question), append(asked, e.asked), append(at, e.at), append(failures, e.code)
		best, slowest = append(best, e.best), append(slowest, e.slowest.Seconds())
	}
	return r.config.Work.Handle(id).Tx(ctx, func(tx *data.Tx) error {
		_, err := tx.Exec(ctx, `
			INSERT INTO ragd_shared.notable_questions AS q (index_id, kind, namespace, question_id, question, asked, asked_at, best_score, slowest, code)
			SELECT given.* FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::timestamptz[], $8::float8[], $9::float8[], $10::text[])
				AS given (index_id, kind, namespace, question_id, question, asked, asked_at, best_score, slowest, code)
			JOIN (SELECT i.index_id FROM tenant.indexes AS i WHERE i.index_id = ANY($1) AND i.record_questions ORDER BY i.index_id FOR SHARE) AS i ON i.index_id = given.index_id
			ORDER BY given.index_id, given.kind COLLATE "C", given.namespace COLLATE "C", given.question_id COLLATE "C"
			ON CONFLICT (tenant_id, index_id, kind, namespace, question_id) DO UPDATE SET
				question = excluded.question, asked = q.asked + excluded.asked, asked_at = greatest(q.asked_at, excluded.asked_at),
				best_score = greatest(q.best_score, excluded.best_score), slowest = greatest(q.slowest, excluded.slowest), code = excluded.code`,
			indexes, kinds, namespaces, ids, questions, asked, at, best, slowest, failures)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			DELETE FROM ragd_shared.notable_questions AS q USING (
				SELECT k.index_id, k.kind, k.namespace, k.question_id, k.asked_at,
					row_number() OVER (PARTITION BY k.index_id, k.kind ORDER BY k.asked_at DESC, k.namespace, k.question_id) AS n
				FROM ragd_shared.notable_questions AS k WHERE k.index_id = ANY($1)
			) AS k
			WHERE q.index_id = k.index_id AND q.kind = k.kind AND q.namespace = k.namespace AND q.question_id = k.question_id AND (k.n > $2 OR k.asked_at < now() - $3::interval)`,
			indexes, maxKept, keep)
		return err
	})
}

// position is the sort key of a Question.
type position struct {
	At        time.Time `json:"t"`
	IndexID   int64     `json:"i"`
	Kind      Kind      `json:"k"`
	Namespace string    `json:"n"`
	ID        string    `json:"q"`
}

// list returns questions that follow a position, the latest first. indexes: those that the caller may see; nil for
// all.
func list(ctx context.Context, h *data.Handle, indexName string, kind Kind, indexes []string, after *position, most int) ([]Question, error) {
	args := []any{keep, indexName, string(kind), indexes, most, after != nil}
	if after == nil {
		after = &position{}
	}
	return data.Select[Question](ctx, h, `
		SELECT i.index_name, i.index_id, q.kind, q.namespace, q.question_id AS id, q.question AS text, q.asked, q.asked_at, q.best_score, q.slowest, q.code
		FROM ragd_shared.notable_questions AS q JOIN tenant.indexes AS i ON i.index_id = q.index_id
		WHERE q.asked_at >= now() - $1::interval AND ($2 = '' OR i.index_name = $2) AND ($3 = '' OR q.kind = $3)
			AND ($4::text[] IS NULL OR i.index_name = ANY($4))
			AND (NOT $6 OR (q.asked_at, q.index_id, q.kind, q.namespace, q.question_id) < ($7, $8, $9, $10, $11))
		ORDER BY q.asked_at DESC, q.index_id DESC, q.kind DESC, q.namespace DESC, q.question_id DESC LIMIT $5`,
		append(args, after.At, after.IndexID, string(after.Kind), after.Namespace, after.ID)...)
}

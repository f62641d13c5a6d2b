package evaluate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// judgedChunk is where a chunk is.
type judgedChunk struct {
	URI                *string // nil for a ready-made vector
	StartByte, EndByte int
}

// visibleChunk returns a chunk of a namespace, empty for the default, if the filter admits it.
func visibleChunk(ctx context.Context, h *data.Handle, visible filter.Filter, namespace, id string) (judgedChunk, error) {
	args := filter.NewArgs(id, cmp.Or(namespace, index.DefaultNamespace))
	return data.Get[judgedChunk](ctx, h, `
		SELECT d.uri, c.start_byte, c.end_byte
		FROM tenant.chunk AS c LEFT JOIN tenant.documents AS d ON d.document_id = c.document_id
		WHERE c.chunk_id = $1 AND c.namespace = $2 AND `+visible.SQL(filter.ChunkMetadata, args), args.Values()...)
}

// recordFeedback stores what a caller says of a chunk, deletes it for nil, and makes the question anew. It makes
// the set if there is none. Errors: Exists, Exhausted.
func recordFeedback(ctx context.Context, tx *data.Tx, c caller, set Set, q Question, judged Relevant, helpful *bool) error {
	if err := sets.Lock(ctx, tx); err != nil {
		return err
	}
	if err := ensureFeedbackSet(ctx, tx, c, set, helpful == nil); err != nil {
		return err
	}
	span := Span{}
	if judged.Span != nil {
		span = *judged.Span
	}
	key := []any{set.Name, q.ID, judged.URI, span.Start, span.End, callerHash(c)}
	var err error
	if helpful == nil {
		_, err = tx.Exec(ctx, `
			DELETE FROM ragd_shared.feedback AS f
			WHERE f.set_name = $1 AND f.question_id = $2 AND f.uri = $3 AND f.start_byte = $4 AND f.end_byte = $5 AND f.caller_hash = $6`, key...)
	} else {
		_, err = tx.Exec(ctx, `
			INSERT INTO ragd_shared.feedback AS f (set_name, question_id, uri, start_byte, end_byte, caller_hash, helpful) VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT (tenant_id, set_name, question_id, uri, start_byte, end_byte, caller_hash) DO UPDATE SET helpful = excluded.helpful, created_at = now()`, append(key, *helpful)...)
	}
	if err != nil {
		return err
	}
	have, err := data.Value[int](ctx, tx, `SELECT count(*) FROM ragd_shared.feedback`)
	if err != nil {
		return err
	}
	if have > maxFeedback {
		return fault.New(fault.Exhausted, "a tenant may have %d judgements of sources: delete questions of the sets feedback-INDEX, or a set", maxFeedback)
	}
	return putJudged(ctx, tx, set.Name, q)
}

// ensureFeedbackSet makes the set unless it exists. existing: a set that does not is not made. Errors: Exists for
// one of another index or filter; NotFound.
func ensureFeedbackSet(ctx context.Context, tx *data.Tx, c caller, set Set, existing bool) error {
	has, err := getSet(ctx, tx, c.access, set.Name)
	switch {
	case err == nil && has.IndexName == set.IndexName && has.access == set.access:
		return nil
	case err == nil:
		return fault.New(fault.Exists, "the question set %q is of another index or credential: delete it or give it another index, so that feedback can have its name", set.Name)
	case fault.KindOf(err) != fault.NotFound || existing:
		return err
	}
	return insertSet(ctx, tx, set)
}

// putJudged stores a question with the chunks as relevant that helped more callers than they did not, and
// deletes it if there are none. Errors: Exhausted.
func putJudged(ctx context.Context, tx *data.Tx, setName string, q Question) error {
	rows, err := data.Select[struct {
		URI                string
		StartByte, EndByte int
	}](ctx, tx, `
		SELECT f.uri, f.start_byte, f.end_byte FROM ragd_shared.feedback AS f WHERE f.set_name = $1 AND f.question_id = $2
		GROUP BY f.uri, f.start_byte, f.end_byte HAVING sum(CASE WHEN f.helpful THEN 1 ELSE -1 END) > 0
		ORDER BY sum(CASE WHEN f.helpful THEN 1 ELSE -1 END) DESC, f.uri, f.start_byte, f.end_byte LIMIT $3`, setName, q.ID, maxRelevant)
	if err != nil {
		return err
	}
	for _, row := range rows {
		relevant := Relevant{URI: row.URI}
		if row.EndByte > row.StartByte {
			relevant.Span = &Span{row.StartByte, row.EndByte}
		}
		q.Relevant = append(q.Relevant, relevant)
	}
	if len(q.Relevant) == 0 {
		if _, err := tx.Exec(ctx, `DELETE FROM ragd_shared.questions WHERE set_name = $1 AND question_id = $2`, setName, q.ID); err != nil {
			return err
		}
		_, err := recount(ctx, tx, setName)
		return err
	}
	encoded, err := json.Marshal([]Question{q})
	if err != nil {
		return fmt.Errorf("encode a question: %w", err)
	}
	_, err = putQuestions(ctx, tx, setName, encoded)
	return err
}

package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
)

type setRow struct {
	SetName       string
	IndexName     string
	Description   string
	Access        string
	QuestionCount int
	DraftedCount  int
	Draft         *draft
	DraftJobID    *string
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

func (r setRow) set() Set {
	s := Set{
		Name: r.SetName, IndexName: r.IndexName, Description: r.Description, Questions: r.QuestionCount, Drafted: r.DraftedCount,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, access: r.Access, draft: r.Draft,
	}
	if r.DraftJobID != nil {
		s.DraftJobID = *r.DraftJobID
	}
	return s
}

const (
	setColumns = `s.set_name, s.index_name, s.description, s.access, s.question_count, s.drafted_count, s.draft, s.draft_job_id::text AS draft_job_id, s.created_at, s.updated_at`
	// setVisible is the condition on a set s that a caller with the access $1 may see it.
	setVisible = `($1::jsonb->>'filter' IN ('{}', s.access)
		AND (jsonb_typeof($1::jsonb->'indexes') = 'null' OR $1::jsonb->'indexes' ? s.index_name))`
)

// sets is the table of question sets s. Its scope is the access of a caller.
var sets = catalog.Table[setRow]{
	Noun: "question set", Plural: "question sets", Most: maxSets, Shown: 200,
	Name:     func(r setRow) string { return r.SetName },
	CountSQL: `SELECT count(*) FROM ragd_shared.question_sets`,
	NamesSQL: `SELECT s.set_name FROM ragd_shared.question_sets AS s WHERE ` + setVisible + ` ORDER BY s.set_name`,
	FindSQL:  `SELECT ` + setColumns + ` FROM ragd_shared.question_sets AS s WHERE ` + setVisible + ` AND s.set_name = $2`,
	ListSQL:  `SELECT ` + setColumns + ` FROM ragd_shared.question_sets AS s WHERE ` + setVisible + ` AND s.set_name > $2 ORDER BY s.set_name LIMIT $3`,
}

// getSet returns a set that a caller with the access may see. Errors: NotFound.
func getSet(ctx context.Context, q data.Queryer, may rights, name string) (Set, error) {
	if !catalog.IsName(name, maxSetNameBytes) {
		return Set{}, sets.NotFound(ctx, q, name, may)
	}
	row, err := sets.Get(ctx, q, name, may)
	return row.set(), err
}

// insertSet stores a new set.
func insertSet(ctx context.Context, tx *data.Tx, s Set) error {
	_, err := sets.Insert(ctx, tx, s.Name, `
		INSERT INTO ragd_shared.question_sets AS s (set_name, index_name, description, access) VALUES ($1, $2, $3, $4)
		ON CONFLICT DO NOTHING RETURNING `+setColumns, s.Name, s.IndexName, s.Description, s.access)
	return err
}

func updateSet(ctx context.Context, c caller, name string, change SetChange) (Set, error) {
	row, err := data.Get[setRow](ctx, c.handle, `
		UPDATE ragd_shared.question_sets AS s
		SET index_name = coalesce($3, s.index_name), description = coalesce($4, s.description), updated_at = now()
		WHERE `+setVisible+` AND s.set_name = $2 RETURNING `+setColumns, c.access, name, change.IndexName, change.Description)
	if errors.Is(err, pgx.ErrNoRows) {
		return Set{}, sets.NotFound(ctx, c.handle, name, c.access)
	}
	return row.set(), err
}

func deleteSet(ctx context.Context, c caller, name string) error {
	return c.handle.Tx(ctx, func(tx *data.Tx) error {
		set, err := getSet(ctx, tx, c.access, name)
		if err != nil {
			return err
		}
		jobs, err := data.Values[string](ctx, tx, `SELECT e.job_id::text FROM ragd_shared.evaluations AS e WHERE e.set_name = $1`, name)
		if err != nil {
			return err
		}
		if set.DraftJobID != "" {
			jobs = append(jobs, set.DraftJobID)
		}
		for _, id := range jobs {
			if err := job.Cancel(ctx, tx, id, "its question set was deleted"); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, `DELETE FROM ragd_shared.question_sets WHERE set_name = $1`, name)
		return err
	})
}

// encode returns questions as the JSON that putQuestions stores, if there is capacity for it.
// Errors: Exhausted.
func encode(ctx context.Context, h *data.Handle, questions []Question) ([]byte, error) {
	if questions == nil {
		questions = []Question{}
	}
	encoded, err := json.Marshal(questions)
	if err != nil {
		return nil, fmt.Errorf("encode questions: %w", err)
	}
	return encoded, h.Admit(ctx, int64(len(encoded)))
}

// putQuestions stores encoded questions of an existing set. Errors: Exhausted.
func putQuestions(ctx context.Context, tx *data.Tx, name string, encoded []byte) (Set, error) {
	const put = `
		INSERT INTO ragd_shared.questions AS old (set_name, question_id, question, byte_size, drafted)
		SELECT $1, q->>'id', q, octet_length(q::text), coalesce((q->>'drafted')::boolean, false) FROM jsonb_array_elements($2::jsonb) AS q
		ON CONFLICT (tenant_id, set_name, question_id) DO UPDATE SET question = excluded.question, byte_size = excluded.byte_size, drafted = excluded.drafted`
	if err := sets.Lock(ctx, tx); err != nil {
		return Set{}, err
	}
	if _, err := tx.Exec(ctx, put, name, string(encoded)); err != nil {
		return Set{}, err
	}
	return recount(ctx, tx, name)
}

// addDrafts stores encoded questions unless the set has their ids, and returns how many the
// set did not have.
func addDrafts(ctx context.Context, tx *data.Tx, name string, encoded []byte) (int64, error) {
	if err := sets.Lock(ctx, tx); err != nil {
		return 0, err
	}
	n, err := tx.Exec(ctx, `
		INSERT INTO ragd_shared.questions (set_name, question_id, question, byte_size, drafted)
		SELECT $1, q->>'id', q, octet_length(q::text), true FROM jsonb_array_elements($2::jsonb) AS q
		ON CONFLICT DO NOTHING`, name, string(encoded))
	if err == nil {
		_, err = recount(ctx, tx, name)
	}
	return n, err
}

// recount counts the questions of a changed set and checks its limits. Errors: Exhausted.
func recount(ctx context.Context, tx *data.Tx, name string) (Set, error) {
	counted, err := data.Get[struct {
		setRow
		ByteSize int64
	}](ctx, tx, `
		UPDATE ragd_shared.question_sets AS s SET question_count = n.questions, drafted_count = n.drafted, byte_size = n.bytes, updated_at = now()
		FROM (
			SELECT count(*) AS questions, count(*) FILTER (WHERE q.drafted) AS drafted, coalesce(sum(q.byte_size), 0) AS bytes
			FROM ragd_shared.questions AS q WHERE q.set_name = $1
		) AS n
		WHERE s.set_name = $1 RETURNING `+setColumns+`, s.byte_size`, name)
	if err != nil {
		return Set{}, err
	}
	all, err := data.Value[int64](ctx, tx, `SELECT coalesce(sum(s.question_count), 0)::bigint FROM ragd_shared.question_sets AS s`)
	switch {
	case err != nil:
		return Set{}, err
	case counted.QuestionCount > maxQuestions:
		return Set{}, fault.New(fault.Exhausted, "a question set may have %d questions, %q would have %d: make another set", maxQuestions, name, counted.QuestionCount)
	case counted.ByteSize > maxSetBytes:
		return Set{}, fault.New(fault.Exhausted, "the questions of a set may have %d bytes, those of %q would have %d: make another set", maxSetBytes, name, counted.ByteSize)
	case all > maxTenantQuestions:
		return Set{}, fault.New(fault.Exhausted, "a tenant may have %d questions in all sets: delete a set that is no longer needed", maxTenantQuestions)
	}
	return counted.set(), nil
}

// listQuestions returns at most limit questions whose ids follow after, in their order.
func listQuestions(ctx context.Context, q data.Queryer, name string, drafted *bool, after string, limit int) ([]Question, error) {
	return data.Values[Question](ctx, q, `
		SELECT q.question FROM ragd_shared.questions AS q
		WHERE q.set_name = $1 AND q.question_id > $2 AND ($3::boolean IS NULL OR q.drafted = $3)
		ORDER BY q.question_id LIMIT $4`, name, after, drafted, limit)
}

func deleteQuestions(ctx context.Context, tx *data.Tx, name string, ids []string) (Set, error) {
	if err := sets.Lock(ctx, tx); err != nil {
		return Set{}, err
	}
	for _, table := range []string{"questions", "feedback"} {
		if _, err := tx.Exec(ctx, `DELETE FROM ragd_shared.`+table+` WHERE set_name = $1 AND question_id = ANY($2)`, name, ids); err != nil {
			return Set{}, err
		}
	}
	return recount(ctx, tx, name)
}

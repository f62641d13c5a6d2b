package index

import (
	"context"
	"math"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// MaxVectorLogOdds bounds what may be added to the log-odds of the weight of the embeddings, on both sides of 0.
const MaxVectorLogOdds = 6

// Tuning is how queries of an index rank because judged questions said so.
type Tuning struct {
	// VectorLogOdds is added to the log-odds of the weight of the embeddings, as query.Fusion has it.
	VectorLogOdds float64 `json:"vectorLogOdds"`
	// EmbeddingModel is that of the embeddings which were judged. With others the tuning does not count.
	EmbeddingModel string    `json:"embeddingModel"`
	SetName        string    `json:"setName"`
	EvaluationID   string    `json:"evaluationId"`
	AdoptedAt      time.Time `json:"adoptedAt"`
}

// tunings are the present tuning of an index and the one before; nil: none.
type tunings struct {
	Present *Tuning `json:"present"`
	Former  *Tuning `json:"former"`
}

// tuningSetting names the tuning in errors.
const tuningSetting = "tuning"

// Tuning returns the tuning of the index, nil if it has none for its embedding model. One that is beyond the bounds, which a restored
// row may have, is none.
func (i Index) Tuning() *Tuning {
	if t := i.tunings.Present; t != nil && t.EmbeddingModel == i.EmbeddingModel && math.Abs(t.VectorLogOdds) <= MaxVectorLogOdds {
		return t
	}
	return nil
}

// VectorLogOdds returns what the tuning adds to the log-odds of the weight of the embeddings; 0 without one.
func (i Index) VectorLogOdds() float64 {
	if t := i.Tuning(); t != nil {
		return t.VectorLogOdds
	}
	return 0
}

// CheckTunable checks that a tuning of the index can be stored. Errors: Precondition in a schema that is a migration behind.
func CheckTunable(ctx context.Context, tx *data.Tx) error {
	return requireColumn(ctx, tx, "tuning", tuningSetting)
}

// Adopt stores the tuning of an index that had an id and ranked with an addition of present while it was judged. The caller calls
// Changed when the transaction has ended. Errors: NotFound; Precondition if the index is another one since, has other embeddings or
// another tuning, and in a schema that is a migration behind.
func (s *Service) Adopt(ctx context.Context, tx *data.Tx, name string, id int64, present float64, t Tuning) error {
	now, err := byNameLocked(ctx, tx, name)
	switch {
	case err != nil:
		return err
	case now.ID != id || now.EmbeddingModel != t.EmbeddingModel || now.VectorLogOdds() != present:
		return fault.New(fault.Precondition, "index %q was made anew, embedded with another model or tuned while its questions were asked: tune it again", name)
	}
	return storeTunings(ctx, tx, id, tunings{Present: &t, Former: now.Tuning()})
}

// Changed forgets what is cached of an index whose settings were changed by others.
func (s *Service) Changed(h *data.Handle, indexName string) { s.known.forget(h.Tenant(), indexName) }

// RestoreTuning makes the former tuning of an index its present one, and the present one the former. It returns the present one, nil if
// the index has none from here on. Errors: NotFound; Precondition for an index that was never tuned.
func (s *Service) RestoreTuning(ctx context.Context, name string) (*Tuning, error) {
	r, err := access.RequireWholeIndexes(ctx, access.Write)
	if err != nil {
		return nil, err
	}
	defer s.known.forget(r.Tenant, name)
	var restored Index
	err = s.db.Handle(r.Tenant).Tx(ctx, func(tx *data.Tx) error {
		if restored, err = byNameLocked(ctx, tx, name); err != nil {
			return err
		}
		before := restored.tunings
		if before == (tunings{}) {
			return fault.New(fault.Precondition, "index %q has no tuning and had none before: tune it first", name)
		}
		restored.tunings = tunings{Present: before.Former, Former: before.Present}
		return storeTunings(ctx, tx, restored.ID, restored.tunings)
	})
	return restored.Tuning(), err
}

func storeTunings(ctx context.Context, tx *data.Tx, indexID int64, t tunings) error {
	if err := CheckTunable(ctx, tx); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE tenant.indexes SET tuning = $2, updated_at = now() WHERE index_id = $1`, indexID, t)
	return err
}

// dropTuning deletes the tunings of an index.
func dropTuning(ctx context.Context, tx *data.Tx, indexID int64) error {
	stored, err := hasColumn(ctx, tx, "tuning")
	if err != nil || !stored {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE tenant.indexes SET tuning = NULL WHERE index_id = $1`, indexID)
	return err
}

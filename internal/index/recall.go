package index

import (
	"context"
	"math"
	"slices"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// DefaultRecallTarget is the recall target of indexes that name none.
const DefaultRecallTarget = 0.95

// Bounds of a recall target.
const (
	MinRecallTarget = 0.9
	MaxRecallTarget = 0.999
)

// recallTargetField names the setting in errors.
const recallTargetField = "recallTarget"

// CheckRecallTarget checks the recall target of an index or of a query. Errors: Invalid.
func CheckRecallTarget(target float64) error {
	if !(target >= MinRecallTarget && target <= MaxRecallTarget) {
		return fault.Field(recallTargetField, "must be between %g and %g, got %g; leave it out for the default", MinRecallTarget, MaxRecallTarget, target)
	}
	return nil
}

// storeRecallTarget stores the recall target of an index. Errors: Precondition in a schema of the database without the
// column, which is a migration behind.
func storeRecallTarget(ctx context.Context, tx *data.Tx, indexID int64, target float64) error {
	if err := requireColumn(ctx, tx, "recall_target", recallTargetField); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE tenant.indexes SET recall_target = $2 WHERE index_id = $1`, indexID, target)
	return err
}

// curve is the recall that was measured with some search widths.
type curve struct {
	Target float64 `json:"target"` // of the index then
	Points []point `json:"points"` // by width
}

// point is the recall of a sample of questions with one search width.
type point struct {
	Width     int     `json:"width"`
	Recall    float64 `json:"recall"`
	Variance  float64 `json:"variance"`
	Questions int     `json:"questions"`
}

func (p point) sample() sampleRecall {
	return sampleRecall{Mean: p.Recall, Variance: p.Variance, Questions: p.Questions}
}

// least returns the least measured width with which a recall target holds with confidence, else the widest that was
// measured. The curve has points.
func (c curve) least(target float64) (p point, holds bool) {
	for _, p := range c.Points {
		if p.sample().holds(target) {
			return p, true
		}
	}
	return c.Points[len(c.Points)-1], false
}

// newCurve returns the curve of measurements by width.
func newCurve(target float64, measured map[int]sampleRecall) *curve {
	c := &curve{Target: target}
	for width, r := range measured {
		c.Points = append(c.Points, point{Width: width, Recall: r.Mean, Variance: r.Variance, Questions: r.Questions})
	}
	slices.SortFunc(c.Points, func(a, b point) int { return a.Width - b.Width })
	return c
}

// WithRecallTarget returns the index with another recall target, for one query.
func (i Index) WithRecallTarget(target float64) Index {
	i.RecallTarget = target
	return i
}

// RecallHolds reports whether the measured search width holds the recall target with confidence.
func (i Index) RecallHolds() bool {
	if i.measured.curve == nil {
		return i.measured.Width > 0 && i.RecallTarget <= DefaultRecallTarget
	}
	_, holds := i.measured.curve.least(i.RecallTarget)
	return holds
}

// MeasuredRecall returns the recall that was measured with a search width, or with the next smaller one that was measured.
// It returns 0 if none was.
func (i Index) MeasuredRecall(width int) (recall float64) {
	if i.measured.curve == nil {
		if i.measured.Width > 0 && width >= i.measured.Width {
			return i.measured.Recall
		}
		return 0
	}
	for _, p := range i.measured.curve.Points {
		if p.Width <= width {
			recall = p.Recall
		}
	}
	return recall
}

// storeCurve stores the recall by search width, unless the schema of the database has no column for it, as it is a migration
// behind.
func storeCurve(ctx context.Context, tx *data.Tx, indexID int64, c *curve) error {
	there, err := hasColumn(ctx, tx, "recall_curve")
	if err != nil || !there {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE tenant.indexes SET recall_curve = $2 WHERE index_id = $1`, indexID, c)
	return err
}

// neededQuestions returns the number of recorded questions with which a recall target is measured. If so many are never
// recorded, questions are made from chunks.
func neededQuestions(target float64) int { return max(ownQuestions, provingQuestions(target)) }

// provingQuestions returns the number of questions that prove a recall target with confidence if nothing is missed.
func provingQuestions(target float64) int {
	return int(math.Ceil(confidence * confidence * target / (1 - target)))
}

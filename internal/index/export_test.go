package index

import (
	"time"

	"context"

	"github.com/ragdhq/ragd/internal/tenant/data"
)

// TermConstants maps the names of constants in the SQL function weigh_terms to their values
// in Go.
var TermConstants = map[string]float64{"k1": parsedK1, "b": parsedB, "typical_length": parsedLength, "max_terms": maxTerms,
	"weak_weight": WeakWeight, "max_lexeme": maxLexeme}

// MakeTerms creates the table of common terms of an index unless it exists.
func MakeTerms(ctx context.Context, h *data.Handle, i Index) error {
	return makeOnce(ctx, h, i, "term", []string{makeTerms})
}

// Pace says when the next question of an index may be recorded.
type Pace = pace

// Allows reports whether to record a question that is asked now.
func (p *pace) Allows(now time.Time) bool { return p.allows(now) }

// MaxQuestions is the number of questions that are kept of an index.
const MaxQuestions = maxQuestions

// ForgetWords counts the words of an index, and deletes those that no chunk has since the last time.
func ForgetWords(ctx context.Context, h *data.Handle, i Index) error {
	return forgetWords(ctx, h, i.ID, state{})
}

package index

import (
	"context"

	"github.com/ragdhq/ragd/internal/tenant"
)

// TermConstants maps the names of constants in the SQL function weigh_terms to their values
// in Go.
var TermConstants = map[string]float64{"k1": k1, "b": b, "typical_length": typicalLength, "max_terms": maxTerms}

// MakeTerms creates the table of common terms of an index unless it exists.
func MakeTerms(ctx context.Context, h *tenant.Handle, i Index) error {
	return makeOnce(ctx, h, i, "term", []string{makeTerms})
}

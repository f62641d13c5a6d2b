package notable

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// Question is a notable question that is kept.
type Question struct {
	IndexName string
	IndexID   int64
	Kind      Kind
	Namespace string
	ID        string
	Text      string // as it was asked last
	Asked     int64  // how often
	AskedAt   time.Time
	BestScore *float64 // nil if no answer had a calibrated score
	Slowest   float64  // seconds
	Code      string   // of the last failure, else empty
}

// List returns a page of the notable questions of an index, of all if it is empty, the latest first. An empty kind
// stands for all. Errors: Denied for a credential without the scope admin or with a mandatory filter; NotFound for
// the index; Invalid.
func (r *Recorder) List(ctx context.Context, indexName string, kind Kind, pageSize int32, pageToken string) ([]Question, string, error) {
	caller, err := access.Require(ctx, access.Admin)
	if err != nil {
		return nil, "", err
	}
	if !caller.Principal.MandatoryFilter.IsZero() {
		return nil, "", fault.New(fault.Denied, "a credential with a mandatory filter cannot list what others asked: use one without")
	}
	if all := []Kind{"", Unanswered, Slow, Failed}; !slices.Contains(all, kind) {
		return nil, "", fault.Field("kind", "must be unanswered, slow or failed, or empty for all, got %q", kind)
	}
	h := r.config.DB.Handle(caller.Tenant)
	if indexName != "" {
		if _, err := index.ByName(ctx, h, indexName); err != nil {
			return nil, "", err
		}
	}
	indexes := caller.Bounds.Indexes
	tokens := access.Pages(ctx, "notable questions", indexName, string(kind), strings.Join(indexes, ","))
	at := func(q Question) *position { return &position{q.AskedAt, q.IndexID, q.Kind, q.Namespace, q.ID} }
	return pagination.List(tokens, pageSize, pageToken, nil, at, func(after *position, most int) ([]Question, error) {
		return list(ctx, h, indexName, kind, indexes, after, most)
	})
}

package usage

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// Row is what a tenant used in an interval. What the question does not group by is empty.
type Row struct {
	Start  time.Time // of the interval, in UTC
	Tenant string
	Index  string // empty for what was used outside of an index
	Stage  Stage
	Model  string // endpoint/model; empty for stages without one
	Counts
}

// Question selects and groups rows.
type Question struct {
	From, To time.Time // from the hour of From to To, which is excluded. Zero: the last 30 days
	Interval string    // hour, day or month, by UTC. Empty: day
	GroupBy  []string  // index, stage and model, each at most once, or total alone. Nil: index and stage
	Index    string    // only this index; empty for all
	Stage    Stage     // only this stage; empty for all
}

const (
	defaultRange  = 30 * 24 * time.Hour
	maxIndexBytes = 200
)

// complete checks a question and fills in its defaults. Errors: Invalid.
func (q Question) complete(now time.Time) (Question, error) {
	if q.To.IsZero() {
		q.To = now.Truncate(time.Hour).Add(time.Hour)
	}
	if q.From.IsZero() {
		q.From = q.To.Add(-defaultRange)
	}
	if !q.From.Before(q.To) {
		return q, fault.Field("startTime", "must be before endTime")
	}
	q.From = q.From.UTC().Truncate(time.Hour)
	switch q.Interval {
	case "":
		q.Interval = "day"
	case "hour", "day", "month":
	default:
		return q, fault.Field("interval", "must be hour, day or month")
	}
	if q.GroupBy == nil {
		q.GroupBy = []string{"index", "stage"}
	}
	if slices.Equal(q.GroupBy, []string{"total"}) {
		q.GroupBy = []string{}
	}
	for i, by := range q.GroupBy {
		if !groupings[by] || slices.Contains(q.GroupBy[:i], by) {
			return q, fault.Field("groupBy", "must be some of %s, each once, or total alone", strings.Join(groupingNames(), ", "))
		}
	}
	if q.Stage != "" && !slices.Contains(Stages, q.Stage) {
		return q, fault.Field("stage", "must be one of %v", Stages)
	}
	if len(q.Index) > maxIndexBytes {
		return q, fault.Field("indexName", "must have at most %d bytes", maxIndexBytes)
	}
	return q, nil
}

// List returns a page of the use of the caller's tenant, or of all tenants for an operator who
// named none, by start, tenant, index, stage and model. It has what was used up to a few seconds
// ago. Errors: Invalid; Denied for credentials that see only some of the tenant.
func (m *Meter) List(ctx context.Context, q Question, pageSize int32, pageToken string) ([]Row, string, error) {
	id, err := access.RequireAll(ctx, "the usage")
	if err != nil {
		return nil, "", err
	}
	given := q
	if q, err = q.complete(m.config.Now()); err != nil {
		return nil, "", err
	}
	tokens := access.Pages(ctx, "usage", given.From.UTC().String(), given.To.UTC().String(), q.Interval, strings.Join(q.GroupBy, ","), q.Index, string(q.Stage))
	key := func(r Row) *position { return &position{r.Start, r.Tenant, r.Index, string(r.Stage), r.Model} }
	return pagination.List(tokens, pageSize, pageToken, nil, key, func(after *position, most int) ([]Row, error) {
		return list(ctx, m.config.Control, id, q, after, most)
	})
}

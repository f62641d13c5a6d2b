package alert

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/model/embed"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Service manages the alerts of callers. Safe for concurrent use.
type Service struct {
	db      *data.DB
	indexes *index.Service
	models  *embed.Registry
	auth    *credential.Authenticator
}

// New returns a Service.
func New(db *data.DB, indexes *index.Service, models *embed.Registry, auth *credential.Authenticator) *Service {
	return &Service{db, indexes, models, auth}
}

// scopeOf returns which alerts a caller may see: its own, and all with the rights of a whole tenant's admin. An alert over
// an index that its bounds exclude is not among them.
func scopeOf(r *access.Request) scope {
	s := scope{indexes: r.Bounds.Indexes, subject: r.Principal.Subject}
	if r.Principal.Has(access.Admin) && r.Principal.MandatoryFilter.IsZero() && r.Bounds.IsZero() {
		s.subject = ""
	}
	return s
}

// Create stores a new alert, with the rights of the caller. Errors: Invalid; NotFound for the index; Exhausted when the tenant
// has too many alerts.
func (s *Service) Create(ctx context.Context, wanted Alert) (Alert, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return Alert{}, err
	}
	of, err := s.indexes.Resolve(ctx, r.Tenant, wanted.IndexName)
	if err != nil {
		return Alert{}, err
	}
	made, err := s.encode(ctx, r, of, wanted)
	if err != nil {
		return Alert{}, err
	}
	made.AlertID = uuid.Must(uuid.NewV7()).String()
	h := s.db.Handle(r.Tenant)
	if err := h.Admit(ctx, int64(4*len(made.Embedding)+len(made.Question)+len(made.Access))); err != nil {
		return Alert{}, err
	}
	err = h.Tx(ctx, func(tx *data.Tx) (err error) {
		made, err = insert(ctx, tx, made)
		return err
	})
	if err != nil {
		return Alert{}, err
	}
	return made.alert(), nil
}

// encode completes and checks an alert and returns it as it is stored, with the rights of the caller.
func (s *Service) encode(ctx context.Context, r *access.Request, of index.Index, a Alert) (row, error) {
	if err := a.complete(of); err != nil {
		return row{}, err
	}
	if r.Principal.MandatoryFilter.HasURI() {
		return row{}, fault.New(fault.Precondition, "the mandatory filter of this credential has a condition on $uri, which alerts do not know: use a credential without it")
	}
	delegation, err := s.auth.Delegate(ctx, r)
	if err != nil {
		return row{}, err
	}
	rights, err := json.Marshal(delegation)
	if err != nil {
		return row{}, err
	}
	out := row{
		IndexID: of.ID, IndexName: of.Name, Namespace: a.Namespace, DisplayName: a.DisplayName, Question: a.Question, Mode: a.Mode, MinScore: a.minScore(),
		Filter: a.Filter.JSON(), Subject: r.Principal.Subject, Access: rights, Paused: a.Paused,
	}
	if a.Mode == Keyword {
		return out, nil
	}
	model, err := of.Model(ctx, s.models, r.Tenant)
	if err != nil {
		return row{}, err
	}
	out.EmbeddedBy = modelOf(of)
	out.Embedding, err = s.models.EmbedQuery(ctx, string(r.Tenant), model, a.Question)
	return out, err
}

// find returns an alert that the caller may see, and a handle of its tenant. Errors: Invalid without an id; NotFound.
func (s *Service) find(ctx context.Context, id string) (*access.Request, *data.Handle, row, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, nil, row{}, err
	}
	if id == "" {
		return nil, nil, row{}, fault.Field("alertId", "is missing")
	}
	if len(id) != len(uuid.Nil.String()) || uuid.Validate(id) != nil {
		return nil, nil, row{}, notFound(id)
	}
	h := s.db.Handle(r.Tenant)
	found, err := get(ctx, h, scopeOf(r), id)
	return r, h, found, err
}

// Get returns an alert. Errors: NotFound, also for one that the caller may not see.
func (s *Service) Get(ctx context.Context, id string) (Alert, error) {
	_, _, found, err := s.find(ctx, id)
	if err != nil {
		return Alert{}, err
	}
	return found.alert(), nil
}

// List returns a page of the alerts that the caller may see, the newest first. An empty index means any.
func (s *Service) List(ctx context.Context, indexName string, pageSize int32, pageToken string) ([]Alert, string, error) {
	r, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, "", err
	}
	h := s.db.Handle(r.Tenant)
	key := func(r row) *position { return &position{r.CreatedAt, r.AlertID} }
	rows, next, err := pagination.List(access.Pages(ctx, "alerts", indexName), pageSize, pageToken, nil, key, func(after *position, most int) ([]row, error) {
		return list(ctx, h, scopeOf(r), indexName, after, most)
	})
	if err != nil {
		return nil, "", err
	}
	all := make([]Alert, len(rows))
	for n, one := range rows {
		all[n] = one.alert()
	}
	return all, next, nil
}

// Change holds the fields that Update changes. Nil leaves a field unchanged.
type Change struct {
	DisplayName *string
	Question    *string
	Mode        *Mode
	MinScore    *float64
	Filter      *filter.Filter
	Paused      *bool
}

func (c Change) apply(a Alert) Alert {
	set(&a.DisplayName, c.DisplayName)
	set(&a.Question, c.Question)
	set(&a.Filter, c.Filter)
	set(&a.Paused, c.Paused)
	if c.Mode != nil && *c.Mode != a.Mode {
		if a.Mode = *c.Mode; a.Mode == Keyword {
			a.MinScore = nil
		}
	}
	if c.MinScore != nil {
		a.MinScore = c.MinScore
	}
	return a
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// Update changes an alert of the caller, which takes the caller's present rights. Errors: as Create and Get; Denied for an
// alert of another credential; Conflict when another call changed it at the same time.
func (s *Service) Update(ctx context.Context, id string, c Change) (Alert, error) {
	r, h, old, err := s.find(ctx, id)
	if err != nil {
		return Alert{}, err
	}
	if old.Subject != r.Principal.Subject {
		return Alert{}, fault.New(fault.Denied, "alert %q is of the credential %s, with whose rights it works: only that one changes it", id, old.Subject)
	}
	if _, err := old.ownFilter(); err != nil && c.Filter == nil {
		return Alert{}, fault.New(fault.Precondition, "this version of the service does not read the filter of alert %q: give it a filter", id)
	}
	of, err := s.indexes.Resolve(ctx, r.Tenant, old.IndexName)
	if err != nil {
		return Alert{}, err
	}
	changed, err := s.encode(ctx, r, of, c.apply(old.alert()))
	if err != nil {
		return Alert{}, err
	}
	changed.AlertID = old.AlertID
	if changed, err = update(ctx, h, changed, old.UpdatedAt); err != nil {
		return Alert{}, err
	}
	return changed.alert(), nil
}

// Delete deletes an alert with its matches. Errors: NotFound.
func (s *Service) Delete(ctx context.Context, id string) error {
	_, h, found, err := s.find(ctx, id)
	if err != nil {
		return err
	}
	n, err := h.Exec(ctx, `DELETE FROM ragd_shared.alerts WHERE alert_id = $1`, found.AlertID)
	if err == nil && n == 0 {
		err = notFound(id)
	}
	return err
}

// Matches returns a page of the matches of an alert, the newest first: those whose passages are there and which both the caller
// and the alert may see. Errors: NotFound.
func (s *Service) Matches(ctx context.Context, id string, pageSize int32, pageToken string) ([]Stored, string, error) {
	r, h, found, err := s.find(ctx, id)
	if err != nil {
		return nil, "", err
	}
	var rights access.Delegation
	if err := json.Unmarshal(found.Access, &rights); err != nil {
		return nil, "", err
	}
	visible := r.Principal.MandatoryFilter
	if len(rights.MandatoryFilter) > 0 {
		own, err := filter.Parse([]byte(rights.MandatoryFilter))
		if err != nil {
			return nil, "", err
		}
		visible = filter.And(visible, own.Trusted())
	}
	var page []Stored
	var next string
	err = s.indexes.Use(ctx, r.Tenant, found.IndexName, func(_ index.Index, tables *data.Handle) (err error) {
		key := func(m Stored) string { return m.MatchID }
		page, next, err = pagination.List(access.Pages(ctx, "alert matches", id), pageSize, pageToken, "", key, func(after string, most int) ([]Stored, error) {
			return readMatches(ctx, h, tables, found, visible, after, most)
		})
		return err
	})
	return page, next, err
}

// readMatches returns at most so many visible matches after one of them, the newest first.
func readMatches(ctx context.Context, h, tables *data.Handle, of row, visible filter.Filter, after string, most int) ([]Stored, error) {
	var page []Stored
	for len(page) < most {
		rows, err := matchesAfter(ctx, h, of.AlertID, after, most)
		if err != nil || len(rows) == 0 {
			return page, err
		}
		seen, err := passagesOf(ctx, tables, of.Namespace, visible, rows)
		if err != nil {
			return nil, err
		}
		slices.Reverse(seen) // they are in the order of their ids
		page = append(page, seen...)
		if after = rows[len(rows)-1].MatchID; len(rows) < most {
			break
		}
	}
	return page[:min(len(page), most)], nil
}

package evaluate

import (
	"context"
	"fmt"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Set is a named list of questions about the documents of an index.
type Set struct {
	Name        string
	IndexName   string // that evaluations use unless they name another one
	Description string
	Questions   int
	Drafted     int    // questions that were drafted and not changed since
	DraftJobID  string // of the last draft; empty if there was none
	CreatedAt   time.Time
	UpdatedAt   time.Time

	access string // the mandatory filter of the credential that made it
	draft  *draft // settings of the last draft
}

// Limits of sets.
const (
	maxSets             = 100
	maxSetNameBytes     = query.MaxSetNameBytes
	maxQuestions        = 10_000   // of a set
	maxSetBytes         = 16 << 20 // of the questions of a set
	maxTenantQuestions  = 100_000
	maxCall             = 1000 // questions of one call
	maxDescriptionBytes = 4 << 10
)

func (s Set) check() error {
	if err := catalog.CheckName("setName", s.Name, maxSetNameBytes); err != nil {
		return err
	}
	return textlimit.Check("description", s.Description, maxDescriptionBytes)
}

// checkAll checks the questions of one call. Errors: Invalid.
func checkAll(questions []Question) error {
	if len(questions) > maxCall {
		return fault.Field("questions", "must be at most %d in one call, got %d: send the rest in further calls", maxCall, len(questions))
	}
	seen := make(map[string]bool, len(questions))
	for i, q := range questions {
		field := fmt.Sprintf("questions[%d]", i)
		if err := q.check(); err != nil {
			return fault.Under(field, err)
		}
		if seen[q.ID] {
			return fault.Field(field+".questionId", "%q is given twice", q.ID)
		}
		seen[q.ID] = true
	}
	return nil
}

// rights is what a caller may see: a parameter of setVisible and evaluationVisible.
type rights struct {
	Filter  string   `json:"filter"`  // its mandatory filter
	Indexes []string `json:"indexes"` // to which it is bound; nil for all
}

// caller is who calls a method of the Service.
type caller struct {
	request *access.Request
	handle  *data.Handle
	access  rights
}

// caller returns the caller if it has the scope. Errors: those of access.Require.
func (s *Service) caller(ctx context.Context, need access.Scope) (caller, error) {
	r, err := access.Require(ctx, need)
	if err != nil {
		return caller{}, err
	}
	return caller{r, s.DB.Handle(r.Tenant), rights{r.Principal.MandatoryFilter.String(), r.Bounds.Indexes}}, nil
}

// CreateSet stores a new set with its first questions. Errors: Invalid; Exists; Exhausted
// beyond a limit; NotFound for an index that does not exist.
func (s *Service) CreateSet(ctx context.Context, wanted Set, questions []Question) (made Set, err error) {
	c, err := s.caller(ctx, access.Write)
	if err != nil {
		return Set{}, err
	}
	if err := wanted.check(); err != nil {
		return Set{}, err
	}
	if err := checkAll(questions); err != nil {
		return Set{}, err
	}
	if wanted.IndexName, err = s.indexName(ctx, c, wanted.IndexName); err != nil {
		return Set{}, err
	}
	wanted.access = c.access.Filter
	encoded, err := encode(ctx, c.handle, questions)
	if err != nil {
		return Set{}, err
	}
	err = c.handle.Tx(ctx, func(tx *data.Tx) error {
		if err := insertSet(ctx, tx, wanted); err != nil {
			return err
		}
		made, err = putQuestions(ctx, tx, wanted.Name, encoded)
		return err
	})
	return made, err
}

// indexName returns the name of an existing index of the caller's tenant, that of its only
// one for "".
func (s *Service) indexName(ctx context.Context, c caller, name string) (string, error) {
	i, err := s.Indexes.Resolve(ctx, c.request.Tenant, name)
	return i.Name, err
}

// GetSet returns a set. Errors: NotFound.
func (s *Service) GetSet(ctx context.Context, name string) (Set, error) {
	c, err := s.caller(ctx, access.Read)
	if err != nil {
		return Set{}, err
	}
	return getSet(ctx, c.handle, c.access, name)
}

// ListSets returns a page of the sets in the order of their names.
func (s *Service) ListSets(ctx context.Context, pageSize int32, pageToken string) ([]Set, string, error) {
	c, err := s.caller(ctx, access.Read)
	if err != nil {
		return nil, "", err
	}
	rows, next, err := sets.Page(ctx, c.handle, pageSize, pageToken, c.access)
	found := make([]Set, len(rows))
	for i, row := range rows {
		found[i] = row.set()
	}
	return found, next, err
}

// SetChange holds the fields that UpdateSet changes. Nil leaves a field unchanged.
type SetChange struct {
	IndexName   *string
	Description *string
}

// UpdateSet changes a set. Errors: NotFound; Invalid.
func (s *Service) UpdateSet(ctx context.Context, name string, change SetChange) (Set, error) {
	c, err := s.caller(ctx, access.Write)
	if err != nil {
		return Set{}, err
	}
	if change.Description != nil {
		if err := textlimit.Check("description", *change.Description, maxDescriptionBytes); err != nil {
			return Set{}, err
		}
	}
	if change.IndexName != nil {
		existing, err := s.indexName(ctx, c, *change.IndexName)
		if err != nil {
			return Set{}, err
		}
		change.IndexName = &existing
	}
	return updateSet(ctx, c, name, change)
}

// DeleteSet deletes a set, its questions and its evaluations, and cancels their jobs. Errors:
// NotFound.
func (s *Service) DeleteSet(ctx context.Context, name string) error {
	c, err := s.caller(ctx, access.Write)
	if err != nil {
		return err
	}
	return deleteSet(ctx, c, name)
}

// PutQuestions adds questions to a set and replaces those whose ids it has. Errors: NotFound;
// Invalid; Exhausted beyond a limit. On an error nothing is changed.
func (s *Service) PutQuestions(ctx context.Context, name string, questions []Question) (changed Set, err error) {
	c, err := s.caller(ctx, access.Write)
	if err != nil {
		return Set{}, err
	}
	if len(questions) == 0 {
		return Set{}, fault.Field("questions", "is missing: give at least one question")
	}
	if err := checkAll(questions); err != nil {
		return Set{}, err
	}
	encoded, err := encode(ctx, c.handle, questions)
	if err != nil {
		return Set{}, err
	}
	err = c.handle.Tx(ctx, func(tx *data.Tx) error {
		if _, err := getSet(ctx, tx, c.access, name); err != nil {
			return err
		}
		changed, err = putQuestions(ctx, tx, name, encoded)
		return err
	})
	return changed, err
}

// ListQuestions returns a page of the questions of a set in the order of their ids. With
// drafted, only those that are drafted, or only others. Errors: NotFound.
func (s *Service) ListQuestions(ctx context.Context, name string, drafted *bool, pageSize int32, pageToken string) ([]Question, string, error) {
	c, err := s.caller(ctx, access.Read)
	if err != nil {
		return nil, "", err
	}
	if _, err := getSet(ctx, c.handle, c.access, name); err != nil {
		return nil, "", err
	}
	which := "all"
	if drafted != nil {
		which = fmt.Sprint(*drafted)
	}
	key := func(q Question) string { return q.ID }
	return pagination.List(access.Pages(ctx, "questions", name, which), pageSize, pageToken, "", key, func(after string, most int) ([]Question, error) {
		return listQuestions(ctx, c.handle, name, drafted, after, most)
	})
}

// DeleteQuestions deletes questions of a set. Ids that it does not have are ignored. Errors:
// NotFound for the set; Invalid.
func (s *Service) DeleteQuestions(ctx context.Context, name string, ids []string) (changed Set, err error) {
	c, err := s.caller(ctx, access.Write)
	if err != nil {
		return Set{}, err
	}
	if len(ids) == 0 || len(ids) > maxCall {
		return Set{}, fault.Field("questionIds", "must be 1 to %d, got %d", maxCall, len(ids))
	}
	for i, id := range ids {
		if err := textlimit.Check(fmt.Sprintf("questionIds[%d]", i), id, maxIDBytes); err != nil {
			return Set{}, err
		}
	}
	err = c.handle.Tx(ctx, func(tx *data.Tx) error {
		if _, err := getSet(ctx, tx, c.access, name); err != nil {
			return err
		}
		changed, err = deleteQuestions(ctx, tx, name, ids)
		return err
	})
	return changed, err
}

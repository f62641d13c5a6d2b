package evaluate

import (
	"context"
	"crypto/sha256"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/query/notable"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// maxFeedback is how many judgements of callers a tenant may have.
const maxFeedback = 100_000

// feedbackBytes is about what a judgement takes beside its question.
const feedbackBytes = 1 << 10

// Feedback says whether a source of an answer helped.
type Feedback struct {
	QueryID  string // the name of the answer
	Source   string // id of a chunk that it showed
	Helpful  *bool
	Withdraw bool // delete what the caller said of the source, instead
}

func (f Feedback) check() error {
	switch {
	case f.QueryID == "":
		return fault.Field("queryId", "is missing: it is in the answer to a query")
	case f.Source == "":
		return fault.Field("source", "is missing: it is the id of a source of the answer")
	case f.Helpful == nil && !f.Withdraw:
		return fault.Field("helpful", "is missing: say whether the source helped, or set withdraw")
	case f.Helpful != nil && f.Withdraw:
		return fault.Field("withdraw", "excludes helpful: leave one of them out")
	}
	return nil
}

// RecordFeedback stores what the caller says of a source, and makes the question of its answer anew: relevant
// to it are the chunks that helped more callers than they did not. It returns the names of its set and of the
// question. Errors: Invalid; NotFound for an index or chunk that is gone; Exists for a set of another index
// that has the name; Exhausted beyond a limit.
func (s *Service) RecordFeedback(ctx context.Context, f Feedback) (setName, questionID string, err error) {
	c, err := s.caller(ctx, access.Read)
	if err != nil {
		return "", "", err
	}
	if err := f.check(); err != nil {
		return "", "", err
	}
	answered, err := query.ReadAnswerID(ctx, f.QueryID)
	if err != nil {
		return "", "", err
	}
	from := answered.Showing(f.Source)
	if len(from) == 0 {
		return "", "", fault.Field("source", "%q is none of the first sources of this answer: give the id of one", textlimit.Shorten(f.Source, maxIDBytes))
	}
	var judged Relevant
	for _, one := range from { // several, if the sums of ids are equal by chance
		if judged, err = s.judgedIn(ctx, c, one, answered.Namespace, f.Source); err == nil {
			answered.AnsweredFrom = one
			break
		}
	}
	if err != nil {
		return "", "", err
	}
	if !f.Withdraw {
		if err := c.handle.Admit(ctx, int64(len(answered.Question)+feedbackBytes)); err != nil {
			return "", "", err
		}
	}
	set := feedbackSet(answered, c.access.Filter)
	questionID = notable.QuestionID(answered.Question)
	err = c.handle.Tx(ctx, func(tx *data.Tx) error {
		return recordFeedback(ctx, tx, c, set, Question{ID: questionID, Text: answered.Question}, judged, f.Helpful)
	})
	return set.Name, questionID, err
}

// judgedIn returns where a chunk is in one of the indexes of an answer. Errors: NotFound; those of chunkOf.
func (s *Service) judgedIn(ctx context.Context, c caller, from query.AnsweredFrom, namespace, id string) (judged Relevant, err error) {
	err = s.Indexes.Use(ctx, c.request.Tenant, from.IndexName, func(i index.Index, tables *data.Handle) error {
		if i.ID != from.IndexID {
			return fault.New(fault.NotFound, "the index %q of this answer was deleted: ask again", from.IndexName)
		}
		judged, err = chunkOf(ctx, tables, c, namespace, id)
		return err
	})
	return judged, err
}

// feedbackSet returns the set of the feedback on answers of an index and a namespace to credentials with a
// mandatory filter. What others than the first of these would find is measured apart.
func feedbackSet(a query.Answered, filter string) Set {
	description := "Feedback of callers on answers of " + a.IndexName
	if a.Namespace != "" {
		description += ", namespace " + a.Namespace
	}
	return Set{Name: query.FeedbackSet(a.IndexName, a.Namespace, filter), IndexName: a.IndexName, Description: description, access: filter}
}

// callerHash identifies the caller among those who judge.
func callerHash(c caller) []byte {
	p := c.request.Principal
	sum := sha256.Sum256([]byte(p.Issuer + "\x00" + p.Subject))
	return sum[:]
}

// chunkOf returns where a chunk is that the caller may see. Errors: NotFound; Invalid for a ready-made vector.
func chunkOf(ctx context.Context, tables *data.Handle, c caller, namespace, id string) (Relevant, error) {
	found, err := visibleChunk(ctx, tables, c.request.Principal.MandatoryFilter, namespace, id)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return Relevant{}, fault.New(fault.NotFound, "the source %q was changed or deleted since: ask again", id)
	case err != nil:
		return Relevant{}, err
	case found.URI == nil:
		return Relevant{}, fault.Field("source", "%q is a ready-made vector, which is in no document that could be judged", id)
	case found.EndByte <= found.StartByte:
		return Relevant{URI: *found.URI}, nil
	}
	return Relevant{URI: *found.URI, Span: &Span{found.StartByte, found.EndByte}}, nil
}

package audit

import (
	"context"
	"regexp"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// Entry is an entry of the audit log.
type Entry struct {
	ID   int64
	At   time.Time // when the action began, or the sum was written
	Kind Kind
	// Tenant is the one that the action is about; empty for none.
	Tenant string
	// Subject is the caller, as access.Principal has it; empty if it is not known.
	Subject  string
	Operator bool   // the caller is an operator
	Issuer   string // of an access token
	// Client is the address of the caller.
	Client string
	Method string
	// Object is what the action is about: names by fields of the request.
	Object    map[string]string
	RequestID string // of the first call
	Calls     int
	// Outcome is OutcomeOK, the kind of a fault, what a policy did, or empty as long as it is not known.
	Outcome  string
	Answered *time.Time // when the action ended
	// Result has the names of what the action made.
	Result map[string]string
}

// Unknown selects the entries without an outcome.
const Unknown = "unknown"

// Question selects entries. What is empty selects all.
type Question struct {
	From, To time.Time // To is excluded
	Kind     Kind
	Subject  string
	Method   string // whole, or the last part of it
	Outcome  string
}

var methodPattern = regexp.MustCompile(`^[A-Za-z0-9_./{}-]{0,200}$`)

const maxSubjectBytes = 1000

// check returns an error for a question that no entry can answer. Errors: Invalid.
func (q Question) check() error {
	switch {
	case !q.From.IsZero() && !q.To.IsZero() && !q.From.Before(q.To):
		return fault.Field("startTime", "must be before endTime")
	case q.Kind != "" && q.Kind != Actions && q.Kind != Denials && q.Kind != Policies:
		return fault.Field("kind", "must be %s, %s or %s", Actions, Denials, Policies)
	case len(q.Subject) > maxSubjectBytes:
		return fault.Field("subject", "must have at most %d bytes", maxSubjectBytes)
	case !methodPattern.MatchString(q.Method):
		return fault.Field("method", "is not the name of a method, such as DeleteIndex")
	case !outcomePattern.MatchString(q.Outcome):
		return fault.Field("outcome", "must be %s, %s or the code of an error, such as denied", OutcomeOK, Unknown)
	}
	return nil
}

var outcomePattern = regexp.MustCompile(`^[a-z_]{0,40}$`)

// List returns a page of the entries about the caller's tenant, or all entries for an operator who
// named none, newest first. A tenant does not see the addresses of operators. Errors: Invalid;
// Denied for credentials that see only some of the tenant.
func (l *Log) List(ctx context.Context, q Question, pageSize int32, pageToken string) ([]Entry, string, error) {
	id, err := access.RequireAll(ctx, "the audit log")
	if err != nil {
		return nil, "", err
	}
	if err := q.check(); err != nil {
		return nil, "", err
	}
	r, err := access.Caller(ctx)
	if err != nil {
		return nil, "", err
	}
	tokens := access.Pages(ctx, "audit", q.From.UTC().String(), q.To.UTC().String(), string(q.Kind), q.Subject, q.Method, q.Outcome)
	key := func(e Entry) *position { return &position{e.ID} }
	entries, next, err := pagination.List(tokens, pageSize, pageToken, nil, key, func(after *position, most int) ([]Entry, error) {
		return l.list(ctx, id, q, after, most)
	})
	if !r.Principal.Has(access.Operator) {
		for i := range entries {
			if entries[i].Operator {
				entries[i].Client = ""
			}
		}
	}
	return entries, next, err
}

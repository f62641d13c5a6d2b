// Package fault defines the errors of the service. An error has a kind, which decides its
// code on the wire, and a message for the caller. Its cause goes to the log only.
//
//	return fault.New(fault.NotFound, "index %q not found", name)
//	return fault.Field("topK", "must be between 1 and %d, got %d", max, n)
//	return fault.Wrap(fault.Unavailable, err, "the embedding provider is not answering")
//
// An error without a kind is a bug. Callers see only "internal error".
package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind classifies an error by what a caller can do about it.
type Kind uint8

// The kinds. Internal, the zero value, is the kind of an unclassified error.
const (
	Internal        Kind = iota // a bug; the message is not shown
	Invalid                     // a bad field, filter or dimension; do not retry
	Unauthenticated             // no credential, or an unknown one
	Denied                      // the credential lacks the right
	NotFound                    // absent, or another tenant's
	Exists                      // the name is taken with other content
	Conflict                    // lost a race; retry
	Precondition                // the state does not allow the request
	Exhausted                   // quota, rate or backlog limit; retry later
	Unavailable                 // the database or a model is down; retry
	Canceled                    // the caller left
	Deadline                    // the deadline passed
)

var kindNames = [...]string{
	"internal", "invalid", "unauthenticated", "denied", "not_found", "exists",
	"conflict", "precondition", "exhausted", "unavailable", "canceled", "deadline",
}

// String returns the kind's name in logs, metrics and errors of jobs.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "internal"
}

// Violation is an invalid field of a request.
type Violation struct {
	Field  string // path in the request's JSON names, such as "chunking.maxSize"
	Reason string // what is wrong and what is allowed
}

// Error is a classified failure. Message is public; Cause never is.
type Error struct {
	Kind       Kind
	Message    string
	Violations []Violation
	RetryAfter time.Duration // how long to wait before trying again; 0 if unknown
	Quota      string        // the setting that an Exhausted error is about, "" if there is none
	Cause      error
}

// Error returns the public message followed by the cause, for logs.
func (e *Error) Error() string {
	if e.Cause == nil {
		return e.Message
	}
	return e.Message + ": " + e.Cause.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// New returns an error of a kind. The message is shown to the caller.
func New(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// Wrap returns an error like New, with a cause that is logged but not shown.
func Wrap(kind Kind, cause error, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...), Cause: cause}
}

// Field returns an Invalid error about one field of the request. Its message
// starts with the field's name.
func Field(field, format string, args ...any) *Error {
	reason := fmt.Sprintf(format, args...)
	return &Error{
		Kind:       Invalid,
		Message:    field + ": " + reason,
		Violations: []Violation{{Field: field, Reason: reason}},
	}
}

// Under returns err with prefix and a dot before the field of each violation, for code
// that validates an inner object of a request. Errors without violations are returned
// unchanged.
func Under(prefix string, err error) error {
	return reField(err, func(field string) string { return prefix + "." + field })
}

// Rename returns err with the field from renamed to to, in paths below it too. Errors
// without violations are returned unchanged.
func Rename(from, to string, err error) error {
	return reField(err, func(field string) string {
		below, ok := strings.CutPrefix(field, from)
		if !ok || below != "" && below[0] != '.' && below[0] != '[' {
			return field
		}
		return to + below
	})
}

// reField returns err with name applied to the field of each violation.
func reField(err error, name func(field string) string) error {
	var e *Error
	if !errors.As(err, &e) || len(e.Violations) == 0 {
		return err
	}
	out := *e
	out.Violations = make([]Violation, len(e.Violations))
	reasons := make([]string, len(e.Violations))
	for i, v := range e.Violations {
		v.Field = name(v.Field)
		out.Violations[i] = v
		reasons[i] = v.Field + ": " + v.Reason
	}
	out.Message = strings.Join(reasons, "; ")
	return &out
}

// Retry returns an Exhausted error that tells the caller how long to wait.
func Retry(after time.Duration, format string, args ...any) *Error {
	return &Error{Kind: Exhausted, Message: fmt.Sprintf(format, args...), RetryAfter: after}
}

// Of returns the error as one about the quota that a setting gives a tenant.
func (e *Error) Of(quota string) *Error {
	out := *e
	out.Quota = quota
	return &out
}

// KindOf returns the kind of err: that of the outermost *Error in its chain,
// Canceled or Deadline for the context errors, Internal for anything else.
func KindOf(err error) Kind {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e.Kind
	case errors.Is(err, context.Canceled):
		return Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return Deadline
	}
	return Internal
}

// Permanent reports whether retrying cannot help: Invalid, Precondition and Denied.
func Permanent(err error) bool {
	switch KindOf(err) {
	case Invalid, Precondition, Denied:
		return true
	}
	return false
}

// Public returns the message of err for the caller. For an Internal error it is the
// fixed text "internal error".
func Public(err error) string {
	var e *Error
	if errors.As(err, &e) && e.Kind != Internal {
		return e.Message
	}
	switch KindOf(err) {
	case Canceled:
		return "the request was canceled"
	case Deadline:
		return "the deadline passed before the work was done"
	}
	return "internal error"
}

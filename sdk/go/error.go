package ragd

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// Error is the error of a call. Its message names the field, the limit and what to do.
type Error struct {
	// Code says which kind of error it is.
	Code connect.Code
	// Message is for people.
	Message string
	// Violations are the fields that are wrong, with CodeInvalidArgument.
	Violations []Violation
	// RetryAfter is how long the service asks to wait before trying again; 0 if it does not say.
	RetryAfter time.Duration
	// RequestID is the id with which the service's log names the request.
	RequestID string

	cause error
}

// Violation is a field of a request that the service refused, and why.
type Violation struct{ Field, Description string }

func (e *Error) Error() string { return e.Code.String() + ": " + e.Message }

// Unwrap returns the error of package connect.
func (e *Error) Unwrap() error { return e.cause }

// JobError says that a job has failed or was cancelled.
type JobError struct{ Job *ragdv1.Job }

func (e *JobError) Error() string {
	if e.Job.GetError() != "" {
		return e.Job.GetError()
	}
	return "the job is " + e.Job.GetStatus()
}

func invalid(field, description string) *Error {
	return &Error{Code: connect.CodeInvalidArgument, Message: field + ": " + description, Violations: []Violation{{field, description}}}
}

// ErrorOf returns the error of a call as an *Error. It returns nil, io.EOF and an *Error as they are.
func ErrorOf(err error) error {
	var known *Error
	if err == nil || errors.Is(err, io.EOF) || errors.As(err, &known) {
		return err
	}
	e := &Error{Code: connect.CodeOf(err), Message: err.Error(), cause: err}
	var wire *connect.Error
	if !errors.As(err, &wire) {
		return e
	}
	e.Message, e.RequestID = wire.Message(), wire.Meta().Get("X-Request-Id")
	for _, detail := range wire.Details() {
		value, err := detail.Value()
		if err != nil {
			continue // of a type that this version does not know
		}
		switch value := value.(type) {
		case *errdetails.BadRequest:
			for _, v := range value.GetFieldViolations() {
				e.Violations = append(e.Violations, Violation{v.GetField(), v.GetDescription()})
			}
		case *errdetails.RetryInfo:
			e.RetryAfter = value.GetRetryDelay().AsDuration()
		}
	}
	if seconds, err := strconv.Atoi(wire.Meta().Get("Retry-After")); err == nil && e.RetryAfter == 0 {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	return e
}

// Retry says how failed calls are repeated, when the service does not answer or asks to wait. Calls that
// would do harm when made twice have an idempotency key, by which the service makes them once. Zero
// values mean the defaults.
type Retry struct {
	// Max is how often a call is repeated. Default: 4; negative: never.
	Max int
	// First is the first pause; each further one is twice as long. Default: 250 ms.
	First time.Duration
	// Longest is the longest pause. A call is not repeated if the service asks for a longer one. Default:
	// 20 s.
	Longest time.Duration
}

// pause returns how long to wait before a call is repeated, and whether to repeat it at all. attempt is
// the number of calls so far.
func (r Retry) pause(attempt int, err error) (time.Duration, bool) {
	most, first, longest := r.Max, r.First, r.Longest
	if most == 0 {
		most = 4
	}
	if first <= 0 {
		first = 250 * time.Millisecond
	}
	if longest <= 0 {
		longest = 20 * time.Second
	}
	var e *Error
	if !errors.As(ErrorOf(err), &e) || attempt > most || e.RetryAfter > longest {
		return 0, false
	}
	switch e.Code {
	case connect.CodeUnavailable, connect.CodeAborted:
	case connect.CodeResourceExhausted:
		if e.RetryAfter == 0 { // a quota does not pass by itself
			return 0, false
		}
	default:
		return 0, false
	}
	backoff := min(longest, first<<min(attempt-1, 20))
	// Callers that were refused together must not return together.
	return e.RetryAfter + backoff/2 + rand.N(backoff/2+1), true
}

// repeatable are calls that change something and may be made twice all the same, because a second one
// finds the work done.
var repeatable = []string{
	"/ragd.v1.DocumentService/DeleteDocuments", "/ragd.v1.DocumentService/SyncSource", "/ragd.v1.DocumentService/CancelJob",
	"/ragd.v1.EvaluateService/RecordFeedback", "/ragd.v1.IndexService/CreateIndex", "/ragd.v1.QueryService/ListTopics", "/ragd.v1.VectorService/Update", "/ragd.v1.VectorService/Delete",
}

// stale reports whether a request was refused because its etag is not the current one, which waiting does
// not change.
func stale(req connect.AnyRequest, err error) bool {
	message, ok := req.Any().(interface{ GetEtag() string })
	var e *Error
	return ok && message.GetEtag() != "" && errors.As(ErrorOf(err), &e) && e.Code == connect.CodeAborted && e.RetryAfter == 0
}

// mayRepeat reports whether a second call with the same request does no harm, also without a key.
func mayRepeat(req connect.AnyRequest) bool {
	switch message := req.Any().(type) {
	case *ragdv1.UploadDocumentRequest:
		return message.GetUri() != ""
	case *ragdv1.UpsertRequest:
		return !slices.ContainsFunc(message.GetEntries(), func(e *ragdv1.Entry) bool { return e.GetId() == "" })
	}
	return req.Spec().IdempotencyLevel == connect.IdempotencyNoSideEffects || slices.Contains(repeatable, req.Spec().Procedure)
}

// sleep waits, and returns the context's error when it ends before.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
